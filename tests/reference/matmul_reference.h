// matmul_clamp_f32_qai8dxp_qsi4cxp in plain C++, from unpacked operands. Shares no code with the
// generator or its interpreter. The order of operations is the family's definition, so kernels
// agree with it bit for bit (NaN payloads apart).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/quantize_reference.h"

namespace tw::test {

struct Matmul {
  size_t m = 0, n = 0, k = 0;
  std::vector<float> lhs;     ///< [m][k]
  std::vector<int8_t> rhs;    ///< [n][k], codes -8..7
  std::vector<float> scales;  ///< [n]
  std::vector<float> bias;    ///< [n]
  float min = -INFINITY;
  float max = INFINITY;
};

/// x86's order of the operands decides what a NaN becomes: the bound.
inline float clamp_output(float value, float lower, float upper) {
  const float raised = value > lower ? value : lower;
  return raised < upper ? raised : upper;
}

/// [m][n]
inline std::vector<float> multiply(const Matmul& problem) {
  std::vector<int32_t> column_sums(problem.n, 0);
  for (size_t j = 0; j < problem.n; ++j) {
    for (size_t i = 0; i < problem.k; ++i) column_sums[j] += problem.rhs[j * problem.k + i];
  }
  std::vector<float> out;
  out.reserve(problem.m * problem.n);
  for (size_t row = 0; row < problem.m; ++row) {
    const QuantizedRow lhs = quantize_row_qai8dx(problem.lhs.data() + row * problem.k, problem.k);
    for (size_t j = 0; j < problem.n; ++j) {
      const int8_t* codes = problem.rhs.data() + j * problem.k;
      int32_t sum = -lhs.zero_point * column_sums[j];
      for (size_t i = 0; i < problem.k; ++i) sum += lhs.codes[i] * codes[i];
      const float scale = problem.scales[j] * lhs.scale;
      const float value = std::fma(static_cast<float>(sum), scale, problem.bias[j]);
      out.push_back(clamp_output(value, problem.min, problem.max));
    }
  }
  return out;
}

}  // namespace tw::test
