#include "lower/quantize.h"

#include <algorithm>
#include <bit>

#include "lower/pack_lanes.h"
#include "lower/pack_rhs.h"
#include "lower/splat.h"
#include "lower/widen.h"

namespace tw {
namespace {

constexpr int64_t most_vectors = 4;  // of floats in one step: 4 x i32 make one vector of codes

// Ways from i32 lanes to bytes.
bool has_single_lanes(const Isa& isa) {
  return isa.lanes32() == 1 && isa.has(OpCode::store_lane, 8);
}
bool has_pairs(const Isa& isa) {
  return has_all(isa, {"narrow_pair.32", "narrow_pair.16"}) &&
         (segments(isa) == 1 || (segments(isa) == 2 && isa.has(OpCode::permute_64)));
}
/// Four vectors become one.
bool has_fours(const Isa& isa) {
  return has_pairs(isa) || has_all(isa, {"uzp_even.8", "uzp_even.16", "store"});
}
/// Else one becomes a quarter.
bool has_quarters(const Isa& isa) {
  return !has_fours(isa) && isa.has(OpCode::narrow_32_8) &&
         isa.has(OpCode::store, 0, isa.vector_bytes.divided(4));
}
bool can_store_codes(const Isa& isa, ElementType element) {
  if (element == ElementType::i16) return has_pairs(isa);
  return has_single_lanes(isa) || has_fours(isa) || has_quarters(isa);
}

bool can_combine_lanes(const Isa& isa) {
  if (isa.lanes32() == 1) return true;
  const bool swaps = segments(isa) == 1 || (segments(isa) == 2 && isa.has(OpCode::permute_64)) ||
                     (segments(isa) == 4 && isa.has(OpCode::move_segments));
  return swaps && has_all(isa, {"zip_lo.32", "zip_lo.64", "zip_hi.64"});
}

OpCode conversion(Rounding rounding) {
  return rounding == Rounding::even ? OpCode::cvt_f32_i32 : OpCode::cvt_f32_i32_away;
}

/// All lanes of x, then all lanes of y, half as wide.
Value narrow_pair(Builder& b, int bits, Value x, Value y) {
  constexpr int64_t even_then_odd = 0xd8;  // lanes 0 2 1 3
  const Value by_segment = b.op(OpCode::narrow_pair, {x, y}, {.bits = bits});
  if (segments(b.isa()) == 1) return by_segment;
  return b.op(OpCode::permute_64, {by_segment}, {.imm = even_then_odd});
}

/// Four vectors of i32 as one of bytes.
Value narrow(Builder& b, const Value* codes) {
  if (has_pairs(b.isa())) {
    const Value first = narrow_pair(b, 32, codes[0], codes[1]);
    return narrow_pair(b, 16, first, narrow_pair(b, 32, codes[2], codes[3]));
  }
  // Codes fit in int8, so their low bytes are all there is.
  const Value halves[] = {b.op(OpCode::uzp_even, {codes[0], codes[1]}, {.bits = 16}),
                          b.op(OpCode::uzp_even, {codes[2], codes[3]}, {.bits = 16})};
  return b.op(OpCode::uzp_even, {halves[0], halves[1]}, {.bits = 8});
}

/// Constants, comparisons and choices in all lanes.
struct Lanes {
  Builder& b;

