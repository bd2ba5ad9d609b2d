// LHS rows of f32: their range, and their codes with a scale and a zero point of the row's own.
#include "lower/pack_lhs.h"

#include <algorithm>

#include "lower/pack_lanes.h"
#include "lower/pack_rhs.h"

namespace tw {
namespace {

constexpr int64_t most_vectors = 4;  // of floats in one step: 4 x i32 make one vector of codes

/// i32 lanes to bytes: one vector of codes, or a quarter of one from each.
struct Narrow {
  Builder& b;

  [[nodiscard]] static bool saturates(const Isa& isa) {
    return isa.has(OpCode::narrow_32_8) && isa.has(OpCode::store, 0, isa.vector_bytes.divided(4));
  }
  [[nodiscard]] static bool pairs(const Isa& isa) {
    return has_all(isa, {"narrow_pair.32", "narrow_pair.16"}) &&
           (segments(isa) == 1 || (segments(isa) == 2 && isa.has(OpCode::permute_64)));
  }
  [[nodiscard]] static bool possible(const Isa& isa) {
    return saturates(isa) || pairs(isa) || has_all(isa, {"uzp_even.8", "uzp_even.16", "store"});
  }
  void store(Value pointer, const std::vector<Value>& codes) const {
    const size_t together = saturates(b.isa()) ? 1 : 4;
    const int64_t bytes = b.isa().vector_bytes.fixed / (saturates(b.isa()) ? 4 : 1);
    for (size_t i = 0; i < codes.size(); i += together) {
      b.op(OpCode::store, {pointer, narrow(&codes[i])},
           {.offset = static_cast<int64_t>(i / together) * bytes});
    }
  }

