// Products that are added up as f16, through the run-time API.
#include "reference/half_sums_reference.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/convolution.h"
#include "reference/half_reference.h"
#include "tilewright/tilewright.hpp"

namespace tw::test::half_sums_test {
namespace {

constexpr size_t m = 9, n = 37, k = 70;
const char* const family = "matmul_clamp_f16_f16_f16p";

std::vector<float> random_values(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& x : values) x = rounded_to("f16", std::normal_distribution<float>()(random));
  return values;
}

tilewright::Plan plan_of(tw_type lhs) {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = family;
  matmul.n = n;
  matmul.k = k;
  matmul.lhs_type = lhs;
  matmul.dst_type = TW_F16;
  return {tilewright::detect(), matmul};
}

std::vector<uint8_t> packed_lhs(const tilewright::Plan& plan, const std::vector<uint8_t>& rows) {
  auto source = tilewright::sized<tw_lhs_source>();
  source.data = rows.data();
  source.data_bytes = rows.size();
  source.stride = rows.size() / m;
  std::vector<uint8_t> packed(plan.lhs_bytes(m));
  for (size_t s = 0; s < plan.lhs_slices(m); ++s) {
    plan.pack_lhs(m, source, packed.data(), packed.size(), s);
  }
  return packed;
}

/// Of rows of `type`, as f32.
std::vector<float> outputs(tw_type lhs, const std::string& type, const std::vector<float>& values,
                           const std::vector<float>& weights) {
  const tilewright::Plan plan = plan_of(lhs);
  const std::vector<uint8_t> columns = bytes_of_floats("f16", weights);
  auto rhs = tilewright::sized<tw_rhs_source>();
  rhs.data = columns.data();
  rhs.data_bytes = columns.size();
  rhs.stride = k * 2;
  std::vector<uint8_t> packed(plan.rhs_bytes());
  for (size_t s = 0; s < plan.rhs_slices(); ++s) {
    plan.pack_rhs(rhs, packed.data(), packed.size(), s);
  }
  const std::vector<uint8_t> rows = bytes_of_floats(type, values);
  const std::vector<uint8_t> packed_rows = packed_lhs(plan, rows);
  std::vector<uint8_t> dst(m * n * 2);
  auto args = tilewright::sized<tw_run_args>();
  args.m = m;
  args.lhs = packed_rows.empty() ? rows.data() : packed_rows.data();
  args.lhs_bytes = packed_rows.empty() ? rows.size() : packed_rows.size();
  args.lhs_stride = packed_rows.empty() ? rows.size() / m : 0;
  args.rhs = packed.data();
  args.rhs_bytes = packed.size();
  args.dst = dst.data();
  args.dst_bytes = dst.size();
  args.dst_stride = n * 2;
  for (size_t s = 0; s < plan.run_slices(m); ++s) plan.run(args, s);
  std::vector<float> found(m * n);
  for (size_t i = 0; i < found.size(); ++i) {
    found[i] = value_of_bits("f16", dst[2 * i] | dst[2 * i + 1] << 8);
  }
  return found;
}

class HalfSums : public testing::Test {
 protected:
  void SetUp() override {
    if (isas_of(family).empty()) GTEST_SKIP() << "no kernel of them runs here";
  }
};

TEST_F(HalfSums, AreWithinTheBound) {
  const std::vector<float> values = random_values(m * k, 1);
  const std::vector<float> weights = random_values(n * k, 2);
  const std::vector<float> found = outputs(TW_F16, "f16", values, weights);
  for (size_t i = 0; i < found.size(); ++i) {
    double sum = 0, size = 0;
    for (size_t j = 0; j < k; ++j) {
      const double product = double{values[i / n * k + j]} * double{weights[i % n * k + j]};
      sum += product;
      size += std::abs(product);
    }
    ASSERT_NEAR(found[i], sum, half_sum_bound(k + 1, size)) << "output " << i;
  }
}

TEST_F(HalfSums, OfOtherRowsAreThoseOfF16) {
  const std::vector<float> weights = random_values(n * k, 2);
  const std::vector<float> values = random_values(m * k, 3);
  std::vector<float> more = values;  // which f16 rounds off
  for (float& x : more) x *= 1 + 0x1p-13F;
  const std::vector<float> wanted = outputs(TW_F16, "f16", values, weights);
  EXPECT_TRUE(packed_lhs(plan_of(TW_F16), bytes_of_floats("f16", values)).empty());
  EXPECT_EQ(outputs(TW_F32, "f32", more, weights), wanted);
  std::vector<float> few = values;
  for (float& x : few) x = rounded_to("bf16", x);
  EXPECT_EQ(outputs(TW_BF16, "bf16", few, weights), outputs(TW_F16, "f16", few, weights));
}

TEST_F(HalfSums, AreInfiniteBeyond65504) {
  std::vector<float> values(m * k, 0.0F), weights(n * k, 200.0F);
  for (const size_t j : {0, 1}) values[3 * k + j] = 200;
  values[5 * k] = INFINITY;
  const std::vector<float> found = outputs(TW_F16, "f16", values, weights);
  for (size_t i = 0; i < found.size(); ++i) {
    const size_t row = i / n;
    const float wanted = row == 3 || row == 5 ? INFINITY : 0.0F;
    EXPECT_EQ(found[i], wanted) << "output " << i;
  }
}

TEST_F(HalfSums, ReadTheWeightsOfF32Activations) {
  size_t shared = 0;
  for (size_t i = 0; i < tw_generated_kernel_count; ++i) {
    const tw_kernel& row = tw_generated_kernels[i];
    if (row.family != std::string("matmul_clamp_f16_f32_f16p")) continue;
    shared += row.rhs->id == tw_plan_rhs_layout(plan_of(TW_F16).get())->id ? 1 : 0;
  }
  EXPECT_GT(shared, 0U);
}

/// Theirs are f32. Such rows are there for programs that have KleidiAI's weights.
TEST_F(HalfSums, PlansTakeNoBiasesOfHalves) {
  size_t refused = 0;
  for (size_t i = 0; i < tw_generated_kernel_count; ++i) {
    const tw_kernel& row = tw_generated_kernels[i];
    if (row.rhs->axes == nullptr || row.rhs->axes->bias.type != TW_F16) continue;
    auto matmul = tilewright::sized<tw_matmul>();
    matmul.family = row.family;
    matmul.dst_type = row.dst;
    matmul.n = n;
    matmul.k = k;
    matmul.rhs_layout = row.rhs->id;
    const tw_device device = tilewright::detect();
    tw_plan* plan = nullptr;
    EXPECT_NE(tw_plan_create(&device, &matmul, &plan), TW_OK) << row.name;
    tw_plan_destroy(plan);
    ++refused;
  }
  EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace tw::test::half_sums_test
