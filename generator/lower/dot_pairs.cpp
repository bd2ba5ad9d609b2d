// Technique `dot` on bytes without a sign where products are of 16 bits: codes of 8 bits, kept as
// code + 128, or values of a table. They are widened by a mask and a shift, the even ones of four
// and the odd ones; activations come as 16 bits, in that order.
#include <fmt/format.h>

#include "lower/splat.h"
#include "lower/tile.h"

namespace tw {
namespace {

constexpr int64_t pair_k = 4;

class PairDot : public Multiplier {
 public:
  explicit PairDot(const Variant& v)
      : rows_(v.tile.m.fixed),
        vectors_(ratio(v.tile.n, v.isa->vector_bytes.divided(4))),
        decoder_(v) {}

  [[nodiscard]] int64_t group() const override { return decoder_.operands() * pair_k; }

  void prepare(const Tile1& t) override {
    decoder_.prepare(t);
    mask_ = splat32(t.b, 0x00ff00ffU, "even_bytes", Role::mask);
    totals_ = make_totals_room(t);
  }

  [[nodiscard]] TotalsRoom totals() const override { return totals_; }

  std::vector<Value> row_scales(const Tile1& t, const std::vector<Place>& rows) override {
    return shared_row_scales(t, rows);
  }

  std::vector<Value> start(const Tile1& t, const std::vector<Start>& starts) override {
    std::vector<Value> all;
    for (int64_t r = 0; r < rows_; ++r) {
      const Value sum = start_of(t, starts[static_cast<size_t>(r)], fmt::format("acc_{}", r));
      all.insert(all.end(), static_cast<size_t>(vectors_), sum);
    }
    return all;
  }

  void step(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs, int64_t g,
            std::vector<Value>& acc) override {
    const int64_t k = first_k(*t.rhs.layout, g);
    std::vector<std::vector<Value>> bytes;  // [vector][operand]
    for (int64_t i = 0; i < decoder_.operands(); ++i) {
      std::vector<Value> even;
      std::vector<Value> odd;
      for (int64_t j = 0; j < vectors_; ++j) {
        if (i == 0) bytes.push_back(decoder_.load(t, rhs, j, k));
        const Value four = bytes[static_cast<size_t>(j)][static_cast<size_t>(i)];
        even.push_back(
            t.b.op(OpCode::and_, {four, mask_}, {}, fmt::format("even_{}", j), Role::operand));
        odd.push_back(t.b.op(OpCode::shr, {four}, {.bits = 16, .imm = 8}, fmt::format("odd_{}", j),
                             Role::operand));
      }
      const int64_t from = k + i * t.rhs.layout->order.distance;
      multiply(t, lhs, from, 0, even, acc);
      multiply(t, lhs, from, 4, odd, acc);
    }
  }

  Rows finish(const Tile1&, const std::vector<Value>& acc) override { return by_rows(acc, rows_); }

 private:
  /// `behind`: bytes from a group's first activation to those of `codes`.
  void multiply(const Tile1& t, const std::vector<Value>& lhs, int64_t k, int64_t behind,
                const std::vector<Value>& codes, std::vector<Value>& acc) const {
    for (int64_t r = 0; r < rows_; ++r) {
      const Length at = code_offset(*t.lhs.layout, r % t.lhs.rows, k) + Length{behind};
      const Value a = t.b.op(OpCode::load_dup, {lhs[static_cast<size_t>(r / t.lhs.rows)]},
                             {.bits = 32, .offset = at}, fmt::format("a_{}", r), Role::operand);
      for (int64_t j = 0; j < vectors_; ++j) {
        Value& sum = acc[static_cast<size_t>(r * vectors_ + j)];
        const Value product = t.b.op(OpCode::dot2_s16, {codes[static_cast<size_t>(j)], a}, {},
                                     "product", Role::operand);
        sum = t.b.op(OpCode::add, {sum, product}, {.bits = 32}, fmt::format("acc_{}_{}", r, j),
                     Role::accumulator);
      }
    }
  }

  int64_t rows_, vectors_;
  Decoder decoder_;
  Value mask_ = no_value;
  TotalsRoom totals_;
};

}  // namespace

std::unique_ptr<Multiplier> make_pair_dot(const Variant& v) {
  return std::make_unique<PairDot>(v);
}

}  // namespace tw
