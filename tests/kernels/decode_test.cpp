// Weights of codes in blocks that become floats: each decoder by itself, and products of many rows
// through the run-time API. Values are small whole numbers and scales powers of two, so that no sum
// is rounded: outputs have the bits of kernels that read codes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "internal.h"
#include "kernels/rhs_source.h"
#include "kernels/rows.h"
#include "reference/half_reference.h"
#include "reference/pack_reference.h"
#include "support/call_checked.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"
#include "tilewright/tilewright.hpp"

namespace tw::test::decode_test {
namespace {

std::vector<const tw_kernel*> running_decoders() {
  const tw_device here = tilewright::detect();
  std::vector<const tw_kernel*> rows;
  for (size_t i = 0; i < tw_generated_decoder_count; ++i) {
    const tw_kernel& row = tw_generated_decoders[i];
    const bool runs = row.run != nullptr && tw_kernel_supported(&row, &here) != 0;
    if (runs && row.dst == TW_F32) rows.push_back(&row);
  }
  return rows;
}

/// The family whose weights it decodes.
std::string family_of(const tw_kernel& decoder) {
  return "matmul_clamp_f32_f32_" + std::string(decoder.family).substr(sizeof "decode_f32_" - 1);
}

/// Weights that a decoder reads, packed, with what they are worth.
class Weights {
 public:
  Weights(const tw_kernel& decoder, size_t n, size_t k, const tw_device& device,
          const tw_tuning& tuning = {})
      : n(n), k(k), plan(device, matmul(decoder, n, k, tuning)), worth(n * k) {
    const tw_layout& layout = *decoder.rhs;
    const size_t bits = layout.data_bits, blocks = k / layout.block;
    std::mt19937 random(7);
    std::vector<float> scales(n * blocks), zeros(n * blocks);
    for (float& scale : scales) scale = random() % 2 == 0 ? 0.5F : 2.0F;
    for (float& zero : zeros) zero = static_cast<float>(random() % 5) - 2;
    bias.resize(n);
    for (float& value : bias) value = static_cast<float>(random() % 9) - 4;
    const LayoutText& text = read_layout(layout.text);
    const bool byte_floats = is_byte_float(text.type);
    std::vector<uint8_t> codes(n * k * bits / 8);
    for (size_t i = 0; i < worth.size(); ++i) {
      const int code = static_cast<int>(random() % 16) - 8;
      const size_t block = i / k * blocks + i % k / layout.block;
      worth[i] = (static_cast<float>(code) - zeros[block]) * scales[block];
      if (byte_floats) worth[i] = static_cast<float>(code) * scales[block];
      const auto value = static_cast<float>(code);
      if (bits == 8) {
        codes[i] = static_cast<uint8_t>(byte_floats ? byte_float_code(text.type, value) : code);
      }
      if (bits == 4) codes[i / 2] |= static_cast<uint8_t>((code & 15) << i % 2 * 4);
    }
    const std::string type = scale_type(layout);
    const std::vector<uint8_t> scale_values = scale_bytes(scales, type);
    const std::vector<uint8_t> zero_values = scale_bytes(zeros, type);
    auto source = tilewright::sized<tw_rhs_source>();
    source.order = TW_NXK;
    source.data = codes.data();
    source.data_bytes = codes.size();
    source.stride = k * bits / 8;
    source.scales = scale_values.data();
    source.scale_count = scales.size();
    source.zero_points = byte_floats ? nullptr : zero_values.data();
    source.zero_point_count = byte_floats ? 0 : zeros.size();
    source.bias = bias.data();
    source.bias_count = n;
    packed.resize(plan.rhs_bytes());
    for (size_t s = 0; s < plan.rhs_slices(); ++s) {
      plan.pack_rhs(source, packed.data(), packed.size(), s);
    }
  }

  size_t n, k;
  tilewright::Plan plan;
  std::vector<float> worth;  ///< [n][k]
  std::vector<float> bias;
  std::vector<uint8_t> packed;

