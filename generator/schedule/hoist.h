// Constant vectors that hot loops would make anew in every iteration.
#pragma once

#include "ir/program.h"

namespace tw {

/// Moves at most `most` of each loop in front of it, equal ones as one: fewer instructions for
/// registers that are then taken throughout. Returns how many the loop with most of them had.
int hoist_constants(Program& program, int most);

}  // namespace tw
