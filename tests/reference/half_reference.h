// 16-bit floats (IEEE binary16) in plain C++.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tw::test {

/// The nearest f16, ties to even.
inline uint16_t half_bits(float value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double size = std::fabs(double{value});
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00);
  if (size >= 65520) return static_cast<uint16_t>(sign | 0x7c00);  // halfway to 2^16
  const int exponent = size == 0 ? -14 : std::max(std::ilogb(size), -14);
  const double steps = std::nearbyint(std::ldexp(size, 10 - exponent));
  // A normal number's leading bit, 1024, counts as one more of the exponent.
  return static_cast<uint16_t>(sign + ((exponent + 14) << 10) + static_cast<int>(steps));
}

inline float half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  float size = std::ldexp(static_cast<float>(exponent == 0 ? mantissa : 1024 + mantissa),
                          std::max(exponent, 1) - 25);
  if (exponent == 31) size = mantissa == 0 ? INFINITY : NAN;
  return std::copysign(size, (bits & 0x8000) != 0 ? -1.0F : 1.0F);
}

}  // namespace tw::test
