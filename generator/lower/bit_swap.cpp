#include "lower/bit_swap.h"

namespace tw {

bool can_swap_bits(const Isa& isa) {
  return isa.has(OpCode::shl, 32) && isa.has(OpCode::shr, 32) && isa.has(OpCode::and_) &&
         isa.has(OpCode::xor_);
}

uint32_t moved_up(const BitSwap& swap) {
  uint32_t mask = 0;
  for (int bit = 0; bit < 32; ++bit) {
    if ((bit >> swap.low & 1) != 0 && (bit >> swap.high & 1) == 0) mask |= uint32_t{1} << bit;
  }
  return mask;
}

Value swapped(const ApplyMove& apply, Value lanes, const BitSwap& swap, Value mask) {
  const int64_t distance = (int64_t{1} << swap.high) - (int64_t{1} << swap.low);
  const Value down = apply({OpCode::shr, 32, distance}, lanes, no_value);
  const Value differs = apply({OpCode::and_}, apply({OpCode::xor_}, down, lanes), mask);
  const Value up = apply({OpCode::shl, 32, distance}, differs, no_value);
  return apply({OpCode::xor_}, apply({OpCode::xor_}, lanes, differs), up);
}

}  // namespace tw
