// Fewer records, the same choices.
#include "tuner/shorten.h"

#include <gtest/gtest.h>

#include "tuner/evidence.h"
#include "tuner/sample_record.h"

namespace tw::tuner {
namespace {

Record of(const char* kernel, size_t m, double ratio) {
  Record record = tuner::test::sample_record();
  record.ran.kernel = kernel;
  record.problem.m = m;
  Configuration baseline = record.ran;
  baseline.kernel = "baseline";
  record.baseline = identity(baseline);
  record.ratio = {ratio, ratio * 0.99, ratio * 1.01, 20};
  if (record.ran.kernel == "baseline") record.ratio = {};
  return record;
}

std::vector<std::string> names(const std::vector<Record>& records) {
  std::vector<std::string> found;
  for (const Record& r : records) {
    found.push_back(r.ran.kernel + " " + std::to_string(r.problem.m));
    EXPECT_TRUE(r.ns.samples.empty());
    EXPECT_NO_THROW(to_line(r));
  }
  return found;
}

using Names = std::vector<std::string>;

TEST(Shorten, KeepsWhatTheChoiceRestsOn) {
  Record crash = of("crashes", 4, 1);
  crash.outcome = Outcome::crash;
  Record other_layout = of("other layout", 4, 1.1);
  other_layout.ran.layout = 1;
  const std::vector<Record> records = {
      of("fast", 4, 1.5),  of("slow", 4, 0.7),   crash,
      of("next", 4, 1.2),  of("baseline", 4, 1), of("slow", 8, 0.9),
      of("fast", 4, 1.49), of("baseline", 4, 1), crash,
      other_layout,        of("baseline", 8, 1), of("slower", 8, 0.8)};
  const std::vector<Record> kept = shortened(records);
  EXPECT_EQ(names(kept),
            (Names{"crashes 4", "fast 4", "baseline 4", "fast 4", "other layout 4", "baseline 8"}));
  EXPECT_EQ(names(shortened(kept)), names(kept));
  // All good and of the same baseline: the winner is who it was.
  for (const auto& cell : cells_of(kept)) {
    std::vector<const Record*> measured;
    for (const Record* r : cell) {
      if (r->outcome == Outcome::ok) measured.push_back(r);
    }
    const CellEvidence evidence = cell_evidence(measured);
    EXPECT_EQ(best_of(evidence, 0)->run.kernel, cell[0]->problem.m == 4 ? "fast" : "baseline");
  }
}

}  // namespace
}  // namespace tw::tuner
