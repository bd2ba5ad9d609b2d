// What a report says of a kind of core as a whole, and of kernels.
#pragma once

#include <string>

#include "tuner/report_model.h"
#include "tuner/report_text.h"

namespace tw::tuner {

/// Devices, clock, caches, features, when, how many records.
std::string core_facts(const ReportCore& core);

/// Crashes, wrong values, time-outs; "" where there are none.
std::string failures_table(const ReportCore& core, const KernelNames& names);

/// Full names of all kernels, and how often they win.
std::string kernels_table(const std::vector<ReportCore>& cores);

}  // namespace tw::tuner
