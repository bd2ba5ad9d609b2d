// What raw bytes bring into sums, and into what sums of codes are multiplied by: powers of two.
#include <fmt/format.h>

#include <bit>

#include "lower/splat.h"
#include "lower/tile.h"

namespace tw {

RawBytes::RawBytes(const Variant& v, bool halves) : halves_(halves), in_blocks_(has_raw_blocks(v)) {
  const int index = field_index(v.lhs, FieldKind::sums);
  has_base_ = index >= 0 && v.lhs.fields[static_cast<size_t>(index)].base != 0;
}

void RawBytes::prepare(const Tile1& t) {
  mask_ = splat32(t.b, 0x0f0f0f0fU, "mask", Role::mask);
  if (has_base_) base_ = splat32(t.b, float_base, "base", Role::mask);
  if (!in_blocks_ || !halves_) return;
  const auto has = [&](FieldKind kind) { return field_index(t.v.rhs, kind) >= 0; };
  const auto half_codes = static_cast<float>(middle_code(*t.v.family.rhs));
  std::vector<float> all;
  if (has(FieldKind::zero_points)) all.push_back(1);
  if (has(FieldKind::minimums)) all.push_back(-half_codes);
  if (has(FieldKind::minimums) && !has(FieldKind::minimum_steps)) all.push_back(-1);
  for (const float by : all) made_.emplace(by, zero_factors(t, by).front());
}

Value RawBytes::low_nibbles(const Tile1& t, Value raw, int64_t j) const {
  return t.b.op(OpCode::and_, {raw, mask_}, {}, fmt::format("lo_{}", j), Role::operand);
}

std::pair<Value, Value> RawBytes::reals(const Tile1& t, Value high, Value low) const {
  // What they begin with is the same, and cancels.
  if (!has_base_) {
    const Value first = t.b.op(OpCode::sub, {high, low}, {.bits = 32}, "high", Role::accumulator);
    const Value real = t.b.op(OpCode::cvt_i32_f32, {first}, {}, "real", Role::operand);
    return {real, t.b.op(OpCode::cvt_i32_f32, {low}, {}, "real", Role::operand)};
  }
  const Value first = t.b.op(OpCode::fsub, {high, low}, {}, "real", Role::operand);
  return {first, t.b.op(OpCode::fsub, {low, base_}, {}, "real", Role::operand)};
}

Value RawBytes::negated_sum(const Tile1& t, Value start) const {
  return has_base_ ? t.b.op(OpCode::fsub, {start, base_}, {}, "sums_of_codes", Role::operand)
                   : t.b.op(OpCode::cvt_i32_f32, {start}, {}, "sums_of_codes", Role::operand);
}

std::vector<Value> RawBytes::zero_factors(const Tile1& t, float by) const {
  const auto count = static_cast<size_t>(t.vectors());
  const auto splat = [&](float x) {
    return splat32(t.b, std::bit_cast<uint32_t>(x), "zero_factor", Role::mask);
  };
  if (const auto found = made_.find(by); found != made_.end())
    return std::vector<Value>(count, found->second);
  const Value high = by == 1 && !halves_ ? no_value : splat(2 * by), low = splat(by / 8);
  if (halves_) {
    return std::vector<Value>(
        count, t.b.op(OpCode::zip_lo, {high, low}, {.bits = 64}, "zero_factor", Role::mask));
  }
  std::vector<Value> all;
  for (size_t j = 0; j < count; ++j) all.push_back(j % 2 == 0 ? high : low);
  return all;
}

}  // namespace tw
