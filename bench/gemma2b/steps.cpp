#include "gemma2b/steps.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace tw::gemma {

namespace {

/// 1 / (1 + e^-x). e^-x = 2^whole * 2^part with a part of -0.5 to 0.5, whose power is a polynomial
/// (the exponential's own series to the sixth term, worse than 1e-7 nowhere).
inline float sigmoid(float x) {
  constexpr float kLog2e = 1.44269504F, kLn2 = 0.693147181F, kRounds = 12582912.0F;  // 1.5 * 2^23
  float power = -x * kLog2e;
  power = power < -120.0F ? -120.0F : power > 120.0F ? 120.0F : power;
  const float shifted = power + kRounds;
  const float whole = shifted - kRounds;
  const float part = (power - whole) * kLn2;
  float value = 1.0F / 720;
  value = value * part + 1.0F / 120;
  value = value * part + 1.0F / 24;
  value = value * part + 1.0F / 6;
  value = value * part + 0.5F;
  value = value * part + 1.0F;
  value = value * part + 1.0F;
  const auto exponent = static_cast<int32_t>(whole);
  return 1.0F / (1.0F + value * std::bit_cast<float>((exponent + 127) << 23));
}

}  // namespace

void rms_norm(const float* x, const float* gain, size_t width, float* out) {
  constexpr size_t kLanes = 16;  // sums that compilers may keep in one vector
  float sums[kLanes] = {};
  for (size_t i = 0; i < width; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += x[i + lane] * x[i + lane];
  }
  float sum = 0;
  for (const float part : sums) sum += part;
  const float factor = 1.0F / std::sqrt(sum / static_cast<float>(width) + kEpsilon);
  for (size_t i = 0; i < width; ++i) out[i] = x[i] * factor * gain[i];
}

Angles::Angles(size_t positions, size_t head) : half(head / 2) {
  for (size_t position = 0; position < positions; ++position) {
    for (size_t i = 0; i < half; ++i) {
      const double power = static_cast<double>(2 * i) / static_cast<double>(head);
      const double angle = static_cast<double>(position) * std::pow(kRopeBase, -power);
      cosines.push_back(static_cast<float>(std::cos(angle)));
      sines.push_back(static_cast<float>(std::sin(angle)));
    }
  }
}

void rotate(float* head, const Angles& angles, size_t position) {
  const float* cosines = &angles.cosines[position * angles.half];
  const float* sines = &angles.sines[position * angles.half];
  float* second = head + angles.half;
  for (size_t i = 0; i < angles.half; ++i) {
    const float a = head[i], b = second[i];
    head[i] = a * cosines[i] - b * sines[i];
    second[i] = a * sines[i] + b * cosines[i];
  }
}

void gelu_times(const float* gate, float* up, size_t count) {
  constexpr float kTwice = 1.59576912F, kCube = 0.044715F;  // 2 * sqrt(2 / pi)
  for (size_t i = 0; i < count; ++i) {
    const float x = gate[i];
    up[i] *= x * sigmoid(kTwice * (x + kCube * x * x * x));
  }
}

void add(const float* from, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] += from[i];
}

void to_f16(const float* from, unsigned short* to, size_t count) {
  // Multiplying by 2^-112 moves the exponent's bias; what f16 has no bits for is rounded to even.
  for (size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<uint32_t>(from[i]);
    const auto size = std::bit_cast<uint32_t>(std::bit_cast<float>(bits & 0x7fffffffU) * 0x1p-112F);
    const uint32_t rounded = size + 0xfffU + (size >> 13 & 1);
    to[i] = static_cast<unsigned short>((bits >> 16 & 0x8000U) | rounded >> 13);
  }
}

}  // namespace tw::gemma
