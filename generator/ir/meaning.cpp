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
  Plan plan;
  Machine machine{memory, 0, {}, plan};
  meaning(step.code)(step, machine);
}

}  // namespace tw
