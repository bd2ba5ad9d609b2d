// What of records is worth handing on.
#pragma once

#include <vector>

#include "tuner/record.h"

namespace tw::tuner {

/// Of each cell (problem, regime, threads, kind of core) what its choice rests on: one record of
/// the baseline, those of the best configuration of each layout, one of each kernel that failed.
/// Samples are left out. Cells in the order of their first records.
std::vector<Record> shortened(const std::vector<Record>& records);

}  // namespace tw::tuner
