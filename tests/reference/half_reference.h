// f16 (IEEE binary16), bf16, i8 (whole numbers), e8m0 (powers of two), e5m3 (bits 7 to 14 of an
// f16), e4m3 and e5m2 (the OCP's floats of 8 bits) in plain C++, for values that are kept as f32.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tw::test {

template <size_t... i>
[[gnu::always_inline]] inline bool are_same(const char* a, const char* b,
                                            std::index_sequence<i...> /*places*/) {
  return ((a[i] == b[i]) && ...);
}
/// type == name without a call: matrices are converted value by value, some by emulated machines,
/// where a call costs as much as dozens of instructions.
template <size_t n>
[[gnu::always_inline]] inline bool is(const std::string& type, const char (&name)[n]) {
  return type.size() == n - 1 && are_same(type.data(), name, std::make_index_sequence<n - 1>());
}

/// 2^exponent, of a normal number.
inline double two_to(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

inline float half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  double size =
      (exponent == 0 ? mantissa : 1024 + mantissa) * two_to((exponent == 0 ? 1 : exponent) - 25);
  if (exponent == 31) size = mantissa == 0 ? INFINITY : NAN;
  return static_cast<float>((bits & 0x8000) != 0 ? -size : size);
}

/// Of e4m3, which has no infinities and one NaN of either sign, and e5m2, which has what f16 has.
inline float byte_float_value(const std::string& type, int8_t code) {
  const int size = static_cast<uint8_t>(code) & 127;
  const bool is_e4m3 = is(type, "e4m3");
  const int behind_point = is_e4m3 ? 3 : 2, bias = is_e4m3 ? 7 : 15;
  const int exponent = size >> behind_point, whole = 1 << behind_point;
  const int mantissa = size & (whole - 1);
  double value = (exponent == 0 ? mantissa : whole + mantissa) *
                 two_to((exponent == 0 ? 1 : exponent) - bias - behind_point);
  if (is_e4m3 && size == 127) value = NAN;
  if (!is_e4m3 && exponent == 31) value = mantissa == 0 ? INFINITY : NAN;
  return static_cast<float>(code < 0 ? -value : value);
}
inline bool is_byte_float(const std::string& type) {
  return is(type, "e4m3") || is(type, "e5m2");
}
/// The code of a value that there is one for.
inline int8_t byte_float_code(const std::string& type, float value) {
  for (int code = -128; code < 128; ++code) {
    const auto byte = static_cast<int8_t>(code);
    if (byte_float_value(type, byte) == value) return byte;
  }
  throw std::invalid_argument("no " + type + " is " + std::to_string(value));
}

/// How many bits a float keeps as "f16", "bf16" or "f32".
inline size_t bytes_of_float(const std::string& type) {
  if (is(type, "i8") || is(type, "s8") || is(type, "e8m0") || is(type, "e5m3")) return 1;
  return is(type, "f32") || is(type, "i32") ? 4 : 2;
}

/// `value` with all that a type of so many bits behind the point cannot hold rounded off, to
/// nearest even: least is the exponent of its least number, limit what rounds to an infinity.
inline float rounded_to_bits(float value, int behind_point, int least, double limit) {
  const uint32_t size = std::bit_cast<uint32_t>(value) & 0x7fffffff;
  if (size == 0 || size >= 0x7f800000) return value;
  const int unit = std::max(static_cast<int>(size >> 23) - 127 - behind_point, least);
  const double shift = 1.5 * two_to(unit + 52);  // whose last bit is worth a unit
  const double rounded = std::fabs((value + shift) - shift);
  return std::copysign(rounded >= limit ? INFINITY : static_cast<float>(rounded), value);
}
inline float rounded_to_half(float value) {
  return rounded_to_bits(value, 10, -24, 65520);  // halfway to 2^16
}

/// Of a value that f16 holds.
inline uint16_t bits_of_half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value), size = bits & 0x7fffffff;
  const uint32_t sign = bits >> 16 & 0x8000;
  uint32_t half = (size - (112U << 23)) >> 13;
  if (size < 113U << 23) half = static_cast<uint32_t>(std::bit_cast<float>(size) * 0x1p24F);
  if (size >= 0x7f800000) half = size == 0x7f800000 ? 0x7c00 : 0x7e00;
  return static_cast<uint16_t>(sign | half);
}

/// The nearest f16, ties to even.
inline uint16_t half_bits(float value) {
  return bits_of_half(rounded_to_half(value));
}

/// The power of two not above its size that is a normal f32; of 2^-127 and what is no number none
/// is made.
inline float power_of_two(float value) {
  if (std::isnan(value)) return 1;
  const uint32_t exponent = std::bit_cast<uint32_t>(value) >> 23 & 0xff;
  return std::bit_cast<float>(std::clamp(exponent, 1U, 254U) << 23);
}

/// To nearest even; `value` with all that the type cannot hold rounded off.
inline float rounded_to(const std::string& type, float value) {
  if (is(type, "f32") || is(type, "i8")) return value;
  if (is(type, "f16")) return rounded_to_half(value);
  if (is(type, "bf16")) return rounded_to_bits(value, 7, -133, 0x1.ffp127);
  if (is(type, "e8m0")) return power_of_two(value);
  if (is(type, "e5m3")) return half_value(half_bits(value) & 0x7f80);
  throw std::invalid_argument("no type of floats: " + type);
}

inline void round_all(const std::string& type, std::vector<float>& values) {
  if (is(type, "f32")) return;
  for (float& value : values) value = rounded_to(type, value);
}

/// The low bytes are the value's, which the type must hold.
inline uint32_t float_bits(const std::string& type, float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (is(type, "f32")) return bits;
  if (is(type, "f16")) return bits_of_half(value);
  if (is(type, "bf16")) return bits >> 16;
  if (is(type, "i8")) return static_cast<uint8_t>(static_cast<int>(value));
  if (is(type, "e8m0")) return bits >> 23;
  if (is(type, "e5m3")) return half_bits(value) >> 7 & 0xff;
  throw std::invalid_argument("no type of floats: " + type);
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
  if (is(type, "f32")) {
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t bits = output_bits(type, values[i]);
    for (size_t b = 0; b < size; ++b) bytes[i * size + b] = static_cast<uint8_t>(bits >> 8 * b);
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
  return std::bit_cast<float>(bits);
}

}  // namespace tw::test
