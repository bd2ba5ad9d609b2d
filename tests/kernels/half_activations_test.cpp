// Activations of 16 bits, through the run-time API: outputs are bit for bit those of the same
// values as f32.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/convolution.h"
#include "reference/half_reference.h"
#include "tilewright/tilewright.hpp"

namespace tw::test::half_activations_test {
namespace {

constexpr size_t m = 7, n = 37, k = 96;

struct Problem {
  const char* family;
  size_t block, weight_bits;
  tw_type dst;
};

tw_matmul matmul_of(const Problem& problem, tw_type lhs) {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = problem.family;
  matmul.n = n;
  matmul.k = k;
  matmul.block = problem.block;
  if (problem.block != 0) matmul.scales = TW_SCALES_F16;
  matmul.lhs_type = lhs;
  matmul.dst_type = problem.dst;
  matmul.accumulate = std::strstr(problem.family, "_acc_") != nullptr ? 1 : 0;
  return matmul;
}

/// Weights of any bits, floats below 2, scales of 1 to 2.
std::vector<uint8_t> pack_weights(const tilewright::Plan& plan, const Problem& problem) {
  std::mt19937 random(5);
  std::vector<uint8_t> codes(n * k * problem.weight_bits / 8);
  for (size_t i = 0; i < codes.size(); ++i) {
    const bool high = problem.weight_bits >= 16 && i % 2 == 1;
    codes[i] = static_cast<uint8_t>(random() & (high ? 0xbf : 0xff));
  }
  const size_t blocks = problem.block == 0 ? n : n * k / problem.block;
  std::vector<uint8_t> scales;
  for (size_t i = 0; i < blocks; ++i) {
    const float scale = 1 + static_cast<float>(random() % 64) / 64;
    const char* type = problem.block == 0 ? "f32" : "f16";
    const uint32_t bits = float_bits(type, scale);
    for (size_t b = 0; b < bytes_of_float(type); ++b) {
      scales.push_back(static_cast<uint8_t>(bits >> (8 * b)));
    }
  }
  auto source = tilewright::sized<tw_rhs_source>();
  source.data = codes.data();
  source.data_bytes = codes.size();
  source.stride = codes.size() / n;
  if (problem.weight_bits < 16) {
    source.scales = scales.data();
    source.scale_count = blocks;
  }
  std::vector<uint8_t> packed(plan.rhs_bytes());
  for (size_t s = 0; s < plan.rhs_slices(); ++s) {
    plan.pack_rhs(source, packed.data(), packed.size(), s);
  }
  return packed;
}

/// Outputs of rows of `type`, whose values are those that `values` fit in.
std::vector<uint8_t> outputs(const Problem& problem, const char* isa, tw_type lhs,
                             const std::string& type, const std::vector<float>& values) {
  tw_device device = tilewright::detect();
  EXPECT_EQ(tw_device_limit(&device, isa), TW_OK) << tw_error_message();
  const tilewright::Plan plan(device, matmul_of(problem, lhs));
  const std::vector<uint8_t> weights = pack_weights(plan, problem);
  const size_t bytes = bytes_of_float(type);
  std::vector<uint8_t> rows(m * k * bytes);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t bits = float_bits(type, values[i]);
    std::memcpy(rows.data() + i * bytes, &bits, bytes);
  }
  auto source = tilewright::sized<tw_lhs_source>();
  source.data = rows.data();
  source.data_bytes = rows.size();
  source.stride = k * bytes;
  std::vector<uint8_t> packed(plan.lhs_bytes(m));
  for (size_t s = 0; s < plan.lhs_slices(m); ++s) {
    plan.pack_lhs(m, source, packed.data(), packed.size(), s);
  }
  std::vector<uint8_t> dst(m * n * (problem.dst == TW_F32 ? 4 : 2));
  auto args = tilewright::sized<tw_run_args>();
  args.m = m;
  args.lhs = packed.empty() ? rows.data() : packed.data();
  args.lhs_bytes = packed.empty() ? rows.size() : packed.size();
  args.lhs_stride = packed.empty() ? source.stride : 0;
  args.rhs = weights.data();
  args.rhs_bytes = weights.size();
  args.dst = dst.data();
  args.dst_bytes = dst.size();
  args.dst_stride = dst.size() / m;
  for (size_t s = 0; s < plan.run_slices(m); ++s) plan.run(args, s);
  return dst;
}

TEST(HalfActivations, MultiplyAsTheSameValuesOfF32) {
  const Problem problems[] = {{"matmul_clamp_f16_qai8dxp_qsi4cxp", 0, 4, TW_F16},
                              {"matmul_clamp_bf16_qai8dxp_qsi8cxp", 0, 8, TW_BF16},
                              {"matmul_clamp_f16_qai8dxp_qsi4c32p", 32, 4, TW_F16},
                              {"matmul_clamp_bf16_qsi8d32p_qsi4c32p", 32, 4, TW_BF16},
                              {"matmul_clamp_f32_qsi8d32p_qsi8c32p", 32, 8, TW_F32},
                              {"matmul_clamp_f32_f32_f32p", 0, 32, TW_F32},
                              {"matmul_clamp_f16_f32_f16p", 0, 16, TW_F16},
                              {"matmul_clamp_bf16_f32_bf16p", 0, 16, TW_BF16},
                              {"matmul_acc_clamp_f32_f32_f16p", 0, 16, TW_F32},
                              {"matmul_clamp_f32_f32_qsi4cxp", 0, 4, TW_F32},
                              {"matmul_clamp_f32_f32_qsi8cxp", 0, 8, TW_F32}};
  std::mt19937 random(9);
  for (const Problem& problem : problems) {
    for (const auto& [type, name] : {std::pair{TW_F16, "f16"}, std::pair{TW_BF16, "bf16"}}) {
      std::vector<float> values(m * k);
      for (float& x : values) x = rounded_to(name, std::normal_distribution<float>()(random));
      for (const std::string& isa : isas_of(problem.family)) {
        const std::vector<uint8_t> found = outputs(problem, isa.c_str(), type, name, values);
        EXPECT_EQ(found, outputs(problem, isa.c_str(), TW_F32, "f32", values))
            << problem.family << ", " << name << ", " << isa;
        EXPECT_NE(found, std::vector<uint8_t>(found.size()));
      }
    }
  }
}

}  // namespace
}  // namespace tw::test::half_activations_test
