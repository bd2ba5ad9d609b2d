// A core's limits and how near to them its winners are, as a drawing.
#pragma once

#include <string>

#include "tuner/report_model.h"

namespace tw::tuner {

/// Multiply-adds a byte of weights to the right, multiply-adds a second upward, both logarithmic.
/// A sentence where the records have no limits.
std::string roofline(const ReportCore& core);

}  // namespace tw::tuner
