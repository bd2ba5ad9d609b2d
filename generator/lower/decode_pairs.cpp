// Panels of any weights of technique `dot`, or of floats, as panels of bf16 of two vectors, two
// values of k in 32 bits:
//   dst[panel][k / 2][column][k % 2] = w, rounded to nearest, ties away from zero
// w being code * scale + what a code of 0 is worth. NaNs stay such unless all their bits are set:
// rounding adds half of what is cut off.
#include <fmt/format.h>

#include <bit>

#include "lower/block_scales.h"
#include "lower/splat.h"
#include "lower/weights.h"
#include "model/operand_contract.h"

namespace tw {
namespace {

constexpr int64_t lane_values = 2;  // of k

/// Weights of 32-bit lanes that hold codes of one column each.
class CodePairs {
 public:
  explicit CodePairs(const Tile1& t)
      : t_(t),
        decoder_(t.v),
        beyond_(beyond_codes(t, t.rhs, FieldKind::scales)),
        steps_beyond_(has_steps(t.v.rhs) ? beyond_codes(t, t.rhs, FieldKind::scale_steps)
                                         : no_value),
        lowest_(has(FieldKind::minimums) ? 0 : start_factor(t.v)) {
    const int64_t codes = int64_t{1} << bits(t.v.rhs.element);
    const bool looks_up = t.b.isa().has(OpCode::look_up_32) && t.lanes() == Length{codes};
    if (looks_up && top_bits(t.v.rhs) == 0) {
      table_ = worth_table(t, worths());
    } else {
      decoder_.prepare(t);
      low_byte_ = splat32(t.b, 0xff, "low_byte", Role::mask);
    }
  }

  [[nodiscard]] int64_t group() const { return decoder_.operands() * t_.v.rhs.order.kr; }

  void begin_super_block(const std::vector<Value>& rhs) {
    steps_ = load_steps(t_, moved_beyond(t_, rhs, steps_beyond_));
  }

  void begin_block(const std::vector<Value>& block) {
    const std::vector<Value> rhs = moved_beyond(t_, block, beyond_);
    scales_ = scales_of_block(t_, rhs, steps_);
    bases_.clear();
    if (has(FieldKind::minimums)) {
      const Value zero = t_.b.op(OpCode::zero, {}, {}, "zero", Role::operand);
      for (const Value negated : negated_minimums(t_, rhs, steps_)) {
        bases_.push_back(t_.b.op(OpCode::fsub, {zero, negated}, {}, "base", Role::operand));
      }
      return;
    }
    const int lowest = table_ == no_value ? lowest_ : 0;
    if (lowest == 0 && !has(FieldKind::zero_points)) return;
    const Value code = splat32(t_.b, std::bit_cast<uint32_t>(static_cast<float>(lowest)), "lowest");
    std::vector<Value> codes(scales_.size(), code);
    if (has(FieldKind::zero_points)) {
      codes = block_columns(t_, rhs, FieldKind::zero_points);
      for (Value& zero : codes) {
        zero = t_.b.op(OpCode::fsub, {code, zero}, {}, "lowest", Role::operand);
      }
    }
    for (size_t j = 0; j < codes.size(); ++j) {
      bases_.push_back(t_.b.op(OpCode::fmul, {scales_[j], codes[j]}, {}, "base", Role::operand));
    }
  }

  /// Hands over vectors of a group's weights: f(vector of columns, k, of k and of k + 1).
  template <typename F>
  void weights(const std::vector<Value>& rhs, int64_t g, const F& f) {
    const int64_t first = first_k(t_.v.rhs, g);
    for (int64_t j = 0; j < t_.vectors(); ++j) {
      const Codes codes = table_ != no_value ? Codes{load_codes(t_, rhs, j, first)}
                                             : decoder_.load(t_, rhs, j, first);
      for (int64_t i = 0; i < decoder_.operands(); ++i) {
        const int64_t k = first + i * t_.v.rhs.order.distance;
        for (int64_t at = 0; at < t_.v.rhs.order.kr; at += lane_values) {
          const Value low = weight(codes, j, i, at);
          f(j, k + at, low, weight(codes, j, i, at + 1));
        }
      }
    }
  }

