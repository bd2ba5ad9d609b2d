// Panels of int4 that become panels of int8: each decoder by itself, beside what packs int8, and
// products of many rows through the run-time API, beside those without scratch. All have the same
// bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "kernels/rows.h"
#include "support/call_checked.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"
#include "tilewright/tilewright.hpp"

namespace tw::test::decode_codes_test {
namespace {

std::vector<const tw_kernel*> running_decoders() {
  const tw_device here = tilewright::detect();
  std::vector<const tw_kernel*> rows;
  for (size_t i = 0; i < tw_generated_decoder_count; ++i) {
    const tw_kernel& row = tw_generated_decoders[i];
    const bool runs = row.run != nullptr && tw_kernel_supported(&row, &here) != 0;
    if (runs && row.dst == TW_S8 && row.rhs->block == 0) rows.push_back(&row);
  }
  return rows;
}

/// What a product's outputs are.
struct Kind {
  std::string prefix;  ///< of the families' names
  tw_type dst;
  bool accumulate = false;

  [[nodiscard]] size_t bytes() const { return dst == TW_F32 || dst == TW_S32 ? 4 : 2; }
};
const Kind kFloats = {"matmul_clamp_f32_qai8dxp_", TW_F32};
const Kind kKinds[] = {kFloats,
                       {"matmul_clamp_f16_qai8dxp_", TW_F16},
                       {"matmul_clamp_bf16_qai8dxp_", TW_BF16},
                       {"matmul_acc_clamp_f32_qai8dxp_", TW_F32, true},
                       {"matmul_i32_qai8dxp_", TW_S32}};

/// All codes of int4, scales and a bias; packed as int4 and as int8.
class Weights {
 public:
  Weights(size_t n, size_t k) : n(n), k(k), codes_(n * k), scales_(n), bias_(n), whole_bias_(n) {
    std::mt19937 random(7);
    for (int8_t& code : codes_) code = static_cast<int8_t>(random() % 16 - 8);
    for (float& scale : scales_) scale = static_cast<float>(random() % 100 + 1) / 64;
    for (float& bias : bias_) bias = static_cast<float>(random() % 1000) / 16 - 30;
    for (int32_t& bias : whole_bias_) bias = static_cast<int32_t>(random() % 1000) - 500;
  }

  [[nodiscard]] std::vector<uint8_t> pack(const tilewright::Plan& plan, const Kind& kind,
                                          size_t bits) const {
    const size_t stride = (k * bits + 7) / 8;
    std::vector<uint8_t> rows(n * stride), packed(plan.rhs_bytes());
    for (size_t i = 0; i < codes_.size(); ++i) {
      const size_t at = i % k * bits;
      rows[i / k * stride + at / 8] |=
          static_cast<uint8_t>((codes_[i] & ((1 << bits) - 1)) << at % 8);
    }
    auto source = tilewright::sized<tw_rhs_source>();
    source.order = TW_NXK;
    source.data = rows.data();
    source.data_bytes = rows.size();
    source.stride = stride;
    source.scales = scales_.data();
    source.scale_count = n;
    source.bias = bias(kind);
    source.bias_count = n;
    for (size_t s = 0; s < plan.rhs_slices(); ++s) {
      plan.pack_rhs(source, packed.data(), packed.size(), s);
    }
    return packed;
  }

  [[nodiscard]] const void* bias(const Kind& kind) const {
    return kind.dst == TW_S32 ? static_cast<const void*>(whole_bias_.data()) : bias_.data();
  }

  size_t n, k;

