#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "ir/meaning_products.h"

namespace tw {
namespace {

/// The second factor is one element of each segment.
void fma_lane(const Step& s, uint8_t* to) {
  const auto of_segment = lane_of_segment(s.imm);
  for (size_t i = 0; i < s.to.bytes / 4; ++i) {
    put(to, i, fused(lane<float>(s, 0, i), lane<float>(s, 1, of_segment(i)), lane<float>(s, 2, i)));
  }
}

void fmul_lane(const Step& s, uint8_t* to) {
  const auto of_segment = lane_of_segment(s.imm);
  for (size_t i = 0; i < s.to.bytes / 4; ++i) {
    put(to, i, lane<float>(s, 0, i) * lane<float>(s, 1, of_segment(i)));
  }
}

float minimum(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<float>::quiet_NaN();
  return a < b || (a == b && std::signbit(a)) ? a : b;
}

float maximum(float a, float b) {
  return -minimum(-a, -b);
}

void convert_fixed(const Step& s, uint8_t* to) {
  for (size_t i = 0; i < s.to.bytes / 4; ++i) {
    const auto number = static_cast<float>(lane<int32_t>(s, 0, i));
    put(to, i, std::ldexp(number, -static_cast<int>(s.imm)));
  }
}

/// A product of two of f16 is exact in f32.
void fmul_f16(const Step& s, uint8_t* to) {
  for (size_t i = 0; i < s.to.bytes / 2; ++i) {
    const float a = half_to_float(get<uint16_t>(s.arg[0].at, i));
    put(to, i, float_to_half(a * half_to_float(get<uint16_t>(s.arg[1].at, i))));
  }
}

void fma_f16_lane(const Step& s, uint8_t* to) {
  for (size_t i = 0; i < s.to.bytes / 2; ++i) {
    const size_t other = i / 8 * 8 + static_cast<size_t>(s.imm);
    put(to, i,
        fused_halves(lane<uint16_t>(s, 0, i), lane<uint16_t>(s, 1, other),
                     lane<uint16_t>(s, 2, i)));
  }
}

/// Four elements of each segment, from `first` on.
void widen_f16(const Step& s, uint8_t* to, size_t first) {
  for (size_t i = 0; i < s.to.bytes / 4; ++i) {
    put(to, i, half_to_float(lane<uint16_t>(s, 0, i / 4 * 8 + first + i % 4)));
  }
}

/// `first`: the element of a segment of the first factor that goes with its lane 0.
void fma_f16(const Step& s, uint8_t* to, size_t first) {
  for (size_t i = 0; i < s.to.bytes / 4; ++i) {
    const size_t segment = i / 4 * 8;
    const float x = half_to_float(lane<uint16_t>(s, 0, segment + first + i % 4));
    const float y = half_to_float(lane<uint16_t>(s, 1, segment + static_cast<size_t>(s.imm)));
    put(to, i, fused(x, y, lane<float>(s, 2, i)));
  }
}

/// `which` of a lane's two elements.
void fma_f16_of_pair(const Step& s, uint8_t* to, size_t which) {
  for (size_t i = 0; i < s.to.bytes / 4; ++i) {
    const float x = half_to_float(lane<uint16_t>(s, 0, 2 * i + which));
    const float y = half_to_float(lane<uint16_t>(s, 1, 2 * i + which));
    put(to, i, fused(x, y, lane<float>(s, 2, i)));
  }
}

void widen_f16_half(const Step& s, uint8_t* to) {
  const size_t count = s.to.bytes / 4;
  for (size_t i = 0; i < count; ++i) {
    put(to, i, half_to_float(lane<uint16_t>(s, 0, static_cast<size_t>(s.imm) * count + i)));
  }
}

void widen_f16_of_pair(const Step& s, uint8_t* to, size_t which) {
  for (size_t i = 0; i < s.to.bytes / 4; ++i) {
    put(to, i, half_to_float(lane<uint16_t>(s, 0, 2 * i + which)));
  }
}

void join_f16(const Step& s, uint8_t* to) {
  for (size_t i = 0; i < s.to.bytes / 2; ++i) {
    put(to, i, float_to_half(lane<float>(s, static_cast<int>(i % 2), i / 2)));
  }
}

/// Times `sign`, of numbers times `sign`.
void fminimum_f16(const Step& s, uint8_t* to, float sign) {
  for (size_t i = 0; i < s.to.bytes / 2; ++i) {
    const float a = sign * half_to_float(lane<uint16_t>(s, 0, i));
    put(to, i, float_to_half(sign * minimum(a, sign * half_to_float(lane<uint16_t>(s, 1, i)))));
  }
}

template <typename Dot, typename F>
void dot2_bf16(const Step& s, uint8_t* to, Dot dot, F&& c_lane) {
  for (size_t i = 0; i < s.to.bytes / 4; ++i) {
    put(to, i, dot(lane<float>(s, 0, i), lane<uint32_t>(s, 1, i), lane<uint32_t>(s, 2, c_lane(i))));
  }
}

void mmla_bf16(const Step& s, uint8_t* to) {
  for (size_t at = 0; at < s.to.bytes / 4; ++at) {
    const size_t b = at / 4 * 4 + at % 4 / 2 * 2;
    const size_t c = at / 4 * 4 + at % 2 * 2;
    auto sum = lane<float>(s, 0, at);
    for (size_t j = 0; j < 2; ++j) {
      sum = dot2_to_odd(sum, lane<uint32_t>(s, 1, b + j), lane<uint32_t>(s, 2, c + j));
    }
    put(to, at, sum);
  }
}

float in_i32(float x) {
  if (x >= -2147483648.0F && x < 2147483648.0F) return x;
  throw Fault(fmt::format("{} is out of range", x));
}

}  // namespace

float half_to_float(uint16_t half) {
  uint32_t sign = uint32_t{half} >> 15 << 31;
  uint32_t exponent = (half >> 10) & 31U;
  uint32_t fraction = half & 1023U;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, exact in f32
    float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000U);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7E00U | (bits >> 13 & 0x1FFU));
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0F) return static_cast<uint16_t>(sign | 0x7C00U);
  // In steps of 2^(exponent - 10), not less than those of subnormal numbers.
  const int exponent = magnitude < 0x1p-14F ? -14 : std::ilogb(magnitude);
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  // A number that is rounded up to the next power of two carries into the exponent.
  return static_cast<uint16_t>(sign | ((static_cast<uint32_t>(exponent + 14) << 10) + steps));
}

void add_float_meanings(MeaningTable& table) {
#include "model/operations_floats.h"
}

}  // namespace tw
