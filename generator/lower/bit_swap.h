// Exchanges of bits within lanes of 32 bits: two bits of a bit's number change places.
#pragma once

#include <cstdint>
#include <functional>

#include "ir/bit_map.h"
#include "ir/program.h"

namespace tw {

struct BitSwap {
  int low = 0, high = 0;  ///< bits of numbers from 0 to 31
};

/// An instruction on one value, or two.
using ApplyMove = std::function<Value(const MoveOp&, Value, Value)>;

bool can_swap_bits(const Isa& isa);

/// The bits that a swap moves up: what swapped() wants as `mask` in every lane.
uint32_t moved_up(const BitSwap& swap);
Value swapped(const ApplyMove& apply, Value lanes, const BitSwap& swap, Value mask);

}  // namespace tw
