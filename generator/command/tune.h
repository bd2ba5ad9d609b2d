// What a tuning shows while it runs and at its end.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tw {

/// One line that is written over, where there is a terminal; a line for each tenth where not.
class Progress {
 public:
  /// budget: seconds; negative: unknown.
  explicit Progress(double budget);
  void show(double done, const std::string& text);
  void end();

 private:
  double start_, budget_;
  bool terminal_;
  int tenth_ = -1;
  size_t width_ = 0;
};

/// The choices of a job (events as docs/tuning.md has them) as a table, and the workload's time by
/// them against what the cost model alone would do.
std::string choice_table(const std::vector<nlohmann::json>& choices);

}  // namespace tw
