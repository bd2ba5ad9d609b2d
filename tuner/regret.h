// How good choosing is where it has no records of the very thing: for every cell, what each rung
// would choose without them, against the best that was measured there.
#pragma once

#include <string>
#include <vector>

#include "tuner/cost_model.h"

namespace tw::tuner {

/// In one cell.
struct Regret {
  double ratio = 1;    ///< time of what the rung chooses / least time of all
  std::string kernel;  ///< what it chooses ...
  std::string best;    ///< ... and what takes the least time
  Core core;
  Problem problem;
  Regime regime = Regime::streamed;
};

struct RungRegret {
  Rung rung = Rung::model;
  std::vector<Regret> cells;  ///< those in which the rung has something to go by
  [[nodiscard]] double median() const;
  [[nodiscard]] const Regret& worst() const;  ///< there must be a cell
};

/// Of the rungs from same_core on, each as if there were no others; of cells in which the baseline
/// and another kernel were measured. A rung knows nothing of the cell's matrix; those that are
/// about other cores know nothing of its core instead.
std::vector<RungRegret> regrets(const std::vector<Record>& records, const FactsOf& facts_of);

/// "n 2048, k 2048, 64 rows, streamed".
std::string cell_text(const Regret& regret);
/// A table for people.
std::string regret_text(const std::vector<RungRegret>& rungs);

}  // namespace tw::tuner
