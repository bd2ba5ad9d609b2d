// How outputs leave accumulator tiles: a loop over the rows of each block of tiles, which ends
// where the output does. Columns are stored by predicates, all of them or not.
#include <fmt/format.h>

#include <optional>

#include "lower/output.h"
#include "model/operand_contract.h"

namespace tw {
namespace {

class TileRows {
 public:
  TileRows(const Tile1& t, const TileSum& sum_of, const std::function<void(int64_t)>& begin)
      : t_(t),
        b_(t.b),
        sum_of_(sum_of),
        begin_(begin),
        is_part_(t.v.family.operation == Operation::part),
        has_starts_(start_factor(contract_of(t.v), *t.v.family.rhs, t.v.rhs.order.kr) != 0) {
    if (is_part_ && t.v.family.dst == ElementType::i32) {  // without any field
      output_.emplace(t);
      has_starts_ = false;
      predicates_ = column_predicates(t);
      return;
    }
    if (has_field(t.lhs, FieldKind::zero_points)) {
      column_sums_ = load_columns(t, field_pointers(t, t.rhs, FieldKind::sums), "colsum");
    }
    if (takes_scales(t, t.rhs)) {
      scales_ = load_columns(t, field_pointers(t, t.rhs, FieldKind::scales), "scale");
    }
    if (has_field(t.rhs, FieldKind::zero_points)) {
      column_zeros_ = load_columns(t, field_pointers(t, t.rhs, FieldKind::zero_points), "zero");
      for (Value& zeros : column_zeros_) zeros = as_column_zeros(t, zeros);
      minus_k_ = minus_k(t);
    }
    output_.emplace(t);
    for (const FieldKind kind : {FieldKind::zero_points, FieldKind::scales, FieldKind::sums}) {
      const bool is_scale = kind == FieldKind::scales;
      if (is_scale ? !takes_scales(t, t.lhs) : !has_field(t.lhs, kind)) continue;
      fields_.emplace_back(kind, field_pointers(t, t.lhs, kind).front());
    }
    predicates_ = column_predicates(t);
    if (!has_field(t.rhs, FieldKind::bias)) return;
    const std::vector<Place> places = bias_places(t, field_pointers(t, t.rhs, FieldKind::bias));
    for (size_t j = 0; j < places.size(); ++j) {
      bias_.push_back(load_bias(t, places[j], predicates_[j]));
    }
  }

  void write() {
    std::vector<Value> at = {t_.dst};
    for (const auto& [kind, pointer] : fields_) at.push_back(pointer);
    const int64_t blocks = ratio(t_.v.tile.m, b_.isa().tile_rows());
    for (int64_t i = 0; i < blocks; ++i) at = write_block(i, at);
  }

 private:
  /// `at`: where the first row's outputs and fields are. Returns where the next block's are.
  std::vector<Value> write_block(int64_t block, const std::vector<Value>& at) {
    if (begin_) begin_(block);
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

  /// Rows of the block that exist.
  Value rows_left(int64_t block) {
    const Length rows = b_.isa().tile_rows();
    const Value before = b_.op(OpCode::length, {}, {.offset = rows * block});
    const Value left = block == 0 ? t_.m_left : b_.op(OpCode::isub_sat, {t_.m_left, before});
    const Value most = b_.op(OpCode::length, {}, {.offset = rows});
    return b_.op(OpCode::imin, {left, most}, {}, "rows");
  }

  /// `at`: the row's number in the block, its outputs, its fields.
  void write_row(int64_t block, const std::vector<Value>& at) {
    const Value row = at[0];
    Value zero = no_value, negated = no_value, row_sum = no_value;
    Place of_zero{};
    Factors by;
    for (size_t i = 0; i < fields_.size(); ++i) {
      const Place place = {at[i + 2], 0};
      switch (fields_[i].first) {
        case FieldKind::zero_points:
          zero = load_zero_point(t_, place, "zero");
          of_zero = place;
          break;
        case FieldKind::scales:
          by.row = {load_dup32(t_, place, "scale_row")};
          break;
        default:
          if (has_starts_) negated = negated_start(t_, place);
          if (!column_zeros_.empty()) row_sum = negated_row(t_, place, of_zero, minus_k_);
      }
    }
    for (int64_t j = 0; j < t_.vectors(); ++j) {
      const auto column = static_cast<size_t>(j);
      Value sum = sum_of_(block, j, row, negated);
      if (is_part_) {
        const Value before = output_->load_sum(predicates_[column], at[1], j);
        sum = b_.op(OpCode::add, {sum, before}, {.bits = 32}, "sum", Role::accumulator);
      }
      if (zero != no_value) sum = add_zero_point(t_, sum, column_sums_[column], {zero}, "sum");
      if (row_sum != no_value) sum = with_column_zero(t_, sum, column_zeros_[column], row_sum);
      if (!scales_.empty()) by.column = scales_[column];
      sum = output_->scaled(sum, by, bias_.empty() ? no_value : bias_[column]);
      if (t_.v.family.accumulate) {
        sum = output_->add(sum, output_->load(predicates_[column], at[1], j));
      }
      const Value out = output_->finish(sum, fmt::format("out_{}", j));
      output_->store(predicates_[column], at[1], j, out);
    }
  }

  const Tile1& t_;
  Builder& b_;
  const TileSum& sum_of_;
  const std::function<void(int64_t)>& begin_;
  std::vector<Value> column_sums_, column_zeros_, scales_, predicates_, bias_;
  Value minus_k_ = no_value;
  bool is_part_;                                     ///< dst holds sums over other values of k
  bool has_starts_;                                  ///< accumulators begin with sums of codes
  std::vector<std::pair<FieldKind, Value>> fields_;  ///< of rows, 4 bytes each
  std::optional<OutputStage> output_;
};

}  // namespace

void store_tile_sums(const Tile1& t, const TileSum& sum_of,
                     const std::function<void(int64_t)>& begin) {
  TileRows(t, sum_of, begin).write();
}

}  // namespace tw