 private:
  static tw_matmul matmul(const tw_kernel& decoder, size_t n, size_t k, const tw_tuning& tuning) {
    static std::string family;
    family = family_of(decoder);
    auto made = tilewright::sized<tw_matmul>();
    made.family = family.c_str();
    made.n = n;
    made.k = k;
    made.block = decoder.rhs->block;
    made.scales = decoder.rhs->block_scales;
    made.rhs_layout = decoder.rhs->id;
    made.tuning = tuning;
    return made;
  }
};

class Decoder : public testing::TestWithParam<const tw_kernel*> {};

/// The packed weights end at an inaccessible page, and so do the floats.
TEST_P(Decoder, WritesWhatCodesAreWorth) {
  const tw_kernel& decoder = *GetParam();
  const size_t panel = decoder.decoded_panel, block = decoder.rhs->block;
  for (const size_t k : {block, 3 * block}) {
    for (const size_t n : {panel, 2 * panel, 2 * panel + 1}) {
      const Weights weights(decoder, n, k, tilewright::detect());
      const size_t codes = decoder.rhs->panel, code_panels = (n + codes - 1) / codes;
      const size_t panels = (n + panel - 1) / panel, values = panel * k * sizeof(float);
      GuardedBuffer rhs("rhs", weights.packed.size(), Flush::end);
      std::copy(weights.packed.begin(), weights.packed.end(), rhs.data());
      GuardedBuffer dst("dst", panels * values, Flush::end);
      tw_args args = {};
      args.size = sizeof args;
      args.n = n;
      args.k = k;
      args.block = block;
      args.rhs = rhs.data();
      args.rhs_stride = weights.packed.size() / code_panels;
      args.dst = dst.data();
      args.dst_stride = values;
      args.rhs_prefetch = args.rhs_stride;
      const CallReport report = call_checked(reinterpret_cast<Function>(decoder.run), &args);
      ASSERT_EQ(report.signal, 0) << rhs.describe(report.address) << dst.describe(report.address);
      ASSERT_EQ(register_names(report.clobbered), "");
      ASSERT_EQ(dst.slack_damage(), "");
      for (size_t i = 0; i < n * k; ++i) {
        const size_t column = i / k;
        const size_t at = column / panel * k * panel + i % k * panel + column % panel;
        float found = 0;
        std::memcpy(&found, dst.data() + at * sizeof found, sizeof found);
        ASSERT_EQ(found, weights.worth[i]) << "column " << column << ", k " << i % k;
      }
    }
  }
}

/// Rows of activations, and what comes of them. Those beyond the thirteenth are the first ones
/// again, which are in other places of tiles then, so that their sums are made once.
struct Product {
  Product(const Weights& weights, size_t m)
      : m(m), lhs(m * weights.k), bias(weights.n), sums(m * weights.n) {
    std::mt19937 random(3);
    constexpr size_t kRows = 13;
    for (size_t i = 0; i < lhs.size(); ++i) {
      const bool is_new = i < kRows * weights.k;
      lhs[i] = is_new ? static_cast<float>(random() % 7) - 3 : lhs[i - kRows * weights.k];
    }
    for (float& value : bias) value = static_cast<float>(random() % 7) - 3;
    for (size_t i = 0; i < sums.size(); ++i) {
      const size_t row = i / weights.n, column = i % weights.n;
      if (row >= kRows) sums[i] = sums[i - kRows * weights.n];
      for (size_t j = 0; row < kRows && j < weights.k; ++j) {
        sums[i] += lhs[row * weights.k + j] * weights.worth[column * weights.k + j];
      }
    }
  }
  size_t m;
  std::vector<float> lhs, bias, sums;

  struct Options {
    bool own_bias = false, clamps = false;
    size_t scratch = SIZE_MAX;  ///< bytes; more than wanted: as many as are
  };
  /// `used`: whether scratch was written.
  std::vector<float> run(const Weights& weights, const Options& options, bool* used) const {
    constexpr uint8_t untouched = 0xa5;
    std::vector<float> dst(m * weights.n);
    std::vector<uint8_t> scratch(std::min(options.scratch, weights.plan.scratch_bytes(m)),
                                 untouched);
    auto args = tilewright::sized<tw_run_args>();
    args.m = m;
    args.lhs = lhs.data();
    args.lhs_bytes = lhs.size() * sizeof(float);
    args.lhs_stride = weights.k * sizeof(float);
    args.rhs = weights.packed.data();
    args.rhs_bytes = weights.packed.size();
    args.dst = dst.data();
    args.dst_bytes = dst.size() * sizeof(float);
    args.dst_stride = weights.n * sizeof(float);
    args.scratch = scratch.empty() ? nullptr : scratch.data();
    args.scratch_bytes = scratch.size();
    args.clamp = options.clamps ? 1 : 0;
    args.min = -40;
    args.max = 55;
    if (options.own_bias) {
      args.bias = bias.data();
      args.bias_count = bias.size();
    }
    for (size_t s = weights.plan.run_slices(m); s-- > 0;) weights.plan.run(args, s);
    *used = std::any_of(scratch.begin(), scratch.end(), [](uint8_t b) { return b != untouched; });
    return dst;
  }

