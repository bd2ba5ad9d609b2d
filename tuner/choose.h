// What to run, from records: a pure function of the records, the device and what is wanted.
// docs/tuning.md has the rules.
#pragma once

#include <vector>

#include "tilewright/tilewright.h"
#include "tuner/rungs.h"
#include "tuner/wanted.h"

namespace tw::tuner {

/// For one number of rows.
struct RowsChoice {
  size_t m = 0;
  double calls = 0;
  Rung rung = Rung::model;
  Configuration run;       ///< Rung::model: its kernel is the plan's, nothing is set
  double ns = 0;           ///< of one call, as measured or as predicted
  double width = 0;        ///< half of the interval of its logarithm; 0: predicted
  double baseline_ns = 0;  ///< likewise of what the plan would do
};

struct Choice {
  uint64_t layout = 0;  ///< 0: nothing runs
  std::vector<RowsChoice> rows;
  /// Calls times nanoseconds over all rows.
  [[nodiscard]] double total_ns() const;
  [[nodiscard]] double baseline_ns() const;
};

/// `core` is the kind of the device's core that will run it. Records of kernels that this program
/// does not have in just that form, and of kernels that crashed or computed wrong values on such a
/// core, do not count. Throws std::runtime_error when the plan itself is refused.
Choice choose(const std::vector<Record>& records, const tw_device& device, const Core& core,
              const Wanted& wanted);

tw_decode decode_of(const Configuration& run);

/// For tw_matmul.settings; rows from 8 on stand for those nearest to them, fewer only for
/// themselves. Points into the choice.
std::vector<tw_setting> settings_of(const Choice& choice);

}  // namespace tw::tuner
