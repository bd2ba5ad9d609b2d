// Products so deep that a panel of weights fills the L2 cache go through k in blocks. Values are
// small whole numbers, so that no sum is rounded: outputs have the bits of all k at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "internal.h"
#include "kernels/rows.h"
#include "reference/half_reference.h"
#include "support/device.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {
namespace {

constexpr size_t kBlock = 256, kDepth = 3 * kBlock + 33, kShallow = 2 * kBlock + 130;

std::vector<uint8_t> whole_numbers(tw_type type, size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> values(count * tw_type_bytes(type));
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = float_bits(tw_type_text(type), static_cast<float>(random() % 7) - 3);
    std::memcpy(values.data() + i * tw_type_bytes(type), &bits, tw_type_bytes(type));
  }
  return values;
}

/// Weights and what they are multiplied with, by one kernel on a machine with some L2 cache.
class Deep {
 public:
  Deep(const tw_kernel& kernel, size_t l2_bytes, const tw_tuning& tuning)
      : plan_(device(l2_bytes), matmul(kernel, tuning)),
        n_(columns(kernel)),
        lhs_(kernel.lhs->type),
        bias_(whole_numbers(TW_F32, n_, 7)) {
    auto source = tilewright::sized<tw_rhs_source>();
    const tw_type type = kernel.rhs->type;
    const std::vector<uint8_t> weights = whole_numbers(type, n_ * kDepth, 1);
    source.order = TW_NXK;
    source.data = weights.data();
    source.data_bytes = weights.size();
    source.stride = kDepth * tw_type_bytes(type);
    source.bias = bias_.data();
    source.bias_count = n_;
    rhs_.resize(plan_.rhs_bytes());
    for (size_t s = 0; s < plan_.rhs_slices(); ++s) {
      plan_.pack_rhs(source, rhs_.data(), rhs_.size(), s);
    }
  }

  /// Values of k that the first rows go through at a time.
  [[nodiscard]] size_t block(size_t m, size_t k) const {
    tw_segment segments[TW_MAX_SEGMENTS];
    size_t count = 0;
    EXPECT_EQ(tw_plan_segments(plan_.get(), m, segments, &count), TW_OK);
    return tw_k_block(plan_.get(), &segments[0], k);
  }

  [[nodiscard]] std::vector<uint8_t> multiply(size_t m, size_t k, bool own_bias) const {
    const std::vector<uint8_t> rows = whole_numbers(lhs_, m * k, 2);
    auto source = tilewright::sized<tw_lhs_source>();
    source.data = rows.data();
    source.data_bytes = rows.size();
    source.stride = k * tw_type_bytes(lhs_);
    source.k = k;
    std::vector<uint8_t> packed(plan_.lhs_bytes(m));
    for (size_t s = 0; s < plan_.lhs_slices(m); ++s) {
      plan_.pack_lhs(m, source, packed.data(), packed.size(), s);
    }
    std::vector<uint8_t> dst = whole_numbers(TW_F32, m * n_, 3);  // which some kernels add to
    const std::vector<uint8_t> bias = whole_numbers(TW_F32, n_, 4);
    auto run = tilewright::sized<tw_run_args>();
    run.m = m;
    run.k = k;
    const bool unpacked = packed.empty();
    run.lhs = unpacked ? rows.data() : packed.data();
    run.lhs_bytes = unpacked ? rows.size() : packed.size();
    run.lhs_stride = unpacked ? source.stride : 0;
    run.rhs = rhs_.data();
    run.rhs_bytes = rhs_.size();
    run.dst = dst.data();
    run.dst_bytes = dst.size();
    run.dst_stride = n_ * 4;
    run.clamp = 1;
    run.min = -40;
    run.max = 55;
    if (own_bias) {
      run.bias = bias.data();
      run.bias_count = n_;
    }
    for (size_t s = plan_.run_slices(m); s-- > 0;) plan_.run(run, s);
    return dst;
  }

 private:
  static size_t columns(const tw_kernel& kernel) {
    const tw_device here = detected_device();
    return 2 * tw_panel_rows(kernel.rhs, &here) + 3;
  }
  static tw_device device(size_t l2_bytes) {
    tw_device here = detected_device();
    here.l2_bytes = l2_bytes;
    return here;
  }
  static tw_matmul matmul(const tw_kernel& kernel, const tw_tuning& tuning) {
    auto made = tilewright::sized<tw_matmul>();
    made.family = kernel.family;
    made.kernel = kernel.name;
    made.lhs_type = kernel.lhs->type;
    made.accumulate = kernel.accumulate;
    made.n = columns(kernel);
    made.k = kDepth;
    made.tuning = tuning;
    return made;
  }

  tilewright::Plan plan_;
  size_t n_;
  tw_type lhs_;
  std::vector<uint8_t> bias_, rhs_;
};

/// Whether `adding` adds what `row` stores.
bool is_sum_of(const tw_kernel& adding, const tw_kernel& row) {
  return adding.accumulate != 0 && adding.dst == row.dst && adding.lhs == row.lhs &&
         adding.rhs == row.rhs && adding.tile_m == row.tile_m && adding.tile_n == row.tile_n &&
         std::string(adding.isa) == row.isa && std::string(adding.printer) == row.printer;
}

/// Rows of floats for which there is a kernel that adds.
std::vector<const tw_kernel*> float_rows() {
  const std::vector<const tw_kernel*> all = running_kernels();
  std::vector<const tw_kernel*> rows = all;
  std::erase_if(rows, [&](const tw_kernel* row) {
    return row->dst != TW_F32 || !tw_is_float(row->rhs) || row->lhs->type == TW_TYPE_NONE ||
           std::none_of(all.begin(), all.end(),
                        [&](const tw_kernel* adding) { return is_sum_of(*adding, *row); });
  });
  return rows;
}

class DeepProduct : public testing::TestWithParam<const tw_kernel*> {};

TEST_P(DeepProduct, BlocksOfDepthAddUp) {
  const tw_kernel& kernel = *GetParam();
  const tw_device here = tilewright::detect();
  const size_t panel = tw_panel_rows(kernel.rhs, &here) * kernel.rhs->data_bits / 8;
  const Deep whole(kernel, size_t{1} << 30, {});
  const Deep deep(kernel, 4 * kBlock * panel, {});
  const Deep sliced(kernel, 4 * kBlock * panel, {33, 5, 0, TW_ROWS_FIRST});
  const size_t tile = tw_tile_rows(&kernel, &here), m = 2 * tile + 1;
  EXPECT_EQ(whole.block(m, kDepth), kDepth);
  EXPECT_EQ(deep.block(1, kDepth), kDepth) << "weights pass by once, so nothing is gained";
  EXPECT_EQ(deep.block(m, kDepth), kBlock);
  for (const bool own_bias : {false, true}) {
    for (const size_t k : {kDepth, kShallow}) {
      const std::vector<uint8_t> expected = whole.multiply(m, k, own_bias);
      EXPECT_EQ(deep.multiply(m, k, own_bias), expected) << k << ", bias " << own_bias;
      EXPECT_EQ(sliced.multiply(m, k, own_bias), expected) << k << ", bias " << own_bias;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, DeepProduct, testing::ValuesIn(float_rows()),
                         [](const auto& row) { return std::string(row.param->name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DeepProduct);

TEST(DeepProducts, EveryMachineHasKernelsForThem) {
  EXPECT_GE(float_rows().size(), 6U);
}

}  // namespace
}  // namespace tw::test
