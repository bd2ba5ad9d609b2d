// Outputs that are sums of codes, through the run-time API.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "kernels/rows.h"
#include "reference/sums_reference.h"
#include "support/device.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {
namespace {

constexpr const char* kWithZeros = "matmul_i32_qai8dxp_qai8cxp";

/// Of the most that a code and a zero point may differ by where `is_extreme`.
SumsMatmul problem_of(size_t m, size_t n, size_t k, bool is_extreme = false) {
  std::minstd_rand random(static_cast<uint32_t>(m * 31 + n * 7 + k + 1));
  const auto code = [&] { return static_cast<int8_t>(random() >> 8 & 255); };
  SumsMatmul in{m, n, k, {}, {}, {}, {}, {}};
  for (size_t i = 0; i < m * k; ++i) in.lhs.push_back(is_extreme ? -128 : code());
  for (size_t i = 0; i < n * k; ++i) in.rhs.push_back(is_extreme ? -128 : code());
  in.lhs_zero_points.assign(m, is_extreme ? 127 : code());
  for (size_t i = 0; i < n; ++i) {
    in.rhs_zero_points.push_back(is_extreme ? 127 : code());
    in.bias.push_back(is_extreme ? 0 : code() * 1000);
  }
  return in;
}

/// A plan's parts, which tests make wrong.
struct SumsCall {
  explicit SumsCall(const SumsMatmul& in, const char* family)
      : in(in), scales(in.n, 1.0F), zeros(in.rhs_zero_points.begin(), in.rhs_zero_points.end()) {
    matmul.family = family;
    matmul.n = in.n;
    matmul.k = in.k;
    matmul.lhs_type = TW_S8;
    matmul.dst_type = TW_S32;
    rhs.order = TW_NXK;
    rhs.data = this->in.rhs.data();
    rhs.data_bytes = in.rhs.size();
    rhs.stride = in.k;
    rhs.scales = scales.data();
    rhs.scale_count = in.n;
    rhs.bias = this->in.bias.data();
    rhs.bias_count = in.n;
    if (std::strcmp(family, kWithZeros) == 0) {
      rhs.zero_points = zeros.data();
      rhs.zero_point_count = in.n;
    }
    rows.data = this->in.lhs.data();
    rows.data_bytes = in.lhs.size();
    rows.stride = in.k;
    rows.zero_point = in.lhs_zero_points.front();
    rows.scale = 1;
    args.m = in.m;
    args.dst_stride = in.n * sizeof(int32_t);
    args.dst_bytes = in.m * args.dst_stride;
  }

  std::vector<int32_t> run(const tw_device& device) {
    const tilewright::Plan plan(device, matmul);
    std::vector<uint8_t> packed(plan.rhs_bytes()), lhs(plan.lhs_bytes(in.m));
    for (size_t s = 0; s < plan.rhs_slices(); ++s) {
      plan.pack_rhs(rhs, packed.data(), packed.size(), s);
    }
    for (size_t s = 0; s < plan.lhs_slices(in.m); ++s) {
      plan.pack_lhs(in.m, rows, lhs.data(), lhs.size(), s);
    }
    std::vector<int32_t> dst(in.m * in.n);
    args.lhs = lhs.data();
    args.lhs_bytes = lhs.size();
    args.rhs = packed.data();
    args.rhs_bytes = packed.size();
    args.dst = dst.data();
    for (size_t s = 0; s < plan.run_slices(in.m); ++s) plan.run(args, s);
    return dst;
  }

