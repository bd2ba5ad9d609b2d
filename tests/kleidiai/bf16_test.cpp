// Products of bf16 against KleidiAI's: the same instructions and the same rounding of activations,
// in an order of its own.
#include <gtest/gtest.h>

#include <kai/ukernels/matmul/matmul_clamp_f32_bf16p_bf16p/kai_matmul_clamp_f32_bf16p8x4_bf16p12x4b_8x12_neon_mmla.h>
#include <kai/ukernels/matmul/pack/kai_lhs_quant_pack_bf16p8x4_f32_neon.h>
#include <kai/ukernels/matmul/pack/kai_rhs_quant_pack_kxn_bf16p12x4biasf32_f32_neon.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "kleidiai/planned.h"
#include "reference/half_reference.h"

namespace tw::test {
namespace {

constexpr size_t mr = 8, nr = 12, kr = 4;

struct Problem {
  size_t m, n, k;
  std::vector<float> lhs, rhs, bias;  ///< rhs: [k][n], of values that bf16 holds
};

Problem make_problem(size_t m, size_t n, size_t k) {
  std::mt19937 random(static_cast<unsigned>(m * n + k));
  std::uniform_real_distribution<float> uniform(-1, 1);
  Problem made{
      m, n, k, std::vector<float>(m * k), std::vector<float>(k * n), std::vector<float>(n)};
  for (float& value : made.lhs) value = uniform(random);
  for (float& value : made.rhs) value = rounded_to("bf16", uniform(random));
  for (float& value : made.bias) value = uniform(random);
  return made;
}

std::vector<float> theirs(const Problem& p, float min, float max) {
  std::vector<uint8_t> lhs(
      kai_get_lhs_packed_size_lhs_quant_pack_bf16p8x4_f32_neon(p.m, p.k, mr, kr, 1));
  kai_run_lhs_quant_pack_bf16p8x4_f32_neon(p.m, p.k, mr, kr, 1, 0, p.lhs.data(),
                                           p.k * sizeof(float), lhs.data());
  std::vector<uint8_t> rhs(
      kai_get_rhs_packed_size_rhs_quant_pack_kxn_bf16p12x4biasf32_f32_neon(p.n, p.k, nr, kr));
  kai_run_rhs_quant_pack_kxn_bf16p12x4biasf32_f32_neon(1, p.n, p.k, nr, kr, 1, p.n * sizeof(float),
                                                       p.rhs.data(), p.bias.data(), nullptr,
                                                       rhs.data(), 0, nullptr);
  std::vector<float> out(p.m * p.n);
  kai_run_matmul_clamp_f32_bf16p8x4_bf16p12x4b_8x12_neon_mmla(p.m, p.n, p.k, lhs.data(), rhs.data(),
                                                              out.data(), p.n * sizeof(float),
                                                              sizeof(float), min, max);
  return out;
}

std::vector<float> ours(const Problem& p, float min, float max) {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = "matmul_clamp_f32_bf16p_bf16p";
  matmul.n = p.n;
  matmul.k = p.k;
  std::vector<uint16_t> halves;
  for (const float value : p.rhs) {
    halves.push_back(static_cast<uint16_t>(output_bits("bf16", value)));
  }
  auto weights = tilewright::sized<tw_rhs_source>();
  weights.order = TW_KXN;
  weights.data = halves.data();
  weights.data_bytes = halves.size() * sizeof(uint16_t);
  weights.stride = p.n * sizeof(uint16_t);
  weights.bias = p.bias.data();
  weights.bias_count = p.n;
  return planned_floats(matmul, weights, p.lhs, min, max);
}

/// What roundings may make of sums in two orders (docs/contracts.md).
double allowed(const Problem& p, size_t row, size_t column) {
  double size = std::fabs(p.bias[column]);
  for (size_t i = 0; i < p.k; ++i) {
    size += std::fabs(double{p.lhs[row * p.k + i]} * double{p.rhs[i * p.n + column]});
  }
  return 2 * (2 * static_cast<double>(p.k) + 3) * std::ldexp(size, -24);
}

TEST(Bf16Products, AreKleidiAis) {
  if ((tilewright::detect().features & TW_FEATURE_BF16) == 0) GTEST_SKIP() << "no bf16 here";
  for (const auto& [m, n, k] : {std::array<size_t, 3>{1, 12, 64}, {8, 24, 64}, {13, 37, 67}}) {
    const Problem p = make_problem(m, n, k);
    for (const float limit : {INFINITY, 1.5F}) {
      const std::vector<float> right = theirs(p, -limit, limit);
      const std::vector<float> found = ours(p, -limit, limit);
      for (size_t i = 0; i < right.size(); ++i) {
        ASSERT_NEAR(found[i], right[i], allowed(p, i / n, i % n)) << m << ' ' << n << ' ' << k;
      }
    }
  }
}

}  // namespace
}  // namespace tw::test
