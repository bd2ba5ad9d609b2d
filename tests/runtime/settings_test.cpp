#include <gtest/gtest.h>

#include <set>

#include "runtime/devices.h"
#include "runtime/problem.h"
#include "tilewright/tilewright.hpp"

namespace tw::test::settings_test {
namespace {

constexpr size_t kN = 1000;
constexpr size_t kK = 64;

tw_matmul with_settings(const std::vector<tw_setting>& settings) {
  tw_matmul matmul = TestPlan::basic(kN, kK);
  matmul.settings = settings.data();
  matmul.setting_count = settings.size();
  return matmul;
}

TEST(Settings, NamedKernelTakesItsRange) {
  // Out of order, and another kernel of the height that the cost model has taken.
  const std::vector<tw_setting> settings = {{9, 32, "vnni_4x32", {}},
                                            {1, 2, "vnni_4x32", {}},
                                            {40, 48, "vnni_8x32_again", {}},
                                            {33, 39, nullptr, {}}};
  const TestPlan plan(zen4(), with_settings(settings));
  ASSERT_EQ(plan.status, TW_OK) << tw_error_message();
  const TestPlan free(zen4(), kN, kK);
  EXPECT_EQ(plan.split(1), "1:vnni_4x32");  // fewer rows than its tile
  EXPECT_EQ(plan.split(2), "2:vnni_4x32");
  EXPECT_EQ(plan.split(12), "12:vnni_4x32");
  EXPECT_EQ(plan.split(13), "12:vnni_4x32 1:vnni_1x32");  // what is left over is the plan's
  EXPECT_EQ(plan.split(32), "32:vnni_4x32");
  EXPECT_EQ(plan.split(40), "40:vnni_8x32_again");
  EXPECT_EQ(plan.split(44), "40:vnni_8x32_again 4:vnni_4x32");
  for (const size_t m : {3, 8, 33, 39, 49, 1000}) EXPECT_EQ(plan.split(m), free.split(m)) << m;
  EXPECT_LT(tw_plan_cycles(free.get(), 32), tw_plan_cycles(plan.get(), 32));
  EXPECT_EQ(tw_plan_cycles(free.get(), 8), tw_plan_cycles(plan.get(), 8));
}

TEST(Settings, TheirKernelDecidesTheLayout) {
  const TestPlan free(zen4(), kN, kK);
  const std::vector<tw_setting> settings = {{1, 1, "scalar_1x8", {}}};
  const TestPlan plan(zen4(), with_settings(settings));
  ASSERT_EQ(plan.status, TW_OK) << tw_error_message();
  EXPECT_NE(tw_plan_rhs_layout(plan.get())->id, tw_plan_rhs_layout(free.get())->id);
  EXPECT_EQ(plan.split(1), "1:scalar_1x8");
  EXPECT_EQ(plan.split(8), "8:scalar_2x8");
}

TEST(Settings, TuningOfItsRange) {
  tw_tuning own{};
  own.n_block = 100;
  own.m_block = 17;
  own.rhs_prefetch = 4096;
  own.order = TW_ROWS_FIRST;
  const std::vector<tw_setting> settings = {{64, 64, nullptr, own}};
  const TestPlan plan(zen4(), with_settings(settings));
  tw_tuning tuning{};
  ASSERT_EQ(tw_plan_tuning(plan.get(), 64, &tuning), TW_OK);
  EXPECT_EQ(tuning.n_block, 128U);
  EXPECT_EQ(tuning.m_block, 16U);
  EXPECT_EQ(tuning.rhs_prefetch, 4096U);
  EXPECT_EQ(tuning.order, TW_ROWS_FIRST);
  EXPECT_EQ(tilewright::run_slices(plan.get(), 64), 8U * 4U);
  ASSERT_EQ(tw_plan_tuning(plan.get(), 65, &tuning), TW_OK);
  EXPECT_NE(tuning.rhs_prefetch, 4096U);
  EXPECT_EQ(tuning.order, TW_COLUMNS_FIRST);
}

// Either order covers every output once; they differ in which part comes second.
TEST(Settings, OrderOfSlices) {
  for (const tw_order order : {TW_COLUMNS_FIRST, TW_ROWS_FIRST}) {
    tw_tuning own{};
    own.n_block = 96;
    own.m_block = 8;
    own.order = order;
    const std::vector<tw_setting> settings = {{50, 50, nullptr, own}};
    const TestPlan plan(zen4(), with_settings(settings));
    tw_rows rows;
    ASSERT_EQ(tw_rows_of(plan.get(), 50, "test", &rows), TW_OK);
    std::set<std::pair<size_t, size_t>> seen;
    size_t outputs = 0;
    const size_t slices = tilewright::run_slices(plan.get(), 50);
    for (size_t slice = 0; slice < slices; ++slice) {
      const tw_part part = tw_slice_part(plan.get(), &rows, slice);
      if (part.row_begin == part.row_end) continue;  // rows are cut at whole tiles only
      EXPECT_TRUE(seen.insert({part.row_begin, part.column_begin}).second);
      outputs += (part.row_end - part.row_begin) * (part.column_end - part.column_begin);
    }
    EXPECT_EQ(outputs, 50 * kN);
    const tw_part beyond = tw_slice_part(plan.get(), &rows, slices);
    EXPECT_EQ(beyond.row_end, beyond.row_begin);
    const tw_part second = tw_slice_part(plan.get(), &rows, 1);
    EXPECT_EQ(second.row_begin == 0, order == TW_COLUMNS_FIRST);
    EXPECT_EQ(second.column_begin == 0, order == TW_ROWS_FIRST);
  }
}

void expect_refused(const std::vector<tw_setting>& settings, tw_status status,
                    const std::string& message) {
  const TestPlan plan(zen4(), with_settings(settings));
  EXPECT_EQ(plan.status, status);
  EXPECT_EQ(plan.get(), nullptr);
  EXPECT_NE(std::string(tw_error_message()).find(message), std::string::npos) << tw_error_message();
}

TEST(Settings, Refused) {
  expect_refused({{0, 1, nullptr, {}}}, TW_INVALID,
                 "settings[0] is for 0 to 1 rows; from 1 on, the first not above the last");
  expect_refused({{3, 2, nullptr, {}}}, TW_INVALID, "settings[0] is for 3 to 2 rows");
  expect_refused({{1, 4, nullptr, {}}, {4, 8, nullptr, {}}}, TW_INVALID,
                 "settings[0] and [1] overlap: 1 to 4 and 4 to 8 rows");
  expect_refused({{1, 1, "no_such", {}}}, TW_INVALID,
                 "settings[0].kernel \"no_such\" names no kernel of " + std::string(kFamily));
  expect_refused({{1, 1, "i8mm_4x8", {}}}, TW_UNSUPPORTED,
                 "settings[0].kernel i8mm_4x8 does not run on this device");
  expect_refused({{1, 1, "vnni_1x32", {}}, {2, 2, "scalar_1x8", {}}}, TW_INVALID,
                 "settings[1].kernel scalar_1x8 reads weights of layout");
  tw_tuning wrong{};
  wrong.order = static_cast<tw_order>(3);
  expect_refused({{1, 1, nullptr, wrong}}, TW_INVALID, "tuning.order is 3; 0 to 2 are legal");
  wrong = {};
  wrong.decode = static_cast<tw_decode>(3);
  expect_refused({{1, 1, nullptr, wrong}}, TW_INVALID, "tuning.decode is 3; 0 to 2 are legal");
  expect_refused(std::vector<tw_setting>(17, tw_setting{}), TW_TOO_LARGE, "is 17; at most 16");
  tw_matmul matmul = TestPlan::basic(kN, kK);
  matmul.setting_count = 1;
  EXPECT_EQ(TestPlan(zen4(), matmul).status, TW_INVALID);
}

}  // namespace
}  // namespace tw::test::settings_test
