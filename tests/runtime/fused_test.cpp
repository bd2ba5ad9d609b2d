// What ships instead of a library's fmaf: rounded once, at all magnitudes.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tilewright/kernel.h"

namespace tw::test {
namespace {

#ifndef __MINGW32__  // whose own function rounds twice

void expect_fused(float a, float b, float c) {
  const float found = tw_fma_f32(a, b, c);
  const float wanted = std::fma(a, b, c);
  if (std::isnan(wanted)) {
    EXPECT_TRUE(std::isnan(found)) << a << " * " << b << " + " << c;
  } else {
    EXPECT_EQ(std::bit_cast<uint32_t>(found), std::bit_cast<uint32_t>(wanted))
        << a << " * " << b << " + " << c;
  }
}

TEST(Fused, BitsAreThoseOfTheLibrary) {
  std::mt19937 random(1);
  // Exponents so near that sums cancel and lie between two floats.
  const auto number = [&] {
    const uint32_t exponent = 100 + random() % 50;
    return std::bit_cast<float>((static_cast<uint32_t>(random()) & 0x807fffffU) | exponent << 23);
  };
  for (int i = 0; i < 200000; ++i) expect_fused(number(), number(), number());
}

TEST(Fused, AnyBitsAtAll) {
  std::mt19937 random(2);
  const auto number = [&] { return std::bit_cast<float>(static_cast<uint32_t>(random())); };
  for (int i = 0; i < 200000; ++i) expect_fused(number(), number(), number());
}

TEST(Fused, EdgesOfTheRange) {
  using limits = std::numeric_limits<float>;
  const float some[] = {0.0F,
                        -0.0F,
                        1.0F,
                        -1.0F,
                        limits::max(),
                        limits::min(),
                        limits::denorm_min(),
                        limits::infinity(),
                        1.5F,
                        -limits::max()};
  for (const float a : some) {
    for (const float b : some) {
      for (const float c : some) expect_fused(a, b, c);
    }
  }
}

#endif

TEST(Fused, IsRoundedOnce) {
  // 1 + 2^-12 squared is 1 + 2^-11 + 2^-24: half an ulp above a float, to which little is added.
  const float a = 1 + std::ldexp(1.0F, -12);
  EXPECT_EQ(tw_fma_f32(a, a, std::ldexp(1.0F, -90)),
            1 + std::ldexp(1.0F, -11) + std::ldexp(1.0F, -23));
  EXPECT_EQ(tw_fma_f32(a, a, -std::ldexp(1.0F, -90)), 1 + std::ldexp(1.0F, -11));
}

}  // namespace
}  // namespace tw::test
