// Formats with a scale per block of k on both sides: one block's exact integer sums are converted
// and scaled into f32 accumulators before the next block begins.
//   f += (float(sum a q) * scale_w) * scale_a        out = clamp(f + bias)
#include <fmt/format.h>

#include <bit>

#include "lower/tile.h"

namespace tw {
namespace {

Length block_field(const Layout& layout, FieldKind kind) {
  return field_offset(layout, static_cast<size_t>(field_index(layout, kind)), 0);
}

/// The block's column scales, f16 in memory, as f32 vectors.
std::vector<Value> column_scales(const Tile1& t, const std::vector<Value>& rhs) {
  std::vector<Value> scales;
  const Length half = t.b.isa().vector_bytes.divided(2);
  for (int64_t j = 0; j < t.vectors(); ++j) {
    const Value cursor = rhs[static_cast<size_t>(j / t.rhs.rows)];
    const Length at = block_field(*t.rhs.layout, FieldKind::scales) + half * (j % t.rhs.rows);
    const Value packed =
        t.b.op(OpCode::load, {cursor}, {.offset = at, .bytes = half}, "scale", Role::operand);
    scales.push_back(
        t.b.op(OpCode::cvt_f16_f32, {packed}, {}, fmt::format("scale_{}", j), Role::operand));
  }
  return scales;
}

/// One block of all rows and columns into the f32 accumulators.
std::vector<Value> add_block(const Tile1& t, Multiplier& multiplier, const std::vector<Value>& lhs,
                             const std::vector<Value>& rhs, std::vector<Value> totals) {
  std::vector<Place> sums;
  for (int64_t r = 0; r < t.v.tile.m; ++r) {
    Place at = lhs_row(t, lhs, r, FieldKind::sums);
    at.offset += block_field(*t.lhs.layout, FieldKind::sums);
    sums.push_back(at);
  }
  std::vector<Value> acc = multiplier.start(t, sums);
  for (int64_t g = 0; g < t.v.lhs.block / multiplier.group(); ++g) {
    multiplier.step(t, lhs, rhs, g, acc);
  }
  const Rows rows = multiplier.finish(t, acc);
  const std::vector<Value> scales = column_scales(t, rhs);
  for (int64_t r = 0; r < t.v.tile.m; ++r) {
    const Place at = lhs_row(t, lhs, r, FieldKind::scales);
    const Length offset = at.offset + block_field(*t.lhs.layout, FieldKind::scales);
    const Value row_scale = t.b.op(OpCode::load_dup, {at.pointer}, {.bits = 32, .offset = offset},
                                   fmt::format("scale_row_{}", r), Role::operand);
    for (int64_t j = 0; j < t.vectors(); ++j) {
      const Value sum = rows[static_cast<size_t>(r)][static_cast<size_t>(j)];
      const Value real = t.b.op(OpCode::cvt_i32_f32, {sum}, {}, "real", Role::operand);
      const Value scaled =
          t.b.op(OpCode::fmul, {real, scales[static_cast<size_t>(j)]}, {}, "real", Role::operand);
      Value& total = totals[static_cast<size_t>(r * t.vectors() + j)];
      total = t.b.op(OpCode::fma, {scaled, row_scale, total}, {}, fmt::format("f_{}_{}", r, j),
                     Role::accumulator);
    }
  }
  return totals;
}

}  // namespace

void lower_block_tile(const Tile1& t, Multiplier& multiplier) {
  multiplier.prepare(t);
  KState state{code_pointers(t, t.lhs), code_pointers(t, t.rhs), {}};
  for (int64_t i = 0; i < t.v.tile.m * t.vectors(); ++i) {
    state.carried.push_back(t.b.op(OpCode::zero, {}, {},
                                   fmt::format("f_{}_{}", i / t.vectors(), i % t.vectors()),
                                   Role::accumulator));
  }
  const int shift = std::countr_zero(static_cast<unsigned>(t.v.lhs.block));
  const Value blocks = t.b.op(OpCode::ishr, {t.padded}, {.imm = shift}, "blocks");
  state = k_loop(t, {blocks, t.v.lhs.block, 1, true}, state,
                 [&](const auto& lhs, const auto& rhs, std::vector<Value> totals, int64_t) {
                   return add_block(t, multiplier, lhs, rhs, totals);
                 });
  const Limits limits = load_limits(t);
  store_outputs(t, [&](int64_t r, int64_t j, Value bias) {
    const Value total = state.carried[static_cast<size_t>(r * t.vectors() + j)];
    const Value out = t.b.op(OpCode::fadd, {total, bias}, {}, "out", Role::operand);
    return clamp_output(t, out, limits, fmt::format("out_{}_{}", r, j));
  });
}

}  // namespace tw
