// From sums in vectors to outputs in memory, with the edges in m and n.
#include <fmt/format.h>

#include <optional>

#include "lower/output.h"

namespace tw {
namespace {

std::vector<Value> dst_rows(const Tile1& t) {
  return clamped_pointers(t.b, t.dst, t.b.arg(ArgField::dst_stride), t.m_left, 1, t.v.tile.m.fixed,
                          "dst");
}

/// The sums of a row of outputs' products with its zero point are part of them.
void add_zero_points(const Tile1& t, Rows& sums) {
  const std::vector<Value> columns =
      load_columns(t, field_pointers(t, t.rhs, FieldKind::sums), "colsum");
  const std::vector<Value> zeros = field_pointers(t, t.lhs, FieldKind::zero_points);
  const bool floats = field_of(*t.rhs.layout, FieldKind::sums).type == ElementType::f32;
  for (size_t r = 0; r < sums.size(); ++r) {
    const Place at = lhs_row(t, zeros, static_cast<int64_t>(r), FieldKind::zero_points);
    const Value zero = load_zero_point(t, at, fmt::format("zero_{}", r));
    for (size_t j = 0; j < sums[r].size(); ++j) {
      sums[r][j] = add_zero_point(t, sums[r][j], columns[j], zero,
                                  floats ? fmt::format("f_{}_{}", r, j) : "sum");
    }
  }
}

class OutputWriter {
 public:
  OutputWriter(const Tile1& t, Rows sums) : t_(t), b_(t.b), sums_(std::move(sums)) {
    if (has_field(t.lhs, FieldKind::zero_points)) add_zero_points(t, sums_);
    if (has_field(t.rhs, FieldKind::scales)) {
      scales_ = load_columns(t, field_pointers(t, t.rhs, FieldKind::scales), "scale");
    }
    if (has_field(t.lhs, FieldKind::scales)) {
      row_scales_ = field_pointers(t, t.lhs, FieldKind::scales);
    }
    output_.emplace(t);
  }

  void write() {
    const Value whole = b_.op(OpCode::length, {}, {.offset = t_.v.tile.n});
    dst_ = dst_rows(t_);
    packed_bias_ = field_pointers(t_, t_.rhs, FieldKind::bias);
    const bool masks = output_->has_masks();
    b_.branch(
        t_.n_left, Compare::at_least, whole, [&] { whole_rows(); },
        [&] { masks ? masked_rows() : single_lanes(); });
  }

 private:
  using BiasOf = std::function<Value(int64_t vector)>;
  using Store = std::function<void(Value dst, int64_t vector, Value out)>;

  Value finish(int64_t row, int64_t vector, Value bias) {
    const auto r = static_cast<size_t>(row);
    const auto j = static_cast<size_t>(vector);
    Factors by;
    if (!row_scales_.empty()) {
      by.row = load_dup32(t_, lhs_row(t_, row_scales_, row, FieldKind::scales),
                          fmt::format("scale_row_{}", row));
    }
    if (!scales_.empty()) by.column = scales_[j];
    return output_->finish(sums_[r][j], by, bias, fmt::format("out_{}_{}", row, vector));
  }

  /// False when the registers cannot hold all of the bias beside sums, limits and one output.
  [[nodiscard]] bool bias_fits() const {
    const RegisterFile* file = b_.isa().file_of(Kind::vector);
    const int64_t needed = (t_.v.tile.m.fixed + 1) * t_.vectors() + 1 + output_->registers();
    return file == nullptr || needed <= file->count();
  }

  /// Rows from the last to the first: those beyond the edge share the pointer of the last real
  /// row, which is written after them.
  void rows_downwards(const BiasOf& bias_of, const Store& store) {
    std::vector<Value> bias;
    Rows outputs(static_cast<size_t>(t_.v.tile.m.fixed));
    for (int64_t j = 0; j < t_.vectors(); ++j) {
      bias.push_back(bias_of(j));
      if (bias_fits()) continue;
      for (int64_t r = t_.v.tile.m.fixed; r-- > 0;) {
        outputs[static_cast<size_t>(r)].push_back(finish(r, j, bias.back()));
      }
    }
    for (int64_t r = t_.v.tile.m.fixed - 1; r >= 0; --r) {
      for (int64_t j = 0; j < t_.vectors(); ++j) {
        const auto column = static_cast<size_t>(j);
        const std::vector<Value>& done = outputs[static_cast<size_t>(r)];
        store(dst_[static_cast<size_t>(r)], j,
              done.empty() ? finish(r, j, bias[column]) : done[column]);
      }
    }
  }

