#include "lower/output.h"

#include "lower/quantize.h"
#include "lower/splat.h"
#include "lower/widen.h"

namespace tw {

namespace {

/// columns * row + addend
Value fma_of_row(const Tile1& t, Value columns, RowValue row, Value addend, const std::string& name,
                 Role role) {
  const std::initializer_list<Value> values = {columns, row.vector, addend};
  if (row.lane < 0) return t.b.op(OpCode::fma, values, {}, name, role);
  return t.b.op(OpCode::fma_lane, values, {.imm = row.lane}, name, role);
}

}  // namespace

/// Integers, as they are without scales.
static bool gives_sums(const Tile1& t) {
  return t.v.family.dst == ElementType::i32;
}

OutputStage::OutputStage(const Tile1& t)
    : t_(t),
      b_(t.b),
      bits_(bits(t.v.family.dst)),
      sums_are_real_(has_field(t.rhs, FieldKind::zero_points)) {
  if (gives_sums(t)) return;
  const Value clamp = b_.arg(ArgField::clamp);
  low_ = b_.op(OpCode::load_dup, {clamp}, {.bits = 32}, "min", Role::operand);
  high_ = b_.op(OpCode::load_dup, {clamp}, {.bits = 32, .offset = 4}, "max", Role::operand);
  if (t.v.family.dst == ElementType::i8) {
    zero_ = b_.op(OpCode::load_dup, {clamp}, {.bits = 32, .offset = 8}, "zero", Role::operand);
    const Value zero = b_.op(OpCode::cvt_i32_f32, {zero_}, {}, "zero", Role::operand);
    low_ = b_.op(OpCode::fsub, {low_, zero}, {}, "lowest", Role::operand);
    high_ = b_.op(OpCode::fsub, {high_, zero}, {}, "highest", Role::operand);
  }
  if (t.v.family.dst != ElementType::bf16) return;
  const Value ones = splat32(b_, 0xffffffff, "ones");
  below_half_ = b_.op(OpCode::shr, {ones}, {.bits = 32, .imm = 17}, "below_half", Role::operand);
}

Value OutputStage::clamp(Value out, const std::string& name) const {
  if (b_.isa().has(OpCode::fmaximum)) {
    const Value above = b_.op(OpCode::fmaximum, {out, low_}, {}, "out", Role::operand);
    return b_.op(OpCode::fminimum, {above, high_}, {}, name, Role::operand);
  }
  // The limits stand first, so that a NaN stays one.
  const Value above = b_.op(OpCode::fmax, {low_, out}, {}, "out", Role::operand);
  return b_.op(OpCode::fmin, {high_, above}, {}, name, Role::operand);
}

/// To nearest even. Limits are whole numbers, so that rounding does not leave them; a NaN becomes
/// the lower one.
Value OutputStage::to_code(Value out, const std::string& name) const {
  const Value above = b_.op(OpCode::fmax, {out, low_}, {}, "out", Role::operand);
  const Value kept = b_.op(minimum_of_numbers(b_.isa()), {above, high_}, {}, "out", Role::operand);
  const Value whole = b_.op(OpCode::cvt_f32_i32, {kept}, {}, "whole", Role::operand);
  const Value code = b_.op(OpCode::add, {whole, zero_}, {.bits = 32}, "code", Role::operand);
  return b_.op(OpCode::narrow_32_8, {code}, {}, name, Role::operand);
}

Value OutputStage::as_f32(Value old) const {
  return widened(b_, old, t_.v.family.dst, "old", Role::operand);
}

Value OutputStage::load(Value columns, Value row, int64_t vector) const {
  const bool whole = columns == no_value;
  const Builder::With with{
      .bits = whole ? 0 : bits_, .offset = vector_bytes() * vector, .bytes = vector_bytes()};
  return as_f32(whole ? b_.op(OpCode::load, {row}, with, "old", Role::operand)
                      : b_.op(OpCode::load_pred, {columns, row}, with, "old", Role::operand));
}

Value OutputStage::load_sum(Value columns, Value row, int64_t vector) const {
  return b_.op(OpCode::load_pred, {columns, row}, {.bits = 32, .offset = vector_bytes() * vector},
               "before", Role::operand);
}

Value OutputStage::load_lanes(Value last, Value row, int64_t vector) const {
  const Place at{row, vector_bytes() * vector};
  return as_f32(tw::load_lanes(t_, last, row, at, vector, bits_, "old"));
}

Value OutputStage::scaled(Value sum, const Factors& by, Value bias) const {
  if (zero_ != no_value || gives_sums(t_)) {
    if (bias != no_value) {
      sum = b_.op(OpCode::add, {sum, bias}, {.bits = 32}, "sum", Role::operand);
    }
    if (gives_sums(t_)) return sum;
    const Value real = b_.op(OpCode::cvt_i32_f32, {sum}, {}, "real", Role::operand);
    return b_.op(OpCode::fmul, {real, by.column}, {}, "out", Role::operand);
  }
  RowValue scale = by.row;
  if (by.column != no_value) {
    if (!sums_are_real_) sum = b_.op(OpCode::cvt_i32_f32, {sum}, {}, "real", Role::operand);
    const std::initializer_list<Value> both = {by.column, by.row.vector};
    scale = {by.row.lane < 0
                 ? b_.op(OpCode::fmul, both, {}, "scale", Role::operand)
                 : b_.op(OpCode::fmul_lane, both, {.imm = by.row.lane}, "scale", Role::operand)};
  }
  if (scale.vector == no_value) return bias == no_value ? sum : add(sum, bias);
  return fma_of_row(t_, sum, scale, bias, "out", Role::operand);
}

Value OutputStage::add(Value sum, Value old) const {
  return b_.op(OpCode::fadd, {sum, old}, {}, "out", Role::operand);
}

Value OutputStage::finish(Value sum, const std::string& name) const {
  switch (t_.v.family.dst) {
    case ElementType::f16:
      return b_.op(OpCode::cvt_f32_f16, {clamp(sum, "out")}, {}, name, Role::operand);
    case ElementType::bf16:
      return to_bf16(b_, clamp(sum, "out"), below_half_, name, Role::operand);
    case ElementType::i8:
      return to_code(sum, name);
    case ElementType::i32:
      return sum;
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

void OutputStage::store(Value columns, Value row, int64_t vector, Value out) const {
  const Length at = vector_bytes() * vector;
  if (columns == no_value) {
    b_.op(OpCode::store, {row, out}, {.offset = at});
  } else {
    b_.op(OpCode::store_pred, {columns, row, out}, {.bits = bits_, .offset = at});
  }
}

void OutputStage::stream(Value row, int64_t vector, Value out) const {
  b_.op(OpCode::store_stream, {row, out}, {.offset = vector_bytes() * vector});
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
  if (gives_sums(t_)) return 1;
  return below_half_ != no_value ? 6 : zero_ != no_value ? 4 : 3;
}

bool has_field(const Panels1D& side, FieldKind kind) {
  const Layout& layout = *side.layout;
  return field_index(layout, kind) >= 0 && !(layout.block != 0 && field_of(layout, kind).per_block);
}

bool takes_scales(const Tile1& t, const Panels1D& side) {
  return !gives_sums(t) && has_field(side, FieldKind::scales);
}

Value bytes_before(Builder& b, ElementType type, Value column_bytes, const std::string& name) {
  const int64_t in_f32 = 32 / bits(type);
  return in_f32 == 1 ? column_bytes : quotient(b, column_bytes, in_f32, name);
}

Value add_product(const Tile1& t, Value sum, Value a, Value b, const std::string& name) {
  if (t.b.isa().has(OpCode::mla, 32)) {
    return t.b.op(OpCode::mla, {sum, a, b}, {.bits = 32}, name, Role::accumulator);
  }
  const Value product = t.b.op(OpCode::mul, {a, b}, {.bits = 32}, "product", Role::operand);
  return t.b.op(OpCode::add, {sum, product}, {.bits = 32}, name, Role::accumulator);
}

namespace {

bool sums_are_floats(const Tile1& t) {
  return field_of(*t.rhs.layout, FieldKind::sums).type == ElementType::f32;
}

}  // namespace

Value negated_row(const Tile1& t, const Place& sum, const Place& zero_point, Value negated_k) {
  const Value negated = negated_codes(t, sum);
  const Value zero = load_dup32(t, zero_point, "zero");
  const Value row = add_product(t, negated, zero, negated_k, "row");
  if (gives_sums(t)) return row;
  return t.b.op(OpCode::cvt_i32_f32, {row}, {}, "row", Role::operand);
}

void take_column_zero_points(const Tile1& t, Rows& sums) {
  std::vector<Value> columns =
      load_columns(t, field_pointers(t, t.rhs, FieldKind::zero_points), "zero_column");
  for (Value& zeros : columns) zeros = as_column_zeros(t, zeros);
  const std::vector<Value> totals = field_pointers(t, t.lhs, FieldKind::sums);
  const std::vector<Value> zeros = field_pointers(t, t.lhs, FieldKind::zero_points);
  const Value k = minus_k(t);
  for (size_t r = 0; r < sums.size(); ++r) {
    const auto at = static_cast<int64_t>(r);
    const Value row = negated_row(t, lhs_row(t, totals, at, FieldKind::sums),
                                  lhs_row(t, zeros, at, FieldKind::zero_points), k);
    for (size_t j = 0; j < sums[r].size(); ++j) {
      sums[r][j] = with_column_zero(t, sums[r][j], columns[j], row);
    }
  }
}

Value as_column_zeros(const Tile1& t, Value zeros) {
  if (!gives_sums(t)) return zeros;
  return t.b.op(OpCode::cvt_f32_i32, {zeros}, {}, "zeros", Role::operand);
}

Value with_column_zero(const Tile1& t, Value sum, Value column, Value row) {
  if (gives_sums(t)) return add_product(t, sum, column, row, "sum");
  const Value real = t.b.op(OpCode::cvt_i32_f32, {sum}, {}, "real", Role::accumulator);
  return t.b.op(OpCode::fma, {column, row, real}, {}, "sum", Role::accumulator);
}

Value minus_k(const Tile1& t) {
  const Value negated = t.b.op(OpCode::isub, {t.b.constant(0), t.b.arg(ArgField::k)});
  return t.b.op(OpCode::dup, {negated}, {.bits = 32}, "minus_k", Role::operand);
}

Value as_zero_points(const Tile1& t, Value integers) {
  if (!sums_are_floats(t)) return integers;
  return t.b.op(OpCode::cvt_i32_f32, {integers}, {}, "zero", Role::operand);
}

Value load_zero_point(const Tile1& t, const Place& at, const std::string& name) {
  return as_zero_points(t, load_dup32(t, at, name));
}

Value add_zero_point(const Tile1& t, Value sum, Value columns, RowValue zero,
                     const std::string& name) {
  if (sums_are_floats(t)) return fma_of_row(t, columns, zero, sum, name, Role::accumulator);
  if (zero.lane < 0) return add_product(t, sum, columns, zero.vector, name);
  return t.b.op(OpCode::mla_lane, {sum, columns, zero.vector}, {.imm = zero.lane}, name,
                Role::accumulator);
}

}  // namespace tw
