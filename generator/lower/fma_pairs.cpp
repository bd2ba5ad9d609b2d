// Technique `fma` of f16 whose weights stand as for outer products: a lane of 32 bits is one
// column, and holds a pair of values of k. Sums are f32, to which every pair adds its first
// product, then its second one. Rows are their user's own: where k is odd, the last value comes
// alone.
#include <fmt/format.h>

#include "lower/tile.h"

namespace tw {
namespace {

class FmaPairs : public Multiplier {
 public:
  FmaPairs(const Variant& v, int64_t depth)
      : rows_(v.tile.m.fixed),
        vectors_(ratio(v.tile.n, v.isa->vector_bytes.divided(4))),
        sets_(v.knobs.accumulators),
        depth_(depth) {}

  [[nodiscard]] int64_t group() const override { return depth_; }

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
    constexpr OpCode codes[] = {OpCode::fma_even_f16, OpCode::fma_odd_f16};
    std::vector<Value> rows;
    for (int64_t r = 0; r < rows_; ++r) {
      rows.push_back(load_activation(t, lhs, r, g * depth_, static_cast<int>(16 * depth_)));
    }
    for (int64_t j = 0; j < vectors_; ++j) {
      const Value weights = load_codes(t, rhs, j, g * depth_, "w");
      for (int64_t i = 0; i < depth_ * rows_; ++i) {
        const int64_t r = i % rows_;
        Value& sum = acc[static_cast<size_t>((g % sets_ * rows_ + r) * vectors_ + j)];
        sum = t.b.op(codes[i / rows_], {weights, rows[static_cast<size_t>(r)], sum}, {}, "acc",
                     Role::accumulator);
      }
    }
  }

  Rows finish(const Tile1& t, const std::vector<Value>& acc) override {
    return by_rows(add_sets(t, acc, static_cast<size_t>(sets_)), rows_);
  }

 private:
  int64_t rows_, vectors_, sets_, depth_;
};

}  // namespace

std::unique_ptr<Multiplier> make_fma_pairs(const Variant& v, bool single) {
  return std::make_unique<FmaPairs>(v, single ? 1 : 2);
}

}  // namespace tw
