// The references' own rounding, by what rounding means: every value between two neighbors becomes
// the nearer one, and the middle the even one.
#include "reference/half_reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "reference/half_sums_reference.h"

namespace tw::test {
namespace {

/// What the formats say of a number's bits, by the library's powers of two.
double worth(const std::string& type, uint32_t bits) {
  const int mantissa_bits = type == "f16" ? 10 : 7, bias = type == "f16" ? 15 : 127;
  const auto mantissa = static_cast<int>(bits & ((1U << mantissa_bits) - 1));
  const auto exponent = static_cast<int>(bits >> mantissa_bits);
  if (exponent == 0) return std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

class HalfReference : public testing::TestWithParam<const char*> {};

TEST_P(HalfReference, RoundsToTheNearestAndTheMiddleToEven) {
  const std::string type = GetParam();
  const uint32_t infinity = type == "f16" ? 0x7c00 : 0x7f80;
  for (uint32_t low = 0; low + 1 < infinity; ++low) {
    const auto from = static_cast<float>(worth(type, low));
    const auto to = static_cast<float>(worth(type, low + 1));
    ASSERT_EQ(value_of_bits(type, low), from);
    const float middle = from + (to - from) / 2;
    const uint32_t even = low % 2 == 0 ? low : low + 1;
    for (const auto& [value, bits] :
         std::vector<std::pair<float, uint32_t>>{{from, low},
                                                 {std::nextafter(middle, from), low},
                                                 {middle, even},
                                                 {std::nextafter(middle, to), low + 1}}) {
      ASSERT_EQ(output_bits(type, value), bits) << value;
      ASSERT_EQ(output_bits(type, -value), 0x8000 | bits) << -value;
      ASSERT_EQ(rounded_to(type, value), value_of_bits(type, bits)) << value;
    }
  }
}

TEST_P(HalfReference, KnowsWhatIsNoNumber) {
  const std::string type = GetParam();
  const uint32_t infinity = type == "f16" ? 0x7c00 : 0x7f80;
  const auto most = static_cast<float>(worth(type, infinity - 1));
  const float half_step = (most - static_cast<float>(worth(type, infinity - 2))) / 2;
  EXPECT_EQ(output_bits(type, std::nextafter(most + half_step, 0.0F)), infinity - 1);
  EXPECT_EQ(output_bits(type, most + half_step), infinity);
  EXPECT_EQ(output_bits(type, -INFINITY), 0x8000 | infinity);
  EXPECT_TRUE(std::isnan(value_of_bits(type, output_bits(type, NAN))));
}

INSTANTIATE_TEST_SUITE_P(, HalfReference, testing::Values("f16", "bf16"),
                         [](const auto& type) { return std::string(type.param); });

TEST(HalfReferences, PowersOfTwoAreNotAbove) {
  for (int exponent = -126; exponent <= 127; ++exponent) {
    const auto power = static_cast<float>(std::ldexp(1, exponent));
    const float below = std::nextafter(power, 0.0F);
    EXPECT_EQ(rounded_to("e8m0", power), power);
    EXPECT_EQ(rounded_to("e8m0", std::nextafter(power, INFINITY)), power);
    EXPECT_EQ(rounded_to("e8m0", -below), exponent == -126 ? power : power / 2) << exponent;
  }
}

__extension__ using Wide = __int128;

/// a * b + c of f16 in units of 2^-48, exact.
Wide exact_units(float a, float b, float c) {
  const auto units = [](float x) { return static_cast<Wide>(std::ldexp(double{x}, 24)); };
  return units(a) * units(b) + units(c) * (Wide{1} << 24);
}

/// The f16 nearest to `units` times 2^-48, ties to even.
float nearest_half(Wide units) {
  const bool negative = units < 0;
  const Wide size = negative ? -units : units;
  int length = 0;
  for (Wide rest = size; rest != 0; rest /= 2) ++length;
  const int shift = length - 11 > 24 ? length - 11 : 24;  // nothing is finer than 2^-24
  const Wide unit = Wide{1} << shift;
  const Wide rest = size % unit;
  Wide steps = size / unit;
  if (2 * rest > unit || (2 * rest == unit && steps % 2 == 1)) ++steps;
  const float value = std::ldexp(static_cast<float>(steps), shift - 48);
  return std::copysign(value > 65504 ? INFINITY : value, negative ? -1.0F : 1.0F);
}

/// Sums near each f16, and near the middle to the next one: a product of few bits far below either.
TEST(HalfReferences, SumsOfProductsAreRoundedOnce) {
  uint32_t state = 1;
  const auto any_half = [&state] {
    state = state * 1664525 + 1013904223;
    return half_value(static_cast<uint16_t>(state >> 16 & 0xfbff));  // finite
  };
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const float c = half_value(static_cast<uint16_t>(bits));
    const float next = half_value(static_cast<uint16_t>(bits + 1 == 0x7c00 ? bits : bits + 1));
    const float half_step = (next - c) / 2, tiny = 0x1p-24F;
    for (const auto& [a, b] : std::vector<std::pair<float, float>>{{any_half(), any_half()},
                                                                   {tiny, tiny},
                                                                   {tiny, -tiny},
                                                                   {half_step, 1},
                                                                   {half_step, 1.0009765625F},
                                                                   {half_step, 0.99951171875F}}) {
      if (rounded_to("f16", a) != a) continue;  // half a step of what is no normal number
      const float right = nearest_half(exact_units(a, b, c));
      ASSERT_EQ(fused_half(a, b, c), right) << a << " * " << b << " + " << c;
      ASSERT_EQ(fused_half(a, b, -c), nearest_half(exact_units(a, b, -c)))
          << a << " * " << b << " - " << c;
    }
  }
}

TEST(HalfReferences, OtherTypesAreRefused) {
  EXPECT_THROW(rounded_to("f64", 1), std::invalid_argument);
  EXPECT_THROW(float_bits("", 1), std::invalid_argument);
}

}  // namespace
}  // namespace tw::test
