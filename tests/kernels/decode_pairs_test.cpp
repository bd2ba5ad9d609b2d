// PairWeights that become pairs of bf16: each decoder by itself, and plans of families of bf16 that
// read weights in another layout.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "internal.h"
#include "kernels/float_operands.h"
#include "kernels/rhs_source.h"
#include "kernels/rows.h"
#include "reference/half_reference.h"
#include "support/call_checked.h"
#include "support/device.h"
#include "support/guarded_buffer.h"
#include "tilewright/gated.h"
#include "tilewright/groups.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {
namespace {

constexpr const char* kPairFamily = "matmul_clamp_f32_bf16p_bf16p";

std::vector<const tw_kernel*> pair_decoders() {
  const tw_device here = detected_device();
  std::vector<const tw_kernel*> rows;
  for (size_t i = 0; i < tw_generated_decoder_count; ++i) {
    const tw_kernel& row = tw_generated_decoders[i];
    const bool runs = row.run != nullptr && tw_kernel_supported(&row, &here) != 0;
    if (runs && row.dst == TW_BF16) rows.push_back(&row);
  }
  return rows;
}

/// Values of k that are decoded together.
size_t unit_of(const tw_kernel& decoder) {
  return decoder.rhs->block != 0 ? decoder.rhs->block : decoder.unroll_k;
}

/// PairWeights that a decoder reads, packed, with what they are worth.
struct PairWeights {
  PairWeights(const tw_kernel& decoder, size_t n, size_t k) : n(n), k(k) {
    Case test;
    test.n = n;
    test.k = k;
    const Packers packers = find_packers(decoder);
    const bool of_ggml = packers.ggml != nullptr && !has_float_weights(*decoder.rhs);
    const tw_packer* packer = of_ggml ? packers.ggml : packers.nxk;
    test.kxn = of_ggml;
    problem = make_operands(test, scaling_of(decoder));
    if (has_float_weights(*decoder.rhs) || is_byte_float(read_layout(decoder.rhs->text).type)) {
      floats = as_floats(problem, *decoder.lhs, *decoder.rhs).rhs;
    }
    stride = panel_bytes(*decoder.rhs, k);
    packed.resize((n + decoder.rhs->panel - 1) / decoder.rhs->panel * stride);
    pack(*packer, test);
  }

  [[nodiscard]] double worth(size_t column, size_t depth) const {
    if (!floats.empty()) return floats[column * k + depth];
    const double code = problem.rhs[column * k + depth];
    const size_t block = block_of(column, depth);
    const double scale = problem.scales[block];
    if (!problem.minimums.empty()) return (code + problem.half) * scale + problem.minimums[block];
    return (code - (problem.zeros.empty() ? 0 : problem.zeros[block])) * scale;
  }
  /// What is rounded on the way: no more than a few times the last bit of these.
  [[nodiscard]] double parts(size_t column, size_t depth) const {
    if (!floats.empty()) return 0;
    const size_t block = block_of(column, depth);
    const double scale = std::fabs(problem.scales[block]);
    const double minimum = problem.minimums.empty() ? 0 : std::fabs(problem.minimums[block]);
    const double zero = problem.zeros.empty() ? 0 : std::fabs(problem.zeros[block]);
    return (256 + zero) * scale + minimum;
  }

  size_t n, k, stride = 0;
  Matmul problem;
  std::vector<float> floats;  ///< [n][k], of floats as the layout holds them
  std::vector<uint8_t> packed;

 private:
  [[nodiscard]] size_t block_of(size_t column, size_t depth) const {
    return column * (k / problem.block) + depth / problem.block;
  }

