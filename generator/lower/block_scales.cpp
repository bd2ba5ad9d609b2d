#include "lower/block_scales.h"

#include <fmt/format.h>

#include <bit>

#include "lower/splat.h"

namespace tw {

/// Of a table, or of e4m3, whose bits are read as an f16's.
static float unit_of(const Layout& rhs) {
  if (rhs.table != nullptr) return rhs.table->unit;
  return rhs.element == ElementType::e4m3 ? 256.0F : 1.0F;
}

std::vector<Value> in_units(const Tile1& t, std::vector<Value> scales) {
  const float its = unit_of(t.v.rhs);
  if (its == 1) return scales;
  const Value unit = splat32(t.b, std::bit_cast<uint32_t>(its), "unit");
  for (Value& scale : scales) {
    scale = t.b.op(OpCode::fmul, {scale, unit}, {}, "scale", Role::operand);
  }
  return scales;
}

BlockSteps load_steps(const Tile1& t, const std::vector<Value>& rhs) {
  BlockSteps steps{in_units(t, block_columns(t, rhs, FieldKind::scale_steps)), {}};
  if (field_index(*t.rhs.layout, FieldKind::minimum_steps) >= 0) {
    steps.minimums = block_columns(t, rhs, FieldKind::minimum_steps);
  }
  return steps;
}

std::vector<Value> scales_of_block(const Tile1& t, const std::vector<Value>& rhs,
                                   const BlockSteps& steps, Columns columns) {
  std::vector<Value> scales = block_columns(t, rhs, FieldKind::scales, columns);
  const auto first = static_cast<size_t>(columns.first);
  for (size_t j = 0; j < scales.size() && !steps.scales.empty(); ++j) {
    const std::string name = fmt::format("scale_{}", first + j);
    scales[j] = t.b.op(OpCode::fmul, {scales[j], steps.scales[first + j]}, {}, name, Role::operand);
  }
  return steps.scales.empty() ? in_units(t, scales) : scales;
}

std::vector<Value> negated_minimums(const Tile1& t, const std::vector<Value>& rhs,
                                    const BlockSteps& steps, Columns columns) {
  std::vector<Value> all = block_columns(t, rhs, FieldKind::minimums, columns);
  const bool are_floats = steps.minimums.empty();
  const Value zero = are_floats ? t.b.op(OpCode::zero, {}, {}, "zero", Role::operand) : no_value;
  for (size_t j = 0; j < all.size(); ++j) {
    if (are_floats) {
      all[j] = t.b.op(OpCode::fsub, {zero, all[j]}, {}, "minimum", Role::operand);
    } else {
      const Value step = steps.minimums[static_cast<size_t>(columns.first) + j];
      all[j] = t.b.op(OpCode::fmul, {all[j], step}, {}, "minimum", Role::operand);
    }
  }
  return all;
}

}  // namespace tw
