// Formats with one scale per output channel and one scale and zero point per lhs row:
//   out = clamp(float(sum a q + negated_zero_point * sum q) * (scale_w * scale_a) + bias)
#include <fmt/format.h>

#include <bit>

#include "lower/tile.h"

namespace tw {

Value multiply_add(const Tile1& t, Value sum, Value a, Value b) {
  if (t.b.isa().has(OpCode::mla, 32)) {
    return t.b.op(OpCode::mla, {sum, a, b}, {.bits = 32}, "sum", Role::accumulator);
  }
  const Value product = t.b.op(OpCode::mul, {a, b}, {.bits = 32}, "product", Role::operand);
  return t.b.op(OpCode::add, {sum, product}, {.bits = 32}, "sum", Role::accumulator);
}

Value channel_output(const Tile1& t, Value sum, Value scale, Value row_scale, Value bias,
                     const Limits& limits, const std::string& name) {
  const Value real = t.b.op(OpCode::cvt_i32_f32, {sum}, {}, "real", Role::operand);
  const Value both = t.b.op(OpCode::fmul, {scale, row_scale}, {}, "scale", Role::operand);
  const Value out = t.b.op(OpCode::fma, {real, both, bias}, {}, "out", Role::operand);
  return clamp_output(t, out, limits, name);
}

std::vector<Value> multiply_all(const Tile1& t, Accumulation& how, const std::vector<Place>& sums) {
  how.prepare(t);
  KState state{code_pointers(t, t.lhs), code_pointers(t, t.rhs), how.start(t, sums)};
  auto run = [&](Value count, int64_t k, bool hot) {
    state = k_loop(t, {count, k, k / how.group(), hot}, state,
                   [&](const auto& lhs, const auto& rhs, std::vector<Value> acc, int64_t g) {
                     how.step(t, lhs, rhs, g, acc);
                     return acc;
                   });
  };
  const int64_t unroll = t.v.knobs.unroll_k;
  const int64_t granule = t.v.lhs.k_multiple;
  auto shift = [](int64_t n) { return std::countr_zero(static_cast<uint64_t>(n)); };
  run(t.b.op(OpCode::ishr, {t.padded}, {.imm = shift(unroll)}, "k_steps"), unroll, true);
  if (unroll > granule) {
    const Value rest = t.b.op(OpCode::iand_imm, {t.padded}, {.imm = unroll - 1});
    run(t.b.op(OpCode::ishr, {rest}, {.imm = shift(granule)}, "k_rest"), granule, false);
  }
  return state.carried;
}

namespace {

/// Where each row's starting sum lies; empty when the layout keeps none.
std::vector<Place> starting_sums(const Tile1& t) {
  std::vector<Place> sums;
  if (field_index(t.v.lhs, FieldKind::sums) < 0) return sums;
  const std::vector<Value> pointers = field_pointers(t, t.lhs, FieldKind::sums);
  for (int64_t r = 0; r < t.v.tile.m.fixed; ++r) {
    sums.push_back(lhs_row(t, pointers, r, FieldKind::sums));
  }
  return sums;
}

void add_zero_points(const Tile1& t, Rows& sums) {
  const std::vector<Value> columns =
      load_columns(t, field_pointers(t, t.rhs, FieldKind::sums), "colsum");
  const std::vector<Value> zeros = field_pointers(t, t.lhs, FieldKind::zero_points);
  for (size_t r = 0; r < sums.size(); ++r) {
    const Place at = lhs_row(t, zeros, static_cast<int64_t>(r), FieldKind::zero_points);
    const Value zero = load_dup32(t, at, fmt::format("zero_{}", r));
    for (size_t j = 0; j < sums[r].size(); ++j) {
      sums[r][j] = multiply_add(t, sums[r][j], columns[j], zero);
    }
  }
}

}  // namespace

void lower_channel_tile(const Tile1& t, Multiplier& multiplier) {
  const std::vector<Place> starts = starting_sums(t);
  Rows sums = multiplier.finish(t, multiply_all(t, multiplier, starts));
  add_zero_points(t, sums);
  const std::vector<Value> scales =
      load_columns(t, field_pointers(t, t.rhs, FieldKind::scales), "scale");
  const std::vector<Value> row_scales = field_pointers(t, t.lhs, FieldKind::scales);
  const Limits limits = load_limits(t);
  store_outputs(t, [&](int64_t r, int64_t j, Value bias) {
    const Value row_scale =
        load_dup32(t, lhs_row(t, row_scales, r, FieldKind::scales), fmt::format("scale_row_{}", r));
    const Value sum = sums[static_cast<size_t>(r)][static_cast<size_t>(j)];
    return channel_output(t, sum, scales[static_cast<size_t>(j)], row_scale, bias, limits,
                          fmt::format("out_{}_{}", r, j));
  });
}

}  // namespace tw
