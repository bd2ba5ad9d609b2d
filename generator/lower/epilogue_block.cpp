// Formats with a scale per block of k: one block's exact integer sums are converted and scaled into
// f32 accumulators before the next block begins. Activations have scales per block of their own:
//   f += (float(sum a q) * scale_a) * scale_w                  out = clamp(f + bias)
// or one scale and zero point per row:
//   f += float(sum a q) * scale_w
//   out = clamp((f + float(negated_zero_point) * sum(scale_w * sum q)) * scale_a + bias)
// where every "+" of a product is one fma.
#include <fmt/format.h>

#include <bit>

#include "lower/tile.h"
#include "lower/widen.h"

namespace tw {

Length block_field(const Layout& layout, FieldKind kind) {
  return field_offset(layout, static_cast<size_t>(field_index(layout, kind)), 0);
}

Value column_scale(const Tile1& t, const std::vector<Value>& rhs, int64_t vector) {
  const ElementType type = field_of(*t.rhs.layout, FieldKind::scales).type;
  const Value cursor = rhs[static_cast<size_t>(vector / t.rhs.rows)];
  const Length bytes = (t.b.isa().vector_bytes * bits(type)).divided(32);
  const Length at = block_field(*t.rhs.layout, FieldKind::scales) + bytes * (vector % t.rhs.rows);
  const std::string name = fmt::format("scale_{}", vector);
  if (type == ElementType::f32) {
    return t.b.op(OpCode::load, {cursor}, {.offset = at}, name, Role::operand);
  }
  const Value packed =
      t.b.op(OpCode::load, {cursor}, {.offset = at, .bytes = bytes}, "scale", Role::operand);
  return widened(t.b, packed, type, name, Role::operand);
}

Value count_blocks(const Tile1& t) {
  const int shift = std::countr_zero(static_cast<unsigned>(t.v.rhs.block));
  return t.b.op(OpCode::ishr, {t.padded}, {.imm = shift}, "blocks");
}

namespace {

/// A row's value in the current block.
Place in_block(const Tile1& t, const std::vector<Value>& lhs, int64_t row, FieldKind kind) {
  Place at = lhs_row(t, lhs, row, kind);
  at.offset += block_field(*t.lhs.layout, kind);
  return at;
}

/// Accumulators before a block.
std::vector<Value> start_block(const Tile1& t, Multiplier& multiplier,
                               const std::vector<Value>& lhs) {
  std::vector<Start> starts;
  const int64_t summed = field_index(t.v.lhs, FieldKind::sums) >= 0 ? t.v.tile.m.fixed : 0;
  for (int64_t r = 0; r < summed; ++r) starts.push_back({in_block(t, lhs, r, FieldKind::sums)});
  return multiplier.start(t, starts);
}

/// One block's sums of all rows and columns into the f32 accumulators. `rhs`: as column_scale()
/// wants it.
std::vector<Value> add_block(const Tile1& t, Multiplier& multiplier, const std::vector<Value>& lhs,
                             const std::vector<Value>& rhs, const std::vector<Value>& acc,
                             std::vector<Value> totals) {
  std::vector<Value> scales;
  for (int64_t j = 0; j < t.vectors(); ++j) scales.push_back(column_scale(t, rhs, j));
  const std::vector<Value> columns = multiplier.column_scales(t, scales);
  std::vector<Value> reals = multiplier.reals(t, acc);
  if (field_of(*t.lhs.layout, FieldKind::scales).per_block) {
    std::vector<Place> places;
    for (int64_t r = 0; r < t.v.tile.m.fixed; ++r) {
      places.push_back(in_block(t, lhs, r, FieldKind::scales));
    }
    const std::vector<Value> rows = multiplier.row_scales(t, places);
    for (size_t i = 0; i < reals.size(); ++i) {
      reals[i] = t.b.op(OpCode::fmul, {reals[i], rows[i]}, {}, "real", Role::operand);
    }
  }
  for (size_t i = 0; i < totals.size(); ++i) {
    totals[i] = t.b.op(OpCode::fma, {reals[i], columns[i], totals[i]}, {}, fmt::format("f_{}", i),
                       Role::accumulator);
  }
  return totals;
}

/// All of k.
std::vector<Value> multiply_blocks(const Tile1& t, Multiplier& multiplier) {
  multiplier.prepare(t);
  KState state{code_pointers(t, t.lhs), code_pointers(t, t.rhs), {}};
  for (int64_t i = 0; i < t.v.tile.m.fixed * t.vectors(); ++i) {
    state.carried.push_back(
        t.b.op(OpCode::zero, {}, {}, fmt::format("f_{}", i), Role::accumulator));
  }
  const int64_t steps = t.v.rhs.block / multiplier.group();
  const Value beyond = scales_beyond_codes(t);
  std::vector<Value> acc;
  return k_loop(t, {count_blocks(t), t.v.rhs.block, steps, true}, state,
                [&](const auto& lhs, const auto& rhs, std::vector<Value> totals,
                    int64_t g) -> std::vector<Value> {
                  if (g == 0) acc = start_block(t, multiplier, lhs);
                  multiplier.step(t, lhs, rhs, g, acc);
                  if (g + 1 < steps) return totals;
                  std::vector<Value> scales = rhs;
                  if (beyond != no_value) {
                    scales[0] = t.b.op(OpCode::iadd, {rhs[0], beyond}, {}, "scales", Role::address);
                  }
                  return add_block(t, multiplier, lhs, scales, acc, std::move(totals));
                })
      .carried;
}

}  // namespace

Rows block_sums(const Tile1& t, Multiplier& multiplier) {
  return multiplier.arrange(t, multiply_blocks(t, multiplier));
}

}  // namespace tw