  void whole_rows() {
    const std::vector<Place> places = bias_places(t_, packed_bias_);
    const BiasOf bias = [&](int64_t j) {
      const Place& at = places[static_cast<size_t>(j)];
      return b_.op(OpCode::load, {at.pointer}, {.offset = at.offset}, "bias", Role::operand);
    };
    rows_downwards(bias, [&](Value dst, int64_t j, Value out) { output_->store(dst, j, out); });
  }

  void masked_rows() {
    const std::vector<Value> columns = column_predicates(t_);
    const std::vector<Place> places = bias_places(t_, packed_bias_);
    const BiasOf bias = [&](int64_t j) {
      const auto column = static_cast<size_t>(j);
      return b_.op(OpCode::load_pred, {columns[column], places[column].pointer},
                   {.bits = 32, .offset = places[column].offset}, "bias", Role::operand);
    };
    rows_downwards(bias, [&](Value dst, int64_t j, Value out) {
      output_->store(columns[static_cast<size_t>(j)], dst, j, out);
    });
  }

  /// A bias vector lane by lane; lanes beyond the last column (number `last`) repeat its value.
  Value bias_by_lanes(const std::vector<Place>& places, Value last, int64_t j) {
    const int64_t lanes = t_.lanes().fixed;
    const Place& at = places[static_cast<size_t>(j)];
    const Value before = b_.constant(j * lanes);
    const Value room = b_.op(OpCode::isub_sat, {last, before});
    // A vector wholly beyond the edge reads the row's first column instead.
    const Value first =
        b_.op(OpCode::if_null, {b_.op(OpCode::isub_sat, {t_.n_left, before}),
                                places.front().pointer, b_.add(at.pointer, at.offset)});
    Value vector = b_.op(OpCode::load_dup, {first}, {.bits = 32}, "bias", Role::operand);
    for (int64_t lane = 1; lane < lanes; ++lane) {
      const Value at_most = b_.op(OpCode::imin, {room, b_.constant(lane)});
      const Value skip = b_.op(OpCode::ishl, {at_most}, {.imm = 2});
      vector = load_lane(vector, b_.op(OpCode::iadd, {first, skip}), lane);
    }
    return vector;
  }

  Value load_lane(Value vector, Value pointer, int64_t lane) {
    if (b_.isa().has(OpCode::load_lane, 32)) {
      return b_.op(OpCode::load_lane, {vector, pointer}, {.bits = 32, .imm = lane}, "bias",
                   Role::operand);
    }
    const Value one = b_.op(OpCode::load_dup, {pointer}, {.bits = 32}, "one", Role::operand);
    return b_.op(OpCode::blend, {vector, one}, {.bits = 32, .imm = int64_t{1} << lane}, "bias",
                 Role::operand);
  }

  void single_lanes() {
    const int64_t lanes = t_.lanes().fixed;
    struct Stored {
      Value dst, out;
      int64_t vector;
    };
    std::vector<Stored> all;
    const std::vector<Place> places = bias_places(t_, packed_bias_);
    const Value last = b_.op(OpCode::isub, {t_.n_left, b_.constant(1)});
    const BiasOf bias = [&](int64_t j) { return bias_by_lanes(places, last, j); };
    rows_downwards(bias, [&](Value dst, int64_t j, Value out) { all.push_back({dst, out, j}); });
    for (int64_t column = 0; column + 1 < t_.v.tile.n.fixed; ++column) {
      b_.branch(t_.n_left, Compare::at_least, b_.constant(column + 1), [&] {
        for (const Stored& s : all) {
          if (s.vector != column / lanes) continue;
          output_->store_one(s.dst, column, s.out);
        }
      });
    }
  }

  const Tile1& t_;
  Builder& b_;
  Rows sums_;
  std::vector<Value> scales_;      ///< of the columns, empty: they have none ...
  std::vector<Value> row_scales_;  ///< ... and where those of the rows are, likewise
  std::optional<OutputStage> output_;
  std::vector<Value> dst_;
  std::vector<Value> packed_bias_;
};

}  // namespace

void prefetch_outputs(const Tile1& t) {
  constexpr int64_t cache_line = 64;
  if (t.v.knobs.prefetch == Prefetch::none || !t.v.tile.n.is_fixed()) return;
  for (const Value row : dst_rows(t)) {
    for (int64_t byte = 0; byte < t.v.tile.n.fixed * bits(t.v.family.dst) / 8; byte += cache_line) {
      t.b.op(OpCode::prefetch_write, {row}, {.offset = byte});
    }
  }
}

void store_sums(const Tile1& t, Rows sums) {
  OutputWriter(t, std::move(sums)).write();
}

}  // namespace tw
