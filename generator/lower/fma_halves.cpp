// Technique `fma` of operands of 16 bits: a vector of weights is one k of as many columns as it has
// lanes, a segment of activations several k of a row. Sums are f32, two vectors of them for one of
// weights, or f16, which become f32 at the end.
#include <fmt/format.h>

#include "lower/tile.h"
#include "model/operand_contract.h"

namespace tw {
namespace {

class FmaHalves : public Multiplier {
 public:
  FmaHalves(const Variant& v, int64_t depth)
      : rows_(v.tile.m.fixed),
        vectors_(ratio(v.tile.n, v.isa->vector_bytes.divided(2))),
        sets_(v.knobs.accumulators),
        depth_(depth),
        half_sums_(contract_of(v).code() == OpCode::fma_f16_lane) {}

  [[nodiscard]] int64_t group() const override { return depth_; }

  std::vector<Value> start(const Tile1& t, const std::vector<Start>& /*none*/) override {
    std::vector<Value> all;
    for (int64_t i = 0; i < sets_ * rows_ * in_row(); ++i) {
      const std::string name = fmt::format("acc{}_{}", i / in_row(), i % in_row());
      all.push_back(t.b.op(OpCode::zero, {}, {}, name, Role::accumulator));
    }
    return all;
  }

  void step(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs, int64_t g,
            std::vector<Value>& acc) override {
    std::vector<Value> rows;
    for (int64_t r = 0; r < rows_; ++r) rows.push_back(load_row(t, lhs, r, g));
    for (int64_t i = 0; i < depth_; ++i) {
      const int64_t k = g * depth_ + i;
      for (int64_t j = 0; j < vectors_; ++j) {
        const Value weights = load_codes(t, rhs, j, k, "w");
        for (int64_t r = 0; r < rows_; ++r) {
          Value* sums = &acc[static_cast<size_t>((k % sets_ * rows_ + r) * in_row() + j * each())];
          multiply(t, weights, {rows[static_cast<size_t>(r)], i}, sums);
        }
      }
    }
  }

  Rows finish(const Tile1& t, const std::vector<Value>& acc) override {
    const std::vector<Value> reals = half_sums_ ? widened(t, acc) : acc;
    return by_rows(add_sets(t, reals, static_cast<size_t>(sets_)), rows_);
  }

 private:
  /// Several values of k of a row, and which of them.
  struct Factor {
    Value row;
    int64_t lane;
  };

  /// Vectors of sums that belong to one of weights, and to a row.
  [[nodiscard]] int64_t each() const { return half_sums_ ? 1 : 2; }
  [[nodiscard]] int64_t in_row() const { return vectors_ * each(); }

  [[nodiscard]] Value load_row(const Tile1& t, const std::vector<Value>& lhs, int64_t r,
                               int64_t g) const {
    if (depth_ == 1) return load_activation(t, lhs, r, g, 16);
    const Place at{lhs[static_cast<size_t>(r / t.lhs.rows)],
                   code_offset(*t.lhs.layout, r % t.lhs.rows, g * depth_)};
    return load_segment(t, at, fmt::format("a_{}", r), Role::operand);
  }

  void multiply(const Tile1& t, Value weights, const Factor& by, Value* sums) const {
    const auto add = [&](OpCode code, Value& sum) {
      sum = t.b.op(code, {weights, by.row, sum}, {.imm = by.lane}, "acc", Role::accumulator);
    };
    if (half_sums_) return add(OpCode::fma_f16_lane, sums[0]);
    add(OpCode::fma_lo_f16, sums[0]);
    add(OpCode::fma_hi_f16, sums[1]);
  }

  static std::vector<Value> widened(const Tile1& t, const std::vector<Value>& halves) {
    std::vector<Value> reals;
    for (const Value half : halves) {
      for (const OpCode code : {OpCode::cvt_lo_f16_f32, OpCode::cvt_hi_f16_f32}) {
        reals.push_back(t.b.op(code, {half}, {}, "sum", Role::accumulator));
      }
    }
    return reals;
  }

  int64_t rows_, vectors_, sets_, depth_;
  bool half_sums_;
};

}  // namespace

std::unique_ptr<Multiplier> make_fma_halves(const Variant& v, bool single) {
  constexpr int64_t in_segment = 2 * segment_lanes;
  const bool lanes = v.knobs.unroll_k >= in_segment;
  return std::make_unique<FmaHalves>(v, lanes && !single ? in_segment : 1);
}

}  // namespace tw
