// What rungs lose: a set made by hand, whose table is known.
#include "tuner/regret.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "choose/log.h"
#include "tuner/plans.h"

namespace tw::tuner {
namespace {

const RungRegret& of(const std::vector<RungRegret>& rungs, Rung rung) {
  for (const RungRegret& r : rungs) {
    if (r.rung == rung) return r;
  }
  throw std::invalid_argument("no such rung");
}

std::vector<double> ratios(const std::vector<RungRegret>& rungs, Rung rung) {
  std::vector<double> all;
  for (const Regret& r : of(rungs, rung).cells) all.push_back(std::round(r.ratio * 1e4) / 1e4);
  return all;
}

/// One core with two matrices, and one of its type with the first of them.
std::vector<Record> by_hand() {
  tw_device device = test::phone("X3", {0x411fd4e0});
  Log log(device);
  const auto cell = [&](size_t n, size_t mhz, double second, double third) {
    const size_t first = log.records.size();
    log.baseline("i8mm_8x8", 16);
    log.faster("i8mm_4x8", 16, second, "i8mm_8x8");
    log.faster("dotprod_4x8", 16, third, "i8mm_8x8");
    for (size_t i = first; i < log.records.size(); ++i) {
      log.records[i].problem.n = n;
      log.records[i].core.mhz = mhz;
    }
  };
  cell(1000, 3000, 1.25, 0.8);
  cell(2000, 3000, 0.9, 1.1);
  cell(1000, 2000, 0.5, 2);
  return log.records;
}

using Ratios = std::vector<double>;

/// Cells are in the order of their cores' identities: the sets are compared.
Ratios sorted(Ratios ratios) {
  std::sort(ratios.begin(), ratios.end());
  return ratios;
}

TEST(Regret, TheTableOfASetMadeByHand) {
  const auto rungs = regrets(by_hand(), registry_facts);
  // Each matrix by the other one: dotprod_4x8 where i8mm_4x8 is best, and the reverse.
  EXPECT_EQ(sorted(ratios(rungs, Rung::same_core)), (Ratios{1.2222, 1.5625}));
  // The slower core by the mean of two cells: i8mm_4x8, a fourth as fast as the best. The faster
  // one by the slower one's cell: dotprod_4x8.
  for (const Rung rung : {Rung::same_type, Rung::same_pipes, Rung::isa_default}) {
    EXPECT_EQ(sorted(ratios(rungs, rung)), (Ratios{1, 1.5625, 4})) << name(rung);
  }
  EXPECT_TRUE(ratios(rungs, Rung::fitted).empty());
  EXPECT_EQ(sorted(ratios(rungs, Rung::model)), (Ratios{1.1, 1.25, 2}));
  const RungRegret& type = of(rungs, Rung::same_type);
  EXPECT_NEAR(type.median(), 1.5625, 1e-9);
  EXPECT_EQ(type.worst().kernel, "i8mm_4x8");
  EXPECT_EQ(type.worst().best, "dotprod_4x8");
  EXPECT_EQ(type.worst().core.mhz, 2000U);
  const std::string text = regret_text(rungs);
  EXPECT_NE(text.find("same core          2   1.392   1.562  n 1000, k 1024, 16 rows, streamed: "
                      "4x8 instead of 4x8\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("fitted model       0       -       -\n"), std::string::npos) << text;
  EXPECT_NE(text.find("cost model         3   1.250   2.000"), std::string::npos) << text;
}

TEST(Regret, OfOtherCoresOnlyThoseThatARungIsAbout) {
  std::vector<Record> records = by_hand();
  for (Record& r : records) {
    if (r.core.mhz == 2000) r.core.midr = 0x410fd480;  // X2: as many pipes
  }
  auto rungs = regrets(records, registry_facts);
  EXPECT_TRUE(ratios(rungs, Rung::same_type).empty());
  EXPECT_EQ(ratios(rungs, Rung::same_pipes).size(), 3U);
  for (Record& r : records) {
    if (r.core.mhz == 2000) r.core.midr = 0x410fd490;  // N2: half as many
  }
  rungs = regrets(records, registry_facts);
  EXPECT_TRUE(ratios(rungs, Rung::same_pipes).empty());
  EXPECT_EQ(ratios(rungs, Rung::isa_default).size(), 3U);
}

TEST(Regret, CountsSettingsThatNoRungSets) {
  std::vector<Record> records = by_hand();
  records.resize(3);
  Record tuned = records[0];
  tuned.ran.prefetch += 64;
  tuned.ratio = {1.5, 1.49, 1.51, 20};
  tuned.baseline = records[1].baseline;
  records.push_back(tuned);
  auto rungs = regrets(records, registry_facts);
  EXPECT_EQ(ratios(rungs, Rung::model), Ratios{1.5});
  EXPECT_NE(regret_text(rungs).find("8x8 instead of other settings"), std::string::npos)
      << regret_text(rungs);
  // Rounds too few for an interval are not the best.
  records.back().ratio.rounds = 3;
  EXPECT_EQ(ratios(regrets(records, registry_facts), Rung::model), Ratios{1.25});
}

TEST(Regret, WhatFailedOrStandsAloneIsNoChoice) {
  std::vector<Record> records = by_hand();
  EXPECT_TRUE(ratios(regrets({records[0]}, registry_facts), Rung::model).empty());
  EXPECT_TRUE(ratios(regrets({records[1], records[2]}, registry_facts), Rung::model).empty());
  EXPECT_TRUE(ratios(regrets({}, registry_facts), Rung::model).empty());
  records.resize(3);
  records[1].outcome = Outcome::wrong;  // i8mm_4x8, the best
  EXPECT_EQ(ratios(regrets(records, registry_facts), Rung::model), Ratios{1});
}

}  // namespace
}  // namespace tw::tuner
