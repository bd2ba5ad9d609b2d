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

/// Blocks take an eighth of the cache; of no type more than five of them stay whole.
constexpr size_t kBlock = 256, kDepth = 6 * kBlock + 33, kShallow = 5 * kBlock + 130;

std::vector<uint8_t> whole_numbers(tw_type type, size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> values(count * tw_type_bytes(type));
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = float_bits(tw_type_text(type), static_cast<float>(random() % 7) - 3);
    std::memcpy(values.data() + i * tw_type_bytes(type), &bits, tw_type_bytes(type));
  }
  return values;
}

constexpr size_t kCodes = 32;  ///< of ggml's blocks

/// ggml's blocks of Q8_0 or Q4_0, of scale 1 and codes from -3 to 3.
std::vector<uint8_t> whole_blocks(tw_rhs_order order, size_t blocks, unsigned seed) {
  std::mt19937 random(seed);
  const size_t bytes = order == TW_Q8_0 ? kCodes : kCodes / 2;
  const auto code = [&] { return static_cast<int>(random() % 7) - 3; };
  std::vector<uint8_t> values;
  for (size_t i = 0; i < blocks; ++i) {
    values.insert(values.end(), {0x00, 0x3c});  // 1 as f16
    for (size_t j = 0; j < bytes; ++j) {
      const int low = order == TW_Q8_0 ? code() : code() + 8;
      values.push_back(static_cast<uint8_t>(order == TW_Q8_0 ? low : low | (code() + 8) << 4));
    }
  }
  return values;
}

/// f32 that become codes of scale 1.
std::vector<uint8_t> whole_activations(size_t count, unsigned seed) {
  std::vector<uint8_t> values = whole_numbers(TW_F32, count, seed);
  const float largest = 127;
  for (size_t i = 0; i < count; i += kCodes) {
    std::memcpy(values.data() + i * sizeof largest, &largest, sizeof largest);
  }
  return values;
}

/// Weights and what they are multiplied with, by one kernel on a machine with some L2 cache.
class Deep {
 public:
  Deep(const tw_kernel& kernel, size_t l2_bytes, const tw_tuning& tuning)
      : plan_(device(l2_bytes), matmul(kernel, tuning)),
        n_(columns(kernel)),
        blocks_(kernel.rhs->block != 0),
        lhs_(blocks_ ? TW_F32 : kernel.lhs->type),
        bias_(whole_numbers(TW_F32, n_, 7)) {
    auto source = tilewright::sized<tw_rhs_source>();
    const tw_type type = kernel.rhs->type;
    source.order = !blocks_ ? TW_NXK : kernel.rhs->data_bits == 8 ? TW_Q8_0 : TW_Q4_0;
    const std::vector<uint8_t> weights =
        blocks_ ? whole_blocks(source.order, n_ * depth(kernel) / kCodes, 1)
                : whole_numbers(type, n_ * kDepth, 1);
    source.data = weights.data();
    source.data_bytes = weights.size();
    source.stride = weights.size() / n_;
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
    const std::vector<uint8_t> rows =
        blocks_ ? whole_activations(m * k, 2) : whole_numbers(lhs_, m * k, 2);
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
    run.min = blocks_ ? -1000 : -40;
    run.max = blocks_ ? 1500 : 55;
    if (own_bias) {
      run.bias = bias.data();
      run.bias_count = n_;
    }
    for (size_t s = plan_.run_slices(m); s-- > 0;) plan_.run(run, s);
    return dst;
  }

  static size_t depth(const tw_kernel& kernel) {
    return kernel.rhs->block != 0 ? 3 * kBlock + kCodes : kDepth;
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
    made.lhs_type = kernel.rhs->block != 0 ? TW_F32 : kernel.lhs->type;
    made.block = kernel.rhs->block;
    made.scales = kernel.rhs->block_scales;
    made.accumulate = kernel.accumulate;
    made.n = columns(kernel);
    made.k = depth(kernel);
    made.tuning = tuning;
    return made;
  }

  tilewright::Plan plan_;
  size_t n_;
  bool blocks_;  ///< of codes, on both sides
  tw_type lhs_;
  std::vector<uint8_t> bias_, rhs_;
};

/// Whether `adding` adds what `row` stores.
bool is_sum_of(const tw_kernel& adding, const tw_kernel& row) {
  return adding.accumulate != 0 && adding.dst == row.dst && adding.lhs == row.lhs &&
         adding.rhs == row.rhs && adding.tile_m == row.tile_m && adding.tile_n == row.tile_n &&
         std::string(adding.isa) == row.isa && std::string(adding.printer) == row.printer;
}

/// Rows of floats, or of blocks of 32 codes on both sides, for which there is a kernel that adds.
std::vector<const tw_kernel*> deep_rows() {
  const std::vector<const tw_kernel*> all = running_kernels();
  std::vector<const tw_kernel*> rows = all;
  std::erase_if(rows, [&](const tw_kernel* row) {
    const bool floats = tw_is_float(row->rhs) && row->lhs->type != TW_TYPE_NONE;
    const bool blocks = row->rhs->block == kCodes && row->lhs->block == kCodes;
    return row->dst != TW_F32 || !(floats || blocks) ||
           std::none_of(all.begin(), all.end(),
                        [&](const tw_kernel* adding) { return is_sum_of(*adding, *row); });
  });
  return rows;
}

class DeepProduct : public testing::TestWithParam<const tw_kernel*> {};

TEST_P(DeepProduct, BlocksOfDepthAddUp) {
  const tw_kernel& kernel = *GetParam();
  const tw_device here = tilewright::detect();
  const bool blocks = kernel.rhs->block != 0;
  const size_t beside = blocks ? kernel.rhs->per_row_block_bytes * kBlock / kCodes : 0;
  const size_t part =
      tw_panel_rows(kernel.rhs, &here) * (kBlock * kernel.rhs->data_bits / 8 + beside);
  const Deep whole(kernel, size_t{1} << 30, {});
  const Deep deep(kernel, 8 * part, {});
  const Deep sliced(kernel, 8 * part, {33, 5, 0, TW_ROWS_FIRST, TW_DECODE_UNSET});
  const size_t tile = tw_tile_rows(&kernel, &here), m = 2 * tile + 1, depth = Deep::depth(kernel);
  EXPECT_EQ(whole.block(m, depth), depth);
  EXPECT_EQ(deep.block(1, depth), depth) << "weights pass by once, so nothing is gained";
  EXPECT_EQ(deep.block(m, 2 * kBlock), 2 * kBlock) << "a quarter of the cache stays";
  EXPECT_EQ(deep.block(m, depth), kBlock);
  for (const bool own_bias : {false, true}) {
    for (const size_t k : {depth, blocks ? depth : kShallow}) {
      const std::vector<uint8_t> expected = whole.multiply(m, k, own_bias);
      EXPECT_EQ(deep.multiply(m, k, own_bias), expected) << k << ", bias " << own_bias;
      EXPECT_EQ(sliced.multiply(m, k, own_bias), expected) << k << ", bias " << own_bias;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, DeepProduct, testing::ValuesIn(deep_rows()),
                         [](const auto& row) { return std::string(row.param->name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DeepProduct);

TEST(DeepProducts, EveryMachineHasKernelsForThem) {
  EXPECT_GE(deep_rows().size(), 6U);
}

}  // namespace
}  // namespace tw::test
