// Technique `mmla`: a 128-bit segment holds 2 rows x 2 columns of outputs and takes 8 values of k.
// Codes are multiplied as raw bytes, like in ColumnDot (dot.cpp): one decoding step for 32 codes;
// or, where a byte belongs to one column, its nibbles each by itself, or the byte.
#include <fmt/format.h>

#include "lower/splat.h"
#include "lower/tile.h"

namespace tw {
namespace {

class Mmla : public Multiplier {
 public:
  explicit Mmla(const Variant& v)
      : pairs_(v.tile.m.fixed / 2),
        halves_(ratio(v.tile.n, v.isa->vector_bytes.divided(8))),
        sets_(v.knobs.accumulators),
        by_depth_(v.rhs.order.pair != NibblePair::column),
        decoder_(v.rhs) {}

  [[nodiscard]] int64_t group() const override { return by_depth_ ? 8 * decoder_.operands() : 8; }

  void prepare(const Tile1& t) override {
    if (by_depth_) {
      decoder_.prepare(t);
    } else {
      mask_ = splat32(t.b, 0x0f0f0f0fU, "mask", Role::mask);
    }
  }

  std::vector<Value> start(const Tile1& t, const std::vector<Place>& sums) override {
    std::vector<Value> all;
    for (int64_t i = 0; i < sets_ * pairs_ * halves_; ++i) {
      const int64_t pair = i / halves_ % pairs_;
      const std::string name = by_depth_ ? fmt::format("acc_{}_{}", pair, i % halves_)
                                         : fmt::format("acc_{}_{}{}", pair, i / 2 % (halves_ / 2),
                                                       i % 2 == 0 ? "h" : "l");
      // Packed as [r0 r0 r1 r1]: high and low start alike, the start cancels in high - low.
      all.push_back(
          i < pairs_ * halves_ && !sums.empty()
              ? load_segment(t, sums[static_cast<size_t>(2 * pair)], name, Role::accumulator)
              : t.b.op(OpCode::zero, {}, {}, name, Role::accumulator));
    }
    return all;
  }

  void step(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs, int64_t g,
            std::vector<Value>& acc) override {
    if (by_depth_) {
      step_by_depth(t, lhs, rhs, g, acc);
    } else {
      step_by_column(t, lhs, rhs, g, acc);
    }
  }

  Rows finish(const Tile1& t, const std::vector<Value>& acc) override {
    const std::vector<Value> sum = add_sets(t, acc, static_cast<size_t>(sets_));
    Rows rows(static_cast<size_t>(2 * pairs_));
    for (size_t i = 0; i < sum.size(); i += 2) {
      const size_t pair = i / static_cast<size_t>(halves_);
      const Value first = by_depth_ ? sum[i] : high_sum(t, sum[i], sum[i + 1]);
      for (const size_t row : {2 * pair, 2 * pair + 1}) {
        const OpCode pick = row % 2 == 0 ? OpCode::uzp_even : OpCode::uzp_odd;
        rows[row].push_back(t.b.op(pick, {first, sum[i + 1]}, {.bits = 64},
                                   fmt::format("row_{}", row), Role::accumulator));
      }
    }
    return rows;
  }

 private:
  void step_by_column(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs,
                      int64_t g, std::vector<Value>& acc) const {
    const int64_t k = g * group();
    const std::vector<Value> a = activations(t, lhs, k);
    const int64_t vectors = halves_ / 2;
    const int64_t in_panel = vectors / static_cast<int64_t>(rhs.size());
    for (int64_t j = 0; j < vectors; ++j) {
      const Value raw = load_codes(t, rhs, j, k, in_panel);
      const Value low =
          t.b.op(OpCode::and_, {raw, mask_}, {}, fmt::format("lo_{}", j), Role::operand);
      multiply(t, a, raw, g, 2 * j, acc);
      multiply(t, a, low, g, 2 * j + 1, acc);
    }
  }

  void step_by_depth(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs,
                     int64_t g, std::vector<Value>& acc) const {
    const DataOrder& order = t.rhs.layout->order;
    const int64_t k = first_k(order, g);
    const int64_t count = decoder_.operands();
    std::vector<std::vector<Value>> a;
    for (int64_t i = 0; i < count; ++i) a.push_back(activations(t, lhs, k + i * order.distance));
    const int64_t in_panel = halves_ / static_cast<int64_t>(rhs.size());
    for (int64_t j = 0; j < halves_; ++j) {
      const Value raw = load_codes(t, rhs, j, k, in_panel);
      const std::vector<Value> codes = decoder_(t, raw, j);
      for (int64_t i = 0; i < count; ++i) {
        const auto which = static_cast<size_t>(i);
        multiply(t, a[which], codes[which], count * g + i, j, acc);
      }
    }
  }

  /// 8 values of k of every pair of rows.
  [[nodiscard]] std::vector<Value> activations(const Tile1& t, const std::vector<Value>& lhs,
                                               int64_t k) const {
    std::vector<Value> a;
    for (int64_t p = 0; p < pairs_; ++p) {
      const Place place{lhs[static_cast<size_t>(2 * p / t.lhs.rows)],
                        code_offset(*t.lhs.layout, 2 * p % t.lhs.rows, k)};
      a.push_back(load_segment(t, place, fmt::format("a_{}", p), Role::operand));
    }
    return a;
  }

  void multiply(const Tile1& t, const std::vector<Value>& a, Value codes, int64_t turn,
                int64_t half, std::vector<Value>& acc) const {
    for (int64_t p = 0; p < pairs_; ++p) {
      Value& sum = acc[static_cast<size_t>((turn % sets_ * pairs_ + p) * halves_ + half)];
      sum = t.b.op(OpCode::mmla_s8s8, {sum, a[static_cast<size_t>(p)], codes}, {},
                   fmt::format("acc_{}_{}", p, half), Role::accumulator);
    }
  }

  int64_t pairs_;
  int64_t halves_;  ///< pairs of columns, an accumulator each: half a vector of outputs
  int64_t sets_;
  bool by_depth_;  ///< bytes belong to one column each
  Decoder decoder_;
  Value mask_ = no_value;
};

}  // namespace

std::unique_ptr<Multiplier> make_mmla(const Variant& v) {
  return std::make_unique<Mmla>(v);
}

}  // namespace tw