  [[nodiscard]] Value bits(uint32_t value) const { return splat32(b, value, "bits"); }
  [[nodiscard]] Value number(float value) const { return bits(std::bit_cast<uint32_t>(value)); }
  /// All ones where the i32 is negative.
  [[nodiscard]] Value negative(Value x, const char* name) const {
    return b.op(OpCode::sar, {x}, {.bits = 32, .imm = 31}, name);
  }
  /// All ones where x, an i32 that is not negative, is below `bound`.
  [[nodiscard]] Value below(Value x, uint32_t bound, const char* name) const {
    return negative(b.op(OpCode::add, {x, bits(-bound)}, {.bits = 32}), name);
  }
  /// `yes` where what is given is all ones, `no` where it is 0.
  [[nodiscard]] Value choose(const Choice& choice, const char* name) const {
    const Value differing = b.op(OpCode::xor_, {choice.yes, choice.no});
    const Value chosen = b.op(OpCode::and_, {differing, choice.given});
    return b.op(OpCode::xor_, {choice.no, chosen}, {}, name);
  }
};

constexpr uint32_t infinity = 0x7f800000;
constexpr uint32_t not_a_number = 0x7fc00000;
constexpr float largest_float = 3.402823466e+38F;

/// Values per code, inverted. Ranges that a float cannot hold are taken by halves; where the
/// inverse is more than a float can hold, the largest one is near enough to make codes of
/// denormals.
Value row_factor(Builder& b, Value lowest, Value highest) {
  const Lanes v{b};
  const Value range = b.op(OpCode::fsub, {highest, lowest}, {}, "range");
  const Value whole = b.op(OpCode::fdiv, {v.number(255), range});
  const Value half = v.number(0.5F);
  const Value ends[] = {b.op(OpCode::fmul, {half, highest}), b.op(OpCode::fmul, {half, lowest})};
  const Value half_range = b.op(OpCode::fsub, {ends[0], ends[1]});
  const Value halves = b.op(OpCode::fdiv, {v.number(127.5F), half_range});
  const Value factor = v.choose({v.below(range, infinity, "fits"), whole, halves}, "factor");
  const Value finite = b.op(OpCode::fmin, {factor, v.number(largest_float)});
  return v.choose({v.below(range, 1, "empty"), v.number(1), finite}, "factor");
}

/// Of rows, as a float: the end of the range that is further from 0 is a code.
Value row_zero_point(Builder& b, Value low, Value high) {
  const Lanes v{b};
  const Value first = v.number(-128);
  const Value last = v.number(127);
  const Value over =
      b.op(OpCode::fadd, {b.op(OpCode::fadd, {first, low}), b.op(OpCode::fadd, {last, high})});
  const Value below_zero = b.op(OpCode::sub, {b.op(OpCode::zero), over}, {.bits = 32});
  const Value zero_point =
      v.choose({v.negative(below_zero, "positive"), b.op(OpCode::fsub, {first, low}),
                b.op(OpCode::fsub, {last, high})},
               "zero_point");
  return b.op(OpCode::fmin, {b.op(OpCode::fmax, {zero_point, first}), last});
}

void store_parameters(Builder& b, const Parameters& to, const std::vector<Value>& parameters) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    b.op(OpCode::store, {to.first, parameters[i]},
         {.offset = to.offset(static_cast<QuantizeParameter>(i))});
  }
}

/// Of rows, from the range of their values and 0. `nothing`: 0, or a NaN where a value is infinite
/// or a NaN, as with blocks.
void store_row_parameters(Builder& b, const Parameters& to, Value lowest, Value highest,
                          Value nothing) {
  const Lanes v{b};
  const Value factor = row_factor(b, lowest, highest);
  const Value low = b.op(OpCode::fmul, {lowest, factor}, {}, "low");
  const Value high = b.op(OpCode::fmul, {highest, factor}, {}, "high");
  const Value zero_point = b.op(OpCode::cvt_f32_i32, {row_zero_point(b, low, high)});
  const Value rounded = b.op(OpCode::cvt_i32_f32, {zero_point}, {}, "rounded");
  const Value magnitude = b.op(OpCode::and_, {nothing, v.bits(0x7fffffff)});
  const Value finite = v.below(magnitude, 1, "finite");
  const Value scale = b.op(OpCode::fdiv, {v.number(1), factor});
  const auto if_finite = [&](Value x) { return b.op(OpCode::and_, {x, finite}); };
  store_parameters(b, to,
                   {if_finite(factor), if_finite(b.op(OpCode::fsub, {v.number(-128), rounded})),
                    if_finite(b.op(OpCode::fsub, {v.number(127), rounded})), if_finite(zero_point),
                    v.choose({finite, scale, v.bits(not_a_number)}, "scale")});
}

}  // namespace

