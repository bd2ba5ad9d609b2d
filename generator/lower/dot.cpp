// Technique `dot`: every 32-bit lane is one output column and takes four neighbours in k, of floats
// of 16 bits two.
#include <fmt/format.h>

#include <map>

#include "lower/splat.h"
#include "lower/tile.h"
#include "model/operand_contract.h"
#include "model/reject.h"

namespace tw {
namespace {

/// kr values of a row, repeated over a vector, or one 32-bit lane of a vector.
struct Activation {
  Value vector = no_value;
  int64_t lane = -1;
};

/// The same product with one lane of its last argument; itself, where there is none.
OpCode lane_form(OpCode product) {
  switch (product) {
    case OpCode::dot4_s8s8:
      return OpCode::dot4_s8s8_lane;
    case OpCode::dot2_bf16_odd:
      return OpCode::dot2_bf16_odd_lane;
    default:
      return product;
  }
}

int group_bits(const Layout& layout) {
  return layout.order.kr * std::max(8, bits(layout.element));
}

/// Loads activations as the ISA's dot products take them.
class Activations {
 public:
  explicit Activations(OpCode product)
      : lane_form_(lane_form(product)), has_lanes_(lane_form_ != product) {}

  Activation operator()(const Tile1& t, const std::vector<Value>& lhs, int64_t row, int64_t k) {
    const Layout& layout = *t.lhs.layout;
    const Value cursor = lhs[static_cast<size_t>(row / t.lhs.rows)];
    const Length offset = code_offset(layout, row % t.lhs.rows, k);
    const std::string name = fmt::format("a_{}", row);
    if (group_bits(layout) != 32 || !has_lanes_ || !t.b.isa().has(lane_form_)) {
      return {load_activation(t, lhs, row, k, group_bits(layout)), -1};
    }
    // Neighbouring 32-bit groups, of other rows or later k, come with the same load. A block's
    // codes are whole segments.
    const int64_t first = code_offset(layout, 0, 0).fixed % 16;
    const int64_t at = offset.fixed - first;
    Value& vector = loaded_.emplace(std::pair{cursor, at / 16}, no_value).first->second;
    if (vector == no_value) {
      vector = load_segment(t, {cursor, first + at / 16 * 16}, name, Role::operand);
    }
    return {vector, at % 16 / 4};
  }

 private:
  OpCode lane_form_;
  bool has_lanes_;
  std::map<std::pair<Value, int64_t>, Value> loaded_;  ///< by cursor and vector behind it
};

Value multiply_add(const Tile1& t, OpCode product, Value sum, Value codes, const Activation& a,
                   const std::string& name) {
  const OpCode code = a.lane < 0 ? product : lane_form(product);
  return t.b.op(code, {sum, codes, a.vector}, {.imm = a.lane < 0 ? 0 : a.lane}, name,
                Role::accumulator);
}

/// Neighbours of a added, then neighbours of b.
Value add_pairs(const Tile1& t, Value a, Value b) {
  const bool floats = is_float(*t.v.family.lhs);
  if (!floats && t.b.isa().has(OpCode::pair_add, 32)) {
    return t.b.op(OpCode::pair_add, {a, b}, {.bits = 32}, "out", Role::accumulator);
  }
  const Value even = t.b.op(OpCode::uzp_even, {a, b}, {.bits = 32}, "even", Role::accumulator);
  const Value odd = t.b.op(OpCode::uzp_odd, {a, b}, {.bits = 32}, "odd", Role::accumulator);
  if (floats) return t.b.op(OpCode::fadd, {even, odd}, {}, "out", Role::accumulator);
  return t.b.op(OpCode::add, {even, odd}, {.bits = 32}, "out", Role::accumulator);
}

/// Bytes of one column: a code, or several some values of k apart, as many operands for one
/// accumulator.
class DepthDot : public Multiplier {
 public:
  explicit DepthDot(const Variant& v)
      : rows_(v.tile.m.fixed),
        kr_(v.rhs.order.kr),
        lanes_(group_bits(v.lhs) / 32),
        vectors_(ratio(v.tile.n, v.isa->vector_bytes.divided(4 * lanes_))),
        sets_(v.knobs.accumulators),
        product_(contract_of(v).code()),
        decoder_(v),
        activations_(product_) {}

  [[nodiscard]] int64_t group() const override { return decoder_.operands() * kr_; }

  void prepare(const Tile1& t) override {
    decoder_.prepare(t);
    totals_ = make_totals_room(t);
  }

  [[nodiscard]] TotalsRoom totals() const override { return totals_; }

  std::vector<Value> start(const Tile1& t, const std::vector<Start>& starts) override {
    std::vector<Value> all;
    for (int64_t set = 0; set < sets_; ++set) {
      for (int64_t r = 0; r < rows_; ++r) {
        for (int64_t j = 0; j < vectors_; ++j) {
          const std::string name =
              sets_ > 1 ? fmt::format("acc{}_{}_{}", set, r, j) : fmt::format("acc_{}_{}", r, j);
          all.push_back(set == 0 && !starts.empty()
                            ? start_of(t, starts[static_cast<size_t>(r)], name)
                            : t.b.op(OpCode::zero, {}, {}, name, Role::accumulator));
        }
      }
    }
    return all;
  }