 private:
  using Codes = std::vector<Value>;

  [[nodiscard]] bool has(FieldKind kind) const { return field_index(t_.v.rhs, kind) >= 0; }

  /// What codes are worth, for a scale of 1 and without minimums.
  [[nodiscard]] std::array<uint8_t, 16> worths() const {
    std::array<uint8_t, 16> all{};
    for (size_t i = 0; i < all.size(); ++i) {
      const CodeTable* table = t_.v.rhs.table;
      all[i] =
          static_cast<uint8_t>(table != nullptr ? table->values[i] : static_cast<int>(i) + lowest_);
    }
    return all;
  }

  Value shifted(Value x, int64_t by) const {
    if (by == 0) return x;
    return t_.b.op(OpCode::shr, {x}, {.bits = 32, .imm = by}, "code", Role::operand);
  }

  /// Number `at` of the `i`th part of the vector's codes.
  Value weight(const Codes& codes, int64_t j, int64_t i, int64_t at) const {
    Builder& b = t_.b;
    const auto column = static_cast<size_t>(j);
    const std::string name = fmt::format("w_{}", j);
    Value real;
    if (table_ != no_value) {
      const Value number = shifted(codes.front(), at * 8 + i * bits(t_.v.rhs.element));
      real = b.op(OpCode::look_up_32, {table_, number}, {}, name, Role::operand);
    } else {
      Value code = shifted(codes[static_cast<size_t>(i)], at * 8);
      if (at + 1 < t_.v.rhs.order.kr) {
        code = b.op(OpCode::and_, {code, low_byte_}, {}, "code", Role::operand);
      }
      real = b.op(OpCode::cvt_i32_f32, {code}, {}, name, Role::operand);
    }
    if (bases_.empty()) return b.op(OpCode::fmul, {real, scales_[column]}, {}, name, Role::operand);
    return b.op(OpCode::fma, {real, scales_[column], bases_[column]}, {}, name, Role::operand);
  }

  const Tile1& t_;
  Decoder decoder_;
  Value beyond_, steps_beyond_;
  int lowest_;  ///< the code of 0, less what it is taken for
  Value table_ = no_value, low_byte_ = no_value;
  BlockSteps steps_;
  std::vector<Value> scales_, bases_;  ///< bases: none, where a code of 0 is worth 0
};

/// Panels of floats of 16 bits, from where they are to be written.
class PairWriter {
 public:
  explicit PairWriter(const Tile1& t)
      : t_(t),
        half_(splat32(t.b, 0x8000, "half", Role::mask)),
        upper_(splat32(t.b, 0xffff0000, "upper", Role::mask)) {}

  /// Where each panel of the tile begins, the first of which is at `first`.
  [[nodiscard]] std::vector<Value> panels(Value first) const {
    std::vector<Value> all = {first};
    while (static_cast<int64_t>(all.size()) * pair_vectors < t_.vectors()) {
      const Value stride = t_.b.arg(ArgField::dst_stride);
      all.push_back(t_.b.op(OpCode::iadd, {all.back(), stride}, {}, "to", Role::address));
    }
    return all;
  }

  /// Of vector `j` of columns, values k and k + 1 from there on.
  void write(const std::vector<Value>& panels, int64_t j, int64_t k, Value low, Value high) const {
    Builder& b = t_.b;
    const auto rounded = [&](Value w) {
      return b.op(OpCode::add, {w, half_}, {.bits = 32}, "pair", Role::operand);
    };
    const Value first =
        b.op(OpCode::shr, {rounded(low)}, {.bits = 32, .imm = 16}, "pair", Role::operand);
    const Value second = b.op(OpCode::and_, {rounded(high), upper_}, {}, "pair", Role::operand);
    const Value pair = b.op(OpCode::or_, {first, second}, {}, "pair", Role::operand);
    const Length at = row_bytes() * (k / lane_values) + vector_bytes() * (j % pair_vectors);
    b.op(OpCode::store, {panels[static_cast<size_t>(j / pair_vectors)], pair}, {.offset = at});
  }

