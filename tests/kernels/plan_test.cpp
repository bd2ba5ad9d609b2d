// What the runtime makes of streaming kernels on the machine at hand, for one row of the output and
// for many.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "kernels/rows.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {
namespace {

std::vector<const tw_kernel*> rows_alone() {
  std::vector<const tw_kernel*> rows = running_kernels();
  std::erase_if(rows, [](const tw_kernel* row) {
    return row->dst != TW_F32 || row->accumulate != 0 || row->rhs->streaming == 0 ||
           row->tile_m != 1 || row->tile_m_scalable != 0 ||
           std::strcmp(row->technique, "fma") == 0 ||  // of rows that are not packed
           (row->rhs->axes->codes != nullptr && row->rhs->axes->codes->given != 0) ||
           std::strcmp(row->isa, "sme") == 0;  // whose vectors take a row no faster than its tiles
  });
  return rows;
}

class StreamingPlan : public testing::TestWithParam<const tw_kernel*> {};

// Dot products for a row, outer products for many, with the same packed weights.
TEST_P(StreamingPlan, TakesItForOneRowOnly) {
  auto device = tilewright::sized<tw_device>();
  ASSERT_EQ(tw_device_detect(&device), TW_OK);
  auto matmul = tilewright::sized<tw_matmul>();
  if (GetParam()->rhs->block != 0 && device.streaming_vector_bytes < 32) {
    GTEST_SKIP() << "what leaves tiles of 128 bits after each block takes as long as in a row";
  }
  matmul.family = GetParam()->family;
  matmul.n = 4096;
  matmul.k = 2048;
  matmul.block = GetParam()->rhs->block;
  matmul.scales = GetParam()->rhs->block_scales;
  matmul.rhs_layout = GetParam()->rhs->id;
  tw_plan* plan = nullptr;
  ASSERT_EQ(tw_plan_create(&device, &matmul, &plan), TW_OK) << tw_error_message();
  for (const size_t m : {size_t{1}, size_t{64}}) {
    tw_segment segments[TW_MAX_SEGMENTS];
    size_t count = 0;
    ASSERT_EQ(tw_plan_segments(plan, m, segments, &count), TW_OK) << tw_error_message();
    ASSERT_EQ(count, 1U) << m << " rows";
    EXPECT_EQ(segments[0].kernel == GetParam(), m == 1) << m << ": " << segments[0].kernel->name;
  }
  tw_plan_destroy(plan);
}

/// Bits of the codes, and cycles of one row, of a plan for Q6_K on dot products of 128 bits; of
/// one kernel, if a name is given.
std::pair<size_t, double> plan_of_q6_k(tw_device device, const char* kernel) {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = "matmul_clamp_f32_qsi8d32p_qsi6k16p";
  matmul.n = matmul.k = 4096;
  matmul.block = 256;
  matmul.scales = TW_SCALES_F16;
  matmul.kernel = kernel;
  tw_plan* plan = nullptr;
  EXPECT_EQ(tw_device_limit(&device, "neon_dotprod"), TW_OK);
  EXPECT_EQ(tw_plan_create(&device, &matmul, &plan), TW_OK) << tw_error_message();
  if (plan == nullptr) return {};
  const std::pair found(tw_plan_rhs_layout(plan)->data_bits, tw_plan_cycles(plan, 1));
  tw_plan_destroy(plan);
  return found;
}

// Two pipes for vectors unpack 6 bits slower than memory gives bytes: so one row reads those.
TEST(BytesOfCodes, ArePlannedWhereUnpackingTakesLonger) {
  auto device = tilewright::sized<tw_device>();
  ASSERT_EQ(tw_device_detect(&device), TW_OK);
  const char* const packed = "tw_matmul_clamp_f32_qsi8d32p1x4_qsi6k16p8x4_1x16_neon_dotprod_asm";
  const tw_kernel* kernel = tw_find_kernel(packed);
  const bool runs =
      kernel != nullptr && kernel->run != nullptr && (kernel->features & ~device.features) == 0;
  if (!runs) GTEST_SKIP() << "no such kernel runs here";
  const auto [bits, cycles] = plan_of_q6_k(device, nullptr);
  EXPECT_EQ(bits, 8U);
  const auto [packed_bits, packed_cycles] = plan_of_q6_k(device, packed);
  EXPECT_EQ(packed_bits, 4U);
  EXPECT_GT(packed_cycles, cycles);
}

// Blocks that one row has dot products for, ggml's types: nobody asks for their layouts by name.
TEST(StreamingTypes, AreTakenUnasked) {
  auto device = tilewright::sized<tw_device>();
  ASSERT_EQ(tw_device_detect(&device), TW_OK);
  if (device.streaming_vector_bytes < 32) GTEST_SKIP() << "tiles of 128 bits are no faster";
  for (const tw_kernel* row : rows_alone()) {
    if (row->rhs->block == 0 || std::strstr(row->name, "kleidiai") != nullptr) continue;
    auto matmul = tilewright::sized<tw_matmul>();
    matmul.family = row->family;
    matmul.n = 4096;
    matmul.k = 2048;
    matmul.block = row->rhs->block;
    matmul.scales = row->rhs->block_scales;
    tw_plan* plan = nullptr;
    ASSERT_EQ(tw_plan_create(&device, &matmul, &plan), TW_OK) << tw_error_message();
    for (const size_t m : {size_t{1}, size_t{64}}) {
      tw_segment segments[TW_MAX_SEGMENTS];
      size_t count = 0;
      ASSERT_EQ(tw_plan_segments(plan, m, segments, &count), TW_OK) << tw_error_message();
      EXPECT_STREQ(segments[0].kernel->isa, "sme2") << m << ": " << segments[0].kernel->name;
    }
    tw_plan_destroy(plan);
  }
}

// No plan says what codes stand for.
TEST(GivenTables, PlansTakeNone) {
  auto device = tilewright::sized<tw_device>();
  ASSERT_EQ(tw_device_detect(&device), TW_OK);
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = "matmul_clamp_f32_qai8dxp_qsu2cxp";
  matmul.n = matmul.k = 64;
  tw_plan* plan = nullptr;
  EXPECT_EQ(tw_plan_create(&device, &matmul, &plan), TW_UNSUPPORTED);
  EXPECT_NE(std::strstr(tw_error_message(), "told what codes stand for by each call"), nullptr)
      << tw_error_message();
  tw_plan_destroy(plan);
}

// Nor gives one without a bias to who does not ask for it: the only layouts of this family.
TEST(LayoutsWithoutBias, PlansTakeNoneUnasked) {
  auto device = tilewright::sized<tw_device>();
  ASSERT_EQ(tw_device_detect(&device), TW_OK);
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = "matmul_clamp_f32_f16p_qsi4c32p";
  matmul.n = matmul.k = 64;
  for (const size_t block : {0, 32}) {
    matmul.block = block;
    matmul.scales = block == 0 ? TW_SCALES_UNSET : TW_SCALES_F16;
    tw_plan* plan = nullptr;
    EXPECT_EQ(tw_plan_create(&device, &matmul, &plan), TW_UNSUPPORTED);
    EXPECT_NE(std::strstr(tw_error_message(), "keep no bias"), nullptr) << tw_error_message();
    tw_plan_destroy(plan);
  }
}

INSTANTIATE_TEST_SUITE_P(, StreamingPlan, testing::ValuesIn(rows_alone()),
                         [](const auto& row) { return std::string(row.param->name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StreamingPlan);

std::vector<const tw_kernel*> tiles_of_blocks() {
  const std::vector<const tw_kernel*> all = running_kernels();
  std::vector<const tw_kernel*> rows = all;
  std::erase_if(rows, [&](const tw_kernel* row) {
    const auto reads_them = [&](const tw_kernel* other) {
      return other->rhs == row->rhs && other->dst == TW_F32 && other->accumulate == 0;
    };
    return row->dst != TW_F32 || row->accumulate != 0 || row->rhs->streaming == 0 ||
           row->rhs->block == 0 || std::count_if(all.begin(), all.end(), reads_them) != 1;
  });
  return rows;
}

class StreamingBlocksPlan : public testing::TestWithParam<const tw_kernel*> {};

// No other reads such weights: one row is a tile, too.
TEST_P(StreamingBlocksPlan, TakesItForAnyRows) {
  auto device = tilewright::sized<tw_device>();
  ASSERT_EQ(tw_device_detect(&device), TW_OK);
  const tw_layout& rhs = *GetParam()->rhs;
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = GetParam()->family;
  matmul.n = 4096;
  matmul.k = 2048;
  matmul.block = rhs.block;
  matmul.scales = rhs.block_scales;
  matmul.rhs_layout = rhs.id;
  tw_plan* plan = nullptr;
  ASSERT_EQ(tw_plan_create(&device, &matmul, &plan), TW_OK) << tw_error_message();
  for (const size_t m : {size_t{1}, size_t{64}}) {
    tw_segment segments[TW_MAX_SEGMENTS];
    size_t count = 0;
    ASSERT_EQ(tw_plan_segments(plan, m, segments, &count), TW_OK) << tw_error_message();
    ASSERT_EQ(count, 1U) << m << " rows";
    EXPECT_EQ(segments[0].kernel, GetParam()) << m << ": " << segments[0].kernel->name;
  }
  tw_plan_destroy(plan);
}

INSTANTIATE_TEST_SUITE_P(, StreamingBlocksPlan, testing::ValuesIn(tiles_of_blocks()),
                         [](const auto& row) { return std::string(row.param->name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StreamingBlocksPlan);

// Operands in a layout without a bias are for those who ask for it, and who have none.
TEST(PlanWithoutBias, IsForThoseWhoAsk) {
  std::vector<const tw_kernel*> rows = running_kernels();
  std::erase_if(rows, [](const tw_kernel* row) {
    return row->dst != TW_F32 || row->rhs->axes == nullptr ||
           row->rhs->axes->bias.type != TW_TYPE_NONE;
  });
  if (rows.empty()) GTEST_SKIP() << "no such kernel runs here";
  constexpr size_t n = 8;
  constexpr size_t k = 64;
  auto device = tilewright::sized<tw_device>();
  ASSERT_EQ(tw_device_detect(&device), TW_OK);
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = rows.front()->family;
  matmul.n = n;
  matmul.k = k;
  matmul.block = rows.front()->rhs->block;
  matmul.scales = rows.front()->rhs->block_scales;
  tw_plan* any = nullptr;
  ASSERT_EQ(tw_plan_create(&device, &matmul, &any), TW_OK) << tw_error_message();
  EXPECT_EQ(tw_plan_rhs_layout(any)->axes->bias.type, TW_F32);
  tw_plan_destroy(any);

  matmul.rhs_layout = rows.front()->rhs->id;
  tw_plan* plan = nullptr;
  ASSERT_EQ(tw_plan_create(&device, &matmul, &plan), TW_OK) << tw_error_message();
  const std::string layout = tw_plan_rhs_layout(plan)->text;
  const std::vector<float> bias(n);
  const std::vector<uint8_t> codes(n * k / 2);
  const std::vector<uint16_t> scales(n * k / 32);
  std::vector<uint8_t> rhs(tw_rhs_bytes(plan));
  auto source = tilewright::sized<tw_rhs_source>();
  source.data = codes.data();
  source.data_bytes = codes.size();
  source.scales = scales.data();
  source.scale_count = scales.size();
  source.stride = k / 2;
  ASSERT_EQ(tw_pack_rhs(plan, &source, rhs.data(), rhs.size(), 0), TW_OK) << tw_error_message();
  source.bias = bias.data();
  source.bias_count = n;
  EXPECT_EQ(tw_pack_rhs(plan, &source, rhs.data(), rhs.size(), 0), TW_INVALID);
  EXPECT_EQ(tw_error_message(),
            "tw_pack_rhs: source.bias is set; layout '" + layout + "' keeps none, null is legal");

  auto target = tilewright::sized<tw_rhs_target>();
  std::vector<uint8_t> unpacked(codes.size());
  std::vector<float> unpacked_bias(n);
  target.data = unpacked.data();
  target.data_bytes = unpacked.size();
  target.stride = k / 2;
  target.bias = unpacked_bias.data();
  target.bias_count = n;
  EXPECT_EQ(tw_unpack_rhs(plan, rhs.data(), rhs.size(), 0, n, &target), TW_UNSUPPORTED);
  EXPECT_EQ(tw_error_message(),
            "tw_unpack_rhs: target.bias is set; layout '" + layout + "' keeps none, null is legal");

  size_t lhs_bytes = 0;
  ASSERT_EQ(tw_lhs_bytes(plan, 1, &lhs_bytes), TW_OK);
  const std::vector<uint8_t> lhs(lhs_bytes);
  std::vector<float> dst(n);
  auto args = tilewright::sized<tw_run_args>();
  args.m = 1;
  args.lhs = lhs.data();
  args.lhs_bytes = lhs_bytes;
  args.rhs = rhs.data();
  args.rhs_bytes = rhs.size();
  args.dst = dst.data();
  args.dst_bytes = n * sizeof(float);
  args.dst_stride = n * sizeof(float);
  args.bias = bias.data();
  args.bias_count = n;
  EXPECT_EQ(tw_run(plan, &args, 0), TW_INVALID);
  EXPECT_EQ(tw_error_message(), "tw_run: args.bias is set; kernels for layout '" + layout +
                                    "' add none, null is legal");
  tw_plan_destroy(plan);
}

}  // namespace
}  // namespace tw::test
