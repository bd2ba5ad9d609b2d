// How outputs leave accumulator tiles: a loop over the rows of each block of tiles, which ends
// where the output does. Columns are stored by predicates, all of them or not, or past the caches:
// a core whose tiles multiply faster than memory takes outputs would first read what it overwrites.
#include <fmt/format.h>

#include <optional>

#include "lower/output.h"
#include "model/operand_contract.h"

namespace tw {
namespace {

constexpr int64_t stream_output = 1;  // TW_STREAM_OUTPUT

class TileRows {
 public:
  TileRows(const Tile1& t, const TileSum& sum_of, const std::function<void(int64_t)>& begin)
      : t_(t),
        b_(t.b),
        sum_of_(sum_of),
        begin_(begin),
        is_part_(t.v.family.operation == Operation::part),
        has_starts_(start_factor(t.v) != 0) {
    if (can_stream_outputs(t.v)) stream_ = whether_to_stream();
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
  /// Not 0: the caller wants it, no column is missing, and rows begin at cache lines.
  Value whether_to_stream() {
    const Value whole = b_.op(OpCode::length, {}, {.offset = t_.v.tile.n});
    Value against = b_.op(OpCode::isub_sat, {whole, t_.n_left});
    for (const Value aligned : {t_.dst, b_.arg(ArgField::dst_stride)}) {
      const Value beyond = b_.op(OpCode::iand_imm, {aligned}, {.imm = cache_line - 1});
      against = b_.op(OpCode::iadd, {against, beyond}, {}, "against_streaming");
    }
    const Value wanted = b_.op(OpCode::iand_imm, {b_.arg(ArgField::flags)}, {.imm = stream_output});
    return b_.op(OpCode::if_null, {against, wanted, b_.constant(0)}, {}, "streams", Role::other);
  }

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
    std::vector<Value> outs;
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
      outs.push_back(output_->finish(sum, fmt::format("out_{}", j)));
      if (stream_ == no_value) output_->store(predicates_[column], at[1], j, outs.back());
    }
    if (stream_ != no_value) write_or_stream(at[1], outs);
  }

  void write_or_stream(Value row, const std::vector<Value>& outs) {
    const auto each = [&](const auto& put) {
      for (size_t j = 0; j < outs.size(); ++j) put(j, static_cast<int64_t>(j));
    };
    b_.branch(
        stream_, Compare::equal, b_.op(OpCode::constant, {}, {.imm = 0}, "no"),
        [&] {
          each([&](size_t j, int64_t at) { output_->store(predicates_[j], row, at, outs[j]); });
        },
        [&] { each([&](size_t j, int64_t at) { output_->stream(row, at, outs[j]); }); });
  }

  const Tile1& t_;
  Builder& b_;
  const TileSum& sum_of_;
  const std::function<void(int64_t)>& begin_;
  std::vector<Value> column_sums_, column_zeros_, scales_, predicates_, bias_;
  Value minus_k_ = no_value;
  Value stream_ = no_value;                          ///< none: outputs are never streamed
  bool is_part_;                                     ///< dst holds sums over other values of k
  bool has_starts_;                                  ///< accumulators begin with sums of codes
  std::vector<std::pair<FieldKind, Value>> fields_;  ///< of rows, 4 bytes each
  std::optional<OutputStage> output_;
};

}  // namespace

bool can_stream_outputs(const Variant& v) {
  const Isa& isa = *v.isa;
  return v.technique == Technique::tile && v.family.operation != Operation::part &&
         !v.family.accumulate && bits(v.family.dst) == 32 &&
         isa.vector_bytes == Length{cache_line} &&
         isa.has(OpCode::store_stream, 0, isa.vector_bytes) && isa.has(OpCode::store_fence);
}

void store_tile_sums(const Tile1& t, const TileSum& sum_of,
                     const std::function<void(int64_t)>& begin) {
  TileRows(t, sum_of, begin).write();
}

}  // namespace tw