  void step(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs, int64_t g,
            std::vector<Value>& acc) override {
    const int64_t k = first_k(*t.rhs.layout, g);
    std::vector<std::vector<Value>> codes;  // [vector][operand]
    for (int64_t j = 0; j < vectors_; ++j) codes.push_back(decoder_.load(t, rhs, j, k));
    // All rows' low codes before the higher ones: an accumulator's next turn is far off.
    const int64_t count = decoder_.operands();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t from = k + i * t.rhs.layout->order.distance;
      multiply(t, lhs, from, codes, static_cast<size_t>(i), count * g + i, acc);
    }
  }

  Rows finish(const Tile1& t, const std::vector<Value>& acc) override {
    std::vector<Value> sum = add_sets(t, acc, static_cast<size_t>(sets_));
    if (lanes_ == 1) return by_rows(sum, rows_);
    for (size_t i = 0; i < sum.size() / 2; ++i) sum[i] = add_pairs(t, sum[2 * i], sum[2 * i + 1]);
    sum.resize(sum.size() / 2);
    return by_rows(sum, rows_);
  }

 private:
  void multiply(const Tile1& t, const std::vector<Value>& lhs, int64_t k,
                const std::vector<std::vector<Value>>& codes, size_t which, int64_t turn,
                std::vector<Value>& acc) {
    for (int64_t r = 0; r < rows_; ++r) {
      const Activation a = activations_(t, lhs, r, k);
      for (int64_t j = 0; j < vectors_; ++j) {
        Value& sum = acc[static_cast<size_t>((turn % sets_ * rows_ + r) * vectors_ + j)];
        const Value operand = codes[static_cast<size_t>(j)][which];
        const std::string name = fmt::format("acc_{}_{}", r, j);
        sum = multiply_add(t, product_, sum, operand, a, name);
      }
    }
  }

  int64_t rows_, kr_;
  int64_t lanes_;    ///< of a column
  int64_t vectors_;  ///< of packed codes, for all columns of the tile
  int64_t sets_;
  OpCode product_;
  Decoder decoder_;
  Activations activations_;
  TotalsRoom totals_;
};

/// The raw byte as a signed operand: 16 * high + (low + 8), and the low nibble alone.
class ColumnDot : public Multiplier {
 public:
  explicit ColumnDot(const Variant& v)
      : rows_(v.tile.m.fixed),
        kr_(v.rhs.order.kr),
        vectors_(ratio(v.tile.n, (v.isa->vector_bytes * 2).divided(v.rhs.order.kr))),
        sets_(v.knobs.accumulators),
        raw_(has_raw_blocks(v)),
        bytes_(v, crossed()),
        copies_(v.rhs.block == 0 ? 0 : field_of(v.lhs, FieldKind::sums).repeat / segment_lanes) {
    if (crossed() && vectors_ % 2 != 0) {
      reject("with blocks and kr 8 a tile is multiples of 8 columns wide");
    }
  }

  [[nodiscard]] int64_t group() const override { return kr_; }

  void prepare(const Tile1& t) override { bytes_.prepare(t); }

  std::vector<Value> start(const Tile1& t, const std::vector<Start>& starts) override {
    std::vector<Value> all(static_cast<size_t>(sets_ * rows_ * vectors_ * 2), no_value);
    // High and low start alike, so that the start cancels in high - low. Neighbours in memory are
    // loaded one after the other.
    for (int64_t i = 0; i < 2 * vectors_; ++i) {
      const int64_t half = i / vectors_;
      const int64_t j = i % vectors_;
      for (int64_t r = 0; r < rows_; ++r) {
        const std::string name = fmt::format("acc_{}_{}{}", r, j, half == 0 ? "h" : "l");
        all[static_cast<size_t>((r * vectors_ + j) * 2 + half)] =
            start_of_row(t, starts[static_cast<size_t>(r)], i, name);
      }
    }
    for (Value& one : all) {
      if (one == no_value) one = t.b.op(OpCode::zero, {}, {}, "acc", Role::accumulator);
    }
    return all;
  }

  void step(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs, int64_t g,
            std::vector<Value>& acc) override {
    const int64_t k = g * kr_;
    std::vector<Activation> a;
    for (int64_t r = 0; r < rows_; ++r) a.push_back(activations_(t, lhs, r, k));
    for (int64_t j = 0; j < vectors_; ++j) {
      const Value raw = load_codes(t, rhs, j, k);
      const Value low = bytes_.low_nibbles(t, raw, j);
      for (int64_t r = 0; r < rows_; ++r) {
        const int64_t at = ((g % sets_ * rows_ + r) * vectors_ + j) * 2;
        for (const auto& [half, codes] : {std::pair{0, raw}, {1, low}}) {
          Value& sum = acc[static_cast<size_t>(at + half)];
          sum = multiply_add(t, OpCode::dot4_s8s8, sum, codes, a[static_cast<size_t>(r)], "acc");
        }
      }
    }
  }

