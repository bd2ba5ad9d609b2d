// Which kernels a workload needs on the devices that records are of: for a tree of sources with no
// more than those.
#pragma once

#include <string>
#include <vector>

#include "tuner/choose.h"

namespace tw::tuner {

struct Winner {
  std::string kernel;
  std::string why;  ///< "fastest on Cortex-X3 for 4 rows of 16384x2048, among others"
};

/// For each kind of core in the records and each matrix: of the layouts that were measured for all
/// rows of its mix, the one with the least time in all, and its best kernel for each number of
/// rows. Each kernel once, in the order of the records' cores. Rows without records are left out;
/// needs no registry.
std::vector<Winner> winners(const std::vector<Record>& records,
                            const std::vector<Wanted>& workload);

}  // namespace tw::tuner
