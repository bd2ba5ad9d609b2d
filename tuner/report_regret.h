// What a report says of choosing itself: how much is lost where there are no records.
#pragma once

#include <string>

#include "tuner/regret.h"
#include "tuner/report_text.h"

namespace tw::tuner {

/// "" where no cell has anything to choose.
std::string regret_section(const std::vector<RungRegret>& rungs, const KernelNames& names);

}  // namespace tw::tuner
