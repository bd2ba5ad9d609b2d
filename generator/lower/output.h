// The output stage: from sums to values of the output's type in memory. Every kernel ends in it.
#pragma once

#include "lower/tile.h"

namespace tw {

/// What stands once for a row: in every lane of a vector, or in lane `lane` of each segment.
struct RowValue {
  Value vector = no_value;
  int64_t lane = -1;
};

/// What a sum is multiplied by on its way out; no_value: 1. Sums with both are integers, unless
/// columns have zero points.
struct Factors {
  Value column = no_value;
  RowValue row;
};

class OutputStage {
 public:
  /// Loads what all outputs of a tile need.
  explicit OutputStage(const Tile1& t);

  /// A vector of the row of outputs that begins at `row`, as f32, of which `columns` exist
  /// (no_value: all of them) ...
  [[nodiscard]] Value load(Value columns, Value row, int64_t vector) const;
  /// ... or the columns up to number `last`, lane by lane.
  [[nodiscard]] Value load_lanes(Value last, Value row, int64_t vector) const;
  /// The same of those columns' sums so far, as they are.
  [[nodiscard]] Value load_sum(Value columns, Value row, int64_t vector) const;
  /// A vector of sums * factors + bias (no_value: they began with it); of codes (sums + bias) *
  /// factor ...
  [[nodiscard]] Value scaled(Value sum, const Factors& by, Value bias) const;
  /// ... added to what outputs were, where they accumulate ...
  [[nodiscard]] Value add(Value sum, Value old) const;
  /// ... and convert(clamp()) of it: outputs.
  [[nodiscard]] Value finish(Value sum, const std::string& name) const;
  /// Is there a store of those columns of a vector that exist?
  [[nodiscard]] bool has_masks() const;
  /// Stores a vector of the row of outputs that begins at `row`, likewise ...
  void store(Value columns, Value row, int64_t vector, Value out) const;
  /// ... past the caches, where `row` is at the beginning of a line ...
  void stream(Value row, int64_t vector, Value out) const;
  /// ... or one column only.
  void store_one(Value row, int64_t column, Value out) const;
  /// Vector registers that it takes, temporaries included.
  [[nodiscard]] int64_t registers() const;

 private:
  [[nodiscard]] Value clamp(Value out, const std::string& name) const;
  [[nodiscard]] Value to_code(Value out, const std::string& name) const;
  [[nodiscard]] Value as_f32(Value old) const;
  [[nodiscard]] Length vector_bytes() const;

  const Tile1& t_;
  Builder& b_;
  int bits_;  ///< of an output
  Value low_ = no_value, high_ = no_value;
  Value below_half_ = no_value;  ///< of what bf16 cuts off
  Value zero_ = no_value;        ///< the code of 0; limits are as far from there
  bool sums_are_real_;           ///< columns have zero points, take_column_zero_points() was here
};

/// Bytes in front of a column of values of that type, from those in front of it in a row of f32.
Value bytes_before(Builder& b, ElementType type, Value column_bytes, const std::string& name = "");
/// sum + a * b of integers of 32 bits.
Value add_product(const Tile1& t, Value sum, Value a, Value b, const std::string& name);
/// Does a panel keep one of these for each row or column, not for each of its blocks?
bool has_field(const Panels1D& side, FieldKind kind);
/// Likewise scales that outputs are multiplied by.
bool takes_scales(const Tile1& t, const Panels1D& side);
/// A row's zero point in every lane, of the type that the columns' sums have.
Value load_zero_point(const Tile1& t, const Place& at, const std::string& name);
/// Zero points of that type from integers.
Value as_zero_points(const Tile1& t, Value integers);
/// Makes f32 of sums, unless outputs are those: less the products of the columns' zero points and
/// the row's sum of codes.
void take_column_zero_points(const Tile1& t, Rows& sums);
/// The same of one sum, by the column's zero point and the row's sum, vectors of f32 or, where
/// outputs are sums, integers; the latter is minus that of its codes less its zero point.
Value with_column_zero(const Tile1& t, Value sum, Value column, Value row);
Value negated_row(const Tile1& t, const Place& sum, const Place& zero_point, Value negated_k);
/// A vector of columns' zero points as with_column_zero() takes them.
Value as_column_zeros(const Tile1& t, Value zeros);
/// In every lane, for negated_row().
Value minus_k(const Tile1& t);
/// Adds the product of a row's zero point and the columns' sums.
Value add_zero_point(const Tile1& t, Value sum, Value columns, RowValue zero,
                     const std::string& name);

// columns.cpp
/// A vector of elements of `bits` bits, of columns vector * lanes ..., lane by lane: `at` is where
/// they lie in the row that begins at `row`. Lanes beyond column number `last` repeat its value.
Value load_lanes(const Tile1& t, Value last, Value row, const Place& at, int64_t vector, int bits,
                 const std::string& name);

/// A vector of biases as f32, given bias_places(): all of them ...
Value load_bias(const Tile1& t, const Place& at);
/// ... those of columns that exist ...
Value load_bias(const Tile1& t, const Place& at, Value columns);
/// ... or as load_lanes() does, of all places one.
Value load_bias_lanes(const Tile1& t, const std::vector<Place>& places, Value last, int64_t vector);

// store.cpp
/// From row-major sums to memory: whole vectors when the tile is whole, else exactly the columns
/// that exist. Rows beyond the edge land on the last row and are overwritten by it; they read it,
/// too, so that what accumulates is read before anything is written.
void store_sums(const Tile1& t, Rows sums);

// tile_rows.cpp
/// The same from sums in accumulator tiles, row after row. `sum_of` is a vector of row `row` (a
/// scalar) of a block of rows; `negated`: minus the row's start, no_value where there is none.
/// `begin` writes what a block needs before its first row.
using TileSum = std::function<Value(int64_t block, int64_t vector, Value row, Value negated)>;
void store_tile_sums(const Tile1& t, const TileSum& sum_of,
                     const std::function<void(int64_t block)>& begin = {});
/// Can its callers have whole tiles of outputs stored past the caches (TW_STREAM_OUTPUT)? A fence
/// has to stand behind them then.
bool can_stream_outputs(const Variant& v);

}  // namespace tw
