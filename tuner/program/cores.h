// Which cores measure.
#pragma once

#include <vector>

#include "tilewright/tilewright.h"

namespace tw::tuner {

/// One of each cluster that may be used, of the fastest first: the last one. `asked` from 0 on:
/// that one only. `allowed` is ascending. Throws std::runtime_error when `asked` may not be used.
std::vector<int> cores_to_tune(const tw_device& device, const std::vector<int>& allowed, int asked);

/// For the threads beside the one on `core`: cores of its cluster, then others, the last ones
/// first. Throws std::runtime_error when there are not enough.
std::vector<int> helpers_of(const tw_device& device, const std::vector<int>& allowed, int core,
                            size_t threads);

}  // namespace tw::tuner
