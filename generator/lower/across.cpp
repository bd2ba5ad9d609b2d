#include "lower/across.h"

#include "lower/tile.h"

namespace tw {
namespace {

Value join(Builder& b, OpCode combine, Value x, Value y) {
  return b.op(combine, {x, y}, {}, "across", Role::operand);
}

/// Both halves of what `low` and `high` take of each pair of vectors, combined.
template <typename Move>
std::vector<Value> by_pairs(Builder& b, OpCode combine, const std::vector<Value>& vectors,
                            const Move& move) {
  std::vector<Value> joined;
  const size_t step = vectors.size() == 1 ? 0 : 1;  // a single one is its own other half
  for (size_t i = 0; i < vectors.size(); i += 2) {
    const Value x = vectors[i];
    const Value y = vectors[i + step];
    // One after the other: compilers are free in which argument they evaluate first.
    const Value high = move(x, y, true), low = move(x, y, false);
    joined.push_back(join(b, combine, low, high));
  }
  return joined;
}

}  // namespace

std::vector<Value> across(Builder& b, std::vector<Value> vectors, OpCode combine) {
  const int64_t lanes = b.isa().vector_bytes.fixed / 4;
  if (lanes == 1) return vectors;
  for (const int bits : {32, 64}) {
    vectors = by_pairs(b, combine, vectors, [&](Value x, Value y, bool high) {
      return b.op(high ? OpCode::zip_hi : OpCode::zip_lo, {x, y}, {.bits = bits}, "zipped",
                  Role::operand);
    });
  }
  for (int64_t segments = lanes / segment_lanes; segments > 1; segments /= 2) {
    // Of four segments the even and the odd ones; of two the first and the second.
    const bool four = lanes / segment_lanes == 4;
    vectors = by_pairs(b, combine, vectors, [&](Value x, Value y, bool high) {
      const int64_t choice = four ? (high ? 0xdd : 0x88) : (high ? 3 : 0);
      return b.op(OpCode::move_segments, {x, y}, {.imm = choice}, "moved", Role::operand);
    });
  }
  return vectors;
}

}  // namespace tw
