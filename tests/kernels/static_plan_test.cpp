// Activations and outputs that are codes, through the run-time API.
#include <gtest/gtest.h>

#include "kernels/static_operands.h"
#include "kernels/static_plan.h"

namespace tw::test {
namespace {

StaticMatmul problem_of(size_t m, size_t n, size_t k, int bits) {
  Case test;
  test.m = m;
  test.n = n;
  test.k = k;
  Scaling scaling;
  scaling.weight_bits = bits;
  return as_static(make_operands(test, scaling), test);
}

class StaticPlan : public testing::TestWithParam<int> {};

TEST_P(StaticPlan, AgreesWithTheReferenceOnEveryIsa) {
  const std::vector<std::string> isas = static_isas(GetParam());
  ASSERT_FALSE(isas.empty());
  for (const std::string& isa : isas) {
    for (const size_t m : {1, 3, 21}) {
      for (const size_t k : {1, 70}) {
        const StaticMatmul in = problem_of(m, 75, k, GetParam());
        const std::vector<int8_t> found = run_static(in, GetParam(), isa.c_str());
        const std::vector<float> right = multiply(in);
        for (size_t i = 0; i < right.size(); ++i) {
          ASSERT_EQ(int{found[i]}, right[i]) << isa << ", m " << m << ", k " << k << ", " << i;
        }
      }
    }
  }
}

/// What one of the calls says of arguments that `change` made wrong.
template <typename Change>
std::string error_of(Change change, size_t k = 64) {
  const StaticMatmul in = problem_of(2, 5, k, 8);
  std::vector<uint8_t> codes;
  StaticCall call = static_call(in, 8, codes);
  change(call);
  try {
    const tilewright::Plan plan(tilewright::detect(), call.matmul);
    std::vector<uint8_t> rhs(plan.rhs_bytes());
    for (size_t s = 0; s < plan.rhs_slices(); ++s) {
      plan.pack_rhs(call.rhs, rhs.data(), rhs.size(), s);
    }
    std::vector<uint8_t> lhs(plan.lhs_bytes(in.m));
    std::vector<int8_t> dst(in.m * in.n);
    call.args.lhs = lhs.data();
    call.args.lhs_bytes = lhs.size();
    call.args.rhs = rhs.data();
    call.args.rhs_bytes = rhs.size();
    call.args.dst = dst.data();
    plan.run(call.args, 0);
    auto target = tilewright::sized<tw_rhs_target>();
    target.order = TW_NXK;
    target.data = codes.data();
    target.data_bytes = codes.size();
    target.stride = k;
    plan.unpack_rhs(rhs.data(), rhs.size(), 0, in.n, target);
    std::vector<float> scales(in.n);
    target.scales = scales.data();
    target.scale_count = in.n;
    plan.unpack_rhs(rhs.data(), rhs.size(), 0, in.n, target);
  } catch (const tilewright::Error& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(StaticErrors, SayWhatWouldBeLegal) {
  const std::string good = error_of([](StaticCall& /*call*/) {});
  EXPECT_TRUE(has(good, "tw_unpack_rhs: target.scales is set; layout rhs i8")) << good;
  EXPECT_EQ(error_of([](StaticCall& call) { call.rhs.lhs_zero_point = 128; }),
            "tw_pack_rhs: source.lhs_zero_point is 128; -128 to 127 are legal");
  EXPECT_EQ(
      error_of([](StaticCall& call) {
        call.rhs.lhs_scale = 0;
        call.rhs.dst_scale = 0.5F;
      }),
      "tw_pack_rhs: source.lhs_scale is 0, source.dst_scale is 0.5; numbers above 0 are legal");
  const int32_t biases[] = {0, 0, 2147483647 - 255 * 128 * 64 + 1, 0, 0};
  EXPECT_EQ(error_of([&](StaticCall& call) { call.rhs.bias = biases; }),
            "tw_pack_rhs: source.bias[2] is 2145394688; with k = 64 sums are exact for -2145394687 "
            "to 2145394687");
  EXPECT_EQ(error_of([](StaticCall& call) { call.args.dst_zero_point = -129; }),
            "tw_run: args.dst_zero_point is -129; -128 to 127 are legal");
  EXPECT_EQ(error_of([](StaticCall& call) { call.args.max = 128; }),
            "tw_run: args.min is -128, args.max is 128; whole numbers from -128 to 127 are legal");
  EXPECT_EQ(error_of([](StaticCall& call) { call.args.min = 0.5F; }),
            "tw_run: args.min is 0.5, args.max is 127; whole numbers from -128 to 127 are legal");
  EXPECT_EQ(error_of([&](StaticCall& call) {
              call.args.bias = biases;
              call.args.bias_count = 5;
            }),
            "tw_run: args.bias is set; for static activations it is packed with the weights, null "
            "is legal");
  EXPECT_EQ(error_of([](StaticCall& call) { call.matmul.k = 65794; }),
            "tw_plan_create: matmul.k is 65794; integer sums are exact up to 65793");
  EXPECT_EQ(error_of([](StaticCall& call) { call.matmul.lhs_type = TW_TYPE_NONE; }),
            "tw_plan_create: matmul.lhs_type is f32; matmul_clamp_qai8_qai8p_qsi8cxp reads "
            "rows of: s8");
}

INSTANTIATE_TEST_SUITE_P(, StaticPlan, testing::Values(4, 8),
                         [](const auto& bits) { return "int" + std::to_string(bits.param); });

}  // namespace
}  // namespace tw::test
