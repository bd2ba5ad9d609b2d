// A workload as the tuner wants it.
#pragma once

#include <vector>

#include "model/workload.h"
#include "tuner/job.h"

namespace tw {

/// Layers of one shape are one matmul that counts as often.
std::vector<tuner::JobMatmul> job_matmuls(const Workload& workload);

}  // namespace tw
