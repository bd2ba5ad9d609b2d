#include "kernels/static_operands.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace tw::test {
namespace {

int8_t lhs_code(Values values, size_t row, int32_t zero_point, std::minstd_rand& random) {
  switch (values) {
    case Values::extreme:
      return row % 2 == 0 ? -128 : 127;
    case Values::equal:
      return 5;
    case Values::zeros:
      return static_cast<int8_t>(zero_point);
    default:
      return static_cast<int8_t>(static_cast<int>(random() >> 8 & 255) - 128);
  }
}

int32_t bias_value(const Case& test, size_t column, float reach, std::minstd_rand& random) {
  if (test.bias == Bias::none) return 0;
  if (test.values == Values::equal) {  // halves of them are between two codes, the lower one even
    const int size = 5 + 4 * static_cast<int>(column % 24);
    return column % 2 == 0 ? size : -size;
  }
  if (test.values == Values::outlier && column % 5 < 2) {
    return column % 5 == 0 ? std::numeric_limits<int32_t>::min()
                           : std::numeric_limits<int32_t>::max();
  }
  const auto any = static_cast<float>(static_cast<int>(random() >> 8 & 4095) - 2048) / 2048;
  return static_cast<int32_t>(any * reach);
}

}  // namespace

StaticMatmul as_static(const Matmul& problem, const Case& test) {
  std::minstd_rand random(static_cast<uint32_t>(test.m * 31 + test.n * 7919 + test.k * 101 + 1));
  StaticMatmul in;
  in.m = problem.m;
  in.n = problem.n;
  in.k = problem.k;
  in.rhs = problem.rhs;
  in.scales = problem.scales;
  const int32_t zero_points[] = {-128, 127, 0, -5, 77};
  in.lhs_zero_point = zero_points[random() % 5];
  in.dst_zero_point = zero_points[random() % 5];
  in.lhs_scale = 0.3F;
  // Sums are as far from zero as so many random steps are.
  int largest = 1;
  for (const int8_t code : in.rhs) largest = std::max(largest, std::abs(int{code}));
  const float reach = 60 * static_cast<float>(largest) * std::sqrt(static_cast<float>(in.k + 1));
  in.dst_scale = in.lhs_scale * 0.01F * reach / 100;
  if (test.values == Values::equal) {  // halves of biases: how ties are rounded shows
    in.scales.assign(in.n, 0.5F);
    in.lhs_scale = in.dst_scale = 1;
    in.lhs_zero_point = 5;
  }
  for (size_t i = 0; i < in.m * in.k; ++i) {
    in.lhs.push_back(lhs_code(test.values, i / in.k, in.lhs_zero_point, random));
  }
  for (size_t column = 0; column < in.n; ++column) {
    in.bias.push_back(bias_value(test, column, reach, random));
  }
  if (test.clamp == Clamp::lower || test.clamp == Clamp::both) in.min = -40;
  if (test.clamp == Clamp::upper || test.clamp == Clamp::both) in.max = 25;
  return in;
}

SumsMatmul as_sums(const Matmul& problem, const StaticMatmul& codes) {
  SumsMatmul in{codes.m, codes.n, codes.k, codes.lhs, {}, codes.rhs, {}, codes.bias};
  in.lhs_zero_points.assign(codes.m, codes.lhs_zero_point);
  for (const float zero : problem.zeros) in.rhs_zero_points.push_back(static_cast<int>(zero));
  return in;
}

}  // namespace tw::test
