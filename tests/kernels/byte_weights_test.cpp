// Weights of 8 bits through the run-time API.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/case.h"
#include "reference/half_reference.h"
#include "reference/matmul_reference.h"
#include "tilewright/tilewright.hpp"

namespace tw::test::byte_weights_test {
namespace {

constexpr size_t m = 5, n = 37, k = 70;

struct Destroy {
  void operator()(tw_plan* plan) const { tw_plan_destroy(plan); }
};

std::unique_ptr<tw_plan, Destroy> make_plan(const char* family = "matmul_clamp_f32_qai8dxp_qsi8cxp",
                                            tw_type dst_type = TW_TYPE_NONE) {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = family;
  matmul.n = n;
  matmul.k = k;
  matmul.dst_type = dst_type;
  tw_plan* plan = nullptr;
  const tw_device device = tilewright::detect();
  EXPECT_EQ(tw_plan_create(&device, &matmul, &plan), TW_OK) << tw_error_message();
  return std::unique_ptr<tw_plan, Destroy>(plan);
}

Matmul make_problem() {
  Case test;
  test.m = m;
  test.n = n;
  test.k = k;
  Scaling scaling;
  scaling.weight_bits = 8;
  return make_operands(test, scaling);
}

tw_rhs_source source_of(const Matmul& problem) {
  auto source = tilewright::sized<tw_rhs_source>();
  source.order = TW_NXK;
  source.data = problem.rhs.data();
  source.data_bytes = problem.rhs.size();
  source.stride = k;
  source.scales = problem.scales.data();
  source.scale_count = n;
  source.bias = problem.bias.data();
  source.bias_count = n;
  return source;
}

/// The outputs, values of `Value`.
template <class Value>
std::vector<Value> run(const tw_plan* plan, const Matmul& problem) {
  const tw_rhs_source weights = source_of(problem);
  std::vector<char> rhs(tw_rhs_bytes(plan));
  for (size_t s = 0; s < tilewright::rhs_slices(plan); ++s) {
    EXPECT_EQ(tw_pack_rhs(plan, &weights, rhs.data(), rhs.size(), s), TW_OK) << tw_error_message();
  }
  size_t lhs_bytes = 0;
  EXPECT_EQ(tw_lhs_bytes(plan, m, &lhs_bytes), TW_OK);
  std::vector<char> lhs(lhs_bytes);
  auto rows = tilewright::sized<tw_lhs_source>();
  rows.data = problem.lhs.data();
  rows.data_bytes = problem.lhs.size() * sizeof(float);
  rows.stride = k * sizeof(float);
  for (size_t s = 0; s < tilewright::lhs_slices(plan, m); ++s) {
    EXPECT_EQ(tw_pack_lhs(plan, m, &rows, lhs.data(), lhs.size(), s), TW_OK);
  }
  std::vector<Value> dst(m * n);
  auto args = tilewright::sized<tw_run_args>();
  args.m = m;
  args.lhs = lhs.data();
  args.lhs_bytes = lhs.size();
  args.rhs = rhs.data();
  args.rhs_bytes = rhs.size();
  args.dst = dst.data();
  args.dst_bytes = dst.size() * sizeof(Value);
  args.dst_stride = n * sizeof(Value);
  for (size_t s = 0; s < tilewright::run_slices(plan, m); ++s) {
    EXPECT_EQ(tw_run(plan, &args, s), TW_OK) << tw_error_message();
  }
  return dst;
}

TEST(ByteWeights, AreMultiplied) {
  const Matmul problem = make_problem();
  EXPECT_EQ(run<float>(make_plan().get(), problem), multiply(problem));
}

TEST(ByteWeights, AreMultipliedToOutputsOf16Bits) {
  struct {
    const char *family, *text;
    tw_type type;
  } kinds[] = {{"matmul_clamp_f16_qai8dxp_qsi8cxp", "f16", TW_F16},
               {"matmul_clamp_bf16_qai8dxp_qsi8cxp", "bf16", TW_BF16}};
  const Matmul problem = make_problem();
  const std::vector<float> floats = multiply(problem);
  for (const auto& kind : kinds) {
    const auto plan = make_plan(kind.family, kind.type);
    const std::vector<uint16_t> outputs = run<uint16_t>(plan.get(), problem);
    for (size_t i = 0; i < floats.size(); ++i) {
      ASSERT_EQ(outputs[i], output_bits(kind.text, floats[i])) << kind.text << " " << i;
    }
  }
}

TEST(ByteWeights, HaveNoNibbles) {
  const auto plan = make_plan();
  const Matmul problem = make_problem();
  tw_rhs_source weights = source_of(problem);
  weights.unsigned_nibbles = 1;
  std::vector<char> rhs(tw_rhs_bytes(plan.get()));
  EXPECT_EQ(tw_pack_rhs(plan.get(), &weights, rhs.data(), rhs.size(), 0), TW_INVALID);
  EXPECT_EQ(std::string(tw_error_message()),
            "tw_pack_rhs: source.unsigned_nibbles is 1; the weights of this plan have 8 bits, so "
            "that 0 is legal");
}

}  // namespace
}  // namespace tw::test::byte_weights_test
