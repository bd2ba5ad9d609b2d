#include "ir/meaning.h"

#include <array>

#include "ir/meaning_forms.h"

namespace tw {

static MeaningTable all_meanings() {
  MeaningTable table{};
  add_scalar_meanings(table);
  add_memory_meanings(table);
  add_integer_meanings(table);
  add_float_meanings(table);
  add_move_meanings(table);
  add_tile_meanings(table);
  return table;
}

Meaning meaning(OpCode code) {
  static const MeaningTable table = all_meanings();
  return table[static_cast<size_t>(code)];
}

void run_alone(const Step& step) {
  Memory memory;
  Prepared prepared;
  Machine machine{memory, 0, {}, prepared};
  meaning(step.code)(step, machine);
}

std::vector<uint8_t> run_alone(OpCode code, int bits, int64_t imm,
                               const std::vector<const uint8_t*>& args, size_t bytes) {
  std::vector<uint8_t> result(bytes);
  Step step;
  step.code = code;
  step.bits = bits;
  step.imm = imm;
  step.to = {result.data(), bytes, Kind::vector};
  for (const uint8_t* arg : args) {
    step.arg[step.arg_count++] = {const_cast<uint8_t*>(arg), bytes, Kind::vector};  // only read
  }
  run_alone(step);
  return result;
}

}  // namespace tw