  void pack(const tw_packer& packer, const Case& test) {
    const bool are_floats = has_float_weights(*packer.layout);
    const bool none = are_floats || is_ggml(packer);
    const std::vector<uint8_t> source = are_floats ? float_source(problem, *packer.layout, false)
                                                   : rhs_source(problem, test, packer);
    const std::vector<uint8_t> scales =
        none ? std::vector<uint8_t>() : scale_bytes(problem.scales, scale_type(*packer.layout));
    tw_pack_args args{};
    args.size = sizeof args;
    tw_pack_into(&args, packer.layout);
    args.rows = args.row_end = n;
    args.k = k;
    args.source = source.data();
    args.source_stride = source.size() / n;
    args.scales = none ? nullptr : scales.data();
    args.scale_stride = scales.size() / n;
    args.bias = problem.bias.data();
    args.packed = packed.data();
    args.packed_stride = stride;
    packer.run(&args);
  }
};

float bf16_at(const uint8_t* from) {
  uint32_t bits = 0;
  std::memcpy(&bits, from, 2);
  return value_of_bits("bf16", bits);
}

/// As f32 [n][k].
std::vector<float> decoded_pairs(const tw_kernel& decoder, const PairWeights& weights) {
  const size_t panel = decoder.decoded_panel, values = panel * weights.k * 2;
  const size_t panels = (weights.n + decoder.tile_n - 1) / decoder.tile_n * decoder.tile_n / panel;
  GuardedBuffer rhs("rhs", weights.packed.size(), Flush::end);
  std::copy(weights.packed.begin(), weights.packed.end(), rhs.data());
  GuardedBuffer dst("dst", panels * values, Flush::end);
  tw_args args = {};
  args.size = sizeof args;
  args.n = weights.n;
  args.k = weights.k;
  args.block = decoder.rhs->block;
  args.rhs = rhs.data();
  args.rhs_stride = weights.stride;
  args.dst = dst.data();
  args.dst_stride = values;
  args.rhs_prefetch = weights.stride;
  const CallReport report = call_checked(reinterpret_cast<Function>(decoder.run), &args);
  EXPECT_EQ(report.signal, 0) << rhs.describe(report.address) << dst.describe(report.address);
  EXPECT_EQ(register_names(report.clobbered), "");
  EXPECT_EQ(dst.slack_damage(), "");
  std::vector<float> found(weights.n * weights.k);
  for (size_t i = 0; i < found.size() && report.signal == 0; ++i) {
    const size_t column = i / weights.k, depth = i % weights.k;
    const size_t pair = (column / panel * weights.k + depth / 2 * 2) * panel + column % panel * 2;
    found[i] = bf16_at(dst.data() + (pair + depth % 2) * 2);
  }
  return found;
}

class PairDecoder : public testing::TestWithParam<const tw_kernel*> {};

TEST_P(PairDecoder, RoundsWhatWeightsAreWorth) {
  const tw_kernel& decoder = *GetParam();
  for (const size_t k : {unit_of(decoder), 3 * unit_of(decoder)}) {
    for (const size_t n : {decoder.tile_n, 2 * decoder.tile_n + 1}) {
      const PairWeights weights(decoder, n, k);
      const std::vector<float> found = decoded_pairs(decoder, weights);
      for (size_t i = 0; i < found.size(); ++i) {
        const double worth = weights.worth(i / k, i % k);
        const double bound =
            std::ldexp(std::fabs(worth), -8) + std::ldexp(weights.parts(i / k, i % k), -22);
        ASSERT_LE(std::fabs(found[i] - worth), bound)
            << found[i] << ", not " << worth << ": column " << i / k << ", k " << i % k;
      }
    }
  }
}

/// Small whole numbers, which bf16 has.
std::vector<float> whole_activations(size_t count) {
  std::mt19937 random(3);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random() % 7) - 3;
  return values;
}

struct PairProduct {
  PairProduct(const tw_kernel& decoder, size_t n, size_t k, const tw_device& device)
      : plan(device, matmul(decoder, n, k)) {}

  static tw_matmul matmul(const tw_kernel& decoder, size_t n, size_t k) {
    auto made = tilewright::sized<tw_matmul>();
    made.family = kPairFamily;
    made.n = n;
    made.k = k;
    made.rhs_layout = decoder.rhs->id;
    return made;
  }

  /// Arguments, but for scratch.
  tw_run_args pack(const PairWeights& weights, const std::vector<float>& rows, size_t m) {
    auto source = tilewright::sized<tw_lhs_source>();
    source.data = rows.data();
    source.data_bytes = rows.size() * sizeof(float);
    source.stride = weights.k * sizeof(float);
    lhs.resize(plan.lhs_bytes(m));
    for (size_t s = 0; s < plan.lhs_slices(m); ++s) {
      plan.pack_lhs(m, source, lhs.data(), lhs.size(), s);
    }
    dst.assign(m * weights.n, -1);
    auto args = tilewright::sized<tw_run_args>();
    args.m = m;
    args.lhs = lhs.data();
    args.lhs_bytes = lhs.size();
    args.rhs = weights.packed.data();
    args.rhs_bytes = weights.packed.size();
    args.dst = dst.data();
    args.dst_bytes = dst.size() * sizeof(float);
    args.dst_stride = weights.n * sizeof(float);
    return args;
  }

  tilewright::Plan plan;
  std::vector<uint8_t> lhs;
  std::vector<float> dst;
};

