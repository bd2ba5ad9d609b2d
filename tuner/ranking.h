// What records say of one problem on one kind of core: who is fastest, by how much, how sure that
// is.
#pragma once

#include <vector>

#include "tuner/record.h"

namespace tw::tuner {

/// One configuration against the ranking's baseline, from all its records.
struct Ranked {
  Configuration ran;
  Ratio ratio;  ///< rounds of all records; the baseline itself: 1 to 1
  size_t records = 0;
};

struct Ranking {
  Core core;
  Problem problem;
  Regime regime = Regime::streamed;
  size_t threads = 1;
  std::vector<Ranked> ranked;  ///< fastest first
  std::vector<Record> failed;  ///< outcome not ok
  size_t noisy = 0;            ///< records left out because they are not good
  size_t unrelated = 0;        ///< left out because they compare with another baseline
};

/// One for each kind of core, problem, regime and number of threads, in the order of their first
/// records. Times of different runs do not compare, so only ratios to one baseline count: the one
/// that most records have.
std::vector<Ranking> rank(const std::vector<Record>& records);

/// How much faster the first is than the second, which both must have been measured against the
/// baseline: the interval takes the two for independent, which is wider than what rounds of both
/// would give.
Ratio lead(const Ranked& first, const Ranked& second);

}  // namespace tw::tuner
