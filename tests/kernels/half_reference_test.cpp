// The references' own rounding, by what rounding means: every value between two neighbors becomes
// the nearer one, and the middle the even one.
#include "reference/half_reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

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

TEST(HalfReferences, OtherTypesAreRefused) {
  EXPECT_THROW(rounded_to("f64", 1), std::invalid_argument);
  EXPECT_THROW(float_bits("", 1), std::invalid_argument);
}

}  // namespace
}  // namespace tw::test
