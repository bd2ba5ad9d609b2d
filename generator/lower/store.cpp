// From sums in vectors to outputs in memory, with the edges in m and n.
#include <fmt/format.h>

#include <optional>

#include "lower/block_scales.h"
#include "lower/output.h"

namespace tw {
namespace {

std::vector<Value> dst_rows(const Tile1& t) {
  return clamped_pointers(t.b, t.dst, t.b.arg(ArgField::dst_stride), t.m_left, 1, t.v.tile.m.fixed,
                          "dst");
}

/// Of the rows' values of a field those of four rows each, where instructions take one of them from
/// its lane; else none.
std::vector<Value> rows_in_lanes(const Tile1& t, const std::vector<Value>& pointers, FieldKind kind,
                                 const std::string& name) {
  const Isa& isa = t.b.isa();
  const Field& field = field_of(*t.lhs.layout, kind);
  const bool together =
      t.lhs.rows % segment_lanes == 0 && field.repeat == 1 && bits(field.type) == 32;
  if (isa.vector_bytes != Length{16} || !isa.has(OpCode::mla_lane) || !together) return {};
  std::vector<Value> rows;
  for (int64_t r = 0; r < t.v.tile.m.fixed; r += segment_lanes) {
    rows.push_back(load_segment(t, lhs_row(t, pointers, r, kind), name, Role::operand));
  }
  return rows;
}

RowValue row_of(const std::vector<Value>& in_lanes, int64_t row) {
  return {in_lanes[static_cast<size_t>(row / segment_lanes)], row % segment_lanes};
}

/// The sums of a row of outputs' products with its zero point are part of them.
void add_zero_points(const Tile1& t, Rows& sums) {
  const std::vector<Value> columns =
      load_columns(t, field_pointers(t, t.rhs, FieldKind::sums), "colsum");
  const std::vector<Value> zeros = field_pointers(t, t.lhs, FieldKind::zero_points);
  const bool floats = field_of(*t.rhs.layout, FieldKind::sums).type == ElementType::f32;
  std::vector<Value> in_lanes = rows_in_lanes(t, zeros, FieldKind::zero_points, "zeros");
  for (Value& four : in_lanes) four = as_zero_points(t, four);
  for (size_t r = 0; r < sums.size(); ++r) {
    const auto row = static_cast<int64_t>(r);
    const Place at = lhs_row(t, zeros, row, FieldKind::zero_points);
    const RowValue zero = in_lanes.empty()
                              ? RowValue{load_zero_point(t, at, fmt::format("zero_{}", r))}
                              : row_of(in_lanes, row);
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
    if (has_field(t.rhs, FieldKind::zero_points)) take_column_zero_points(t, sums_);
    if (takes_scales(t, t.rhs)) {
      scales_ = in_units(t, load_columns(t, field_pointers(t, t.rhs, FieldKind::scales), "scale"));
    }
    output_.emplace(t);
    if (takes_scales(t, t.lhs)) {
      row_scales_ = field_pointers(t, t.lhs, FieldKind::scales);
      // Beside columns' scales and biases.
      if (fits(2 * t.vectors() + t.v.tile.m.fixed / segment_lanes)) {
        scales_in_lanes_ = rows_in_lanes(t, row_scales_, FieldKind::scales, "scale_rows");
      }
    }
  }

  void write() {
    const Value whole = b_.op(OpCode::length, {}, {.offset = t_.v.tile.n});
    dst_ = dst_rows(t_);
    keeps_bias_ = has_field(t_.rhs, FieldKind::bias);
    if (keeps_bias_) packed_bias_ = field_pointers(t_, t_.rhs, FieldKind::bias);
    const bool masks = output_->has_masks();
    b_.branch(
        t_.n_left, Compare::at_least, whole, [&] { rows_of_vectors(true); },
        [&] { masks ? rows_of_vectors(false) : single_lanes(); });
  }

 private:
  using BiasOf = std::function<Value(int64_t vector)>;
  using Load = std::function<Value(Value dst, int64_t vector)>;
  using Store = std::function<void(Value dst, int64_t vector, Value out)>;

  Value scaled(int64_t row, int64_t vector, Value bias) {
    const auto r = static_cast<size_t>(row);
    const auto j = static_cast<size_t>(vector);
    Factors by;
    if (!scales_in_lanes_.empty()) {
      by.row = row_of(scales_in_lanes_, row);
    } else if (!row_scales_.empty()) {
      by.row = {load_dup32(t_, lhs_row(t_, row_scales_, row, FieldKind::scales),
                           fmt::format("scale_row_{}", row))};
    }
    if (!scales_.empty()) (is_float(*t_.v.family.lhs) ? by.row.vector : by.column) = scales_[j];
    return output_->scaled(sums_[r][j], by, bias);
  }

  Value finish(int64_t row, int64_t vector, Value sum) {
    return output_->finish(sum, fmt::format("out_{}_{}", row, vector));
  }

  /// Can registers hold `more` beside sums, columns' values, limits and one output?
  [[nodiscard]] bool fits(int64_t more) const {
    const RegisterFile* file = b_.isa().file_of(Kind::vector);
    const int64_t needed = t_.v.tile.m.fixed * t_.vectors() + 1 + output_->registers() + more;
    return file == nullptr || needed <= file->count();
  }

  /// False when they cannot hold all of the bias.
  [[nodiscard]] bool bias_fits() const {
    return fits(t_.vectors() + static_cast<int64_t>(scales_in_lanes_.size()));
  }

  /// Rows from the last to the first: those beyond the edge share the pointer of the last real
  /// row, which is written after them. Where outputs accumulate, all are read before one is
  /// written.
  void rows_downwards(const BiasOf& bias_of, const Load& old, const Store& store) {
    const bool adds = t_.v.family.accumulate;
    std::vector<Value> bias;
    Rows done(static_cast<size_t>(t_.v.tile.m.fixed));
    for (int64_t j = 0; j < t_.vectors(); ++j) {
      bias.push_back(keeps_bias_ ? bias_of(j) : no_value);
      if (!adds && bias_fits()) continue;
      for (int64_t r = t_.v.tile.m.fixed; r-- > 0;) {
        const Value sum = scaled(r, j, bias.back());
        done[static_cast<size_t>(r)].push_back(adds ? sum : finish(r, j, sum));
      }
    }
    const auto each = [&](const std::function<void(int64_t r, int64_t j)>& visit) {
      for (int64_t r = t_.v.tile.m.fixed; r-- > 0;) {
        for (int64_t j = 0; j < t_.vectors(); ++j) visit(r, j);
      }
    };
    if (adds) {
      each([&](int64_t r, int64_t j) {
        Value& sum = done[static_cast<size_t>(r)][static_cast<size_t>(j)];
        sum = finish(r, j, output_->add(sum, old(dst_[static_cast<size_t>(r)], j)));
      });
    }
    each([&](int64_t r, int64_t j) {
      const auto row = static_cast<size_t>(r);
      const auto column = static_cast<size_t>(j);
      store(dst_[row], j,
            done[row].empty() ? finish(r, j, scaled(r, j, bias[column])) : done[row][column]);
    });
  }

  [[nodiscard]] std::vector<Place> biases() const {
    return keeps_bias_ ? bias_places(t_, packed_bias_) : std::vector<Place>();
  }

  /// Where registers cannot hold the predicates of all vectors, each is made when it is wanted.
  void rows_of_vectors(bool whole) {
    std::vector<Value> columns;
    if (!whole && t_.vectors() <= b_.isa().file_of(Kind::predicate)->count()) {
      columns = column_predicates(t_);
    }
    const auto exist = [&](int64_t j) {
      if (whole) return no_value;
      return columns.empty() ? column_predicate(t_, j) : columns[static_cast<size_t>(j)];
    };
    const std::vector<Place> places = biases();
    const BiasOf bias = [&](int64_t j) {
      const Place& at = places[static_cast<size_t>(j)];
      return whole ? load_bias(t_, at) : load_bias(t_, at, exist(j));
    };
    rows_downwards(
        bias, [&](Value dst, int64_t j) { return output_->load(exist(j), dst, j); },
        [&](Value dst, int64_t j, Value out) { output_->store(exist(j), dst, j, out); });
  }

  void single_lanes() {
    const int64_t lanes = t_.lanes().fixed;
    struct Stored {
      Value dst, out;
      int64_t vector;
    };
    std::vector<Stored> all;
    const std::vector<Place> places = biases();
    const Value last = b_.op(OpCode::isub, {t_.n_left, b_.constant(1)});
    const BiasOf bias = [&](int64_t j) { return load_bias_lanes(t_, places, last, j); };
    rows_downwards(
        bias, [&](Value dst, int64_t j) { return output_->load_lanes(last, dst, j); },
        [&](Value dst, int64_t j, Value out) {
          all.push_back({dst, out, j});
        });
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
  std::vector<Value> scales_;           ///< of the columns, empty: they have none ...
  std::vector<Value> row_scales_;       ///< ... and where those of the rows are, likewise ...
  std::vector<Value> scales_in_lanes_;  ///< ... and they themselves, where these come first
  std::optional<OutputStage> output_;
  std::vector<Value> dst_;
  bool keeps_bias_ = true;  ///< else columns have none
  std::vector<Value> packed_bias_;
};

}  // namespace

void prefetch_outputs(const Tile1& t) {
  // A tile of so many rows would wait for their pointers.
  const bool in_tiles = t.v.technique == Technique::tile;
  if (t.v.knobs.prefetch == Prefetch::none || !t.v.tile.n.is_fixed() || in_tiles) return;
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
