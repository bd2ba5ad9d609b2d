// Spills scalars to slots of the function's frame while others need the registers.
#pragma once

#include "ir/program.h"
#include "schedule/liveness.h"

namespace tw {

/// Spills one scalar that lives at `position` without being needed there to a frame slot: it is
/// stored after its definition and loaded before each use. Takes the one that is not needed for
/// longest, none that a hot loop touches. False when there is none.
bool spill_scalar(Program& program, const Liveness& live, int position);

}  // namespace tw