bool can_quantize(const Layout& layout, ElementType from, const Isa& isa) {
  return isa.can_print_c && isa.vector_bytes.is_fixed() && can_widen(isa, from) &&
         can_store_codes(isa, layout.element) && can_combine_lanes(isa) &&
         isa.has(conversion(layout.rounding)) &&
         has_all(isa, {"load", "store", "zero", "fmin", "fmax", "fmul", "fadd", "fsub", "fdiv",
                       "add.32", "sub.32", "mul.32", "sar.32", "and", "xor", "load_dup.32",
                       "cvt_f32_i32", "cvt_i32_f32"});
}

int64_t quantize_step(const Isa& isa, int64_t together) {
  if (has_single_lanes(isa)) return 1;
  const int64_t most = range_step(isa);
  return has_quarters(isa) ? std::min(most, together) : most;
}

int64_t range_step(const Isa& isa) {
  return most_vectors * isa.lanes32();
}

void store_block_parameters(Builder& b, const Parameters& to, Value largest, BlockFactor rule) {
  const Lanes v{b};
  const Value finite = v.below(largest, infinity, "finite");
  const Value small = v.below(largest, std::bit_cast<uint32_t>(0x1p-100F), "small");
  const Value zero = b.op(OpCode::zero);
  const Value most = v.number(127);
  const auto if_finite = [&](Value x) { return b.op(OpCode::and_, {x, finite}); };
  const Value step = b.op(OpCode::fdiv, {largest, most});
  const Value steps = rule == BlockFactor::of_largest ? b.op(OpCode::fdiv, {most, largest})
                                                      : b.op(OpCode::fdiv, {v.number(1), step});
  const Value factor = v.choose({small, zero, steps}, "factor");
  const Value scale = v.choose({small, zero, step}, "scale");
  store_parameters(b, to,
                   {if_finite(factor), if_finite(v.number(-127)), if_finite(most), zero,
                    v.choose({finite, scale, v.bits(not_a_number)}, "scale")});
}

Value kept_parameter(Builder& b, const Parameters& how, FieldKind kind) {
  const bool scale = kind == FieldKind::scales;
  const auto which = scale ? QuantizeParameter::scale : QuantizeParameter::zero_point;
  const Value value =
      b.op(OpCode::load_scalar, {how.first}, {.bits = 32, .offset = how.offset(which)}, "value");
  return scale ? value : b.op(OpCode::isub, {b.constant(0), value});
}

Quantizer::Quantizer(Builder& b, const Parameters& parameters, Rounding rounding)
    : b_(b), rounding_(rounding) {
  auto parameter = [&](QuantizeParameter which, const std::string& name) {
    return b.op(OpCode::load_dup, {parameters.first},
                {.bits = 32, .offset = parameters.offset(which)}, name);
  };
  factor_ = parameter(QuantizeParameter::factor, "factor");
  lowest_ = parameter(QuantizeParameter::lowest, "lowest");
  highest_ = parameter(QuantizeParameter::highest, "highest");
  zero_point_ = parameter(QuantizeParameter::zero_point, "zero_point");
  if (!by_adding()) return;
  base_ = Lanes{b}.bits(float_base);
  zero_point_ = b.op(OpCode::sub, {zero_point_, base_}, {.bits = 32}, "zero_point");
}

/// A float that is added leaves the integer in the sum's low bits: cheaper in plain C.
bool Quantizer::by_adding() const {
  return b_.isa().lanes32() == 1 && rounding_ == Rounding::even;
}

OpCode minimum_of_numbers(const Isa& isa) {
  return isa.has(OpCode::fminimum) ? OpCode::fminimum : OpCode::fmin;
}

