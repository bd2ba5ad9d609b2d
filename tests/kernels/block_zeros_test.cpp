// Weights of 2, 4 and 8 bits with a zero point for every block, through the run-time API.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/case.h"
#include "kernels/rhs_source.h"
#include "kernels/rows.h"
#include "reference/half_reference.h"
#include "reference/matmul_reference.h"
#include "reference/pack_reference.h"
#include "tilewright/tilewright.hpp"

namespace tw::test::block_zeros_test {
namespace {

constexpr size_t m = 5, n = 37, k = 256;
constexpr const char* family = "matmul_clamp_f32_qsi8d32p_qai4c32p";
constexpr const char* byte_family = "matmul_clamp_f32_qsi8d32p_qai8c32p";
constexpr const char* quarter_family = "matmul_clamp_f32_qsi8d32p_qai2c32p";
constexpr const char* families[] = {family, byte_family, quarter_family};
int bits_of(const std::string& which) {
  return which[which.find("c32p") - 1] - '0';
}

tilewright::Plan make_plan(const char* which, size_t block, bool halves) {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = which;
  matmul.n = n;
  matmul.k = k;
  matmul.block = block;
  matmul.scales = halves ? TW_SCALES_F16 : TW_SCALES_F32;
  return {tilewright::detect(), matmul};
}

Matmul make_problem(size_t block, bool halves, const char* which = family) {
  Case test;
  test.m = m;
  test.n = n;
  test.k = k;
  Scaling scaling;
  scaling.block = block;
  scaling.row_blocks = true;
  scaling.type = halves ? "f16" : "f32";
  scaling.weight_bits = bits_of(which);
  scaling.zero_points = true;
  return make_operands(test, scaling);
}

/// What a caller has, as bytes.
struct Weights {
  Weights(const Matmul& problem, bool halves, int bits = 4)
      : scales(scale_bytes(problem.scales, halves ? "f16" : "f32")),
        zeros(scale_bytes(problem.zeros, halves ? "f16" : "f32")),
        codes(n * k * static_cast<size_t>(bits) / 8) {
    const auto per_byte = static_cast<size_t>(8 / bits);
    for (size_t i = 0; i < problem.rhs.size(); ++i) {
      const int code = bits == 4 ? problem.rhs[i] + 8 : problem.rhs[i] & ((1 << bits) - 1);
      codes[i / per_byte] |= static_cast<uint8_t>(code << i % per_byte * static_cast<size_t>(bits));
    }
    source.order = TW_NXK;
    source.data = codes.data();
    source.data_bytes = codes.size();
    source.stride = codes.size() / n;
    source.unsigned_nibbles = bits == 4;
    source.scales = scales.data();
    source.scale_count = problem.scales.size();
    source.bias = problem.bias.data();
    source.bias_count = n;
    source.zero_points = zeros.empty() ? nullptr : zeros.data();
    source.zero_point_count = problem.zeros.size();
  }
  std::vector<uint8_t> scales, zeros, codes;
  tw_rhs_source source = tilewright::sized<tw_rhs_source>();
};

std::vector<float> run(const char* which, const Matmul& problem, bool halves) {
  const tilewright::Plan plan = make_plan(which, problem.block, halves);
  const Weights weights(problem, halves, bits_of(which));
  std::vector<char> rhs(plan.rhs_bytes());
  for (size_t s = 0; s < plan.rhs_slices(); ++s) {
    plan.pack_rhs(weights.source, rhs.data(), rhs.size(), s);
  }
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

/// Real values: (code - zero point) * scale, in double; activations are off by half a step of
/// their block's largest / 127.
void expect_worth(const char* which, const Matmul& problem, bool halves) {
  const std::vector<float> out = run(which, problem, halves);
  const size_t blocks = k / problem.block;
  for (size_t i = 0; i < m * n; ++i) {
    const size_t row = i / n, column = i % n;
    double sum = problem.bias[column], off = 1e-4;
    for (size_t b = 0; b < blocks; ++b) {
      double largest = 0, sizes = 0;
      for (size_t j = b * problem.block; j < (b + 1) * problem.block; ++j) {
        const double value = problem.lhs[row * k + j];
        const double code =
            problem.rhs[column * k + j] - double{problem.zeros[column * blocks + b]};
        const double weight = problem.scales[column * blocks + b] * code;
        sum += value * weight;
        sizes += std::abs(weight);
        largest = std::max(largest, std::abs(value));
      }
      off += sizes * largest / 254 * 1.001;
    }
    ASSERT_NEAR(out[i], sum, off) << i;
  }
}

/// How much may be left of codes that all are zero points: nothing, but where a row's codes and
/// what they are taken from are added to totals one after the other, two roundings a block.
float cancelled(const char* which, const Matmul& problem, bool halves) {
  if (tw_plan_rhs_layout(make_plan(which, problem.block, halves).get())->streaming == 0) return 0;
  const float scale = *std::max_element(problem.scales.begin(), problem.scales.end());
  const auto code = static_cast<float>(problem.rhs.front());
  const auto blocks = static_cast<float>(k / problem.block);
  return 2 * blocks * 0x1p-24F * (0.5F + static_cast<float>(k) * code * scale);
}

TEST(BlockZeros, AreWorthWhatTheySay) {
  for (const char* which : families) {
    const int half = 1 << (bits_of(which) - 1);
    for (const size_t block : {32, 64, 128, 256}) {
      if (block == 256 && half == 2) continue;  // no kernel has such
      for (const bool halves : {true, false}) {
        SCOPED_TRACE(which + std::to_string(block) + (halves ? " f16" : " f32"));
        Matmul problem = make_problem(block, halves, which);
        expect_worth(which, problem, halves);
        for (const int zero : {-half, 0, half - 1}) {
          problem.zeros.assign(problem.zeros.size(), static_cast<float>(zero));
          expect_worth(which, problem, halves);
        }
        problem.lhs.assign(m * k, 1);  // 127 steps, exactly
        problem.rhs.assign(n * k, static_cast<int8_t>(half - 1));
        problem.bias.assign(n, 0.5F);
        const float off = cancelled(which, problem, halves);
        for (const float out : run(which, problem, halves)) ASSERT_NEAR(out, 0.5F, off);
      }
    }
  }
}

/// Bits of weights without zero points, whether there are none or they are 0.
TEST(BlockZeros, NoneAreThoseOfSymmetricWeights) {
  const std::pair<const char*, const char*> pairs[] = {
      {family, "matmul_clamp_f32_qsi8d32p_qsi4c32p"},
      {byte_family, "matmul_clamp_f32_qsi8d32p_qsi8c32p"}};
  for (const auto& [which, symmetric] : pairs) {
    for (const size_t block : {32, 128}) {
      Matmul problem = make_problem(block, true, which);
      problem.zeros.assign(problem.zeros.size(), 0);
      const std::vector<float> zeros = run(which, problem, true);
      problem.zeros.clear();
      EXPECT_EQ(run(which, problem, true), zeros);
      EXPECT_EQ(run(symmetric, problem, true), zeros);
    }
  }
}

constexpr size_t odd_k = 96;  // three blocks: a column's zero points of 4 bits end within a byte

tilewright::Plan odd_plan(const char* which) {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = which;
  matmul.n = n;
  matmul.k = odd_k;
  matmul.block = 32;
  matmul.scales = TW_SCALES_F32;
  return {tilewright::detect(), matmul};
}

std::vector<char> packed(const tilewright::Plan& plan, const tw_rhs_source& source) {
  std::vector<char> rhs(plan.rhs_bytes());
  for (size_t s = 0; s < plan.rhs_slices(); ++s) plan.pack_rhs(source, rhs.data(), rhs.size(), s);
  return rhs;
}

/// The same weights as ONNX Runtime's MatMulNBits has them, and as rows beside floats.
struct BothWays {
  explicit BothWays(int bits) : nbits(n * odd_k * static_cast<size_t>(bits) / 8) {
    const size_t per_byte = 8 / static_cast<size_t>(bits),
                 column_bytes = (3 + per_byte - 1) / per_byte;
    zero_codes.resize(n * column_bytes);
    uint32_t random = 1;
    for (auto* bytes : {&nbits, &zero_codes}) {
      for (uint8_t& byte : *bytes) byte = static_cast<uint8_t>((random = random * 69069 + 1) >> 24);
    }
    for (size_t i = 0; i < n * 3; ++i) {
      scales.push_back(0.25F + static_cast<float>(i));
      const size_t b = i % 3;
      const uint8_t byte = zero_codes[i / 3 * column_bytes + b / per_byte];
      const int code = byte >> (b % per_byte * static_cast<size_t>(bits)) & ((1 << bits) - 1);
      zeros.push_back(static_cast<float>(code - (1 << (bits - 1))));
    }
    bytes = nbits;
    for (uint8_t& byte : bytes) byte ^= bits == 8 ? 0x80 : bits == 2 ? 0xaa : 0;
    onnx.order = TW_NBITS;
    onnx.data = nbits.data();
    onnx.data_bytes = nbits.size();
    onnx.stride = nbits.size() / n;
    onnx.scales = scales.data();
    onnx.scale_count = scales.size();
    rows = onnx;
    rows.order = TW_NXK;
    rows.data = bytes.data();
    rows.unsigned_nibbles = bits == 4;
    onnx.zero_points = zero_codes.data();
    onnx.zero_point_count = zero_codes.size();
    rows.zero_points = zeros.data();
    rows.zero_point_count = zeros.size();
  }
  std::vector<uint8_t> nbits, bytes, zero_codes;
  std::vector<float> scales, zeros;
  tw_rhs_source onnx = tilewright::sized<tw_rhs_source>();
  tw_rhs_source rows = tilewright::sized<tw_rhs_source>();
};

TEST(BlockZeros, OfMatMulNBitsAreThoseOfRows) {
  for (const char* which : families) {
    const tilewright::Plan plan = odd_plan(which);
    BothWays both(bits_of(which));
    EXPECT_EQ(packed(plan, both.onnx), packed(plan, both.rows)) << which;
    both.onnx.zero_points = both.rows.zero_points = nullptr;
    EXPECT_EQ(packed(plan, both.onnx), packed(plan, both.rows)) << which << ", none given";
  }
}

TEST(BlockZeros, MatMulNBitsComesBack) {
  for (const char* which : families) {
    const tilewright::Plan plan = odd_plan(which);
    const BothWays both(bits_of(which));
    const std::vector<char> rhs = packed(plan, both.onnx);
    std::vector<uint8_t> data(both.nbits.size());
    auto target = tilewright::sized<tw_rhs_target>();
    target.order = TW_NBITS;
    target.data = data.data();
    target.data_bytes = data.size();
    target.stride = data.size() / n;
    const auto unpack = [&] {
      return tw_unpack_rhs(plan.get(), rhs.data(), rhs.size(), 0, n, &target);
    };
    EXPECT_EQ(unpack(), TW_OK) << tw_error_message();
    EXPECT_EQ(data, both.nbits);
    std::vector<uint8_t> codes = both.zero_codes;
    target.zero_points = codes.data();
    target.zero_point_count = codes.size();
    EXPECT_EQ(unpack(), TW_UNSUPPORTED);
    EXPECT_NE(std::string(tw_error_message()).find("null is legal, or order nxk"),
              std::string::npos);
  }
}

TEST(BlockZeros, ErrorsSayWhatIsLegal) {
  const Matmul problem = make_problem(32, true);
  const Weights weights(problem, true);
  const auto error = [&](const char* which, tw_rhs_source source) {
    const tilewright::Plan plan = make_plan(which, 32, true);
    std::vector<char> rhs(plan.rhs_bytes());
    try {
      plan.pack_rhs(source, rhs.data(), rhs.size(), 0);
    } catch (const std::exception& wrong) {
      return std::string(wrong.what());
    }
    return std::string();
  };
  tw_rhs_source source = weights.source;
  EXPECT_EQ(error(family, source), "");
  source.zero_point_count -= 1;
  EXPECT_EQ(error(family, source),
            "tw_pack_rhs: source.zero_point_count is 295; one of each block, of each of 37 columns "
            "is needed");
  const BothWays both(4);
  source = both.onnx;
  source.zero_point_count -= 1;
  try {
    packed(odd_plan(family), source);
    ADD_FAILURE();
  } catch (const std::exception& wrong) {
    EXPECT_STREQ(wrong.what(),
                 "tw_pack_rhs: source.zero_point_count is 73; 2 bytes, for 3 blocks, of each of 37 "
                 "columns are needed");
  }
  const std::string none = error("matmul_clamp_f32_qsi8d32p_qsi4c32p", weights.source);
  EXPECT_EQ(none.substr(0, 53), "tw_pack_rhs: source.zero_points is set; layout rhs i4");
}

/// Layouts that keep them times scales, as another library does: those are no choice of a plan's,
/// and do not give them back.
TEST(BlockZeros, OffsetsAreForThoseWhoAsk) {
  const std::string usual = tw_plan_rhs_layout(make_plan(family, 32, false).get())->text;
  EXPECT_FALSE(has_offsets(read_layout(usual))) << usual;
  const Matmul problem = make_problem(32, false);
  Weights weights(problem, false);
  for (const tw_kernel* kernel : running_kernels()) {
    const bool fits = std::string(kernel->family) == family && kernel->dst == TW_F32;
    if (!fits || !has_offsets(read_layout(kernel->rhs->text)) || kernel->rhs->block != 32) continue;
    auto matmul = tilewright::sized<tw_matmul>();
    matmul.family = family;
    matmul.n = n;
    matmul.k = k;
    matmul.rhs_layout = kernel->rhs->id;
    const tilewright::Plan plan(tilewright::detect(), matmul);
    std::vector<char> rhs(plan.rhs_bytes());
    for (size_t s = 0; s < plan.rhs_slices(); ++s) {
      plan.pack_rhs(weights.source, rhs.data(), rhs.size(), s);
    }
    auto target = tilewright::sized<tw_rhs_target>();
    target.order = TW_NXK;
    target.data = weights.codes.data();
    target.data_bytes = weights.codes.size();
    target.stride = k / 2;
    target.unsigned_nibbles = 1;
    const std::vector<uint8_t> codes = weights.codes;
    std::fill(weights.codes.begin(), weights.codes.end(), uint8_t{0});
    EXPECT_EQ(tw_unpack_rhs(plan.get(), rhs.data(), rhs.size(), 0, n, &target), TW_OK);
    EXPECT_EQ(weights.codes, codes);
    target.zero_points = weights.zeros.data();
    target.zero_point_count = problem.zeros.size();
    EXPECT_EQ(tw_unpack_rhs(plan.get(), rhs.data(), rhs.size(), 0, n, &target), TW_UNSUPPORTED);
    EXPECT_EQ(std::string(tw_error_message()).substr(0, 55),
              "tw_unpack_rhs: target.zero_points is set; layout rhs i4");
  }
}

}  // namespace
}  // namespace tw::test::block_zeros_test
