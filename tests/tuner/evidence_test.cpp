// What records of one cell say together.
#include "tuner/evidence.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tuner/sample_record.h"

namespace tw::tuner::test::evidence_test {
namespace {

Record baseline() {
  Record record = sample_record();
  record.good = true;
  record.ran.kernel = "default";
  record.ratio = {};
  return record;
}

Record measured(const char* kernel, double median, double low, double high, size_t rounds = 40) {
  Record record = baseline();
  record.baseline = identity(record.ran);
  record.ran.kernel = kernel;
  record.ratio = {median, low, high, rounds};
  return record;
}

Record reading(uint64_t layout, Record record) {
  record.ran.layout = layout;
  return record;
}

CellEvidence cell_of(const std::vector<Record>& records) {
  std::vector<const Record*> all;
  for (const Record& r : records) all.push_back(&r);
  return cell_evidence(all);
}

std::string best(const std::vector<Record>& records) {
  const CellEvidence cell = cell_of(records);
  return best_of(cell, 0)->run.kernel;
}

// One lucky run does not decide, and narrow intervals weigh more than wide ones.
TEST(Evidence, RecordsOfOneConfigurationAreCombined) {
  const CellEvidence cell =
      cell_of({measured("a", 1.10, 1.09, 1.11), measured("a", 1.10, 1.09, 1.11),
               measured("a", 1.60, 1.00, 2.56)});
  ASSERT_EQ(cell.configurations.size(), 1U);
  EXPECT_NEAR(std::exp(cell.configurations[0].faster.log), 1.10, 0.001);
  EXPECT_EQ(cell.configurations[0].rounds, 40U);
  // Runs that disagree make it unsure.
  const CellEvidence unsure =
      cell_of({measured("b", 1.10, 1.09, 1.11), measured("b", 0.90, 0.89, 0.91)});
  EXPECT_LT(unsure.configurations[0].faster.low(), std::log(0.92));
  EXPECT_GT(unsure.configurations[0].faster.log + unsure.configurations[0].faster.width,
            std::log(1.08));
}

TEST(Evidence, CellsKeepApartWhatDoesNotCompare) {
  Record other_core = measured("a", 1, 1, 1);
  other_core.core.midr = 0x410fd050;
  Record streamed = measured("a", 1, 1, 1);
  streamed.regime = Regime::streamed;
  Record threads = measured("a", 1, 1, 1);
  threads.threads = 4;
  Record rows = measured("a", 1, 1, 1);
  rows.problem.m = 1;
  Record revision = measured("a", 1, 1, 1);
  revision.core.midr ^= 2;
  const std::vector<Record> all = {
      measured("a", 1, 1, 1), other_core, streamed, threads, rows, revision};
  EXPECT_EQ(cells_of(all).size(), 5U);
}

TEST(Evidence, OnlyRatiosToTheCommonBaselineCount) {
  Record unrelated = measured("unrelated", 9, 8.9, 9.1);
  unrelated.baseline = "0000000000000000";
  const Record a = measured("a", 1.1, 1.09, 1.11), b = measured("b", 1.2, 1.19, 1.21);
  EXPECT_EQ(best({unrelated, baseline(), a, b}), "b");
  // Nobody's order decides between baselines that were only measured alone.
  Record other = baseline();
  other.ran.prefetch += 64;
  EXPECT_EQ(cell_of({baseline(), other}).baseline, cell_of({other, baseline()}).baseline);
  EXPECT_EQ(cell_of({baseline(), other, other}).baseline, identity(other.ran));
}

TEST(Evidence, AnotherLayoutMustSurelyBeWorthIt) {
  const uint64_t own = baseline().ran.layout, other = 1;
  const auto against = [&](Record record) { return best({baseline(), reading(other, record)}); };
  EXPECT_EQ(against(measured("a", 1.05, 1.04, 1.06)), "a");
  EXPECT_EQ(against(measured("a", 1.008, 1.007, 1.009)), "default");  // sure, not worth it
  EXPECT_EQ(against(measured("a", 1.05, 1.005, 1.10)), "default");    // worth it, not sure
  EXPECT_EQ(against(measured("a", 1.9, 0.0019, 1900, 3)), "default");
  EXPECT_EQ(best({baseline(), reading(own, measured("a", 1.008, 1.007, 1.009))}), "a");
}

// Rows that are rare and were hardly measured do not keep a layout from winning the others.
TEST(Evidence, ARareNumberOfRowsDoesNotOutweighAllOthers) {
  std::map<uint64_t, TotalTime> totals;
  totals[1].add(1000, 1e-4);
  totals[1].add(20, 1e-4);
  totals[2].add(900, 0.01);
  totals[2].add(24, std::log(1000));
  EXPECT_EQ(best_layout(totals, 1), 2U);
  totals[2].add(200, std::log(1000));
  EXPECT_EQ(best_layout(totals, 1), 1U);
  EXPECT_EQ(best_layout({}, 1), 0U);
  EXPECT_EQ(best_layout(totals, 3), 1U);  // unknown: the least
}

}  // namespace
}  // namespace tw::tuner::test::evidence_test
