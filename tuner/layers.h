// Records that ship with the project, below those of a user.
#pragma once

#include <vector>

#include "tuner/record.h"

namespace tw::tuner {

/// All of `own`, and of `shipped` what is of cells that `own` has nothing of: a cell is a problem,
/// its regime and threads on one kind of core.
std::vector<Record> layered(const std::vector<Record>& own, const std::vector<Record>& shipped);

/// Of `shipped` what is about kinds of cores that `own` has records of.
std::vector<Record> of_same_cores(const std::vector<Record>& own,
                                  const std::vector<Record>& shipped);

}  // namespace tw::tuner