  [[nodiscard]] std::vector<float> expected(const Weights& weights, const Options& options) const {
    std::vector<float> dst = sums;
    for (size_t i = 0; i < dst.size(); ++i) {
      dst[i] += (options.own_bias ? bias : weights.bias)[i % weights.n];
      if (options.clamps) dst[i] = std::clamp(dst[i], -40.0F, 55.0F);
    }
    return dst;
  }
};

constexpr size_t kManyRows = 130;

/// A small cache: k goes by in many blocks.
TEST_P(Decoder, ProductsOfManyRowsUseIt) {
  const tw_kernel& decoder = *GetParam();
  const size_t k = std::max<size_t>(320, 5 * decoder.rhs->block);
  tw_device small = tilewright::detect();
  small.l1_bytes = 128 * decoder.tile_n * sizeof(float);
  const tw_tuning tunings[] = {{}, {33, 40, 0, TW_ROWS_FIRST, TW_DECODE_UNSET}};
  for (int t = 0; t < 2; ++t) {
    const Weights weights(decoder, 2 * decoder.tile_n + 3, k, small, tunings[t]);
    const tw_kernel* found = nullptr;
    ASSERT_EQ(tw_plan_decoder(weights.plan.get(), kManyRows, &found), TW_OK);
    ASSERT_EQ(found, &decoder);
    const Product product(weights, kManyRows);
    for (int i = 0; i < 4; ++i) {
      const Product::Options options = {.own_bias = i % 2 != 0, .clamps = i / 2 != 0};
      // Any two of tuning, bias and clamp meet; all three in long runs.
      if (!is_long() && (options.own_bias != options.clamps) != (t != 0)) continue;
      bool used = false;
      EXPECT_EQ(product.run(weights, options, &used), product.expected(weights, options)) << i;
      EXPECT_TRUE(used);
    }
  }
}

TEST_P(Decoder, WithoutEnoughScratchCodesStayCodes) {
  const tw_kernel& decoder = *GetParam();
  const Weights weights(decoder, decoder.tile_n + 1, 5 * std::max<size_t>(64, decoder.rhs->block),
                        tilewright::detect());
  const Product product(weights, kManyRows);
  const size_t wanted = weights.plan.scratch_bytes(kManyRows);
  ASSERT_GT(wanted, 0U);
  for (const size_t bytes : {size_t{0}, wanted - 1}) {
    const Product::Options options = {.scratch = bytes};
    bool used = true;
    EXPECT_EQ(product.run(weights, options, &used), product.expected(weights, options));
    EXPECT_FALSE(used);
  }
}

INSTANTIATE_TEST_SUITE_P(, Decoder, testing::ValuesIn(running_decoders()),
                         [](const auto& row) { return std::string(row.param->name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Decoder);

TEST(DecodingPlans, DecodeManyRowsOnly) {
  const std::vector<const tw_kernel*> rows = running_decoders();
  if (rows.empty()) GTEST_SKIP() << "no decoder runs here";
  const Weights weights(*rows.front(), 64, 1024, tilewright::detect());
  const tw_kernel* found = rows.front();
  ASSERT_EQ(tw_plan_decoder(weights.plan.get(), 1, &found), TW_OK);
  EXPECT_EQ(found, nullptr);
  EXPECT_EQ(weights.plan.scratch_bytes(1), 0U);
  EXPECT_EQ(tw_plan_decoder(weights.plan.get(), 1, nullptr), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_plan_decoder: decoder is null");
  EXPECT_EQ(tw_plan_decoder(nullptr, 1, &found), TW_INVALID);
}

/// An own spec may have kernels that add to what dst holds: they are not replaced by such that do
/// not.
TEST(DecodingPlans, SumsAreAddedTo) {
  const std::vector<const tw_kernel*> rows = running_decoders();
  if (rows.empty()) GTEST_SKIP() << "no decoder runs here";
  const std::string family = family_of(*rows.front());
  tw_registry registry = tw_generated_registry();
  std::vector<tw_kernel> kernels(registry.kernels, registry.kernels + registry.kernel_count);
  registry.kernels = kernels.data();
  registry.core_count = 0;
  const tw_device here = tilewright::detect();
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = family.c_str();
  matmul.n = 64;
  matmul.k = 1024;
  matmul.block = rows.front()->rhs->block;
  matmul.scales = rows.front()->rhs->block_scales;
  matmul.rhs_layout = rows.front()->rhs->id;
  for (const int accumulate : {0, 1}) {
    matmul.accumulate = accumulate;
    for (tw_kernel& kernel : kernels) {
      if (kernel.family == family) kernel.accumulate = accumulate;
    }
    tw_plan* plan = nullptr;
    ASSERT_EQ(tw_plan_create_from(&registry, &here, &matmul, &plan), TW_OK) << tw_error_message();
    EXPECT_EQ(tw_decodes(plan, kManyRows), accumulate == 0);
    tw_plan_destroy(plan);
  }
}

/// Who names a kernel gets it.
TEST(DecodingPlans, NamedKernelsReadCodes) {
  const std::vector<const tw_kernel*> rows = running_decoders();
  if (rows.empty()) GTEST_SKIP() << "no decoder runs here";
  const std::string family = family_of(*rows.front());
  const std::vector<const tw_kernel*> kernels = running_kernels();
  const auto named = std::find_if(kernels.begin(), kernels.end(), [&](const tw_kernel* kernel) {
    return kernel->family == family && kernel->rhs == rows.front()->rhs && kernel->tile_m > 1;
  });
  ASSERT_NE(named, kernels.end());
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = family.c_str();
  matmul.n = 64;
  matmul.k = 1024;
  matmul.block = rows.front()->rhs->block;
  matmul.scales = rows.front()->rhs->block_scales;
  matmul.kernel = (*named)->name;
  const tilewright::Plan plan(tilewright::detect(), matmul);
  EXPECT_EQ(plan.scratch_bytes(kManyRows), 0U);
}

}  // namespace
}  // namespace tw::test::decode_test
