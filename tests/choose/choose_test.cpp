// Records, a device and what is wanted go in, a choice comes out. The kernels are fake rows.
#include "tuner/choose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "choose/log.h"
#include "tilewright/tilewright.hpp"

namespace tw::tuner {
namespace {

using test::fake_kernel;
using test::kFamily;

std::string kernel_of(const Choice& choice, size_t m) {
  for (const RowsChoice& r : choice.rows) {
    if (r.m == m) return r.run.kernel;
  }
  return "none";
}

std::string chosen(const Log& log, const tw_device& device, size_t m) {
  return kernel_of(choose(log.records, device, log.core, wanted({{m, 1}})), m);
}

TEST(Choose, WithoutRecordsItIsTheCostModel) {
  const tw_device device = test::zen4();
  const Log log(device);
  const Choice choice = choose({}, device, log.core, wanted({{1, 1}, {16, 2}}));
  ASSERT_EQ(choice.rows.size(), 2U);
  EXPECT_EQ(choice.rows[0].rung, Rung::model);
  EXPECT_EQ(kernel_of(choice, 1), "vnni_1x32");
  EXPECT_EQ(kernel_of(choice, 16), "vnni_8x32");
  EXPECT_EQ(choice.total_ns(), choice.baseline_ns());
  EXPECT_TRUE(settings_of(choice).empty());
}

TEST(Choose, APlantedRecordFlipsTheChoice) {
  const tw_device device = test::zen4();
  Log log(device);
  log.baseline("vnni_8x32", 16);
  EXPECT_EQ(chosen(log, device, 16), "vnni_8x32");
  log.faster("vnni_4x32", 16, 1.1, "vnni_8x32");
  const Choice choice = choose(log.records, device, log.core, wanted({{16, 3}}));
  EXPECT_EQ(kernel_of(choice, 16), "vnni_4x32");
  EXPECT_EQ(choice.rows[0].rung, Rung::exact);
  EXPECT_NEAR(choice.rows[0].ns, 1000 / 1.1, 1e-6);
  EXPECT_NEAR(choice.baseline_ns(), 3000, 1e-6);
}

// Decoded products are other kernels': they say nothing of this one at other shapes.
TEST(Choose, DecodingIsChosenAsMeasuredAndOnlyThere) {
  const tw_device device = test::zen4();
  Log log(device);
  log.baseline("vnni_8x32", 16);
  const auto chosen_decoding = [&](size_t k) {
    Wanted w = wanted({{16, 1}});
    w.k = k;
    const Choice choice = choose(log.records, device, log.core, w);
    const std::vector<tw_setting> settings = settings_of(choice);
    return settings.empty() ? TW_DECODE_UNSET : settings[0].tuning.decode;
  };
  EXPECT_EQ(chosen_decoding(kK), TW_DECODE_UNSET);
  log.faster("vnni_4x32", 16, 1.1, "vnni_8x32").ran.decodes = "no";
  EXPECT_EQ(chosen_decoding(kK), TW_DECODE_NEVER);
  log.faster("vnni_1x32", 16, 1.3, "vnni_8x32").ran.decodes = "yes";
  EXPECT_EQ(chosen_decoding(kK), TW_DECODE_ALWAYS);
  EXPECT_EQ(chosen(log, device, 16), "vnni_1x32");
  EXPECT_EQ(chosen_decoding(2 * kK), TW_DECODE_UNSET);
  Wanted other = wanted({{16, 1}});
  other.k = 2 * kK;
  EXPECT_EQ(kernel_of(choose(log.records, device, log.core, other), 16), "vnni_4x32");
}

TEST(Choose, WhatIsNotSurelyFasterLoses) {
  const tw_device device = test::zen4();
  Log log(device);
  log.baseline("vnni_8x32", 16);
  log.faster("vnni_4x32", 16, 1.02, "vnni_8x32", 0.03);
  log.faster("vnni_1x32", 16, 0.95, "vnni_8x32");
  EXPECT_EQ(chosen(log, device, 16), "vnni_8x32");
  // A second run that agrees narrows the interval enough, one that does not widens it.
  for (int i = 0; i < 3; ++i) log.faster("vnni_4x32", 16, 1.02, "vnni_8x32", 0.03);
  EXPECT_EQ(chosen(log, device, 16), "vnni_4x32");
  log.faster("vnni_4x32", 16, 0.8, "vnni_8x32", 0.03);
  EXPECT_EQ(chosen(log, device, 16), "vnni_8x32");
}

TEST(Choose, RecordsOfOtherThingsDoNotCount) {
  const tw_device device = test::zen4();
  const auto with = [&](const std::function<void(Record&)>& change) {
    Log log(device);
    log.baseline("vnni_8x32", 16);
    change(log.faster("vnni_4x32", 16, 1.5, "vnni_8x32"));
    return chosen(log, device, 16);
  };
  EXPECT_EQ(with([](Record&) {}), "vnni_4x32");
  EXPECT_EQ(with([](Record& r) { r.ran.hash ^= 1; }), "vnni_8x32");
  EXPECT_EQ(with([](Record& r) { r.regime = Regime::hot; }), "vnni_8x32");
  EXPECT_EQ(with([](Record& r) { r.threads = 2; }), "vnni_8x32");
  EXPECT_EQ(with([](Record& r) { r.problem.family = test::kOtherFamily; }), "vnni_8x32");
  EXPECT_EQ(with([](Record& r) { r.problem.block = 32; }), "vnni_8x32");
  EXPECT_EQ(with([](Record& r) { r.ran.kernel = "no_such"; }), "vnni_8x32");
  EXPECT_EQ(with([](Record& r) { r.outcome = Outcome::wrong; }), "vnni_8x32");
}

TEST(Choose, NeverAKernelThatTheDeviceLacks) {
  tw_device device = test::zen4();
  Log log(device);
  log.baseline("avx2_4x16", 16);
  log.faster("vnni_4x32", 16, 3, "avx2_4x16");
  ASSERT_EQ(tw_device_limit(&device, "avx2"), TW_OK);
  EXPECT_EQ(chosen(log, device, 16), "avx2_4x16");
}

// Once is enough: what crashed or was wrong on such a core is not tried again by a user.
TEST(Choose, WhatFailedOnSuchACoreIsOut) {
  for (const Outcome outcome : {Outcome::crash, Outcome::wrong, Outcome::timeout}) {
    const tw_device device = test::zen4();
    Log log(device);
    log.baseline("vnni_8x32", 16);
    log.faster("vnni_4x32", 16, 1.5, "vnni_8x32");
    Record failed = log.blank("vnni_4x32", 1);
    failed.outcome = outcome;
    log.records.push_back(failed);
    EXPECT_EQ(chosen(log, device, 16), "vnni_8x32");
    log.records.back().core.model += 1;  // another core's crash is its own
    EXPECT_EQ(chosen(log, device, 16), "vnni_4x32");
  }
}

// Weights are packed once: the layout that is best over all rows wins, however good another one is
// for some.
TEST(Choose, TheLayoutIsForAllRows) {
  const tw_device device = test::zen4();
  Log log(device);
  for (const size_t m : {1, 16}) log.baseline(m == 1 ? "vnni_1x32" : "vnni_8x32", m);
  log.faster("scalar_1x8", 1, 2, "vnni_1x32");
  log.faster("scalar_2x8", 16, 0.1, "vnni_8x32");
  const auto layout = [&](double decode, double prefill) {
    return choose(log.records, device, log.core, wanted({{1, decode}, {16, prefill}})).layout;
  };
  EXPECT_EQ(layout(1, 1), fake_kernel("vnni_8x32").rhs->id);
  EXPECT_EQ(layout(100, 1), fake_kernel("scalar_1x8").rhs->id);
}

TEST(Choose, RungByRung) {
  const tw_device device = test::zen4();
  Log log(device);
  log.baseline("vnni_8x32", 16);
  log.faster("vnni_4x32", 16, 1.2, "vnni_8x32");
  const auto rung = [&](const std::function<void(Record&)>& change) {
    std::vector<Record> records = log.records;
    for (Record& r : records) change(r);
    const Choice choice = choose(records, device, log.core, wanted({{16, 1}}));
    return std::string(name(choice.rows[0].rung)) + ": " + kernel_of(choice, 16);
  };
  EXPECT_EQ(rung([](Record&) {}), "exact: vnni_4x32");
  EXPECT_EQ(rung([](Record& r) { r.problem.n = 512; }), "same core: vnni_4x32");
  EXPECT_EQ(rung([](Record& r) { r.problem.m = 40; }), "same core: vnni_4x32");
  EXPECT_EQ(rung([](Record& r) { r.problem.m = 8; }), "cost model: vnni_8x32");
  EXPECT_EQ(rung([](Record& r) {
              r.problem.n = 512;
              r.core.l2 += 65536;
            }),
            "ISA default: vnni_4x32");  // this device's family and model are unknown
  EXPECT_EQ(rung([](Record& r) { r.core.family = 77; }), "ISA default: vnni_4x32");
}

TEST(Choose, CoresOfATypeAndOfAPipeClass) {
  const tw_device device = test::phone("X3", {0x411fd4e0});
  Log log(device);
  log.baseline("i8mm_8x8", 16);
  log.faster("i8mm_4x8", 16, 1.2, "i8mm_8x8");
  const auto rung = [&](uint64_t midr) {
    std::vector<Record> records = log.records;
    for (Record& r : records) {
      r.core.midr = midr;
      r.core.mhz = 1234;
    }
    return std::string(name(choose(records, device, log.core, wanted({{16, 1}})).rows[0].rung));
  };
  EXPECT_EQ(rung(0x412fd4e0), "same core type");  // another revision, another clock
  EXPECT_EQ(rung(0x410fd480), "same pipes");      // X2
  EXPECT_EQ(rung(0x410fd490), "ISA default");     // N2: half as many
}

// Neither the order of records nor their number of copies of one another changes anything.
TEST(Choose, IsAPureFunctionOfTheSet) {
  const tw_device device = test::zen4();
  Log log(device);
  for (const size_t m : {1, 4, 16, 40}) {
    log.baseline(m == 1 ? "vnni_1x32" : "vnni_8x32", m);
    const char* baseline = m == 1 ? "vnni_1x32" : "vnni_8x32";
    log.faster("vnni_4x32", m, 1.01 + 0.01 * static_cast<double>(m), baseline);
    log.faster("scalar_1x8", m, 0.5, baseline);
  }
  const Wanted want = wanted({{1, 9}, {4, 3}, {16, 2}, {100, 1}});
  const Choice first = choose(log.records, device, log.core, want);
  std::mt19937 random(1);
  for (int i = 0; i < 20; ++i) {
    std::shuffle(log.records.begin(), log.records.end(), random);
    const Choice again = choose(log.records, device, log.core, want);
    EXPECT_EQ(again.layout, first.layout);
    EXPECT_NEAR(again.total_ns(), first.total_ns(), 1e-9 * first.total_ns());
    for (const RowsChoice& r : first.rows) EXPECT_EQ(kernel_of(again, r.m), r.run.kernel);
  }
}

// A plan takes them, and does what was chosen.
TEST(Choose, SettingsOfAChoice) {
  const tw_device device = test::zen4();
  Log log(device);
  for (const size_t m : {1, 4, 16, 64}) {
    log.baseline("vnni_8x32", m);
    log.faster("vnni_4x32", m, 1.3, "vnni_8x32");
  }
  const Choice choice =
      choose(log.records, device, log.core, wanted({{64, 1}, {1, 1}, {4, 1}, {16, 1}}));
  const std::vector<tw_setting> settings = settings_of(choice);
  ASSERT_EQ(settings.size(), 4U);
  const size_t firsts[] = {1, 4, 8, 33};
  const size_t lasts[] = {1, 4, 32, SIZE_MAX};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(settings[i].m_first, firsts[i]);
    EXPECT_EQ(settings[i].m_last, lasts[i]);
    EXPECT_STREQ(settings[i].kernel, "vnni_4x32");
    EXPECT_EQ(settings[i].tuning.rhs_prefetch, 4096U);
  }
  EXPECT_EQ(settings[0].tuning.m_block, SIZE_MAX);  // not cut at one row
  EXPECT_EQ(settings[2].tuning.m_block, 8U);
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = kFamily;
  matmul.n = kN;
  matmul.k = kK;
  matmul.settings = settings.data();
  matmul.setting_count = settings.size();
  tw_plan* plan = nullptr;
  ASSERT_EQ(tw_plan_create(&device, &matmul, &plan), TW_OK) << tw_error_message();
  tw_segment segments[TW_MAX_SEGMENTS];
  size_t count = 0;
  ASSERT_EQ(tw_plan_segments(plan, 40, segments, &count), TW_OK);
  EXPECT_STREQ(segments[0].kernel->name, "vnni_4x32");
  EXPECT_EQ(tw_plan_rhs_layout(plan)->id, choice.layout);
  tw_plan_destroy(plan);
}

TEST(Choose, WhatThePlanRefusesIsRefused) {
  const tw_device device = test::zen4();
  Wanted want = wanted({{1, 1}});
  want.family = "no_such";
  EXPECT_THROW(choose({}, device, core_of(device, 0), want), std::runtime_error);
}

}  // namespace
}  // namespace tw::tuner
