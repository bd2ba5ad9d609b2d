// How outputs leave accumulator tiles: a loop over the rows of each block of tiles, which ends
// where the output does. Columns are stored by predicates, all of them or not.
#include <fmt/format.h>

#include "lower/tile.h"

namespace tw {
namespace {

class TileRows {
 public:
  TileRows(const Tile1& t, const TileRow& outputs)
      : t_(t), b_(t.b), outputs_(outputs), predicates_(column_predicates(t)) {
    const std::vector<Place> places = bias_places(t, field_pointers(t, t.rhs, FieldKind::bias));
    for (size_t j = 0; j < places.size(); ++j) {
      bias_.push_back(b_.op(OpCode::load_pred, {predicates_[j], places[j].pointer},
                            {.bits = 32, .offset = places[j].offset}, "bias", Role::operand));
    }
  }

  /// `at`: where the first row's outputs and fields are. Returns where the next block's are.
  std::vector<Value> write_block(int64_t block, const std::vector<Value>& at) {
    const Value rows = rows_left(block);
    std::vector<Value> inits = {b_.op(OpCode::constant, {}, {.imm = 0}, "row")};
    inits.insert(inits.end(), at.begin(), at.end());
    std::vector<Value> results = b_.loop("row", rows, inits, [&](const std::vector<Value>& p) {
      write_row(block, p);
      std::vector<Value> next = {b_.add(p[0], 1, "row")};
      const Value stride = b_.arg(ArgField::dst_stride);
      next.push_back(b_.op(OpCode::iadd, {p[1], stride}, {}, "dst", Role::address));
      for (size_t i = 2; i < p.size(); ++i) next.push_back(b_.add(p[i], 4));
      return next;
    });
    results.erase(results.begin());
    return results;
  }

 private:
  /// Rows of the block that exist.
  Value rows_left(int64_t block) {
    const Value before = b_.op(OpCode::length, {}, {.offset = t_.lanes() * block});
    const Value left = block == 0 ? t_.m_left : b_.op(OpCode::isub_sat, {t_.m_left, before});
    const Value most = b_.op(OpCode::length, {}, {.offset = t_.lanes()});
    return b_.op(OpCode::imin, {left, most}, {}, "rows");
  }

  /// `at`: the row's number in the block, its outputs, its fields.
  void write_row(int64_t block, const std::vector<Value>& at) {
    const RowOutput output = outputs_(block, at[0], {at.begin() + 2, at.end()});
    for (int64_t j = 0; j < t_.vectors(); ++j) {
      const auto column = static_cast<size_t>(j);
      const Value out = output(j, bias_[column]);
      b_.op(OpCode::store_pred, {predicates_[column], at[1], out},
            {.bits = 32, .offset = b_.isa().vector_bytes * j});
    }
  }

  const Tile1& t_;
  Builder& b_;
  const TileRow& outputs_;
  std::vector<Value> predicates_, bias_;
};

}  // namespace

void store_tile_rows(const Tile1& t, const std::vector<Value>& fields, const TileRow& outputs) {
  TileRows rows(t, outputs);
  std::vector<Value> at = {t.dst};
  at.insert(at.end(), fields.begin(), fields.end());
  const int64_t blocks = ratio(t.v.tile.m, t.lanes());
  for (int64_t i = 0; i < blocks; ++i) at = rows.write_block(i, at);
}

}  // namespace tw
