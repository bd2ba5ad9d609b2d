#include "lower/output.h"

#include <bit>

#include "lower/splat.h"
#include "lower/widen.h"

namespace tw {

OutputStage::OutputStage(const Tile1& t) : t_(t), b_(t.b), bits_(bits(t.v.family.dst)) {
  const Value clamp = b_.arg(ArgField::clamp);
  low_ = b_.op(OpCode::load_dup, {clamp}, {.bits = 32}, "min", Role::operand);
  high_ = b_.op(OpCode::load_dup, {clamp}, {.bits = 32, .offset = 4}, "max", Role::operand);
  if (t.v.family.dst != ElementType::bf16) return;
  const Value ones = splat32(b_, 0xffffffff, "ones");
  below_half_ = b_.op(OpCode::shr, {ones}, {.bits = 32, .imm = 17}, "below_half", Role::operand);
}

Value OutputStage::clamp(Value out, const std::string& name) const {
  // The limits stand first, so that a NaN stays one.
  const Value above = b_.op(OpCode::fmax, {low_, out}, {}, "out", Role::operand);
  return b_.op(OpCode::fmin, {high_, above}, {}, name, Role::operand);
}

/// To nearest even by integers: results of f32 operations are no signaling NaNs, so that the upper
/// half of a NaN is one.
Value OutputStage::to_bf16(Value out, const std::string& name) const {
  const auto with = [&](OpCode code, Value v, int64_t by) {
    return b_.op(code, {v}, {.bits = 32, .imm = by}, "bits", Role::operand);
  };
  const auto add = [&](Value a, Value b) {
    return b_.op(OpCode::add, {a, b}, {.bits = 32}, "bits", Role::operand);
  };
  const Value one = with(OpCode::shr, below_half_, 14);
  const Value odd =
      b_.op(OpCode::and_, {with(OpCode::shr, out, 16), one}, {}, "odd", Role::operand);
  const Value sum = add(add(out, below_half_), odd);
  const Value rounded = with(OpCode::shl, with(OpCode::shr, sum, 16), 16);
  // A NaN may have become anything. These are max and min of the two, or the second, if it is one.
  const Value above = b_.op(OpCode::fmax, {rounded, out}, {}, "out", Role::operand);
  const Value kept = b_.op(OpCode::fmin, {rounded, above}, {}, "out", Role::operand);
  return b_.op(OpCode::high_half, {kept}, {}, name, Role::operand);
}

Value OutputStage::as_f32(Value old) const {
  return widened(b_, old, t_.v.family.dst, "old", Role::operand);
}

Value OutputStage::load(Value row, int64_t vector) const {
  return as_f32(b_.op(OpCode::load, {row},
                      {.offset = vector_bytes() * vector, .bytes = vector_bytes()}, "old",
                      Role::operand));
}

Value OutputStage::load(Value columns, Value row, int64_t vector) const {
  return as_f32(b_.op(OpCode::load_pred, {columns, row},
                      {.bits = bits_, .offset = vector_bytes() * vector, .bytes = vector_bytes()},
                      "old", Role::operand));
}

Value OutputStage::load_lanes(Value last, Value row, int64_t vector) const {
  const Place at{row, vector_bytes() * vector};
  return as_f32(tw::load_lanes(t_, last, row, at, vector, bits_, "old"));
}

Value OutputStage::scaled(Value sum, const Factors& by, Value bias) const {
  Value scale = by.row;
  if (by.column != no_value) {
    sum = b_.op(OpCode::cvt_i32_f32, {sum}, {}, "real", Role::operand);
    scale = b_.op(OpCode::fmul, {by.column, by.row}, {}, "scale", Role::operand);
  }
  if (scale == no_value) return add(sum, bias);
  return b_.op(OpCode::fma, {sum, scale, bias}, {}, "out", Role::operand);
}

Value OutputStage::add(Value sum, Value old) const {
  return b_.op(OpCode::fadd, {sum, old}, {}, "out", Role::operand);
}

Value OutputStage::finish(Value sum, const std::string& name) const {
  switch (t_.v.family.dst) {
    case ElementType::f16:
      return b_.op(OpCode::cvt_f32_f16, {clamp(sum, "out")}, {}, name, Role::operand);
    case ElementType::bf16:
      return to_bf16(clamp(sum, "out"), name);
    default:
      return clamp(sum, name);
  }
}

Length OutputStage::vector_bytes() const {
  return (b_.isa().vector_bytes * bits_).divided(32);
}

bool OutputStage::has_masks() const {
  return b_.isa().has(OpCode::store_pred, bits_, vector_bytes()) &&
         b_.isa().has(OpCode::load_pred, 32);
}

void OutputStage::store(Value row, int64_t vector, Value out) const {
  b_.op(OpCode::store, {row, out}, {.offset = vector_bytes() * vector});
}

void OutputStage::store(Value columns, Value row, int64_t vector, Value out) const {
  b_.op(OpCode::store_pred, {columns, row, out},
        {.bits = bits_, .offset = vector_bytes() * vector});
}

void OutputStage::store_one(Value row, int64_t column, Value out) const {
  const int64_t lanes = t_.lanes().fixed;
  const int64_t within_reach = 128 / bits_;  // those of a segment
  const int64_t lane = column % lanes;
  const Value at = b_.add(row, column * bits_ / 8);
  if (lanes > within_reach) {
    out = b_.op(OpCode::segment, {out}, {.imm = lane / within_reach});
  }
  b_.op(OpCode::store_lane, {at, out}, {.bits = bits_, .imm = lane % within_reach});
}

int64_t OutputStage::registers() const {
  return below_half_ == no_value ? 3 : 6;
}

bool has_field(const Panels1D& side, FieldKind kind) {
  const Layout& layout = *side.layout;
  return field_index(layout, kind) >= 0 && !(layout.block != 0 && field_of(layout, kind).per_block);
}

namespace {

bool sums_are_floats(const Tile1& t) {
  return field_of(*t.rhs.layout, FieldKind::sums).type == ElementType::f32;
}

}  // namespace

Value load_zero_point(const Tile1& t, const Place& at, const std::string& name) {
  const Value zero = load_dup32(t, at, name);
  if (!sums_are_floats(t)) return zero;
  return t.b.op(OpCode::cvt_i32_f32, {zero}, {}, "zero", Role::operand);
}

Value add_zero_point(const Tile1& t, Value sum, Value columns, Value zero,
                     const std::string& name) {
  if (sums_are_floats(t)) {
    return t.b.op(OpCode::fma, {columns, zero, sum}, {}, name, Role::accumulator);
  }
  if (t.b.isa().has(OpCode::mla, 32)) {
    return t.b.op(OpCode::mla, {sum, columns, zero}, {.bits = 32}, name, Role::accumulator);
  }
  const Value product =
      t.b.op(OpCode::mul, {columns, zero}, {.bits = 32}, "product", Role::operand);
  return t.b.op(OpCode::add, {sum, product}, {.bits = 32}, name, Role::accumulator);
}

}  // namespace tw
