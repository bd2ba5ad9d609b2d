// Codes and their tops, put together by shifts that keep what is there.
#include <fmt/format.h>

#include "lower/tile.h"

namespace tw {

bool Decoder::inserts(const Tile1& t) const {
  const auto has = [&](OpCode code) { return t.b.isa().has(code, 8); };
  return top_bits_ != 0 && has(OpCode::shl_insert) && has(OpCode::shr_insert) && has(OpCode::shl) &&
         has(OpCode::shr);
}

/// A code with its tops, of which the last one's are moved to their place, and the rest of it to
/// below them; other codes' tops are inserted above them. What shifts leave above the tops is 0 or
/// is cleared, so that no code is.
Value Decoder::inserted(const Tile1& t, Packed& packed, int64_t i) const {
  const auto shift = [&](OpCode code, Value from, int64_t by) {
    if (by == 0) return from;
    return t.b.op(code, {from}, {.bits = 8, .imm = by}, "tops", Role::operand);
  };
  const int64_t k = packed.k + i * t.rhs.layout->order.distance;
  const TopsAt at = tops_at(t, packed.vector, k);
  const bool is_last = i + 1 == operands();
  const int64_t to = is_last ? bits_ : 0;
  Value tops = load_tops(t, at, packed);
  tops =
      at.bit < to ? shift(OpCode::shl, tops, to - at.bit) : shift(OpCode::shr, tops, at.bit - to);
  if (at.bit + top_bits_ != 8 || at.bit < to) {
    tops = t.b.op(OpCode::and_, {tops, is_last ? top_mask_ : mask_}, {}, "tops", Role::operand);
  }
  const std::string name = fmt::format("code_{}", packed.vector);
  if (is_last) {
    const Value last = t.b.op(OpCode::shr_insert, {tops, packed.raw}, {.bits = 8, .imm = 8 - bits_},
                              name, Role::operand);
    return value_of(t, last, packed.vector);
  }
  const Value low = shift(OpCode::shr, packed.raw, i * bits_);
  const Value code =
      t.b.op(OpCode::shl_insert, {low, tops}, {.bits = 8, .imm = bits_}, name, Role::operand);
  return value_of(t, code, packed.vector);
}

/// Whether tops of a byte's two nibbles are as far apart as these are, so that both are moved at
/// once, to where nibbles can be inserted below.
bool Decoder::inserts_both(const Variant& v) {
  const Isa& isa = *v.isa;
  if (v.rhs.order.pair != NibblePair::depth || depth_codes(v.rhs) != 2 || top_bits(v.rhs) == 0 ||
      !isa.has(OpCode::shl_insert, 8) || !isa.has(OpCode::shr_insert, 8)) {
    return false;
  }
  const int64_t groups = v.rhs.order.distance / v.rhs.order.kr;  // of lower nibbles
  return groups * top_bits(v.rhs) == 4 && top_order(v.rhs).groups == 2 * groups;
}

/// Both nibbles: the lower one below tops that are moved above it, the upper one, moved down, below
/// those that are there.
std::vector<Value> Decoder::with_tops(const Tile1& t, Packed& packed) const {
  const TopsAt low = tops_at(t, packed.vector, packed.k);
  Value tops = load_tops(t, low, packed);
  if (low.bit != 0) {
    tops = t.b.op(OpCode::shr, {tops}, {.bits = 8, .imm = low.bit}, "tops", Role::operand);
  }
  tops = t.b.op(OpCode::and_, {tops, top_mask_}, {}, "tops", Role::operand);
  const std::string name = std::to_string(packed.vector);
  const auto insert = [&](OpCode code, Value into, Value what, const char* which) {
    const Value both =
        t.b.op(code, {into, what}, {.bits = 8, .imm = bits_}, which + name, Role::operand);
    return value_of(t, both, packed.vector);
  };
  return {insert(OpCode::shl_insert, packed.raw, tops, "lo_"),
          insert(OpCode::shr_insert, tops, packed.raw, "hi_")};
}

}  // namespace tw