  /// Behind so many values of k.
  [[nodiscard]] std::vector<Value> behind(std::vector<Value> panels, int64_t k) const {
    for (Value& to : panels) to = t_.b.add(to, row_bytes() * (k / lane_values), "to");
    return panels;
  }

 private:
  [[nodiscard]] Length vector_bytes() const { return t_.b.isa().vector_bytes; }
  [[nodiscard]] Length row_bytes() const { return vector_bytes() * pair_vectors; }

  const Tile1& t_;
  Value half_, upper_;
};

void decode_codes(const Tile1& t, Value to) {
  const PairWriter writer(t);
  CodePairs codes(t);
  const KState state{{}, block_cursors(t, t.rhs), writer.panels(to)};
  const int64_t groups = t.v.rhs.block / codes.group();
  const auto begin = [&](KState& super) {
    for (Value& cursor : super.rhs) cursor = t.b.add(cursor, steps_bytes(t.v.rhs));
    codes.begin_super_block(super.rhs);
  };
  const auto group = [&](const auto&, const auto& rhs, std::vector<Value> at, int64_t g) {
    if (g == 0) codes.begin_block(rhs);
    codes.weights(code_cursors(t.v.rhs, rhs), g, [&](int64_t j, int64_t k, Value low, Value high) {
      writer.write(at, j, k, low, high);
    });
    return g + 1 == groups ? writer.behind(at, t.v.rhs.block) : at;
  };
  short_blocks(t, count_whole_blocks(t), state, groups, begin, group);
}

/// Floats, which stand one value of k after the other, in the place of products.
class FloatPairs : public Accumulation {
 public:
  FloatPairs(const Tile1& t, Value to)
      : to_(to), writer_(t), weights_(t.v.rhs), in_iteration_(decoded_at_once(t.v)) {}

  [[nodiscard]] int64_t group() const override { return lane_values; }
  void prepare(const Tile1& t) override { weights_.prepare(t); }
  std::vector<Value> start(const Tile1& /*t*/, const std::vector<Start>& /*none*/) override {
    return writer_.panels(to_);
  }
  void begin_block(const Tile1& t, const std::vector<Value>& rhs) override {
    weights_.begin_block(t, rhs);
  }

  void step(const Tile1& t, const std::vector<Value>& /*lhs*/, const std::vector<Value>& rhs,
            int64_t g, std::vector<Value>& to) override {
    const int64_t k = g * lane_values;
    for (int64_t j = 0; j < t.vectors(); ++j) {
      const Value low = weights_(t, rhs, j, k);
      writer_.write(to, j, k, low, weights_(t, rhs, j, k + 1));
    }
    if (k + lane_values == in_iteration_) to = writer_.behind(to, in_iteration_);
  }

 private:
  Value to_;
  PairWriter writer_;
  Weights weights_;
  int64_t in_iteration_;  ///< values of k
};

void decode_floats(const Tile1& t, Value to) {
  FloatPairs pairs(t, to);
  if (t.v.rhs.block != 0) {
    multiply_blocks(t, pairs);
    return;
  }
  pairs.prepare(t);
  const int64_t step = t.v.knobs.unroll_k;
  const Value count = quotient(t.b, t.padded, step, "k_steps");
  const KState state{{}, code_pointers(t, t.rhs), pairs.start(t, {})};
  step_loop(t, {count, step, step / lane_values, true}, state, pairs);
}

}  // namespace

void decode_to_pairs(const Tile1& t, Value to) {
  holds_floats(t.v.rhs.element) ? decode_floats(t, to) : decode_codes(t, to);
}

}  // namespace tw
