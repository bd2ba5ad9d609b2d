#include "lower/cached_rows.h"

#include <bit>

#include "lower/tile.h"
#include "lower/widen.h"

namespace tw {

CachedRows::CachedRows(Builder& b, const Layout& rows) : b_(b), rows_(rows) {
  if (!has_nibbles()) return;
  const int values = 1 << bits(rows_.element);
  low_bits_ = splat32(b_, static_cast<uint32_t>(values - 1), "low_bits");
  zero_ = splat32(b_, std::bit_cast<uint32_t>(static_cast<float>(values / 2)), "zero");
}

int64_t CachedRows::together() const {
  return block() != 0 ? block() : b_.isa().vector_bytes.fixed / 4;
}

int64_t CachedRows::place(int64_t value) const {
  if (block() == 0) return value * bits(rows_.element) / 8;
  const int64_t in_block = value % block();
  return value / block() * block_bytes(rows_).fixed +
         (has_nibbles() ? in_block % rows_.order.distance : in_block);
}

Value CachedRows::first_values() {
  return b_.add(b_.arg(ArgField::rhs), codes_in_block(rows_), "rhs");
}

Value CachedRows::bytes(Value values) {
  if (block() == 0) return b_.op(OpCode::imul, {values, b_.constant(place(1))});
  const int shift = std::countr_zero(static_cast<uint64_t>(block()));
  const Value blocks = b_.op(OpCode::ishr, {values}, {.imm = shift});
  return b_.op(OpCode::imul, {blocks, b_.constant(place(block()))});
}

Value CachedRows::scale(Value first, int64_t value) {
  if (block() == 0) return no_value;
  const Length at = Length{place(value / block() * block())} - codes_in_block(rows_);
  const ElementType type = field_of(rows_, FieldKind::scales).type;
  const Value half = b_.op(OpCode::load_dup, {first},
                           {.bits = bits(type), .offset = at, .bytes = lanes_bytes(b_.isa(), type)},
                           "scale", Role::operand);
  return widened(b_, half, type, "scale", Role::operand);
}

Value CachedRows::values(Value first, int64_t value, Value scale, const std::string& name) {
  if (is_float(rows_.element)) return load_widened(b_, first, place(value), rows_.element, name);
  const Value code = codes(first, value, name);
  return scale == no_value ? code : b_.op(OpCode::fmul, {code, scale}, {}, name, Role::operand);
}

/// As f32.
Value CachedRows::codes(Value first, int64_t value, const std::string& name) {
  const auto op = [&](OpCode code, std::initializer_list<Value> args, const Builder::With& with) {
    return b_.op(code, args, with, name, Role::operand);
  };
  Value x = load_widened(b_, first, place(value), ElementType::i8, name);
  if (!has_nibbles()) return op(OpCode::cvt_i32_f32, {x}, {});
  if (value % block() >= rows_.order.distance) x = op(OpCode::shr, {x}, {.bits = 32, .imm = 4});
  const Value code = op(OpCode::and_, {x, low_bits_}, {});
  return op(OpCode::fsub, {op(OpCode::cvt_i32_f32, {code}, {}), zero_}, {});
}

}  // namespace tw
