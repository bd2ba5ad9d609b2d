// Multiplications of codes that become codes again, in plain C++: activations and outputs of one
// scale and one zero point each. Shares no code with the generator.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tw::test {

struct StaticMatmul {
  size_t m = 0, n = 0, k = 0;
  std::vector<int8_t> lhs;  ///< [m][k]
  int32_t lhs_zero_point = 0;
  float lhs_scale = 1;
  std::vector<int8_t> rhs;    ///< [n][k]
  std::vector<float> scales;  ///< [n]
  std::vector<int32_t> bias;  ///< [n]
  float dst_scale = 1;
  int32_t dst_zero_point = 0;
  int min = -128, max = 127;
};

/// What a sum of column `column` is multiplied by.
inline float folded_scale(const StaticMatmul& in, size_t column) {
  const float real = in.lhs_scale * in.scales[column];
  return real / in.dst_scale;
}

/// Its bias less what the zero point adds to products of the codes as they are. Wraps around.
inline int32_t folded_bias(const StaticMatmul& in, size_t column) {
  uint32_t bias = static_cast<uint32_t>(in.bias[column]);
  for (size_t i = 0; i < in.k; ++i) {
    bias -= static_cast<uint32_t>(in.lhs_zero_point * in.rhs[column * in.k + i]);
  }
  return static_cast<int32_t>(bias);
}

/// By the definition: bias + sum of (a - zero point) * w, times the scale, rounded to nearest even,
/// plus the output's zero point, within the limits. What is no number is the lower one.
inline int output_code(const StaticMatmul& in, size_t row, size_t column) {
  auto sum = static_cast<uint32_t>(in.bias[column]);
  for (size_t i = 0; i < in.k; ++i) {
    const int value = in.lhs[row * in.k + i] - in.lhs_zero_point;
    sum += static_cast<uint32_t>(value * in.rhs[column * in.k + i]);
  }
  const float scaled = static_cast<float>(static_cast<int32_t>(sum)) * folded_scale(in, column);
  const double code = std::nearbyint(double{scaled}) + in.dst_zero_point;
  if (!(code > in.min)) return in.min;
  return code < in.max ? static_cast<int>(code) : in.max;
}

/// [m][n], codes.
inline std::vector<float> multiply(const StaticMatmul& in) {
  std::vector<float> out;
  for (size_t i = 0; i < in.m * in.n; ++i) {
    out.push_back(static_cast<float>(output_code(in, i / in.n, i % in.n)));
  }
  return out;
}

}  // namespace tw::test
