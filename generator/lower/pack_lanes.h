// Lanes of vectors, for packers.
#pragma once

#include "ir/builder.h"

namespace tw {

/// Segments are 128-bit parts of a vector.
inline int64_t segments(const Isa& isa) {
  return isa.vector_bytes.fixed / 16;
}

/// Lanes of x and y in turn, per segment: of the low halves, then of the high halves.
struct Pair {
  Value low = no_value, high = no_value;
};
inline Pair interleave(Builder& b, int bits, Value x, Value y) {
  return {b.op(OpCode::zip_lo, {x, y}, {.bits = bits}),
          b.op(OpCode::zip_hi, {x, y}, {.bits = bits})};
}

}  // namespace tw
