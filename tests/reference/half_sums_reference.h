// Sums of f16 in plain C++: every product is added with one rounding, in the order of k.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/float_reference.h"
#include "reference/half_reference.h"

namespace tw::test {

/// a * b + c of f16, rounded once: to 11 bits, none of them finer than 2^-24, ties to even. In f64
/// the product is exact, and so is the sum, unless the product is too far below c to make of it a
/// middle between two f16 or to take one from it.
inline float fused_half(float a, float b, float c) {
  if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) return a * b + c;
  const double sum = double{a} * double{b} + double{c};
  const auto exponent = static_cast<int>(std::bit_cast<uint64_t>(sum) >> 52 & 0x7ff) - 1023;
  const double shift = 1.5 * two_to(std::max(exponent - 10, -24) + 52);  // its last bit: a unit
  const double rounded = std::fabs((sum + shift) - shift);
  return static_cast<float>(std::copysign(rounded > 65504 ? INFINITY : rounded, sum));
}

/// How a kernel deals k out: whole iterations to sets in turn, what is left to the first one.
struct HalfSets {
  size_t sets, unroll;
};

/// The sum of products, whose sets are added up as f32.
inline float half_sum(const FloatMatmul& in, size_t row, size_t column, const HalfSets& how) {
  std::vector<float> sums(how.sets, 0.0F);
  for (size_t k = 0; k < in.k; ++k) {
    float& sum = sums[k < in.k / how.unroll * how.unroll ? k % how.sets : 0];
    sum = fused_half(in.lhs[row * in.k + k], in.rhs[column * in.k + k], sum);
  }
  for (size_t half = how.sets / 2; half >= 1; half /= 2) {
    for (size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

/// How far from the exact sum that may be: of products whose sizes add up to `size`.
inline double half_sum_bound(size_t k, double size) {
  const double roundings = static_cast<double>(k + 1);
  return std::expm1(roundings * std::log1p(0x1p-11)) * size + roundings * 0x1p-25;
}

}  // namespace tw::test
