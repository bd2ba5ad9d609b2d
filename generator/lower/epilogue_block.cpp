// Formats with a scale per block of k: one block's exact integer sums are converted and scaled into
// f32 accumulators before the next block begins. Activations have scales per block of their own:
//   f += (float(sum a q) * scale_a) * scale_w                  out = clamp(f + bias)
// or one scale and zero point per row:
//   f += float(sum a q) * scale_w
//   out = clamp((f + float(negated_zero_point) * sum(scale_w * sum q)) * scale_a + bias)
// where every "+" of a product is one fma. Columns with a zero point for every block have
//   float(sum a q) - zero point * float(sum a)
// in the place of float(sum a q). Columns with a minimum for every block, of code 0 what that and
// half of all steps are worth, have
//   f += (float(sum a q) * scale_w + (minimum + half * scale_w) * float(sum a)) * scale_a
#include <fmt/format.h>

#include <bit>

#include "lower/splat.h"
#include "lower/tile.h"
#include "lower/widen.h"
#include "model/operand_contract.h"

namespace tw {

bool is_behind_codes(const Layout& layout, FieldKind kind) {
  return has_long_blocks(layout) &&
         field_index(layout, kind) > field_index(layout, FieldKind::data);
}

Length block_field(const Layout& layout, FieldKind kind) {
  const int index = field_index(layout, kind);
  const Length at = field_offset(layout, static_cast<size_t>(index), 0);
  if (!is_behind_codes(layout, kind)) return at;
  return at - codes_in_block(layout) - data_bytes(layout, layout.block);
}

Value column_scale(const Tile1& t, const std::vector<Value>& rhs, int64_t vector, FieldKind kind) {
  const ElementType type = field_of(*t.rhs.layout, kind).type;
  const Value cursor = rhs[static_cast<size_t>(vector / t.rhs.rows)];
  const Length bytes = (t.b.isa().vector_bytes * bits(type)).divided(32);
  const Length at = block_field(*t.rhs.layout, kind) + bytes * (vector % t.rhs.rows);
  const std::string name = fmt::format("{}_{}", kind == FieldKind::scales     ? "scale"
                                                : kind == FieldKind::minimums ? "minimum"
                                                                              : "zero",
                                       vector);
  if (type == ElementType::f32) {
    return t.b.op(OpCode::load, {cursor}, {.offset = at}, name, Role::operand);
  }
  const Value packed =
      t.b.op(OpCode::load, {cursor}, {.offset = at, .bytes = bytes}, "scale", Role::operand);
  return widened(t.b, packed, type, name, Role::operand);
}

std::vector<Value> block_columns(const Tile1& t, const std::vector<Value>& rhs, FieldKind kind) {
  std::vector<Value> vectors;
  for (int64_t j = 0; j < t.vectors(); ++j) vectors.push_back(column_scale(t, rhs, j, kind));
  return vectors;
}

std::vector<Value> ends_of_codes(const Tile1& t, std::vector<Value> cursors, const Layout& layout) {
  const Value all = code_bytes(t, layout, t.b.arg(ArgField::block));
  for (Value& cursor : cursors) {
    cursor = t.b.op(OpCode::iadd, {cursor, all}, {}, "end", Role::address);
    cursor = t.b.add(cursor, codes_in_block(layout));
  }
  return cursors;
}

Value count_blocks(const Tile1& t, const std::string& name) {
  if (t.blocks != no_value) return t.blocks;
  const int shift = std::countr_zero(static_cast<unsigned>(t.v.rhs.block));
  return t.b.op(OpCode::ishr, {t.padded}, {.imm = shift}, name);
}

namespace {

/// A row's value in the current block. Of fields behind the codes of long ones: from their end.
Place in_block(const Tile1& t, const std::vector<Value>& lhs, int64_t row, FieldKind kind) {
  Place at = lhs_row(t, lhs, row, kind);
  at.offset += block_field(*t.lhs.layout, kind);
  return at;
}

/// Likewise of all rows.
std::vector<Place> all_in_block(const Tile1& t, const std::vector<Value>& lhs, FieldKind kind) {
  std::vector<Place> places;
  for (int64_t r = 0; r < t.v.tile.m.fixed; ++r) places.push_back(in_block(t, lhs, r, kind));
  return places;
}

/// Accumulators before a block.
std::vector<Value> start_block(const Tile1& t, Multiplier& multiplier,
                               const std::vector<Value>& lhs) {
  std::vector<Start> starts;
  if (contract_of(t.v).low_unsigned) {
    for (const Place& at : all_in_block(t, lhs, FieldKind::sums)) starts.push_back({at});
  }
  return multiplier.start(t, starts);
}

/// Minus what code 0 is worth, of all the tile's columns.
std::vector<Value> negated_middles(const Tile1& t, const std::vector<Value>& rhs,
                                   const std::vector<Value>& scales) {
  const auto half = static_cast<float>(1 << (bits(t.v.rhs.element) - 1));
  const Value negated_half = splat32(t.b, std::bit_cast<uint32_t>(-half), "negated_half");
  std::vector<Value> middles = block_columns(t, rhs, FieldKind::minimums);
  for (size_t j = 0; j < middles.size(); ++j) {
    const Value steps = t.b.op(OpCode::fmul, {scales[j], negated_half}, {}, "steps", Role::operand);
    middles[j] = t.b.op(OpCode::fsub, {steps, middles[j]}, {}, "middle", Role::operand);
  }
  return middles;
}

/// One block's sums of all rows and columns into the f32 accumulators, with minimums: they are
/// scaled by columns first. Arguments as of add_block().
std::vector<Value> add_block_above_minimums(const Tile1& t, Multiplier& multiplier,
                                            const KState& at, const std::vector<Value>& sums,
                                            const std::vector<Value>& acc) {
  const std::vector<Value> scales = block_columns(t, at.rhs, FieldKind::scales);
  const std::vector<Value> columns = multiplier.column_scales(t, scales);
  const std::vector<Value> middles =
      multiplier.column_scales(t, negated_middles(t, at.rhs, scales));
  const std::vector<Value> reals = multiplier.reals(t, acc);
  const std::vector<Value> negated =
      multiplier.negated_sums(t, all_in_block(t, sums, FieldKind::sums));
  const std::vector<Value> rows =
      multiplier.row_scales(t, all_in_block(t, at.lhs, FieldKind::scales));
  std::vector<Value> totals = at.carried;
  for (size_t i = 0; i < totals.size(); ++i) {
    const Value codes = t.b.op(OpCode::fmul, {reals[i], columns[i]}, {}, "real", Role::operand);
    const Value real =
        t.b.op(OpCode::fma, {negated[i], middles[i], codes}, {}, "real", Role::operand);
    totals[i] =
        t.b.op(OpCode::fma, {real, rows[i], totals[i]}, {}, fmt::format("f_{}", i),
               Role::accumulator);
  }
  return totals;
}

/// One block's sums of all rows and columns into the f32 accumulators. `at.rhs`: as column_scale()
/// wants it; `sums`: cursors of start_block().
std::vector<Value> add_block(const Tile1& t, Multiplier& multiplier, const KState& at,
                             const std::vector<Value>& sums, const std::vector<Value>& acc) {
  if (field_index(*t.rhs.layout, FieldKind::minimums) >= 0) {
    return add_block_above_minimums(t, multiplier, at, sums, acc);
  }
  const std::vector<Value> columns =
      multiplier.column_scales(t, block_columns(t, at.rhs, FieldKind::scales));
  std::vector<Value> reals = multiplier.reals(t, acc);
  std::vector<Value> totals = at.carried;
  if (field_index(*t.rhs.layout, FieldKind::zero_points) >= 0) {
    const std::vector<Value> zeros =
        multiplier.column_scales(t, block_columns(t, at.rhs, FieldKind::zero_points));
    const std::vector<Value> rows =
        multiplier.negated_sums(t, all_in_block(t, sums, FieldKind::sums));
    for (size_t i = 0; i < reals.size(); ++i) {
      reals[i] = t.b.op(OpCode::fma, {rows[i], zeros[i], reals[i]}, {}, "real", Role::operand);
    }
  }
  if (field_of(*t.lhs.layout, FieldKind::scales).per_block) {
    const std::vector<Value> rows =
        multiplier.row_scales(t, all_in_block(t, at.lhs, FieldKind::scales));
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
  const Value beyond = scales_beyond_codes(t);
  const auto add_scaled = [&](KState at, const std::vector<Value>& sums,
                              const std::vector<Value>& acc) {
    if (beyond != no_value) {
      at.rhs[0] = t.b.op(OpCode::iadd, {at.rhs[0], beyond}, {}, "scales", Role::address);
    }
    return add_block(t, multiplier, at, sums, acc);
  };
  if (has_long_blocks(t.v.rhs)) {
    return block_loop(t, t.blocks, state,
                      [&](KState& block) {
                        const bool from_end = is_behind_codes(t.v.lhs, FieldKind::sums);
                        const std::vector<Value> sums =
                            from_end ? ends_of_codes(t, block.lhs, t.v.lhs) : block.lhs;
                        const auto step = [&](const auto& lhs, const auto& rhs,
                                              std::vector<Value> acc, int64_t g) {
                          multiplier.step(t, lhs, rhs, g, acc);
                          return acc;
                        };
                        const std::vector<Value> acc = k_of_block(
                            t, block, multiplier.group(), start_block(t, multiplier, sums), step);
                        return add_scaled(block, from_end ? block.lhs : sums, acc);
                      })
        .carried;
  }
  const int64_t steps = t.v.rhs.block / multiplier.group();
  std::vector<Value> acc;
  return k_loop(t, {count_blocks(t), t.v.rhs.block, steps, true}, state,
                [&](const auto& lhs, const auto& rhs, std::vector<Value> totals,
                    int64_t g) -> std::vector<Value> {
                  if (g == 0) acc = start_block(t, multiplier, lhs);
                  multiplier.step(t, lhs, rhs, g, acc);
                  if (g + 1 < steps) return totals;
                  return add_scaled({lhs, rhs, std::move(totals)}, lhs, acc);
                })
      .carried;
}

}  // namespace

Rows block_sums(const Tile1& t, Multiplier& multiplier) {
  return multiplier.arrange(t, multiply_blocks(t, multiplier));
}

}  // namespace tw
