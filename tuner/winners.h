// What is fastest for a workload on the devices that records are of: for a tree of sources with no
// more kernels than those, and for the settings that it ships with.
#pragma once

#include <vector>

#include "tuner/choose.h"

namespace tw::tuner {

/// One matrix on one kind of core.
struct Winner {
  Core core;
  Wanted wanted;  ///< threads: those of the records
  Choice choice;  ///< of the rows that have records; all of them exact, and of one layout
};

/// For each kind of core and number of threads in the records and each matrix: of the layouts that
/// were measured for all rows of its mix, the one with the least time in all, and its best
/// configuration for each number of rows. In the order of the records' cores. Matrices without
/// records are left out; needs no registry.
std::vector<Winner> winners(const std::vector<Record>& records,
                            const std::vector<Wanted>& workload);

}  // namespace tw::tuner