Value Quantizer::code(Value x) const {
  const Value scaled = b_.op(OpCode::fmul, {x, factor_});
  const Value raised = b_.op(OpCode::fmax, {scaled, lowest_});
  const Value clamped = b_.op(minimum_of_numbers(b_.isa()), {raised, highest_});
  const Value rounded =
      by_adding() ? b_.op(OpCode::fadd, {clamped, base_}) : b_.op(conversion(rounding_), {clamped});
  return b_.op(OpCode::add, {rounded, zero_point_}, {.bits = 32});
}

std::vector<Value> load_floats(Builder& b, Value pointer, int64_t vectors, ElementType from) {
  const Length bytes = lanes_bytes(b.isa(), from);
  std::vector<Value> x;
  for (int64_t i = 0; i < vectors; ++i) {
    const Value loaded = b.op(OpCode::load, {pointer}, {.offset = bytes * i, .bytes = bytes}, "x");
    x.push_back(widened(b, loaded, from, "x"));
  }
  return x;
}

void store_codes(Builder& b, Value pointer, const std::vector<Value>& codes, ElementType element) {
  const bool wide = element == ElementType::i16;
  const bool single = has_single_lanes(b.isa());
  const bool quarters = !wide && !single && has_quarters(b.isa());
  const size_t together = single || quarters ? 1 : wide ? 2 : 4;
  for (size_t i = 0; i < codes.size(); i += together) {
    const auto at = static_cast<int64_t>(i) * b.isa().lanes32() * bits(element) / 8;
    if (single) {
      b.op(OpCode::store_lane, {pointer, codes[i]}, {.bits = 8, .offset = at});
      continue;
    }
    const auto here = [&](size_t j) { return codes[std::min(i + j, codes.size() - 1)]; };
    const Value four[] = {here(0), here(1), here(2), here(3)};
    const Value narrowed = quarters ? b.op(OpCode::narrow_32_8, {four[0]})
                           : wide   ? narrow_pair(b, 32, four[0], four[1])
                                    : narrow(b, four);
    b.op(OpCode::store, {pointer, narrowed}, {.offset = at});
  }
}

Value combined(std::vector<Value> values, const Combine& combine) {
  while (values.size() > 1) {
    std::vector<Value> half;
    for (size_t i = 0; i + 1 < values.size(); i += 2) {
      half.push_back(combine(values[i], values[i + 1]));
    }
    if (values.size() % 2 == 1) half.push_back(values.back());
    values = half;
  }
  return values[0];
}

Value across(Builder& b, Value x, const Combine& combine) {
  if (b.isa().lanes32() == 1) return x;
  // Segments and their neighbours: of the other half of x, then of their own.
  if (segments(b.isa()) == 4) {
    for (const int64_t places : {0x4e, 0xb1}) {
      x = combine(x, b.op(OpCode::move_segments, {x, x}, {.imm = places}));
    }
  } else if (segments(b.isa()) == 2) {
    x = combine(x, b.op(OpCode::permute_64, {x}, {.imm = 0x4e}));
  }
  const Pair halves = interleave(b, 64, x, x);
  const Value half = combine(halves.low, halves.high);
  const Value pairs = b.op(OpCode::zip_lo, {half, half}, {.bits = 32});
  const Pair lanes = interleave(b, 64, pairs, pairs);
  return combine(lanes.low, lanes.high);
}

