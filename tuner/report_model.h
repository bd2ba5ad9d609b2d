// What a report shows, put in order: cores, their problems, cells of them, candidates of those.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tuner/evidence.h"

namespace tw::tuner {

/// What a core can do at most, as measured. 0: unknown.
struct Limits {
  double peak_gmacs = 0, read_gbs = 0;
  size_t rhs_bytes = 0;  ///< that one multiplication reads
};

/// The least time that the limits allow. 0: unknown.
struct LeastTime {
  double ns = 0;
  bool memory = false;  ///< it is the memory's, else the arithmetic's
};

/// A configuration in a cell.
struct ReportCandidate {
  Evidence evidence;
  double ns = 0;  ///< the baseline's time and the ratio to it; 0: the baseline has no record
  Limits limits;
  LeastTime least;
  [[nodiscard]] bool has_interval() const;
};

/// One number of rows in one regime: candidates, best first.
struct ReportCell {
  size_t m = 0;
  Regime regime = Regime::streamed;
  double macs = 0;
  std::vector<ReportCandidate> candidates;  ///< the winner, those with an interval, the others
  size_t baseline = SIZE_MAX;               ///< index of a candidate; SIZE_MAX: it has no record
  /// Without the baseline's time nothing is chosen.
  [[nodiscard]] bool has_choice() const { return baseline != SIZE_MAX; }
  size_t left_out = 0;  ///< records of kernels that failed, or that compare with another baseline
  /// Of the candidates but the winner, the best with an interval. Null: there is none.
  [[nodiscard]] const ReportCandidate* next() const;
};

struct ReportProblem {
  Problem problem;  ///< its m is that of some cell
  size_t threads = 1;
  std::vector<ReportCell> cells;  ///< by rows, streamed before hot; each has a candidate
};

struct ReportCore {
  Core core;
  std::vector<const Record*> records;
  std::vector<const Record*> failures;
  std::vector<ReportProblem> problems;
  std::map<std::string, double> peaks;  ///< by ISA, 1e9 multiply-adds a second
  double read_gbs = 0;
};

/// Cores and problems in the order of their first records. Points into the records.
std::vector<ReportCore> report_model(const std::vector<Record>& records);

/// Time of `other` / time of `than`: the interval takes the two for independent, except where one
/// is the baseline.
Estimate slower(const ReportCandidate& other, const ReportCandidate& than);

/// Rounds prove no difference.
bool is_tie(const Estimate& difference);

}  // namespace tw::tuner