 private:
  [[nodiscard]] Value narrow(const Value* codes) const {
    if (saturates(b.isa())) return b.op(OpCode::narrow_32_8, {codes[0]});
    if (pairs(b.isa())) {
      const Value first = narrow_pair(32, codes[0], codes[1]);
      return narrow_pair(16, first, narrow_pair(32, codes[2], codes[3]));
    }
    // Codes fit in int8, so their low bytes are all there is.
    auto even = [&](int bits, Value x, Value y) {
      return b.op(OpCode::uzp_even, {x, y}, {.bits = bits});
    };
    const Value halves = even(16, codes[0], codes[1]);
    return even(8, halves, even(16, codes[2], codes[3]));
  }
  /// All lanes of x, then all lanes of y.
  [[nodiscard]] Value narrow_pair(int bits, Value x, Value y) const {
    constexpr int64_t even_then_odd = 0xd8;  // lanes 0 2 1 3
    const Value by_segment = b.op(OpCode::narrow_pair, {x, y}, {.bits = bits});
    if (segments(b.isa()) == 1) return by_segment;
    return b.op(OpCode::permute_64, {by_segment}, {.imm = even_then_odd});
  }
};

OpCode conversion(Rounding rounding) {
  return rounding == Rounding::even ? OpCode::cvt_f32_i32 : OpCode::cvt_f32_i32_away;
}

}  // namespace

std::vector<Value> load_floats(Builder& b, Value pointer, int64_t vectors) {
  std::vector<Value> x;
  for (int64_t i = 0; i < vectors; ++i) {
    x.push_back(b.op(OpCode::load, {pointer}, {.offset = b.isa().vector_bytes * i}, "x"));
  }
  return x;
}

void store_codes(Builder& b, Value pointer, const std::vector<Value>& codes) {
  Narrow{b}.store(pointer, codes);
}

Quantizer::Quantizer(Builder& b, Value parameters, Rounding rounding) : b_(b), rounding_(rounding) {
  auto parameter = [&](QuantizeParameter which, const std::string& hint) {
    return b.op(OpCode::load_dup, {parameters},
                {.bits = 32, .offset = static_cast<int64_t>(which) * 4}, hint);
  };
  factor_ = parameter(QuantizeParameter::factor, "factor");
  lowest_ = parameter(QuantizeParameter::lowest, "lowest");
  highest_ = parameter(QuantizeParameter::highest, "highest");
  zero_point_ = parameter(QuantizeParameter::zero_point, "zero_point");
}

Value Quantizer::code(Value x) const {
  const Value scaled = b_.op(OpCode::fmul, {x, factor_});
  const Value raised = b_.op(OpCode::fmax, {scaled, lowest_});
  const Value clamped = b_.op(OpCode::fmin, {raised, highest_});
  const Value rounded = b_.op(conversion(rounding_), {clamped});
  return b_.op(OpCode::add, {rounded, zero_point_}, {.bits = 32});
}

int64_t lhs_step(const Isa& isa, Rounding rounding, int64_t together) {
  const bool can = isa.vector_bytes.is_fixed() && Narrow::possible(isa) &&
                   has_all(isa, {"load", "store", "zero", "fmin", "fmax", "fmul", "fadd", "fma",
                                 "add.32", "load_dup.32"}) &&
                   isa.has(conversion(rounding));
  if (!can) return 0;
  const int64_t most = most_vectors * isa.lanes32();
  return Narrow::saturates(isa) ? std::min(most, together) : most;
}

Program lower_row_range(const Isa& isa, const std::string& name, int64_t step) {
  Builder b(name, isa);
  const int64_t vectors = step / isa.lanes32();
  std::vector<Value> inits = {b.arg(ArgField::lhs)};
  const Value zero = b.op(OpCode::zero);
  inits.insert(inits.end(), static_cast<size_t>(3 * vectors), zero);
  auto results = b.loop("k", b.arg(ArgField::n), inits, [&](const std::vector<Value>& now) {
    const std::vector<Value> x = load_floats(b, now[0], vectors);
    std::vector<Value> next = {b.add(now[0], isa.vector_bytes * vectors, "x")};
    for (size_t i = 0; i < x.size(); ++i) {
      next.push_back(b.op(OpCode::fmin, {x[i], now[1 + 3 * i]}, {}, "lowest"));
      next.push_back(b.op(OpCode::fmax, {x[i], now[2 + 3 * i]}, {}, "highest"));
      // 0 times an infinity or a NaN is a NaN.
      next.push_back(b.op(OpCode::fma, {x[i], zero, now[3 + 3 * i]}, {}, "nothing"));
    }
    return next;
  });
  for (size_t i = 4; i < results.size(); i += 3) {
    results[1] = b.op(OpCode::fmin, {results[i], results[1]});
    results[2] = b.op(OpCode::fmax, {results[i + 1], results[2]});
    results[3] = b.op(OpCode::fadd, {results[i + 2], results[3]});
  }
  for (int64_t i = 0; i < 3; ++i) {
    const Value dst = b.arg(ArgField::dst);
    b.op(OpCode::store, {dst, results[static_cast<size_t>(1 + i)]},
         {.offset = isa.vector_bytes * i});
  }
  return b.finish();
}

Program lower_quantize_row(const Isa& isa, const std::string& name, Rounding rounding,
                           int64_t step) {
  Builder b(name, isa);
  const int64_t vectors = step / isa.lanes32();
  const Quantizer quantizer(b, b.arg(ArgField::lookup), rounding);
  std::vector<Value> inits = {b.arg(ArgField::lhs), b.arg(ArgField::dst)};
  inits.insert(inits.end(), static_cast<size_t>(vectors), b.op(OpCode::zero));
  auto results = b.loop("k", b.arg(ArgField::n), inits, [&](const std::vector<Value>& now) {
    std::vector<Value> codes;
    for (const Value x : load_floats(b, now[0], vectors)) codes.push_back(quantizer.code(x));
    std::vector<Value> next = {b.add(now[0], isa.vector_bytes * vectors, "x"),
                               b.add(now[1], step, "codes")};
    for (size_t i = 0; i < codes.size(); ++i) {
      next.push_back(b.op(OpCode::add, {now[2 + i], codes[i]}, {.bits = 32}, "sum"));
    }
    store_codes(b, now[1], codes);
    return next;
  });
  Value sum = results[2];
  for (size_t i = 3; i < results.size(); ++i) {
    sum = b.op(OpCode::add, {sum, results[i]}, {.bits = 32});
  }
  const Value sums = b.op(OpCode::iadd, {b.arg(ArgField::dst), b.arg(ArgField::dst_stride)});
  b.op(OpCode::store, {sums, sum});
  return b.finish();
}

}  // namespace tw
