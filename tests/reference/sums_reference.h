// Multiplications of codes whose outputs are the sums, integers, in plain C++. Shares no code with
// the generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tw::test {

struct SumsMatmul {
  size_t m = 0, n = 0, k = 0;
  std::vector<int8_t> lhs;               ///< [m][k]
  std::vector<int32_t> lhs_zero_points;  ///< [m]
  std::vector<int8_t> rhs;               ///< [n][k]
  std::vector<int32_t> rhs_zero_points;  ///< [n], or none: 0
  std::vector<int32_t> bias;             ///< [n]
};

/// By the definition: bias + sum of (a - zero point of the row) * (w - zero point of the column).
/// Wraps around.
inline int32_t output_sum(const SumsMatmul& in, size_t row, size_t column) {
  auto sum = static_cast<uint32_t>(in.bias[column]);
  const int32_t zero = in.rhs_zero_points.empty() ? 0 : in.rhs_zero_points[column];
  for (size_t i = 0; i < in.k; ++i) {
    const int32_t a = in.lhs[row * in.k + i] - in.lhs_zero_points[row];
    sum += static_cast<uint32_t>(a * (in.rhs[column * in.k + i] - zero));
  }
  return static_cast<int32_t>(sum);
}

/// [m][n]
inline std::vector<int32_t> multiply(const SumsMatmul& in) {
  std::vector<int32_t> out;
  out.reserve(in.m * in.n);
  for (size_t i = 0; i < in.m * in.n; ++i) out.push_back(output_sum(in, i / in.n, i % in.n));
  return out;
}

}  // namespace tw::test