/// Every output of m rows; k goes by in blocks.
void expect_products(const tw_kernel& decoder, const tw_device& device, const PairWeights& weights,
                     const std::vector<float>& values, size_t m) {
  const size_t n = weights.n, k = weights.k;
  PairProduct product(decoder, n, k, device);
  const std::vector<float> rows = whole_activations(m * k);
  tw_run_args args = product.pack(weights, rows, m);
  std::vector<uint8_t> scratch(product.plan.scratch_bytes(m));
  args.scratch = scratch.data();
  args.scratch_bytes = scratch.size();
  for (size_t s = product.plan.run_slices(m); s-- > 0;) product.plan.run(args, s);
  for (size_t i = 0; i < m * n; ++i) {
    double sum = weights.problem.bias[i % n], size = std::fabs(sum);
    for (size_t j = 0; j < k; ++j) {
      const double term = double{rows[i / n * k + j]} * values[i % n * k + j];
      sum += term;
      size += std::fabs(term);
    }
    ASSERT_NEAR(product.dst[i], sum, std::ldexp(size, -18)) << "row " << i / n << " of " << m;
  }
}

/// By tiles where there are some, and by vectors: these leave rows to other kernels.
TEST_P(PairDecoder, PlansOfBf16ReadItsWeights) {
  const tw_kernel& decoder = *GetParam();
  const size_t k = std::max<size_t>(320, 3 * unit_of(decoder)), n = 2 * decoder.tile_n + 3;
  tw_device small = detected_device();
  small.l1_bytes = 128 * decoder.tile_n * 3;
  const PairWeights weights(decoder, n, k);
  const std::vector<float> values = decoded_pairs(decoder, weights);
  for (const tw_features left : {tw_features{0}, TW_FEATURE_AMX_BF16}) {
    tw_device device = small;
    device.features &= ~left;
    if (tw_kernel_supported(&decoder, &device) == 0) continue;
    for (const size_t m : {1, 9, 17, 70}) {
      SCOPED_TRACE(left == 0 ? "all features" : "without tiles");
      expect_products(decoder, device, weights, values, m);
    }
  }
}

TEST_P(PairDecoder, ItsPlansNeedScratch) {
  const tw_kernel& decoder = *GetParam();
  const size_t k = 3 * unit_of(decoder), n = decoder.tile_n;
  const PairWeights weights(decoder, n, k);
  PairProduct product(decoder, n, k, detected_device());
  const tw_kernel* found = nullptr;
  ASSERT_EQ(tw_plan_decoder(product.plan.get(), 1, &found), TW_OK);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->rhs, decoder.rhs);
  EXPECT_EQ(found->dst, TW_BF16);
  const std::vector<float> rows = whole_activations(k);
  tw_run_args args = product.pack(weights, rows, 1);
  EXPECT_EQ(tw_run(product.plan.get(), &args, 0), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_run: args.scratch is null");
  std::vector<uint8_t> scratch(product.plan.scratch_bytes(1));
  args.scratch = scratch.data();
  args.scratch_bytes = scratch.size() - 1;
  EXPECT_EQ(tw_run(product.plan.get(), &args, 0), TW_TOO_SMALL);
  EXPECT_EQ(product.dst, std::vector<float>(n, -1)) << "it wrote outputs";
}

TEST_P(PairDecoder, ItsPlansHaveScratchForNothingElse) {
  const tw_kernel& decoder = *GetParam();
  const PairProduct product(decoder, 32, 3 * unit_of(decoder), detected_device());
  size_t bytes = 0;
  EXPECT_EQ(tw_gated_scratch_bytes(product.plan.get(), 4, &bytes), TW_UNSUPPORTED);
  EXPECT_NE(std::string(tw_error_message()).find("become floats in scratch"), std::string::npos);
  const size_t starts[] = {0, 4};
  tw_group_part parts[1];
  auto groups = tilewright::sized<tw_groups>();
  groups.count = 1;
  groups.starts = starts;
  groups.parts = parts;
  EXPECT_EQ(tw_groups_prepare(product.plan.get(), &groups), TW_UNSUPPORTED);
}

TEST_P(PairDecoder, WholeBlocksAreDecoded) {
  const tw_kernel& decoder = *GetParam();
  const tw_device here = detected_device();
  const tw_matmul matmul = PairProduct::matmul(decoder, 32, unit_of(decoder) + 2);
  tw_plan* plan = nullptr;
  EXPECT_EQ(tw_plan_create(&here, &matmul, &plan), TW_INVALID);
  EXPECT_NE(std::string(tw_error_message()).find("that become floats"), std::string::npos)
      << tw_error_message();
}

INSTANTIATE_TEST_SUITE_P(, PairDecoder, testing::ValuesIn(pair_decoders()),
                         [](const auto& row) { return std::string(row.param->name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PairDecoder);

}  // namespace
}  // namespace tw::test
