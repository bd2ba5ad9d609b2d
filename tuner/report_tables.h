// The tables of a report: of a problem, and of one cell's candidates.
#pragma once

#include <string>

#include "tuner/report_model.h"
#include "tuner/report_text.h"

namespace tw::tuner {

inline constexpr size_t kShown = 12;  ///< candidates of a cell

/// Who wins with each number of rows, by how much and how sure.
std::string choice_table(const ReportProblem& problem, const KernelNames& names,
                         const std::string& anchor);

/// Winners with weights from memory and in the caches beside each other; "" where only one of the
/// two was measured.
std::string regimes_table(const ReportProblem& problem, const KernelNames& names);

/// Speed of winners and baselines, and the limits.
std::string rates_table(const ReportProblem& problem);

/// The candidates of a cell, each with its interval.
std::string candidates_table(const ReportProblem& problem, const ReportCell& cell,
                             const KernelNames& names);

/// Name of a cell in links.
std::string cell_anchor(const std::string& problem, const ReportCell& cell);
const char* regime_text(Regime regime);

/// In a box that scrolls by itself where the page is too narrow.
std::string boxed(const std::string& label, const std::string& table);

}  // namespace tw::tuner
