// What operations do: the meaning in each row of the operation list, made a function.
// Vectors are little-endian bytes as in memory (so is the machine that this runs on); predicates
// are one byte per lane, 0 or 1.
#pragma once

#include <cstring>

#include "ir/interpreter.h"
#include "ir/prepared.h"

namespace tw {

/// What an operation acts on beside its operands.
struct Machine {
  Memory& memory;
  uint64_t scratch;  ///< address of the Program's own memory
  VectorLength vl;
  Prepared& prepared;
  std::vector<uint64_t> frame = {};
  std::vector<bool> frame_written = {};
  bool active[last_mode + 1] = {};  ///< by Mode
  uint8_t table[4] = {};            ///< what table_load() read
  uint8_t entries[16] = {};         ///< low bytes of what table_put() put ...
  unsigned pairs_put = 0;           ///< ... of which pairs so far, by bit
  enum class Table { nibbles, given, halves, raised, put } held = Table::nibbles;

  void require(Mode mode) const;  ///< throws Fault
};

/// Writes the result where the step says, which may be an argument's place. Throws Fault for what
/// the operation list forbids or leaves open.
using Meaning = void (*)(const Step& step, Machine& machine);
Meaning meaning(OpCode code);

/// Does what an operation without memory and modes does.
void run_alone(const Step& step);
/// The same of vectors that are equally long.
std::vector<uint8_t> run_alone(OpCode code, int bits, int64_t imm,
                               const std::vector<const uint8_t*>& args, size_t bytes);

inline uint64_t scalar(const Storage& place) {
  uint64_t value;
  std::memcpy(&value, place.at, sizeof value);
  return value;
}

inline void set_scalar(const Storage& place, uint64_t value) {
  std::memcpy(place.at, &value, sizeof value);
}

/// f16 bits to f32, exact.
float half_to_float(uint16_t half);
/// To nearest even; a NaN becomes a quiet one.
uint16_t float_to_half(float value);

}  // namespace tw
