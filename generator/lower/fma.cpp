// Technique `fma`: every 32-bit lane is one output column, every step multiplies one k. Sums are
// f32, added to in the order of k (with several sets of accumulators: each in the order of its k).
// Codes with scales per block of k become weights before they are multiplied:
//   w = (float(code) - zero point) * scale
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "lower/splat.h"
#include "lower/tile.h"
#include "lower/widen.h"

namespace tw {
namespace {

/// A vector of weights of one k as f32. Where they are codes, a lane holds several bytes of its
/// column: one code goes to the top of the lane, and back with its sign.
class Weights {
 public:
  explicit Weights(const Layout& rhs) : rhs_(rhs), group_(depth_codes(rhs) * rhs.order.distance) {}

  void prepare(const Tile1& t) {
    const auto signs = is_float(rhs_.element) ? 0 : static_cast<uint32_t>(offset_bits(rhs_));
    if (signs != 0) signs_ = splat32(t.b, signs * 0x01010101U, "signs", Role::mask);
  }

  void begin_block(const Tile1& t, const std::vector<Value>& rhs) {
    scales_ = block_columns(t, rhs, FieldKind::scales);
    const bool has_zeros = field_index(rhs_, FieldKind::zero_points) >= 0;
    if (has_zeros) zeros_ = block_columns(t, rhs, FieldKind::zero_points);
  }

  /// The value of k whose turn is `i`: codes go as they lie, so that those of a byte follow each
  /// other.
  [[nodiscard]] int64_t k_of(int64_t i) const {
    const int64_t kr = rhs_.order.kr;
    const int64_t codes = depth_codes(rhs_) * kr;  // of a column in a vector
    const int64_t part = i % group_ / codes * kr + i % kr;
    return i - i % group_ + i % codes / kr * rhs_.order.distance + part;
  }

  /// Of vector j of the tile.
  Value operator()(const Tile1& t, const std::vector<Value>& rhs, int64_t j, int64_t k) {
    const Value cursor = rhs[static_cast<size_t>(j / t.rhs.rows)];
    const bool two_columns = rhs_.order.pair == NibblePair::column;
    const int64_t raw = j % t.rhs.rows / (two_columns ? 2 : 1);
    const Length bytes =
        lanes_bytes(t.b.isa(), is_float(rhs_.element) ? rhs_.element : ElementType::i32);
    const Length at = code_offset(rhs_, 0, k) + bytes * raw;
    const std::string name = fmt::format("w_{}", j);
    const auto load = [&] {
      return t.b.op(OpCode::load, {cursor}, {.offset = at, .bytes = bytes}, name, Role::operand);
    };
    if (is_float(rhs_.element)) return widened(t.b, load(), rhs_.element, name, Role::operand);
    Value& codes =
        loaded_.emplace(std::tuple{cursor, raw, group_of(rhs_, k)}, no_value).first->second;
    if (codes == no_value) {
      codes = load();
      if (signs_ != no_value) {
        codes = t.b.op(OpCode::xor_, {codes, signs_}, {}, name, Role::operand);
      }
    }
    // The first of two columns, the second of two parts of a group.
    const bool high = two_columns ? j % 2 == 0 : k % group_ >= rhs_.order.distance;
    return scaled(t, real(t, codes, k % rhs_.order.kr * 8 + (high ? 4 : 0), name), j, name);
  }

 private:
  /// Of the code that begins with this bit of every lane.
  Value real(const Tile1& t, Value codes, int64_t bit, const std::string& name) const {
    const int width = bits(rhs_.element);
    const int64_t above = 32 - width - bit;
    const auto shift = [&](OpCode code, Value x, int64_t by) {
      return t.b.op(code, {x}, {.bits = 32, .imm = by}, name, Role::operand);
    };
    const Value top = above == 0 ? codes : shift(OpCode::shl, codes, above);
    const Value code = shift(OpCode::sar, top, 32 - width);
    return t.b.op(OpCode::cvt_i32_f32, {code}, {}, name, Role::operand);
  }

  /// By the scale of its block, if codes have those.
  [[nodiscard]] Value scaled(const Tile1& t, Value code, int64_t j, const std::string& name) const {
    if (scales_.empty()) return code;
    const auto column = static_cast<size_t>(j);
    if (!zeros_.empty()) {
      code = t.b.op(OpCode::fsub, {code, zeros_[column]}, {}, name, Role::operand);
    }
    return t.b.op(OpCode::fmul, {code, scales_[column]}, {}, name, Role::operand);
  }

  const Layout& rhs_;
  int64_t group_;           ///< values of k whose codes share bytes
  Value signs_ = no_value;  ///< of unsigned codes: bits that differ from signed ones
  /// Codes, by cursor, vector behind it and group of kr.
  std::map<std::tuple<Value, int64_t, int64_t>, Value> loaded_;
  std::vector<Value> scales_, zeros_;  ///< of the block's columns
};

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
    const std::vector<Value> sum = add_sets(t, acc, static_cast<size_t>(sets_));
    Rows rows(static_cast<size_t>(rows_));
    for (size_t i = 0; i < sum.size(); ++i) {
      rows[i / static_cast<size_t>(vectors_)].push_back(sum[i]);
    }
    return rows;
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

int64_t fma_depth(const Variant& v) {
  const bool lanes = v.isa->has(OpCode::fma_lane) && v.knobs.unroll_k >= segment_lanes;
  return lanes ? segment_lanes : 1;
}

std::unique_ptr<Multiplier> make_fma(const Variant& v, int64_t depth) {
  return std::make_unique<Fma>(v, depth);
}

}  // namespace tw
