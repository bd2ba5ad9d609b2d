#include "lower/exponential.h"

#include <bit>

#include "lower/splat.h"
#include "lower/tile.h"

namespace tw {
namespace {

/// Added to a number below 2^22, its ulp is 1: the sum's bits end in the number rounded to whole,
/// here plus the bias of exponents, so that shifted to the left they are 2^n.
constexpr float round_to_biased = 12582912.0F + 127.0F;  // 1.5 * 2^23
constexpr int mantissa_bits = 23;

/// Where the biased exponent becomes 0: 2^n is then 0, and with it the result.
constexpr float lowest = -88.0F;

constexpr float log2_e = 0x1.715476p+0F;
constexpr float minus_ln2_high = -0x1.62e4p-1F;  // 15 bits: exact times n
constexpr float minus_ln2_low = -0x1.7f7d1cp-20F;

constexpr float factors_of_q[] = {0x1.6d110ap-10F, 0x1.120b6ep-7F, 0x1.55551ap-5F, 0x1.5554dcp-3F,
                                  0.5F};

}  // namespace

Exponential::Exponential(Builder& b)
    : b_(b),
      lowest_(constant(std::bit_cast<uint32_t>(lowest))),
      log2_e_(constant(std::bit_cast<uint32_t>(log2_e))),
      whole_(constant(std::bit_cast<uint32_t>(round_to_biased))),
      high_(constant(std::bit_cast<uint32_t>(minus_ln2_high))),
      low_(constant(std::bit_cast<uint32_t>(minus_ln2_low))) {
  for (const float factor : factors_of_q) {
    factors_.push_back(constant(std::bit_cast<uint32_t>(factor)));
  }
}

Value Exponential::constant(uint32_t bits) const {
  return splat32(b_, bits, "constant", Role::operand);
}

Value Exponential::operator()(Value x) const {
  const auto add_product = [&](Value a, Value by, Value sum) {
    return multiply_add(b_, a, by, sum, "power", Role::operand);
  };
  // The limit stands first, so that a NaN stays one.
  x = b_.op(OpCode::fmax, {lowest_, x}, {}, "x", Role::operand);
  const Value biased = add_product(x, log2_e_, whole_);
  const Value n = b_.op(OpCode::fsub, {biased, whole_}, {}, "n", Role::operand);
  const Value r = add_product(n, low_, add_product(n, high_, x));
  Value power = factors_.front();
  for (size_t i = 1; i < factors_.size(); ++i) power = add_product(power, r, factors_[i]);
  const Value square = b_.op(OpCode::fmul, {r, r}, {}, "square", Role::operand);
  const Value less_one = add_product(square, power, r);
  const Value scale =
      b_.op(OpCode::shl, {biased}, {.bits = 32, .imm = mantissa_bits}, "scale", Role::operand);
  return add_product(less_one, scale, scale);
}

}  // namespace tw
