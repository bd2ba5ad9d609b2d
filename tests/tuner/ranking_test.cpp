#include "tuner/ranking.h"

#include <gtest/gtest.h>

#include "tuner/sample_record.h"

namespace tw::tuner::test {
namespace {

Record measured(const char* kernel, double median, double low, double high) {
  Record record = sample_record();
  record.good = true;
  record.ran.kernel = kernel;
  record.ratio = {median, low, high, 40};
  Configuration baseline = record.ran;
  baseline.kernel = "default";
  record.baseline = identity(baseline);
  return record;
}

Record baseline() {
  Record record = measured("default", 1, 1, 1);
  record.ratio = {};
  return record;
}

TEST(Ranking, FastestFirstWithItsLead) {
  const auto rankings =
      rank({baseline(), measured("fast", 1.2, 1.18, 1.22), measured("slow", 0.8, 0.79, 0.81),
            measured("good", 1.1, 1.09, 1.11)});
  ASSERT_EQ(rankings.size(), 1U);
  const auto& ranked = rankings[0].ranked;
  ASSERT_EQ(ranked.size(), 4U);
  EXPECT_EQ(ranked[0].ran.kernel, "fast");
  EXPECT_EQ(ranked[1].ran.kernel, "good");
  EXPECT_EQ(ranked[2].ran.kernel, "default");
  EXPECT_EQ(ranked[3].ran.kernel, "slow");
  const Ratio ahead = lead(ranked[0], ranked[1]);
  EXPECT_NEAR(ahead.median, 1.2 / 1.1, 1e-9);
  EXPECT_GT(ahead.low, 1.06);
  EXPECT_LT(ahead.high, 1.12);
  EXPECT_EQ(ahead.rounds, 40U);
  const Ratio over_baseline = lead(ranked[1], ranked[2]);
  EXPECT_NEAR(over_baseline.low, 1.09, 1e-3);
  EXPECT_EQ(over_baseline.rounds, 40U);
}

TEST(Ranking, WideIntervalsAreNotSure) {
  const auto rankings = rank({measured("a", 1.02, 0.98, 1.06), measured("b", 1.0, 0.97, 1.03)});
  const Ratio ahead = lead(rankings[0].ranked[0], rankings[0].ranked[1]);
  EXPECT_GT(ahead.median, 1);
  EXPECT_LT(ahead.low, 1);
}

// One lucky run does not decide, and narrow intervals weigh more than wide ones.
TEST(Ranking, RecordsOfOneConfigurationAreCombined) {
  const auto rankings = rank({measured("a", 1.10, 1.09, 1.11), measured("a", 1.10, 1.09, 1.11),
                              measured("a", 1.60, 1.00, 2.56)});
  const Ranked& a = rankings[0].ranked[0];
  EXPECT_EQ(a.records, 3U);
  EXPECT_EQ(a.ratio.rounds, 120U);
  EXPECT_NEAR(a.ratio.median, 1.10, 0.001);
  // Runs that disagree make it unsure.
  const auto unsure = rank({measured("b", 1.10, 1.09, 1.11), measured("b", 0.90, 0.89, 0.91)});
  EXPECT_LT(unsure[0].ranked[0].ratio.low, 0.92);
  EXPECT_GT(unsure[0].ranked[0].ratio.high, 1.08);
}

TEST(Ranking, KeepsApartWhatDoesNotCompare) {
  Record other_core = measured("a", 1, 1, 1);
  other_core.core.midr = 0x410fd050;
  Record hot = measured("a", 1, 1, 1);
  hot.regime = Regime::streamed;
  Record threads = measured("a", 1, 1, 1);
  threads.threads = 4;
  Record rows = measured("a", 1, 1, 1);
  rows.problem.m = 1;
  Record revision = measured("a", 1, 1, 1);
  revision.core.midr ^= 2;
  EXPECT_EQ(rank({measured("a", 1, 1, 1), other_core, hot, threads, rows, revision}).size(), 5U);
}

TEST(Ranking, LeavesOutWhatProvesNothing) {
  Record noisy = measured("noisy", 9, 9, 9);
  noisy.good = false;
  Record unrelated = measured("unrelated", 9, 9, 9);
  unrelated.baseline = "0000000000000000";
  Record crash = measured("crash", 9, 9, 9);
  crash.outcome = Outcome::crash;
  crash.detail = "SIGILL";
  const auto rankings = rank({noisy, unrelated, crash, baseline(), measured("a", 1.1, 1.1, 1.1)});
  ASSERT_EQ(rankings.size(), 1U);
  ASSERT_EQ(rankings[0].ranked.size(), 2U);
  EXPECT_EQ(rankings[0].ranked[0].ran.kernel, "a");
  EXPECT_EQ(rankings[0].noisy, 1U);
  EXPECT_EQ(rankings[0].unrelated, 1U);
  ASSERT_EQ(rankings[0].failed.size(), 1U);
  EXPECT_EQ(rankings[0].failed[0].detail, "SIGILL");
  EXPECT_TRUE(rank({crash})[0].ranked.empty());
  EXPECT_TRUE(rank({}).empty());
}

}  // namespace
}  // namespace tw::tuner::test
