// Workload -> a file that read_workload() reads.
#pragma once

#include <string>
#include <vector>

#include "model/workload.h"

namespace tw {

/// `remarks` become comments. Names and texts keep what a terminal shows of ASCII; names stay
/// distinct if they were so.
std::string workload_text(const Workload& workload, const std::vector<std::string>& remarks);

}  // namespace tw
