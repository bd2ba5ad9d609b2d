// Tables of measured settings: which row is found, and what of it.
#include "tilewright/choices.h"

#include <gtest/gtest.h>
#include <cstddef>

#include <functional>
#include <memory>

#include "runtime/devices.h"
#include "runtime/problem.h"
#include "tilewright/tilewright.hpp"

namespace tw::test::choices_test {
namespace {

constexpr size_t kN = 1000;
constexpr size_t kK = 64;
const tw_tuning kTuning = {96, 8, 4096, TW_ROWS_FIRST, TW_DECODE_UNSET};

/// A machine with one kind of cores, all of whose numbers are known.
tw_device desk() {
  tw_device device = zen4();
  device.family = 25;
  device.model = 97;
  device.l3_bytes = 32 << 20;
  device.clusters[0].max_mhz = 5000;
  device.clusters[0].l2_bytes = 1 << 20;
  return device;
}

/// Rows of a table, measured on `desk` unless they are changed.
class Table {
 public:
  tw_chosen& add(const char* kernel, size_t threads = 1) {
    settings_.push_back(std::make_unique<tw_setting>(tw_setting{16, SIZE_MAX, kernel, kTuning}));
    tw_chosen row{};
    row.family = kFamily;
    row.n = kN;
    row.k = kK;
    row.threads = threads;
    row.core = tw_core_kind_of(&desk_, nullptr);
    row.settings = settings_.back().get();
    row.setting_count = 1;
    rows_.push_back(row);
    return rows_.back();
  }

  /// The kernel that is found; "" for none.
  std::string find(const tw_device& device, size_t threads = 1,
                   tw_matmul matmul = TestPlan::basic(kN, kK)) {
    const tw_status status =
        tw_choice_find(rows_.data(), rows_.size(), &device, nullptr, threads, &matmul, &found);
    EXPECT_EQ(status, TW_OK) << tw_error_message();
    EXPECT_EQ(found.match == TW_MATCH_NONE, found.chosen == nullptr);
    EXPECT_EQ(matmul.setting_count, found.chosen == nullptr ? 0U : 1U);
    return found.chosen == nullptr ? "" : matmul.settings[0].kernel;
  }

  tw_found found = tilewright::sized<tw_found>();

