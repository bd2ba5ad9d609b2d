// Weights of 2 bits through the run-time API.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/case.h"
#include "reference/half_reference.h"
#include "reference/matmul_reference.h"
#include "tilewright/tilewright.hpp"

namespace tw::test::two_bit_weights_test {
namespace {

constexpr size_t m = 5, n = 37, k = 70;  // k ends within a byte
constexpr const char* family = "matmul_clamp_f32_qai8dxp_qsi2cxp";

tilewright::Plan make_plan(const char* which, size_t depth = k) {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = which;
  matmul.n = n;
  matmul.k = depth;
  return {tilewright::detect(), matmul};
}

Matmul make_problem() {
  Case test;
  test.m = m;
  test.n = n;
  test.k = k;
  Scaling scaling;
  scaling.weight_bits = 2;
  scaling.zero_points = true;
  return make_operands(test, scaling);
}

/// n rows of codes, the first one of a byte in its lowest bits.
std::vector<uint8_t> rows_of(const Matmul& problem, size_t bits) {
  const size_t stride = (k * bits + 7) / 8;
  std::vector<uint8_t> bytes(n * stride);
  for (size_t i = 0; i < problem.rhs.size(); ++i) {
    const size_t at = i % k * bits;
    const int code = problem.rhs[i] & ((1 << bits) - 1);
    bytes[i / k * stride + at / 8] |= static_cast<uint8_t>(code << at % 8);
  }
  return bytes;
}

tw_rhs_source source_of(const Matmul& problem, const std::vector<uint8_t>& codes) {
  auto source = tilewright::sized<tw_rhs_source>();
  source.order = TW_NXK;
  source.data = codes.data();
  source.data_bytes = codes.size();
  source.stride = codes.size() / n;
  source.scales = problem.scales.data();
  source.scale_count = n;
  source.bias = problem.bias.data();
  source.bias_count = n;
  source.zero_points = problem.zeros.empty() ? nullptr : problem.zeros.data();
  source.zero_point_count = problem.zeros.size();
  return source;
}

std::vector<float> run(const char* which, size_t bits, const Matmul& problem) {
  const tilewright::Plan plan = make_plan(which);
  const std::vector<uint8_t> codes = rows_of(problem, bits);
  const tw_rhs_source source = source_of(problem, codes);
  std::vector<char> rhs(plan.rhs_bytes());
  for (size_t s = 0; s < plan.rhs_slices(); ++s) plan.pack_rhs(source, rhs.data(), rhs.size(), s);
  auto rows = tilewright::sized<tw_lhs_source>();
  rows.data = problem.lhs.data();
  rows.data_bytes = problem.lhs.size() * sizeof(float);
  rows.stride = k * sizeof(float);
  std::vector<char> lhs(plan.lhs_bytes(m));
  for (size_t s = 0; s < plan.lhs_slices(m); ++s) {
    plan.pack_lhs(m, rows, lhs.data(), lhs.size(), s);
  }
  std::vector<float> dst(m * n);
  auto args = tilewright::sized<tw_run_args>();
  args.m = m;
  args.lhs = lhs.data();
  args.lhs_bytes = lhs.size();
  args.rhs = rhs.data();
  args.rhs_bytes = rhs.size();
  args.dst = dst.data();
  args.dst_bytes = dst.size() * sizeof(float);
  args.dst_stride = n * sizeof(float);
  for (size_t s = 0; s < plan.run_slices(m); ++s) plan.run(args, s);
  return dst;
}

TEST(TwoBitWeights, WithZeroPoints) {
  const Matmul problem = make_problem();
  EXPECT_EQ(run(family, 2, problem), multiply(problem));
}

/// Real values: (code - zero point) * scale.
TEST(TwoBitWeights, AreWorthWhatTheySay) {
  Matmul problem = make_problem();
  problem.lhs.assign(m * k, 1);  // 255 steps of 1 / 255, exactly
  problem.bias.assign(n, 0);
  const std::vector<float> out = run(family, 2, problem);
  for (size_t i = 0; i < m * n; ++i) {
    const size_t column = i % n;
    double sum = 0;
    for (size_t j = 0; j < k; ++j) {
      sum += double{problem.scales[column]} *
             (problem.rhs[column * k + j] - double{problem.zeros[column]});
    }
    EXPECT_NEAR(out[i], sum, 1e-5) << i;
  }
}

/// Without zero points they are int4, too.
TEST(TwoBitWeights, AreThoseOfInt4) {
  Matmul problem = make_problem();
  problem.zeros.clear();
  EXPECT_EQ(run(family, 2, problem), run("matmul_clamp_f32_qai8dxp_qsi4cxp", 4, problem));
}

TEST(TwoBitWeights, ErrorsSayWhatIsLegal) {
  const Matmul problem = make_problem();
  const std::vector<uint8_t> codes = rows_of(problem, 2);
  const auto error = [&](const char* which, tw_rhs_source source) {
    const tilewright::Plan plan = make_plan(which);
    std::vector<char> rhs(plan.rhs_bytes());
    try {
      plan.pack_rhs(source, rhs.data(), rhs.size(), 0);
    } catch (const std::exception& wrong) {
      return std::string(wrong.what());
    }
    return std::string();
  };
  tw_rhs_source source = source_of(problem, codes);
  EXPECT_EQ(error(family, source), "");
  source.zero_point_count = n - 1;
  EXPECT_EQ(error(family, source),
            "tw_pack_rhs: source.zero_point_count is 36; one of each of 37 columns is needed");
  source = source_of(problem, codes);
  source.stride = source.stride - 1;
  EXPECT_EQ(error(family, source), "tw_pack_rhs: source.stride is 17; a row has 18 bytes");
  source = source_of(problem, codes);
  source.unsigned_nibbles = 1;
  EXPECT_EQ(error(family, source),
            "tw_pack_rhs: source.unsigned_nibbles is 1; the weights of this plan have 2 bits, so "
            "that 0 is legal");
  const std::vector<uint8_t> nibbles = rows_of(problem, 4);
  const std::string none = error("matmul_clamp_f32_qai8dxp_qsi4cxp", source_of(problem, nibbles));
  EXPECT_EQ(none.substr(0, 53), "tw_pack_rhs: source.zero_points is set; layout rhs i4");
}

TEST(TwoBitWeights, SumsAreExactUpToALimit) {
  EXPECT_NO_THROW(make_plan(family, 131071));
  try {
    make_plan(family, 131072);
    FAIL();
  } catch (const std::exception& wrong) {
    EXPECT_STREQ(wrong.what(),
                 "tw_plan_create: matmul.k is 131072; integer sums are exact up to 131071");
  }
}

}  // namespace
}  // namespace tw::test::two_bit_weights_test
