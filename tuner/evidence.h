// What records say of configurations, relative to one another.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tuner/record.h"

namespace tw::tuner {

/// A logarithm of a ratio and half of its 95 % interval.
struct Estimate {
  double log = 0, width = 0;
  [[nodiscard]] double low() const { return log - width; }
};

/// One configuration in one cell: a shape, its rows, a regime, on one kind of core.
struct Evidence {
  Configuration run;
  Estimate faster;  ///< than the cell's baseline
};

struct CellEvidence {
  double baseline_ns = 0;  ///< median over the records of the baseline; 0: there are none
  std::string baseline;    ///< its identity
  std::vector<Evidence> configurations;
};

/// Of records of one cell, all ok. Each configuration's ratios are combined by the widths of their
/// intervals, widened where they disagree.
CellEvidence cell_evidence(const std::vector<const Record*>& records);

/// Natural logarithm of each kernel's time relative to the best kernel's, mean over the cells that
/// have it; of every kernel its best configuration.
std::map<std::string, double> kernel_penalties(const std::vector<CellEvidence>& cells);

}  // namespace tw::tuner
