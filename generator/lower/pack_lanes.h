// Moving lanes between vectors, for packers: transposes of small matrices of lanes.
#pragma once

#include <array>

#include "ir/builder.h"
#include "lower/splat.h"

namespace tw {

using Four = std::array<Value, 4>;

/// Segments are 128-bit parts of a vector.
inline int64_t segments(const Isa& isa) {
  return isa.vector_bytes.fixed / 16;
}

/// In every segment: dword j of vector i becomes dword i of vector j.
Four transpose_dwords(Builder& b, const Four& rows);

/// As many vectors as they have segments: segment j of vector i becomes segment i of vector j.
std::vector<Value> transpose_segments(Builder& b, const std::vector<Value>& rows);
bool can_transpose_segments(const Isa& isa);

/// Bytes of a and b in turn, per segment: the low halves, then the high halves.
struct Pair {
  Value low = no_value, high = no_value;
};
Pair zip(Builder& b, int bits, Value x, Value y);

/// Bytes (x low nibble | y low nibble << 4) and (x high nibble >> 4 | y high nibble).
struct NibbleZip {
  Value low_mask = no_value, high_mask = no_value;  ///< unless the ISA shifts and inserts
  explicit NibbleZip(Builder& b, bool needed = true);
  [[nodiscard]] Value low(Builder& b, Value x, Value y) const;
  [[nodiscard]] Value high(Builder& b, Value x, Value y) const;
  [[nodiscard]] static bool possible(const Isa& isa);
};

}  // namespace tw
