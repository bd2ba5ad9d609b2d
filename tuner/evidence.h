// What records say of configurations, relative to one another.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tuner/record.h"

namespace tw::tuner {

/// A logarithm of a ratio and half of its 95 % interval.
struct Estimate {
  double log = 0, width = 0;
  [[nodiscard]] double low() const { return log - width; }
};

inline constexpr size_t kLeastRounds = 6;  ///< of a 95 % interval; fewer have none
inline constexpr double kWorthIt = 0.01;   ///< of the time: what another layout must save

/// One configuration in one cell: a shape, its rows, a regime, on one kind of core.
struct Evidence {
  Configuration run;
  Estimate faster;    ///< than the cell's baseline
  size_t rounds = 0;  ///< of the record that has most; the baseline itself: 0
  size_t noisy = 0;   ///< of its records: those that are not good
};

struct CellEvidence {
  double baseline_ns = 0;  ///< median over the records of the baseline; 0: there are none
  std::string baseline;    ///< its identity
  std::vector<Evidence> configurations;
  [[nodiscard]] uint64_t baseline_layout() const;  ///< 0: the baseline has no record
};

/// Of some numbers of rows together, with one layout.
struct TotalTime {
  double ns = 0, variance = 0;
  /// `width`: half of the interval of the time's logarithm; 0: it is a prediction.
  void add(double some_ns, double width);
  [[nodiscard]] double surely() const;  ///< it takes no longer
};

/// Of layouts by their ids: the least time that is sure, but the plan's own layout (0: unknown)
/// unless another one is worth it. 0: there are none.
uint64_t best_layout(const std::map<uint64_t, TotalTime>& totals, uint64_t own);

/// Records of one kind of core, problem, regime and number of threads together, cells in the order
/// of their first records.
std::vector<std::vector<const Record*>> cells_of(const std::vector<Record>& records);

/// Kernels that crashed, took forever or computed wrong values on that kind of core, by hash.
std::set<uint64_t> failed_kernels(const std::vector<Record>& records, const std::string& core);

/// Of records of one cell, all ok. Each configuration's ratios are combined by the widths of their
/// intervals, widened where they disagree.
CellEvidence cell_evidence(const std::vector<const Record*>& records);

/// The best of those that read a layout (0: the best one): surely faster than the baseline, or the
/// baseline. Null when there is no record of the layout. Points into the cell.
const Evidence* best_of(const CellEvidence& cell, uint64_t layout);

}  // namespace tw::tuner
