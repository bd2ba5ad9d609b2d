// Matrix multiplications of floats in plain C++: what an output should be, and how far from it the
// order of additions and their roundings may lead (docs/contracts.md has the bound).
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace tw::test {

struct FloatMatmul {
  size_t m = 0, n = 0, k = 0;
  std::vector<float> lhs;     ///< [m][k]
  std::vector<float> rhs;     ///< [n][k]
  std::vector<float> bias;    ///< [n]
  std::vector<float> scales;  ///< [n], of the columns' sums; none: 1
  float min = -INFINITY;
  float max = INFINITY;
  float unit = 1;              ///< of products, which scales are multiplied by
  bool bf16_products = false;  ///< by instructions to which denormal numbers are 0
};

struct FloatOutput {
  double value = 0;    ///< clamped; infinities and NaNs as IEEE makes them
  double bound = 0;    ///< largest error of f32 sums in any order
  bool large = false;  ///< partial sums may overflow f32 on the way
};

inline FloatOutput float_output(const FloatMatmul& in, size_t row, size_t column) {
  double sum = 0;
  double size = 0;
  for (size_t i = 0; i < in.k; ++i) {
    const double product = double{in.lhs[row * in.k + i]} * double{in.rhs[column * in.k + i]};
    sum += product;
    size += std::fabs(product);
  }
  const bool sums_are_large = size >= double{std::numeric_limits<float>::max()};
  const double scale = in.scales.empty() ? 1 : double{in.scales[column]};
  sum = sum * scale + double{in.bias[column]};
  size = size * std::fabs(scale) + std::fabs(double{in.bias[column]});
  // k multiply-adds and one addition are k + 1 roundings; one more for the doubles here.
  // Where products of bf16 are added two at a time, both sums may be off by a whole last bit.
  const double each = in.bf16_products ? 2 : 1;
  const double roundings = (each * static_cast<double>(in.k) + 2) * std::ldexp(1.0, -24);
  FloatOutput out;
  out.bound = roundings / (1 - roundings) * size;
  // Of denormals, which a scale may enlarge.
  const double most = in.unit * std::fmax(1, std::fabs(scale));
  out.bound += (static_cast<double>(in.k) + 2) * std::ldexp(most, -150);
  if (in.bf16_products) out.bound += 3 * static_cast<double>(in.k) * std::ldexp(1.0, -126);
  out.large = sums_are_large || size >= double{std::numeric_limits<float>::max()} ||
              in.unit * std::fabs(scale) >= double{std::numeric_limits<float>::max()};
  // The limits stand first, so that a NaN stays one.
  const double raised = in.min > sum ? double{in.min} : sum;
  out.value = in.max < raised ? double{in.max} : raised;
  return out;
}

inline bool agrees(float found, const FloatOutput& right, const FloatMatmul& in) {
  if (std::isnan(right.value)) return std::isnan(found);
  if (right.large && (!std::isfinite(found) || found == in.min || found == in.max)) return true;
  if (std::isinf(right.value)) return double{found} == right.value;
  return std::fabs(double{found} - right.value) <= right.bound;
}

}  // namespace tw::test
