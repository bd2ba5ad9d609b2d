// Small drawings of a report: times relative to a baseline.
#pragma once

#include <string>
#include <vector>

#include "tuner/report_model.h"

namespace tw::tuner {

/// Time relative to the baseline's, 1 is the same, below is faster.
struct Relative {
  double time = 1, low = 1, high = 1;
  bool has_interval = false;
};
Relative relative(const ReportCandidate& candidate);

/// One scale for all rows of a table: times from `low` to `high`, what is outside is drawn at the
/// edge.
struct Scale {
  double low = 0.9, high = 1.1;
};
Scale scale_of(const std::vector<const ReportCandidate*>& candidates);

enum class Mark { winner, baseline, other };

/// The scale's numbers, for the head of a column of plots.
std::string plot_axis(const Scale& scale);
/// The dot and the interval of a candidate, with a line where the baseline is.
std::string plot(const Scale& scale, const ReportCandidate& candidate, Mark mark);

/// "96.2 %" and "95.0 to 97.4 %", "no interval" or "baseline".
std::string relative_text(const Relative& relative);
std::string interval_text(const ReportCandidate& candidate);

}  // namespace tw::tuner
