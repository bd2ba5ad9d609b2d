// Quantized matrix multiplications in plain C++, from unpacked operands. Shares no code with the
// generator or its interpreter. The order of operations is the families' definition, so kernels
// agree with it bit for bit (NaN payloads apart).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/quantize_reference.h"

namespace tw::test {

/// Operands as integer codes. Without blocks (block == 0) a row and a column have one scale each.
struct Codes {
  size_t m = 0, n = 0, k = 0;
  size_t block = 0;                  ///< values of k that share a scale; divides k
  std::vector<int8_t> lhs;           ///< [m][k]
  std::vector<int32_t> zero_points;  ///< [m], of the lhs; zeros with blocks
  std::vector<float> lhs_scales;     ///< [m][blocks]
  std::vector<int8_t> rhs;           ///< [n][k], -8..7
  std::vector<float> rhs_scales;     ///< [n][blocks]
  std::vector<float> bias;           ///< [n]
  float min = -INFINITY;
  float max = INFINITY;
  int factor = 1;  ///< sums are taken so many times, column scales a part of it (without blocks)

  [[nodiscard]] size_t blocks() const { return block == 0 ? 1 : k / block; }
};

/// A NaN stays one.
inline float clamp_output(float value, float lower, float upper) {
  const float raised = lower > value ? lower : value;
  return upper < raised ? upper : raised;
}

/// Sum of (lhs code - zero point) * (rhs code) over [begin, end) of k, exact.
inline int32_t dot(const Codes& in, size_t row, size_t column, size_t begin, size_t end) {
  const int8_t* a = in.lhs.data() + row * in.k;
  const int8_t* b = in.rhs.data() + column * in.k;
  int32_t products = 0;
  int32_t codes = 0;
  for (size_t i = begin; i < end; ++i) {
    products += a[i] * b[i];
    codes += b[i];
  }
  return products - in.zero_points[row] * codes;
}

/// [m][n]: fma(factor * sum, scale of the column / factor * scale of the row, bias), clamped; the
/// factor is a power of two, so that it shows in denormal numbers only. With blocks: from 0 on,
/// total = fma(sum * scale of the column, scale of the row, total), then total + bias, clamped.
inline std::vector<float> multiply(const Codes& in) {
  std::vector<float> out;
  out.reserve(in.m * in.n);
  for (size_t row = 0; row < in.m; ++row) {
    for (size_t column = 0; column < in.n; ++column) {
      float total = 0;
      if (in.block == 0) {
        const auto sum = static_cast<float>(in.factor * dot(in, row, column, 0, in.k));
        const float scale = in.rhs_scales[column] / static_cast<float>(in.factor);
        total = std::fma(sum, scale * in.lhs_scales[row], in.bias[column]);
      } else {
        for (size_t b = 0; b < in.blocks(); ++b) {
          const auto sum =
              static_cast<float>(dot(in, row, column, b * in.block, (b + 1) * in.block));
          total = std::fma(sum * in.rhs_scales[column * in.blocks() + b],
                           in.lhs_scales[row * in.blocks() + b], total);
        }
        total += in.bias[column];
      }
      out.push_back(clamp_output(total, in.min, in.max));
    }
  }
  return out;
}

/// What a caller of matmul_clamp_f32_qai8dxp_qsi4cxp has: floats on the left.
struct Matmul {
  size_t m = 0, n = 0, k = 0;
  std::vector<float> lhs;     ///< [m][k]
  std::vector<int8_t> rhs;    ///< [n][k], codes
  std::vector<float> scales;  ///< [n]
  std::vector<float> bias;    ///< [n]
  float min = -INFINITY;
  float max = INFINITY;
  Ties ties = Ties::even;  ///< how the lhs is rounded
  int factor = 1;          ///< as in Codes
};

/// [m][n]
inline std::vector<float> multiply(const Matmul& in) {
  Codes codes;
  codes.m = in.m;
  codes.n = in.n;
  codes.k = in.k;
  for (size_t row = 0; row < in.m; ++row) {
    const QuantizedRow lhs = quantize_row_qai8dx(in.lhs.data() + row * in.k, in.k, in.ties);
    codes.lhs.insert(codes.lhs.end(), lhs.codes.begin(), lhs.codes.end());
    codes.zero_points.push_back(lhs.zero_point);
    codes.lhs_scales.push_back(lhs.scale);
  }
  codes.rhs = in.rhs;
  codes.rhs_scales = in.scales;
  codes.bias = in.bias;
  codes.min = in.min;
  codes.max = in.max;
  codes.factor = in.factor;
  return multiply(codes);
}

}  // namespace tw::test