  SumsMatmul in;
  std::vector<float> scales, zeros;
  tw_matmul matmul = tilewright::sized<tw_matmul>();
  tw_rhs_source rhs = tilewright::sized<tw_rhs_source>();
  tw_lhs_source rows = tilewright::sized<tw_lhs_source>();
  tw_run_args args = tilewright::sized<tw_run_args>();
};

std::vector<std::string> isas_of(const char* family) {
  std::vector<std::string> isas;
  for (const tw_kernel* row : running_kernels()) {
    const bool is_new = std::find(isas.begin(), isas.end(), row->isa) == isas.end();
    if (std::strcmp(row->family, family) == 0 && is_new) isas.emplace_back(row->isa);
  }
  return isas;
}

tw_device only(const std::string& isa) {
  tw_device device = detected_device();
  tilewright::check(tw_device_limit(&device, isa.c_str()));
  return device;
}

TEST(SumsPlan, AgreesWithTheReferenceOnEveryIsa) {
  const std::vector<std::string> isas = isas_of(kWithZeros);
  ASSERT_FALSE(isas.empty());
  for (const std::string& isa : isas) {
    for (const size_t m : {1, 3, 21}) {
      const SumsMatmul in = problem_of(m, 75, 70);
      EXPECT_EQ(SumsCall(in, kWithZeros).run(only(isa)), multiply(in)) << isa << ", m " << m;
      SumsMatmul symmetric = in;
      symmetric.rhs_zero_points.clear();
      EXPECT_EQ(SumsCall(symmetric, "matmul_i32_qai8dxp_qsi8cxp").run(only(isa)),
                multiply(symmetric))
          << isa << ", m " << m;
    }
  }
}

TEST(SumsPlan, IsExactUpToTheLastKThatFits) {
  const SumsMatmul in = problem_of(2, 3, 33025, true);
  EXPECT_EQ(output_sum(in, 0, 0), 33025 * 255 * 255);  // of 64 bits, were it more
  for (const std::string& isa : isas_of(kWithZeros)) {
    EXPECT_EQ(SumsCall(in, kWithZeros).run(only(isa)), multiply(in)) << isa;
  }
}

TEST(SumsPlan, TakesABiasOfTheCall) {
  SumsMatmul in = problem_of(5, 40, 64);
  SumsCall call(in, kWithZeros);
  in.bias.assign(in.n, -12345678);
  call.args.bias = in.bias.data();
  call.args.bias_count = in.n;
  EXPECT_EQ(call.run(tilewright::detect()), multiply(in));
}

template <typename Change>
std::string error_of_sums(Change change) {
  SumsCall call(problem_of(2, 5, 64), kWithZeros);
  change(call);
  try {
    call.run(tilewright::detect());
  } catch (const tilewright::Error& error) {
    return error.what();
  }
  return "";
}

TEST(SumsPlan, SaysWhatWouldBeLegal) {
  EXPECT_EQ(error_of_sums([](SumsCall& /*call*/) {}), "");
  EXPECT_EQ(error_of_sums([](SumsCall& call) { call.matmul.k = 33026; }),
            "tw_plan_create: matmul.k is 33026; integer sums are exact up to 33025");
  EXPECT_EQ(error_of_sums([](SumsCall& call) {
              call.matmul.family = "matmul_i32_qai8dxp_qsi4cxp";
              call.matmul.k = 131072;
            }),
            "tw_plan_create: matmul.k is 131072; integer sums are exact up to 131071");
  EXPECT_EQ(error_of_sums([](SumsCall& call) { call.matmul.dst_type = TW_F32; }),
            "tw_plan_create: matmul.dst_type is f32; matmul_i32_qai8dxp_qai8cxp has outputs of: "
            "s32");
  EXPECT_EQ(error_of_sums([](SumsCall& call) { call.args.clamp = 1; }),
            "tw_run: args.clamp is 1; sums of s32 are not clamped, 0 is legal");
  EXPECT_EQ(error_of_sums([](SumsCall& call) { call.args.dst_zero_point = 1; }),
            "tw_run: args.dst_zero_point is 1; 0 to 0 are legal");
  EXPECT_EQ(error_of_sums([](SumsCall& call) { call.args.dst_bytes = call.in.n * 4; }),
            "tw_run: args.dst_bytes is 20; m = 2 rows need 40");
  EXPECT_EQ(error_of_sums([](SumsCall& call) { call.rows.zero_point = 128; }),
            "tw_pack_lhs: source.zero_point is 128; -128 to 127 are legal");
}

}  // namespace
}  // namespace tw::test
