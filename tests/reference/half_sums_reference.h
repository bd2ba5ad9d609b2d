// Sums of f16 in plain C++: every product is added with one rounding, in the order of k.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "reference/float_reference.h"

namespace tw::test {

__extension__ using Wide = __int128;

/// The f16 nearest to `units` times 2^-48, ties to even.
inline float nearest_half(Wide units) {
  const bool negative = units < 0;
  Wide size = negative ? -units : units;
  int length = 0;
  for (Wide rest = size; rest != 0; rest /= 2) ++length;
  const int shift = length - 11 > 24 ? length - 11 : 24;  // nothing is finer than 2^-24
  const Wide unit = Wide{1} << shift;
  const Wide rest = size % unit;
  Wide steps = size / unit;
  if (2 * rest > unit || (2 * rest == unit && steps % 2 == 1)) ++steps;
  const float value = std::ldexp(static_cast<float>(steps), shift - 48);
  return std::copysign(value > 65504 ? INFINITY : value, negative ? -1.0F : 1.0F);
}

/// a * b + c of f16.
inline float fused_half(float a, float b, float c) {
  if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) return a * b + c;
  const auto units = [](float x) { return static_cast<Wide>(std::ldexp(double{x}, 24)); };
  return nearest_half(units(a) * units(b) + units(c) * (Wide{1} << 24));
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