 private:
  tw_device desk_ = desk();
  std::vector<std::unique_ptr<tw_setting>> settings_;
  std::vector<tw_chosen> rows_;
};

TEST(Choices, ThePlanUsesTheSettings) {
  Table table;
  table.add("vnni_4x32");
  const tw_device device = desk();
  tw_matmul matmul = TestPlan::basic(kN, kK);
  const TestPlan before(device, matmul);
  ASSERT_EQ(table.find(device), "vnni_4x32");
  EXPECT_EQ(table.found.match, TW_MATCH_CORE);
  matmul.settings = table.found.settings;
  matmul.setting_count = 1;
  const TestPlan plan(device, matmul);
  ASSERT_EQ(plan.status, TW_OK) << tw_error_message();
  EXPECT_EQ(before.split(16), "16:vnni_8x32");
  EXPECT_EQ(plan.split(16), "16:vnni_4x32");
  EXPECT_EQ(plan.split(8), before.split(8));
  tw_tuning tuning{};
  ASSERT_EQ(tw_plan_tuning(plan.get(), 16, &tuning), TW_OK);
  EXPECT_EQ(tuning.n_block, kTuning.n_block);
  EXPECT_EQ(tuning.m_block, kTuning.m_block);
  EXPECT_EQ(tuning.rhs_prefetch, kTuning.rhs_prefetch);
  EXPECT_EQ(tuning.order, kTuning.order);
}

TEST(Choices, TheNearestCoreWins) {
  const auto match_of = [](const std::function<void(tw_core_kind&)>& change) {
    Table table;
    change(table.add("vnni_4x32").core);
    EXPECT_EQ(table.find(desk()), "vnni_4x32");
    const bool exact = table.found.match == TW_MATCH_CORE;
    EXPECT_EQ(table.found.settings[0].tuning.n_block, exact ? kTuning.n_block : 0);
    EXPECT_EQ(table.found.settings[0].m_first, 16U);
    return table.found.match;
  };
  EXPECT_EQ(match_of([](tw_core_kind&) {}), TW_MATCH_CORE);
  EXPECT_EQ(match_of([](tw_core_kind& c) { c.max_mhz = 5100; }), TW_MATCH_CORE);
  EXPECT_EQ(match_of([](tw_core_kind& c) { c.max_mhz = 5600; }), TW_MATCH_TYPE);
  EXPECT_EQ(match_of([](tw_core_kind& c) { c.l3_bytes *= 2; }), TW_MATCH_TYPE);
  EXPECT_EQ(match_of([](tw_core_kind& c) { c.features = 0; }), TW_MATCH_TYPE);
  EXPECT_EQ(match_of([](tw_core_kind& c) { c.model = 1; }), TW_MATCH_ISA);
  EXPECT_EQ(match_of([](tw_core_kind& c) { c.midr = kMidrA710; }), TW_MATCH_ISA);

  Table table;
  table.add("vnni_1x32").core.family = 1;
  table.add("vnni_8x32_again").core.l2_bytes = 1;
  EXPECT_EQ(table.find(desk()), "vnni_8x32_again");
  table.add("vnni_4x32");
  table.add("vnni_8x32");
  EXPECT_EQ(table.find(desk()), "vnni_4x32");  // the first of equals
}

TEST(Choices, OfAClusterOnArm) {
  tw_device device = phone("phone", {kMidrA510, kMidrA710 | 1});
  device.clusters[1].capacity = 1024;
  Table table;
  table.add("i8mm_8x8_little").core = tw_core_kind_of(&device, &device.clusters[0]);
  tw_chosen& big = table.add("i8mm_8x8");
  big.core = tw_core_kind_of(&device, nullptr);
  big.core.midr = kMidrA710;  // another revision
  EXPECT_EQ(table.find(device), "i8mm_8x8");
  EXPECT_EQ(table.found.match, TW_MATCH_CORE);
  big.core.midr = kMidrA710 | 1 << 20;  // another variant
  EXPECT_EQ(table.find(device), "i8mm_8x8");
  EXPECT_EQ(table.found.match, TW_MATCH_TYPE);
  tw_matmul matmul = TestPlan::basic(kN, kK);
  ASSERT_EQ(tw_choice_find(table.found.chosen - 1, 2, &device, &device.clusters[0], 1, &matmul,
                           &table.found),
            TW_OK);
  EXPECT_STREQ(matmul.settings[0].kernel, "i8mm_8x8_little");
}

// Who was built with headers whose tw_matmul ended before later members.
TEST(Choices, OlderCallersFindThem) {
  Table table;
  const tw_device device = desk();
  table.add("vnni_4x32");
  tw_matmul matmul = TestPlan::basic(kN, kK);
  matmul.size = offsetof(tw_matmul, accumulate);
  EXPECT_EQ(table.find(device, 1, matmul), "vnni_4x32");
  tw_found found = tilewright::sized<tw_found>();
  matmul.size = offsetof(tw_matmul, setting_count);
  EXPECT_EQ(tw_choice_find(nullptr, 0, &device, nullptr, 1, &matmul, &found), TW_INVALID);
}

// Blocks of one thread would leave others without slices.
TEST(Choices, SlicesAreTakenOverForAsManyThreadsOnly) {
  Table table;
  table.add("vnni_4x32", 1);
  EXPECT_EQ(table.find(desk(), 4), "vnni_4x32");
  EXPECT_EQ(table.found.settings[0].tuning.n_block, 0U);
  EXPECT_EQ(table.found.settings[0].tuning.order, TW_ORDER_UNSET);
  table.add("vnni_8x32_again", 4);
  EXPECT_EQ(table.find(desk(), 4), "vnni_8x32_again");
  EXPECT_EQ(table.found.settings[0].tuning.n_block, kTuning.n_block);
  EXPECT_EQ(table.find(desk(), 1), "vnni_4x32");
  // A nearer core counts more than as many threads.
  Table other;
  other.add("vnni_4x32", 4).core.model = 1;
  other.add("vnni_8x32_again", 1);
  EXPECT_EQ(other.find(desk(), 4), "vnni_8x32_again");
}

TEST(Choices, RowsOfOtherThingsDoNotCount) {
  const auto found = [](const std::function<void(tw_chosen&, tw_device&, tw_matmul&)>& change) {
    Table table;
    tw_device device = desk();
    tw_matmul matmul = TestPlan::basic(kN, kK);
    change(table.add("vnni_4x32"), device, matmul);
    return !table.find(device, 1, matmul).empty();
  };
  EXPECT_TRUE(found([](tw_chosen&, tw_device&, tw_matmul&) {}));
  EXPECT_FALSE(found([](tw_chosen&, tw_device&, tw_matmul& m) { m.n = kN + 1; }));
  EXPECT_FALSE(found([](tw_chosen&, tw_device&, tw_matmul& m) { m.k = 2 * kK; }));
  EXPECT_FALSE(found([](tw_chosen&, tw_device&, tw_matmul& m) { m.family = kOtherFamily; }));
  EXPECT_FALSE(found([](tw_chosen&, tw_device&, tw_matmul& m) { m.block = 32; }));
  EXPECT_FALSE(found([](tw_chosen&, tw_device&, tw_matmul& m) { m.scales = TW_SCALES_F16; }));
  EXPECT_FALSE(found([](tw_chosen&, tw_device&, tw_matmul& m) { m.kernel = "vnni_1x32"; }));
  EXPECT_FALSE(found([](tw_chosen&, tw_device&, tw_matmul& m) { m.rhs_layout = 1; }));
  EXPECT_FALSE(found([](tw_chosen&, tw_device&, tw_matmul& m) { m.dst_type = TW_F16; }));
  EXPECT_TRUE(found([](tw_chosen&, tw_device&, tw_matmul& m) {
    m.rhs_layout = fake_kernel("vnni_8x32").rhs->id;
  }));
  // Blocks that the request leaves open.
  EXPECT_TRUE(found([](tw_chosen& row, tw_device&, tw_matmul&) { row.block = 32; }));
  EXPECT_FALSE(found([](tw_chosen& row, tw_device&, tw_matmul&) {
    static const tw_setting gone = {1, 1, "no_such_kernel", {}};
    row.settings = &gone;
  }));
  EXPECT_FALSE(found([](tw_chosen& row, tw_device&, tw_matmul&) { row.setting_count = 0; }));
  EXPECT_FALSE(found([](tw_chosen& row, tw_device&, tw_matmul&) { row.setting_count = 17; }));
  // What the device lacks, or was told to leave alone.
  EXPECT_FALSE(found([](tw_chosen&, tw_device& d, tw_matmul&) { d.features = kAvx2; }));
  EXPECT_FALSE(found(
      [](tw_chosen&, tw_device& d, tw_matmul&) { ASSERT_EQ(tw_device_limit(&d, "avx2"), TW_OK); }));
}

TEST(Choices, RefusesWhatMakesNoSense) {
  const tw_device device = desk();
  const tw_setting setting{};
  tw_matmul matmul = TestPlan::basic(kN, kK);
  auto found = tilewright::sized<tw_found>();
  const auto refused = [&](const char* why) {
    EXPECT_NE(std::string(tw_error_message()).find(why), std::string::npos) << tw_error_message();
  };
  EXPECT_EQ(tw_choice_find(nullptr, 0, &device, nullptr, 1, &matmul, &found), TW_OK);
  EXPECT_EQ(tw_choice_find(nullptr, 1, &device, nullptr, 1, &matmul, &found), TW_INVALID);
  refused("choices is null");
  EXPECT_EQ(tw_choice_find(nullptr, 0, nullptr, nullptr, 1, &matmul, &found), TW_INVALID);
  refused("device is null");
  EXPECT_EQ(tw_choice_find(nullptr, 0, &device, nullptr, 0, &matmul, &found), TW_INVALID);
  refused("at least 1 is legal");
  EXPECT_EQ(tw_choice_find(nullptr, 0, &device, nullptr, 1, nullptr, &found), TW_INVALID);
  refused("matmul is null");
  EXPECT_EQ(tw_choice_find(nullptr, 0, &device, nullptr, 1, &matmul, nullptr), TW_INVALID);
  refused("found is null");
  matmul.settings = &setting;
  matmul.setting_count = 1;
  EXPECT_EQ(tw_choice_find(nullptr, 0, &device, nullptr, 1, &matmul, &found), TW_INVALID);
  refused("setting_count is 1; 0 is legal");
  matmul.family = nullptr;
  EXPECT_EQ(tw_choice_find(nullptr, 0, &device, nullptr, 1, &matmul, &found), TW_INVALID);
  refused("matmul.family is null");
}

}  // namespace
}  // namespace tw::test::choices_test
