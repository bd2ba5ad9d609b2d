// Whoever names a winner names the same one: choosing, reports (and with them `records best`), and
// what is shipped.
#include <gtest/gtest.h>

#include <random>

#include "choose/log.h"
#include "support/environment.h"
#include "tuner/report_model.h"
#include "tuner/winners.h"

namespace tw::tuner {
namespace {

using Random = std::mt19937;

double uniform(Random& random, double from, double to) {
  return std::uniform_real_distribution<double>(from, to)(random);
}

/// Near 1, so that many are unsure or not worth it; some of too few rounds to have an interval.
Ratio random_ratio(Random& random) {
  const double median = uniform(random, 0.93, 1.07);
  const bool few = random() % 4 == 0;
  const double width = few ? 999 : uniform(random, 0.001, 0.05);
  return {median, median / (1 + width), median * (1 + width), few ? size_t{3} : size_t{20}};
}

std::vector<Record> random_records(Random& random, const Log& log, const Configuration& planned) {
  Record baseline = log.blank(planned.kernel, 16);
  const std::string id = identity(baseline.ran);
  std::vector<Record> records(1 + random() % 2, baseline);
  const char* kernels[] = {"vnni_8x32",  "vnni_4x32",  "vnni_1x32",      "avx2_4x16",
                           "scalar_1x8", "scalar_2x8", "vnni_8x32_again"};
  for (size_t i = 2 + random() % 12; i-- > 0;) {
    Record record = log.blank(kernels[random() % std::size(kernels)], 16);
    record.ran.prefetch = 2048 * (random() % 3);
    if (identity(record.ran) == id) continue;
    record.ratio = random_ratio(random);
    record.baseline = id;
    record.good = random() % 8 != 0;
    for (size_t copies = 1 + random() % 3; copies-- > 0;) {
      record.ratio.median = uniform(random, record.ratio.low, record.ratio.high);
      records.push_back(record);
    }
  }
  if (random() % 4 == 0) {
    records.push_back(log.blank("vnni_4x32", 1));
    records.back().outcome = Outcome::crash;
  }
  std::shuffle(records.begin(), records.end(), random);
  return records;
}

TEST(Agreement, OfAllWhoNameAWinner) {
  const tw_device device = test::zen4();
  const Log log(device);
  const Wanted want = wanted({{16, 1}});
  const Configuration planned = choose({}, device, log.core, want).rows[0].run;
  constexpr size_t rounds = test::is_sanitized ? 60 : 300;
  Random random(7);
  size_t planned_wins = 0, other_layouts = 0;
  for (size_t i = 0; i < rounds; ++i) {
    const std::vector<Record> records = random_records(random, log, planned);
    const Choice choice = choose(records, device, log.core, want);
    const auto cores = report_model(records);
    ASSERT_EQ(cores.size(), 1U);
    ASSERT_EQ(cores[0].problems.at(0).cells.size(), 1U);
    const Configuration& reported = cores[0].problems[0].cells[0].candidates.at(0).evidence.run;
    ASSERT_EQ(identity(choice.rows[0].run), identity(reported))
        << i << ": " << choice.rows[0].run.kernel << ", " << reported.kernel;
    ASSERT_EQ(winners(records, {want}).at(0).choice.rows.at(0).run.kernel, reported.kernel) << i;
    planned_wins += reported.kernel == planned.kernel ? 1 : 0;
    other_layouts += reported.layout == planned.layout ? 0 : 1;
  }
  // All kinds of winners were among them.
  EXPECT_GT(planned_wins, rounds / 15);
  EXPECT_GT(other_layouts, rounds / 15);
  EXPECT_LT(planned_wins + other_layouts, rounds - rounds / 15);
}

}  // namespace
}  // namespace tw::tuner
