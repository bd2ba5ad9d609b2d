// Technique `fma`: every 32-bit lane is one output column, every step multiplies one k. Sums are
// f32, added to in the order of k (with several sets of accumulators: each in the order of its k).
#include <fmt/format.h>

#include "lower/tile.h"
#include "lower/weights.h"

namespace tw {
namespace {

class Fma : public Multiplier {
 public:
  Fma(const Variant& v, int64_t depth)
      : rows_(v.tile.m.fixed),
        vectors_(ratio(v.tile.n, v.isa->vector_bytes.divided(4))),
        sets_(v.knobs.accumulators),
        depth_(depth),
        weights_(v.rhs) {}

  [[nodiscard]] int64_t group() const override { return depth_; }

  void prepare(const Tile1& t) override { weights_.prepare(t); }

  void begin_block(const Tile1& t, const std::vector<Value>& rhs) override {
    weights_.begin_block(t, rhs);
  }

  std::vector<Value> start(const Tile1& t, const std::vector<Start>& /*none*/) override {
    std::vector<Value> all;
    for (int64_t i = 0; i < sets_ * rows_ * vectors_; ++i) {
      const int64_t r = i / vectors_ % rows_;
      const std::string set = sets_ > 1 ? std::to_string(i / (rows_ * vectors_)) : "";
      all.push_back(t.b.op(OpCode::zero, {}, {}, fmt::format("acc{}_{}_{}", set, r, i % vectors_),
                           Role::accumulator));
    }
    return all;
  }

  void step(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs, int64_t g,
            std::vector<Value>& acc) override {
    const int64_t k = weights_.k_of(g * depth_);
    depth_ > 1 ? step_lanes(t, lhs, rhs, k, acc) : step_one(t, lhs, rhs, k, acc);
  }

  Rows finish(const Tile1& t, const std::vector<Value>& acc) override {
    return by_rows(add_sets(t, acc, static_cast<size_t>(sets_)), rows_);
  }

 private:
  /// Several values of k of a row come with one load; each is then a lane of an operand. Rows are
  /// held, so weights come one vector at a time.
  void step_lanes(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs,
                  int64_t first, std::vector<Value>& acc) {
    std::vector<Value> lanes;
    for (int64_t r = 0; r < rows_; ++r) {
      const Place at{lhs[static_cast<size_t>(r / t.lhs.rows)],
                     code_offset(*t.lhs.layout, r % t.lhs.rows, first)};
      lanes.push_back(load_segment(t, at, fmt::format("a_{}", r), Role::operand));
    }
    for (int64_t i = 0; i < depth_ * vectors_; ++i) {
      const int64_t lane = i / vectors_;
      const int64_t j = i % vectors_;
      const int64_t k = first + lane;
      const Value weights = weights_(t, rhs, j, k);
      for (int64_t r = 0; r < rows_; ++r) {
        Value& sum = accumulator(acc, k, r, j);
        sum = t.b.op(OpCode::fma_lane, {weights, lanes[static_cast<size_t>(r)], sum}, {.imm = lane},
                     "acc", Role::accumulator);
      }
    }
  }

  /// One k: its weights are held, rows come one value at a time.
  void step_one(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs,
                int64_t k, std::vector<Value>& acc) {
    std::vector<Value> weights;
    for (int64_t j = 0; j < vectors_; ++j) weights.push_back(weights_(t, rhs, j, k));
    for (int64_t r = 0; r < rows_; ++r) {
      const Value a = load_activation(t, lhs, r, k, 32);
      for (int64_t j = 0; j < vectors_; ++j) {
        Value& sum = accumulator(acc, k, r, j);
        sum = multiply_add(t, weights[static_cast<size_t>(j)], a, sum);
      }
    }
  }

  [[nodiscard]] Value& accumulator(std::vector<Value>& acc, int64_t k, int64_t r, int64_t j) const {
    return acc[static_cast<size_t>((k % sets_ * rows_ + r) * vectors_ + j)];
  }

  int64_t rows_, vectors_, sets_, depth_;
  Weights weights_;
};

}  // namespace

Value multiply_add(Builder& b, Value x, Value a, Value sum, const std::string& name, Role role) {
  // In portable C a fused operation may be a call of the C library: there the product is rounded.
  if (b.isa().can_print_assembly) return b.op(OpCode::fma, {x, a, sum}, {}, name, role);
  const Value product = b.op(OpCode::fmul, {x, a}, {}, "product", Role::operand);
  return b.op(OpCode::fadd, {sum, product}, {}, name, role);
}

Value multiply_add(const Tile1& t, Value weights, Value a, Value sum) {
  return multiply_add(t.b, weights, a, sum, "acc", Role::accumulator);
}

std::unique_ptr<Multiplier> make_fma(const Variant& v, bool single) {
  // Vectors of activations pay where an operand can be one lane.
  const bool lanes = v.isa->has(OpCode::fma_lane) && v.knobs.unroll_k >= segment_lanes;
  return std::make_unique<Fma>(v, lanes && !single ? segment_lanes : 1);
}

}  // namespace tw
