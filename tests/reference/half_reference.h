// f16 (IEEE binary16), bf16, i8 (whole numbers), e8m0 (powers of two) and e5m3 (bits 7 to 14 of an
// f16) in plain C++, for values that are kept as f32.
#pragma once

#include <algorithm>
#include <cmath>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace tw::test {

/// type == name without a call: matrices are converted value by value, some by emulated machines.
template <size_t n>
bool is(const std::string& type, const char (&name)[n]) {
  return type.size() == n - 1 && std::memcmp(type.data(), name, n - 1) == 0;
}

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

/// How many bits a float keeps as "f16", "bf16" or "f32".
inline size_t bytes_of_float(const std::string& type) {
  if (is(type, "i8") || is(type, "s8") || is(type, "e8m0") || is(type, "e5m3")) return 1;
  return is(type, "f32") || is(type, "i32") ? 4 : 2;
}

/// The power of two not above its size that is a normal f32; of 2^-127 and what is no number none
/// is made.
inline float power_of_two(float value) {
  const float size = std::fabs(value);
  if (std::isnan(value)) return 1;
  return std::exp2(std::clamp(std::floor(std::log2(size)), -126.0F, 127.0F));
}

/// To nearest even; `value` with all that the type cannot hold rounded off.
inline float rounded_to(const std::string& type, float value) {
  if (is(type, "e8m0")) return power_of_two(value);
  if (is(type, "e5m3")) return half_value(half_bits(value) & 0x7f80);
  if (is(type, "f32") || is(type, "i8") || !std::isfinite(value) || value == 0) return value;
  const bool half = is(type, "f16");
  int exponent = 0;
  std::frexp(value, &exponent);  // 2^(exponent - 1) <= |value|
  const int lowest = half ? -24 : -133;
  const int unit = std::max(exponent - (half ? 11 : 8), lowest);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(double{value}, -unit)), unit);
  if (std::fabs(rounded) >= (half ? 65520.0 : 0x1.ffp127)) return std::copysign(INFINITY, value);
  return static_cast<float>(rounded);
}

/// The low bytes are the value's, which the type must hold.
inline uint32_t float_bits(const std::string& type, float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  if (is(type, "f32")) return bits;
  if (is(type, "bf16")) return bits >> 16;
  if (is(type, "i8")) return static_cast<uint8_t>(static_cast<int>(value));
  if (is(type, "e8m0")) return bits >> 23;
  if (is(type, "e5m3")) return half_bits(value) >> 7 & 0xff;
  const uint32_t sign = bits >> 16 & 0x8000;
  if (std::isnan(value)) return sign | 0x7e00;
  if (std::isinf(value)) return sign | 0x7c00;
  if (std::fabs(value) < 0x1p-14F) {
    return sign | static_cast<uint32_t>(std::ldexp(std::fabs(value), 24));
  }
  return sign | ((bits & 0x7fffffff) - (112U << 23)) >> 13;
}

/// What an output of that type is in memory when `value` is right as f32: rounded once, a NaN
/// quiet. Integers of 32 bits are in the bits of `value`.
inline uint32_t output_bits(const std::string& type, float value) {
  if (is(type, "i32")) return float_bits("f32", value);
  return float_bits(type, rounded_to(type, value));
}

/// Values as they are in memory, rounded likewise.
inline std::vector<uint8_t> bytes_of_floats(const std::string& type,
                                            const std::vector<float>& values) {
  const size_t size = bytes_of_float(type);
  std::vector<uint8_t> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t bits = output_bits(type, values[i]);
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}

/// The value of such bits, exact.
inline float value_of_bits(const std::string& type, uint32_t bits) {
  if (is(type, "f16")) return half_value(static_cast<uint16_t>(bits));
  if (is(type, "e5m3")) return half_value(static_cast<uint16_t>(bits << 7));
  if (is(type, "i8")) return static_cast<int8_t>(bits);
  if (is(type, "bf16")) bits <<= 16;
  if (is(type, "e8m0")) bits <<= 23;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace tw::test