std::vector<Value> for_steps(Builder& b, Value count, int64_t step,
                             const std::vector<Steps>& memory, const std::vector<Value>& carried,
                             const Builder::Body& body) {
  const Value whole = over(b, count, step, "whole_steps");
  const Value rest = b.op(OpCode::isub, {count, times(b, whole, step)}, {}, "rest");
  std::vector<Value> inits = {whole};
  for (const Steps& each : memory) inits.push_back(each.from);
  inits.insert(inits.end(), carried.begin(), carried.end());
  const Value parts = choose(b, {rest, b.constant(2), b.constant(1)}, "parts");
  const auto first_carried = static_cast<int64_t>(memory.size());
  std::vector<Value> done = b.loop("part", parts, inits, [&](const std::vector<Value>& now) {
    const std::vector<Value> start(now.begin() + 1, now.end());
    const auto results = b.loop("k", now[0], start, [&](const std::vector<Value>& at) {
      const std::vector<Value> more = body(at);
      std::vector<Value> next;
      for (size_t i = 0; i < memory.size(); ++i) next.push_back(b.add(at[i], memory[i].bytes));
      next.insert(next.end(), more.begin(), more.end());
      return next;
    });
    std::vector<Value> next = {number(b, 1, "steps")};
    for (const Steps& each : memory) next.push_back(b.op(OpCode::icopy, {each.tail}, {}, "tail"));
    next.insert(next.end(), results.begin() + first_carried, results.end());
    return next;
  });
  return {done.begin() + 1 + first_carried, done.end()};
}

Steps float_steps(Builder& b, const Floats& row, Value count, int64_t step, Value tail) {
  const Value whole = times(b, over(b, count, step, "whole_steps"), step, "whole");
  const Value rest = b.op(OpCode::isub, {count, whole}, {}, "rest");
  b.branch(rest, Compare::not_equal, b.constant(0), [&] {
    b.op(OpCode::fill_bytes, {tail, b.constant(0), b.constant(row.bytes(step))});
    const int64_t bytes = row.bytes(1);
    b.op(OpCode::copy_bytes,
         {tail, plus(b, {row.first, times(b, whole, bytes)}), times(b, rest, bytes)});
  });
  return {row.first, tail, row.bytes(step)};
}

void quantize_row(Builder& b, const Floats& row, Value count, Value tail, const Parameters& to) {
  const int64_t step = range_step(b.isa());
  const Steps floats = float_steps(b, row, count, step, tail);
  const Value zero = b.op(OpCode::zero);
  // 0 times an infinity or a NaN is a NaN. Extremes that NaNs pass tell of them at the end.
  const auto nothing = [&](Value x) { return b.op(OpCode::fmul, {x, zero}, {}, "nothing"); };
  const bool nans_pass = b.isa().has(OpCode::fminimum);
  const OpCode least = nans_pass ? OpCode::fminimum : OpCode::fmin;
  const OpCode most = nans_pass ? OpCode::fmaximum : OpCode::fmax;
  const size_t kinds = nans_pass ? 2 : 3;
  const std::vector<Value> zeros(kinds * most_vectors, zero);
  const auto found = for_steps(b, count, step, {floats}, zeros, [&](const std::vector<Value>& now) {
    const std::vector<Value> x = load_floats(b, now[0], most_vectors, row.type);
    std::vector<Value> next;
    for (size_t i = 0; i < x.size(); ++i) {
      const Value* before = &now[1 + kinds * i];
      next.push_back(b.op(least, {x[i], before[0]}, {}, "lowest"));
      next.push_back(b.op(most, {x[i], before[1]}, {}, "highest"));
      if (nans_pass) continue;
      next.push_back(b.op(OpCode::fadd, {nothing(x[i]), before[2]}, {}, "nothing"));
    }
    return next;
  });
  const auto all = [&](size_t first, OpCode code) {
    std::vector<Value> values;
    for (size_t i = first; i < found.size(); i += kinds) values.push_back(found[i]);
    const Combine combine = [&](Value x, Value y) { return b.op(code, {x, y}); };
    return across(b, combined(values, combine), combine);
  };
  const Value lowest = all(0, least);
  const Value highest = all(1, most);
  const Value none =
      nans_pass ? b.op(OpCode::fadd, {nothing(lowest), nothing(highest)}) : all(2, OpCode::fadd);
  store_row_parameters(b, to, lowest, highest, none);
}

}  // namespace tw
