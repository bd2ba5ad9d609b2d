// Pointers that run through packed operands: made ready for post-indexed loads.
#pragma once

#include "ir/program.h"

namespace tw {

/// In hot loops where a pointer parameter is read by loads one after another and then moves on by a
/// constant, cuts its walk into steps that rows of the ISA can do: loads that are alike through one
/// pointer followed by the pointer's step, for the longest such row first, up to a gap.
/// Does nothing where the ISA has no such rows or others need the pointer later.
/// `only_neighbors`: joins no loads between which one through another pointer stands, so that
/// hardly any value is loaded earlier than before.
void chain_streams(Program& program, bool only_neighbors = false);

}  // namespace tw
