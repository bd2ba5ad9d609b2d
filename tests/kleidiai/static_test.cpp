// Static int8 against KleidiAI's, which has kernels of it for SME2: the same requantization, so the
// same codes.
#include <gtest/gtest.h>

#include <kai/kai_common.h>
#include <kai/ukernels/matmul/matmul_clamp_qai8_qai8p_qsi8cxp/kai_matmul_clamp_qai8_qai8p2vlx4_qsi8cxpsb2vlx4_2vlx2vl_sme2_mopa.h>
#include <kai/ukernels/matmul/pack/kai_lhs_pack_x8p2vlx4_x8_sme.h>
#include <kai/ukernels/matmul/pack/kai_rhs_pack_kxn_qsi8cxp2vlx4sb_qs8cx_f32_i32_sme.h>

#include <array>
#include <cstdlib>
#include <random>
#include <vector>

#include "kleidiai/planned.h"

namespace tw::test::static_test {
namespace {

constexpr int32_t lhs_zero_point = 3, dst_zero_point = -5;
constexpr float lhs_scale = 0.125F, dst_scale = 0.25F;  // whose quotient is exact

struct Problem {
  size_t m, n, k;
  std::vector<int8_t> lhs, rhs;  ///< rhs: [k][n]
  std::vector<int32_t> bias;
  std::vector<float> scales;

  Problem(size_t m, size_t n, size_t k) : m(m), n(n), k(k) {
    std::mt19937 random(static_cast<unsigned>(m * n + k));
    for (size_t i = 0; i < m * k; ++i) lhs.push_back(static_cast<int8_t>(random()));
    for (size_t i = 0; i < k * n; ++i) rhs.push_back(static_cast<int8_t>(random()));
    for (size_t i = 0; i < n; ++i) {
      bias.push_back(static_cast<int32_t>(random() % 20001) - 10000);
      // Most outputs are within the codes, and some are clamped.
      scales.push_back(0.001F + 0.0001F * static_cast<float>(random() % 10));
    }
  }
};

std::vector<int8_t> theirs(const Problem& p, int32_t min, int32_t max) {
  const size_t mr = kai_get_mr_matmul_clamp_qai8_qai8p2vlx4_qsi8cxpsb2vlx4_2vlx2vl_sme2_mopa();
  const size_t nr = kai_get_nr_matmul_clamp_qai8_qai8p2vlx4_qsi8cxpsb2vlx4_2vlx2vl_sme2_mopa();
  std::vector<uint8_t> lhs(kai_get_lhs_packed_size_lhs_pack_x8p2vlx4_x8_sme(p.m, p.k, mr, 4, 1));
  kai_run_lhs_pack_x8p2vlx4_x8_sme(p.m, p.k, mr, 4, 1, 0, p.lhs.data(), p.k, lhs.data());
  const kai_rhs_pack_qsi8cx_params params{lhs_zero_point, lhs_scale / dst_scale};
  std::vector<uint8_t> rhs(
      kai_get_rhs_packed_size_rhs_pack_kxn_qsi8cxp2vlx4sb_qs8cx_f32_i32_sme(p.n, p.k));
  kai_run_rhs_pack_kxn_qsi8cxp2vlx4sb_qs8cx_f32_i32_sme(1, p.n, p.k, nr, 4, 1, p.n, p.rhs.data(),
                                                        p.bias.data(), p.scales.data(), rhs.data(),
                                                        0, &params);
  std::vector<int8_t> out(p.m * p.n);
  const kai_matmul_requantize32_params clamp{min, max, dst_zero_point};
  kai_run_matmul_clamp_qai8_qai8p2vlx4_qsi8cxpsb2vlx4_2vlx2vl_sme2_mopa(
      p.m, p.n, p.k, lhs.data(), rhs.data(), out.data(), p.n, 1, &clamp);
  return out;
}

std::vector<int8_t> ours(const Problem& p, int32_t min, int32_t max) {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = "matmul_clamp_qai8_qai8p_qsi8cxp";
  matmul.n = p.n;
  matmul.k = p.k;
  matmul.lhs_type = matmul.dst_type = TW_S8;
  auto weights = tilewright::sized<tw_rhs_source>();
  weights.order = TW_KXN;
  weights.data = p.rhs.data();
  weights.data_bytes = p.rhs.size();
  weights.stride = p.n;
  weights.scales = p.scales.data();
  weights.scale_count = p.n;
  weights.bias = p.bias.data();
  weights.bias_count = p.n;
  weights.lhs_zero_point = lhs_zero_point;
  weights.lhs_scale = lhs_scale;
  weights.dst_scale = dst_scale;
  auto rows = tilewright::sized<tw_lhs_source>();
  rows.data = p.lhs.data();
  rows.data_bytes = p.lhs.size();
  rows.stride = p.k;
  auto args = tilewright::sized<tw_run_args>();
  args.clamp = 1;
  args.min = static_cast<float>(min);
  args.max = static_cast<float>(max);
  args.dst_zero_point = dst_zero_point;
  const std::vector<uint8_t> out = planned_product(matmul, weights, rows, p.m, 1, args);
  return {out.begin(), out.end()};
}

TEST(StaticInt8, IsKleidiAis) {
  const bool runs = (tilewright::detect().features & TW_FEATURE_SME2) != 0;
  if (!runs && std::getenv("TILEWRIGHT_EXPECT_SME2") == nullptr) {
    GTEST_SKIP() << "no SME2 here: the test kleidiai_static has a CPU with it";
  }
  ASSERT_TRUE(runs);
  for (const auto& [m, n, k] : {std::array<size_t, 3>{1, 16, 64}, {9, 33, 67}, {37, 70, 130}}) {
    const Problem p(m, n, k);
    EXPECT_EQ(ours(p, -128, 127), theirs(p, -128, 127)) << m << ' ' << n << ' ' << k;
    EXPECT_EQ(ours(p, -20, 90), theirs(p, -20, 90)) << m << ' ' << n << ' ' << k;
  }
}

}  // namespace
}  // namespace tw::test::static_test
