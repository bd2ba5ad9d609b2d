// The epilogue of epilogue_channel.cpp for sums in accumulator tiles.
#include <fmt/format.h>

#include "lower/tile.h"

namespace tw {

void lower_channel_tiles(const Tile1& t) {
  const std::unique_ptr<TileMultiplier> how = make_outer(t.v);
  const std::vector<Value> tiles = multiply_all(t, *how, {});
  const std::vector<Value> column_sums =
      load_columns(t, field_pointers(t, t.rhs, FieldKind::sums), "colsum");
  const std::vector<Value> scales =
      load_columns(t, field_pointers(t, t.rhs, FieldKind::scales), "scale");
  const Limits limits = load_limits(t);
  const auto row_field = [&](FieldKind kind) { return field_pointers(t, t.lhs, kind).front(); };
  std::vector<Value> fields = {row_field(FieldKind::zero_points)};
  fields.push_back(row_field(FieldKind::scales));
  const bool has_sums = field_index(t.v.lhs, FieldKind::sums) >= 0;
  if (has_sums) fields.push_back(row_field(FieldKind::sums));
  store_tile_rows(t, fields, [&](int64_t block, Value row, const std::vector<Value>& at) {
    const Value zero = load_dup32(t, {at[0], 0}, "zero");
    const Value row_scale = load_dup32(t, {at[1], 0}, "scale_row");
    const Value start = has_sums ? load_dup32(t, {at[2], 0}, "start") : no_value;
    return [&, block, row, zero, row_scale, start](int64_t j, Value bias) {
      const auto column = static_cast<size_t>(j);
      const Value products = how->row_sum(t, tiles, block, j, row, start);
      const Value sum = multiply_add(t, products, column_sums[column], zero);
      return channel_output(t, sum, scales[column], row_scale, bias, limits,
                            fmt::format("out_{}", j));
    };
  });
}

}  // namespace tw
