#include "lower/pack_lanes.h"

namespace tw {

Pair zip(Builder& b, int bits, Value x, Value y) {
  return {b.op(OpCode::zip_lo, {x, y}, {.bits = bits}),
          b.op(OpCode::zip_hi, {x, y}, {.bits = bits})};
}

Four transpose_dwords(Builder& b, const Four& rows) {
  const Pair first = zip(b, 32, rows[0], rows[1]);
  const Pair second = zip(b, 32, rows[2], rows[3]);
  const Pair low = zip(b, 64, first.low, second.low);
  const Pair high = zip(b, 64, first.high, second.high);
  return {low.low, low.high, high.low, high.high};
}

bool can_transpose_segments(const Isa& isa) {
  const int64_t count = segments(isa);
  return count == 1 || ((count == 2 || count == 4) && isa.has(OpCode::move_segments));
}

std::vector<Value> transpose_segments(Builder& b, const std::vector<Value>& rows) {
  if (rows.size() == 1) return rows;
  if (rows.size() == 2) {
    const Value low = b.op(OpCode::move_segments, {rows[0], rows[1]}, {.imm = 0});
    const Value high = b.op(OpCode::move_segments, {rows[0], rows[1]}, {.imm = 3});
    return {low, high};
  }
  // Of each vector, two bits of the immediate a segment: 0 and 2, or 1 and 3.
  constexpr int64_t even = 0x88;
  constexpr int64_t odd = 0xdd;
  auto move = [&](Value x, Value y, int64_t which) {
    return b.op(OpCode::move_segments, {x, y}, {.imm = which});
  };
  const Value even_top = move(rows[0], rows[1], even);
  const Value odd_top = move(rows[0], rows[1], odd);
  const Value even_bottom = move(rows[2], rows[3], even);
  const Value odd_bottom = move(rows[2], rows[3], odd);
  const Value first = move(even_top, even_bottom, even);
  const Value second = move(odd_top, odd_bottom, even);
  const Value third = move(even_top, even_bottom, odd);
  const Value fourth = move(odd_top, odd_bottom, odd);
  return {first, second, third, fourth};
}

static bool inserts(const Isa& isa) {
  return isa.has(OpCode::shl_insert, 8) && isa.has(OpCode::shr_insert, 8);
}

NibbleZip::NibbleZip(Builder& b, bool needed) {
  if (!needed || inserts(b.isa())) return;
  low_mask = splat32(b, 0x0f0f0f0fU, "low_nibbles");
  high_mask = splat32(b, 0xf0f0f0f0U, "high_nibbles");
}

Value NibbleZip::low(Builder& b, Value x, Value y) const {
  if (inserts(b.isa())) return b.op(OpCode::shl_insert, {x, y}, {.bits = 8, .imm = 4});
  const Value kept = b.op(OpCode::and_, {x, low_mask});
  const Value moved =
      b.op(OpCode::shl, {b.op(OpCode::and_, {y, low_mask})}, {.bits = 32, .imm = 4});
  return b.op(OpCode::or_, {kept, moved});
}

Value NibbleZip::high(Builder& b, Value x, Value y) const {
  if (inserts(b.isa())) return b.op(OpCode::shr_insert, {y, x}, {.bits = 8, .imm = 4});
  const Value kept = b.op(OpCode::and_, {y, high_mask});
  const Value moved =
      b.op(OpCode::shr, {b.op(OpCode::and_, {x, high_mask})}, {.bits = 32, .imm = 4});
  return b.op(OpCode::or_, {kept, moved});
}

bool NibbleZip::possible(const Isa& isa) {
  return inserts(isa) || (isa.has(OpCode::and_) && isa.has(OpCode::or_) &&
                          isa.has(OpCode::shl, 32) && isa.has(OpCode::shr, 32));
}

}  // namespace tw
