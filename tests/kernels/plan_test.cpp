// What the runtime makes of streaming kernels on the machine at hand, for one row of the output and
// for many.
#include <gtest/gtest.h>

#include "kernels/rows.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {
namespace {

std::vector<const tw_kernel*> rows_alone() {
  std::vector<const tw_kernel*> rows = running_kernels();
  std::erase_if(rows, [](const tw_kernel* row) {
    return row->dst != TW_F32 || row->accumulate != 0 || row->rhs->streaming == 0 ||
           row->tile_m != 1 || row->tile_m_scalable != 0;
  });
  return rows;
}

class StreamingPlan : public testing::TestWithParam<const tw_kernel*> {};

// Dot products for a row, outer products for many, with the same packed weights.
TEST_P(StreamingPlan, TakesItForOneRowOnly) {
  auto device = tilewright::sized<tw_device>();
  ASSERT_EQ(tw_device_detect(&device), TW_OK);
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = GetParam()->family;
  matmul.n = 4096;
  matmul.k = 2048;
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

INSTANTIATE_TEST_SUITE_P(, StreamingPlan, testing::ValuesIn(rows_alone()),
                         [](const auto& row) { return std::string(row.param->name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StreamingPlan);

std::vector<const tw_kernel*> tiles_of_blocks() {
  std::vector<const tw_kernel*> rows = running_kernels();
  std::erase_if(rows, [](const tw_kernel* row) {
    return row->dst != TW_F32 || row->accumulate != 0 || row->rhs->streaming == 0 ||
           row->rhs->block == 0;
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

}  // namespace
}  // namespace tw::test
