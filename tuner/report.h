// A page of HTML that shows what records say: who wins where, by how much and how sure that is.
#pragma once

#include <string>
#include <vector>

#include "tuner/record.h"
#include "tuner/regret.h"

namespace tw::tuner {

/// What such a page begins with.
inline constexpr const char* kReportHead = "<!DOCTYPE html><!-- Made by tilewright report -->";

/// Where records are from.
struct ReportSource {
  std::string name;
  size_t records = 0, bad = 0;  ///< lines
};

/// Needs nothing else: no network, no fonts, no scripts. A cell's winner is best_of() of its
/// evidence over all layouts, without kernels that failed on such a core. `rungs` are regrets() of
/// the records.
std::string report_page(const std::vector<Record>& records,
                        const std::vector<ReportSource>& sources,
                        const std::vector<RungRegret>& rungs);

}  // namespace tw::tuner
