// The epilogue of epilogue_channel.cpp for sums in accumulator tiles: a loop over the rows of each
// block, which ends where the output does. Columns are stored by predicates, all of them or not.
#include <fmt/format.h>

#include "lower/tile.h"

namespace tw {
namespace {

/// What a row of the output is made from; pointers go from row to row.
struct RowCursors {
  Value dst = no_value;
  Value zeros = no_value;
  Value scales = no_value;
  Value sums = no_value;  ///< no_value: the layout keeps none

  [[nodiscard]] std::vector<Value> values() const {
    std::vector<Value> all = {dst, zeros, scales};
    if (sums != no_value) all.push_back(sums);
    return all;
  }
  static RowCursors of(const std::vector<Value>& all, size_t first) {
    return {all[first], all[first + 1], all[first + 2],
            all.size() > first + 3 ? all[first + 3] : no_value};
  }
};

class ChannelTiles {
 public:
  ChannelTiles(const Tile1& t, TileMultiplier& how, const std::vector<Value>& tiles)
      : t_(t), b_(t.b), how_(how), tiles_(tiles) {
    column_sums_ = load_columns(t, field_pointers(t, t.rhs, FieldKind::sums), "colsum");
    scales_ = load_columns(t, field_pointers(t, t.rhs, FieldKind::scales), "scale");
    predicates_ = column_predicates(t);
    const std::vector<Place> places = bias_places(t, field_pointers(t, t.rhs, FieldKind::bias));
    for (size_t j = 0; j < places.size(); ++j) {
      bias_.push_back(b_.op(OpCode::load_pred, {predicates_[j], places[j].pointer},
                            {.bits = 32, .offset = places[j].offset}, "bias", Role::operand));
    }
    limits_ = load_limits(t);
  }

  void write() {
    RowCursors at{
        t_.dst, row_field(FieldKind::zero_points), row_field(FieldKind::scales),
        field_index(t_.v.lhs, FieldKind::sums) < 0 ? no_value : row_field(FieldKind::sums)};
    const int64_t blocks = ratio(t_.v.tile.m, t_.lanes());
    for (int64_t i = 0; i < blocks; ++i) at = write_block(i, at);
  }

 private:
  Value row_field(FieldKind kind) { return field_pointers(t_, t_.lhs, kind).front(); }

  /// Rows of the block that exist.
  Value rows_left(int64_t block) {
    const Value before = b_.op(OpCode::length, {}, {.offset = t_.lanes() * block});
    const Value left = block == 0 ? t_.m_left : b_.op(OpCode::isub_sat, {t_.m_left, before});
    const Value most = b_.op(OpCode::length, {}, {.offset = t_.lanes()});
    return b_.op(OpCode::imin, {left, most}, {}, "rows");
  }

  RowCursors write_block(int64_t block, const RowCursors& first) {
    const Value rows = rows_left(block);
    std::vector<Value> inits = {b_.op(OpCode::constant, {}, {.imm = 0}, "row")};
    const std::vector<Value> cursors = first.values();
    inits.insert(inits.end(), cursors.begin(), cursors.end());
    const std::vector<Value> results =
        b_.loop("row", rows, inits, [&](const std::vector<Value>& p) {
          const RowCursors at = RowCursors::of(p, 1);
          write_row(block, p[0], at);
          std::vector<Value> next = {b_.add(p[0], 1, "row")};
          const Value stride = b_.arg(ArgField::dst_stride);
          next.push_back(b_.op(OpCode::iadd, {at.dst, stride}, {}, "dst", Role::address));
          for (size_t i = 2; i < p.size(); ++i) next.push_back(b_.add(p[i], 4));
          return next;
        });
    return RowCursors::of(results, 1);
  }

  void write_row(int64_t block, Value row, const RowCursors& at) {
    const Value zero = load_dup32(t_, {at.zeros, 0}, "zero");
    const Value row_scale = load_dup32(t_, {at.scales, 0}, "scale_row");
    const Value start = at.sums == no_value ? no_value : load_dup32(t_, {at.sums, 0}, "start");
    for (int64_t j = 0; j < t_.vectors(); ++j) {
      const auto column = static_cast<size_t>(j);
      const Value products = how_.row_sum(t_, tiles_, block, j, row, start);
      const Value sum = multiply_add(t_, products, column_sums_[column], zero);
      const Value out = channel_output(t_, sum, scales_[column], row_scale, bias_[column], limits_,
                                       fmt::format("out_{}", j));
      b_.op(OpCode::store_pred, {predicates_[column], at.dst, out},
            {.bits = 32, .offset = b_.isa().vector_bytes * j});
    }
  }

  const Tile1& t_;
  Builder& b_;
  TileMultiplier& how_;
  const std::vector<Value>& tiles_;
  std::vector<Value> column_sums_, scales_, predicates_, bias_;
  Limits limits_;
};

}  // namespace

void lower_channel_tiles(const Tile1& t) {
  const std::unique_ptr<TileMultiplier> how = make_outer(t.v);
  const std::vector<Value> tiles = multiply_all(t, *how, {});
  ChannelTiles(t, *how, tiles).write();
}

}  // namespace tw