  Rows finish(const Tile1& t, const std::vector<Value>& acc) override {
    const std::vector<Value> sum = add_sets(t, acc, static_cast<size_t>(sets_));
    std::vector<Value> all;
    for (size_t i = 0; i < sum.size(); i += 2) {
      const Value high = high_sum(t, sum[i], sum[i + 1]);
      if (kr_ == 4) {
        all.insert(all.end(), {high, sum[i + 1]});
      } else {
        all.push_back(add_pairs(t, high, sum[i + 1]));
      }
    }
    return by_rows(all, rows_);
  }

  /// Two vectors of lanes that add up to columns in pairs give two of sums: [columns 0 1 | 4 5] of
  /// high nibbles, [2 3 | 6 7] of low ones.
  std::vector<Value> reals(const Tile1& t, const std::vector<Value>& acc) override {
    if (!raw_) return Multiplier::reals(t, acc);
    std::vector<Value> sum = add_sets(t, acc, static_cast<size_t>(sets_));
    if (kr_ == 8) {
      for (size_t i = 0; i < sum.size(); i += 4) {
        const Value high = fold(t, sum[i], sum[i + 2]);
        const Value low = fold(t, sum[i + 1], sum[i + 3]);
        sum[i / 2] = high;
        sum[i / 2 + 1] = low;
      }
      sum.resize(sum.size() / 2);
    }
    std::vector<Value> all;
    for (size_t i = 0; i < sum.size(); i += 2) {
      const auto [high, low] = bytes_.reals(t, sum[i], sum[i + 1]);
      all.insert(all.end(), {high, low});
    }
    return all;
  }

  std::vector<Value> column_scales(const Tile1& t, const std::vector<Value>& scales) override {
    if (!crossed()) return Multiplier::column_scales(t, scales);
    return Multiplier::column_scales(t, cross(t, scales));
  }

  std::vector<Value> row_scales(const Tile1& t, const std::vector<Place>& rows) override {
    if (copies_ == 0) return Multiplier::row_scales(t, rows);
    std::vector<Value> all;
    for (const Place& at : rows) {
      const Value scale =
          t.b.op(OpCode::load, {at.pointer}, {.offset = at.offset}, "scale_row", Role::operand);
      all.insert(all.end(), static_cast<size_t>(t.vectors()), scale);
    }
    return all;
  }

  std::vector<Value> zero_factors(const Tile1& t, float by) override {
    return raw_ ? bytes_.zero_factors(t, by) : Multiplier::zero_factors(t, by);
  }

  std::vector<Value> negated_sums(const Tile1& t, const std::vector<Place>& rows) override {
    if (!raw_) return Multiplier::negated_sums(t, rows);
    std::vector<Value> all;
    for (const Place& at : rows) {
      Value start = start_of_row(t, {at}, 0, "sums_of_codes");
      if (kr_ == 8) start = fold(t, start, start);
      const Value sum = bytes_.negated_sum(t, start);
      all.insert(all.end(), static_cast<size_t>(t.vectors()), sum);
    }
    return all;
  }

  Rows arrange(const Tile1& t, const std::vector<Value>& totals) override {
    if (!raw_) return Multiplier::arrange(t, totals);
    const std::vector<Value> all = without_factor(t, totals);
    return Multiplier::arrange(t, crossed() ? cross(t, all) : all);
  }

 private:
  /// With blocks: one of the ready-made vectors that the layout has, in turn.
  [[nodiscard]] Value start_of_row(const Tile1& t, const Start& start, int64_t turn,
                                   const std::string& name) const {
    if (copies_ == 0) return start_of(t, start, name);
    const Length at = start.place.offset + t.b.isa().vector_bytes * (turn % copies_);
    return t.b.op(OpCode::load, {start.place.pointer}, {.offset = at}, name, Role::accumulator);
  }
  static Value fold(const Tile1& t, Value first, Value second) {
    return t.b.op(OpCode::pair_add, {first, second}, {.bits = 32}, "out", Role::accumulator);
  }
  /// Whether reals() have other columns than vectors of outputs have; cross() goes either way.
  [[nodiscard]] bool crossed() const { return kr_ == 8 && raw_; }
  static std::vector<Value> cross(const Tile1& t, const std::vector<Value>& vectors) {
    std::vector<Value> all;
    for (size_t i = 0; i < vectors.size(); i += 2) {
      for (const OpCode half : {OpCode::zip_lo, OpCode::zip_hi}) {
        all.push_back(t.b.op(half, {vectors[i], vectors[i + 1]}, {.bits = 64}, "crossed"));
      }
    }
    return all;
  }

  int64_t rows_, kr_, vectors_, sets_;
  bool raw_;
  RawBytes bytes_;
  int64_t copies_;  ///< of a row's start as a vector; 0: it is one number
  Activations activations_{OpCode::dot4_s8s8};
};

}  // namespace

std::unique_ptr<Multiplier> make_depth_dot(const Variant& v) {
  return std::make_unique<DepthDot>(v);
}
std::unique_ptr<Multiplier> make_column_dot(const Variant& v) {
  return std::make_unique<ColumnDot>(v);
}

}  // namespace tw
