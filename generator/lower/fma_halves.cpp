// Technique `fma` of operands of 16 bits: every 32-bit lane is one output column, a vector of
// weights is one k of two vectors of outputs, and a segment of activations several k of a row.
#include <fmt/format.h>

#include "lower/tile.h"

namespace tw {
namespace {

class FmaHalves : public Multiplier {
 public:
  explicit FmaHalves(const Variant& v)
      : rows_(v.tile.m.fixed),
        vectors_(ratio(v.tile.n, v.isa->vector_bytes.divided(4))),
        sets_(v.knobs.accumulators) {}

  [[nodiscard]] int64_t group() const override { return 2 * segment_lanes; }

  void prepare(const Tile1& /*none*/) override {}

  std::vector<Value> start(const Tile1& t, const std::vector<Start>& /*none*/) override {
    std::vector<Value> all;
    for (int64_t i = 0; i < sets_ * rows_ * vectors_; ++i) {
      const std::string name = fmt::format("acc{}_{}", i / vectors_, i % vectors_);
      all.push_back(t.b.op(OpCode::zero, {}, {}, name, Role::accumulator));
    }
    return all;
  }

  void step(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs, int64_t g,
            std::vector<Value>& acc) override {
    std::vector<Value> rows;
    for (int64_t r = 0; r < rows_; ++r) {
      const Place at{lhs[static_cast<size_t>(r / t.lhs.rows)],
                     code_offset(*t.lhs.layout, r % t.lhs.rows, g * group())};
      rows.push_back(load_segment(t, at, fmt::format("a_{}", r), Role::operand));
    }
    for (int64_t i = 0; i < group(); ++i) {
      const int64_t k = g * group() + i;
      for (int64_t j = 0; j < vectors_; j += 2) {
        const Value weights = load_weights(t, rhs, j, k);
        for (int64_t r = 0; r < rows_; ++r) {
          const auto first = static_cast<size_t>((k % sets_ * rows_ + r) * vectors_ + j);
          const Value row = rows[static_cast<size_t>(r)];
          add(t, OpCode::fma_lo_f16, weights, {row, i}, acc[first]);
          add(t, OpCode::fma_hi_f16, weights, {row, i}, acc[first + 1]);
        }
      }
    }
  }

  Rows finish(const Tile1& t, const std::vector<Value>& acc) override {
    const std::vector<Value> sum = add_sets(t, acc, static_cast<size_t>(sets_));
    Rows rows(static_cast<size_t>(rows_));
    for (size_t i = 0; i < sum.size(); ++i) {
      rows[i / static_cast<size_t>(vectors_)].push_back(sum[i]);
    }
    return rows;
  }

 private:
  /// Several values of k of a row, and which of them.
  struct Factor {
    Value row;
    int64_t lane;
  };
  static void add(const Tile1& t, OpCode code, Value weights, const Factor& by, Value& sum) {
    sum = t.b.op(code, {weights, by.row, sum}, {.imm = by.lane}, "acc", Role::accumulator);
  }

  /// Of two vectors of outputs, from vector j of the tile on.
  static Value load_weights(const Tile1& t, const std::vector<Value>& rhs, int64_t j, int64_t k) {
    const Value cursor = rhs[static_cast<size_t>(j / t.rhs.rows)];
    const Length at =
        code_offset(*t.rhs.layout, 0, k) + t.b.isa().vector_bytes * (j % t.rhs.rows / 2);
    return t.b.op(OpCode::load, {cursor}, {.offset = at}, fmt::format("w_{}", j), Role::operand);
  }

  int64_t rows_, vectors_, sets_;
};

}  // namespace

std::unique_ptr<Multiplier> make_fma_halves(const Variant& v) {
  return std::make_unique<FmaHalves>(v);
}

}  // namespace tw