 private:
  std::vector<int8_t> codes_;
  std::vector<float> scales_, bias_;
  std::vector<int32_t> whole_bias_;
};

tilewright::Plan plan_of(const Kind& kind, const char* format, const tw_layout& layout,
                         const Weights& weights, const tw_device& device,
                         const tw_tuning& tuning = {}, size_t taps = 0) {
  const std::string family = kind.prefix + format + "p";
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = family.c_str();
  matmul.n = weights.n;
  matmul.k = weights.k;
  matmul.rhs_layout = layout.id;
  matmul.tuning = tuning;
  matmul.taps = taps;
  matmul.dst_type = kind.dst;
  matmul.accumulate = kind.accumulate ? 1 : 0;
  matmul.lhs_type = kind.dst == TW_S32 ? TW_S8 : TW_F32;
  return tilewright::Plan(device, matmul);
}

class WideCodes : public testing::TestWithParam<const tw_kernel*> {
 protected:
  [[nodiscard]] static const tw_kernel& decoder() { return *GetParam(); }
  /// One that has no other ISA's kernels, and a cache in which rows stay.
  [[nodiscard]] static tw_device device() {
    tw_device only = tilewright::detect();
    tilewright::check(tw_device_limit(&only, decoder().isa));
    only.l2_bytes = size_t{4} << 20;
    return only;
  }
  [[nodiscard]] static size_t panel() { return panel_rows(*decoder().rhs); }
};

/// The packed weights end at an inaccessible page, and so do the panels of int8.
TEST_P(WideCodes, WritesWhatPacksInt8) {
  for (const size_t k : {1, 32, 70}) {
    for (const size_t n : {size_t{1}, panel(), 2 * panel() + 1}) {
      const Weights weights(n, k);
      const std::vector<uint8_t> nibbles =
          weights.pack(plan_of(kFloats, "qsi4cx", *decoder().rhs, weights, device()), kFloats, 4);
      const std::vector<uint8_t> right = weights.pack(
          plan_of(kFloats, "qsi8cx", *decoder().decoded, weights, device()), kFloats, 8);
      const size_t panels = (n + panel() - 1) / panel();
      GuardedBuffer rhs("rhs", nibbles.size(), Flush::end);
      std::copy(nibbles.begin(), nibbles.end(), rhs.data());
      GuardedBuffer dst("dst", right.size(), Flush::end);
      dst.fill(0xa5);
      tw_args args = {};
      args.size = sizeof args;
      args.n = n;
      args.k = k;
      args.rhs = rhs.data();
      args.rhs_stride = nibbles.size() / panels;
      args.dst = dst.data();
      args.dst_stride = right.size() / panels;
      const CallReport report = call_checked(reinterpret_cast<Function>(decoder().run), &args);
      ASSERT_EQ(report.signal, 0) << rhs.describe(report.address) << dst.describe(report.address);
      ASSERT_EQ(register_names(report.clobbered), "");
      ASSERT_EQ(dst.slack_damage(), "");
      ASSERT_EQ(std::vector<uint8_t>(dst.data(), dst.data() + dst.size()), right)
          << "n " << n << ", k " << k;
    }
  }
}

struct Options {
  bool own_bias = false, clamps = false;
  size_t scratch = SIZE_MAX;  ///< bytes; more than wanted: as many as are
};

/// Outputs of m rows, whose scratch ends at an inaccessible page. `used`: whether it was written.
std::vector<uint8_t> product(const tilewright::Plan& plan, const Kind& kind, const Weights& weights,
                             size_t m, const Options& options, bool* used) {
  std::mt19937 random(3);
  std::vector<float> values(m * weights.k);
  for (float& value : values) value = static_cast<float>(random() % 2001) / 512 - 2;
  std::vector<int8_t> codes(values.size());
  for (int8_t& code : codes) code = static_cast<int8_t>(random() % 256 - 128);
  const bool sums = kind.dst == TW_S32;
  auto source = tilewright::sized<tw_lhs_source>();
  source.data = sums ? static_cast<const void*>(codes.data()) : values.data();
  source.stride = weights.k * (sums ? 1 : sizeof(float));
  source.data_bytes = m * source.stride;
  source.zero_point = sums ? 5 : 0;
  source.scale = sums ? 1 : 0;
  std::vector<uint8_t> lhs(plan.lhs_bytes(m));
  for (size_t s = 0; s < plan.lhs_slices(m); ++s) {
    plan.pack_lhs(m, source, lhs.data(), lhs.size(), s);
  }
  const std::vector<uint8_t> rhs = weights.pack(plan, kind, 4);
  std::vector<uint8_t> dst(m * weights.n * kind.bytes(), 0x3c);
  const size_t scratch_bytes = std::min(options.scratch, plan.scratch_bytes(m));
  GuardedBuffer scratch("scratch", scratch_bytes, Flush::end);
  constexpr uint8_t untouched = 0xa5;
  scratch.fill(untouched);
  auto args = tilewright::sized<tw_run_args>();
  args.m = m;
  args.lhs = lhs.data();
  args.lhs_bytes = lhs.size();
  args.rhs = rhs.data();
  args.rhs_bytes = rhs.size();
  args.dst = dst.data();
  args.dst_bytes = dst.size();
  args.dst_stride = weights.n * kind.bytes();
  args.scratch = scratch_bytes == 0 ? nullptr : scratch.data();
  args.scratch_bytes = scratch_bytes;
  args.clamp = options.clamps && !sums ? 1 : 0;
  args.min = -40;
  args.max = 55;
  std::vector<float> zeros(weights.n);
  if (options.own_bias) {
    args.bias = zeros.data();  // of i32, too
    args.bias_count = zeros.size();
  }
  for (size_t s = plan.run_slices(m); s-- > 0;) plan.run(args, s);
  *used = std::any_of(scratch.data(), scratch.data() + scratch_bytes,
                      [](uint8_t byte) { return byte != untouched; });
  return dst;
}

constexpr size_t kManyRows = 403;

TEST_P(WideCodes, ProductsOfManyRowsHaveTheSameBits) {
  const tw_tuning tunings[] = {{}, {2 * panel(), 100, 0, TW_ROWS_FIRST, TW_DECODE_UNSET}};
  const Weights weights(3 * panel() + 5, 515);
  for (const Kind& kind : kKinds) {
    for (size_t t = 0; t < std::size(tunings); ++t) {
      const tilewright::Plan plan =
          plan_of(kind, "qsi4cx", *decoder().rhs, weights, device(), tunings[t]);
      const tw_kernel* found = nullptr;
      ASSERT_EQ(tw_plan_decoder(plan.get(), kManyRows, &found), TW_OK);
      ASSERT_EQ(found, &decoder()) << kind.prefix;
      for (size_t i = 0; i < 2; ++i) {
        // Two of kind, tuning and options meet; all three in long runs.
        if (!is_long() && (static_cast<size_t>(&kind - kKinds) + t + i) % 2 != 0) continue;
        Options options = {.own_bias = i != 0, .clamps = i != 0};
        bool used = false;
        const std::vector<uint8_t> with = product(plan, kind, weights, kManyRows, options, &used);
        EXPECT_TRUE(used) << kind.prefix;
        options.scratch = 0;
        EXPECT_EQ(with, product(plan, kind, weights, kManyRows, options, &used)) << kind.prefix;
      }
    }
  }
}

TEST_P(WideCodes, WithoutEnoughScratchCodesStayAsTheyAre) {
  const Weights weights(panel() + 1, 512);
  const tilewright::Plan plan = plan_of(kFloats, "qsi4cx", *decoder().rhs, weights, device());
  const size_t wanted = plan.scratch_bytes(kManyRows);
  ASSERT_GT(wanted, 0U);
  bool used = true;
  product(plan, kFloats, weights, kManyRows, {.scratch = wanted - 1}, &used);
  EXPECT_FALSE(used);
}

/// Who would not gain: few rows, a panel that fills the cache, rows whose scratch is for gathering,
/// and k whose sums of bytes may not be exact.
TEST_P(WideCodes, AreNotMadeWhereTheyDoNotPay) {
  const Weights weights(2 * panel(), 512);
  const auto decodes = [&](const Weights& of, const tw_device& on, size_t m, size_t taps = 0) {
    const tilewright::Plan plan = plan_of(kFloats, "qsi4cx", *decoder().rhs, of, on, {}, taps);
    const tw_kernel* found = nullptr;
    EXPECT_EQ(tw_plan_decoder(plan.get(), m, &found), TW_OK);
    return found != nullptr;
  };
  EXPECT_TRUE(decodes(weights, device(), kManyRows));
  EXPECT_FALSE(decodes(weights, device(), 16));
  EXPECT_FALSE(decodes(weights, device(), kManyRows, 2));
  tw_device small = device();
  small.l3_bytes = size_t{1} << 30;  // of rows
  small.l2_bytes = 2 * panel_bytes(*decoder().decoded, weights.k);
  EXPECT_TRUE(decodes(weights, small, kManyRows));
  small.l2_bytes -= 2;
  EXPECT_FALSE(decodes(weights, small, kManyRows));
  tw_device large = device();
  large.l2_bytes = size_t{1} << 30;
  const size_t most = decoder().decoded->exact_k;
  EXPECT_TRUE(decodes(Weights(panel(), most), large, kManyRows));
  EXPECT_FALSE(decodes(Weights(panel(), most + 1), large, kManyRows));
}

INSTANTIATE_TEST_SUITE_P(, WideCodes, testing::ValuesIn(running_decoders()),
                         [](const auto& row) { return std::string(row.param->name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WideCodes);

}  // namespace
}  // namespace tw::test::decode_codes_test
