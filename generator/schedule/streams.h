// Pointers that run through packed operands: made ready for post-indexed loads.
#pragma once

#include "ir/program.h"

namespace tw {

/// In hot loops where a pointer parameter is read by loads that are alike, one after another, and
/// then moves on by a constant, cuts its walk into steps that rows of the ISA can do: loads through
/// one pointer followed by the pointer's step, for the longest such row first.
/// Does nothing where the ISA has no such rows, the walk has gaps or others need the pointer later.
/// `only_neighbors`: joins no loads between which one through another pointer stands, so that
/// hardly any value is loaded earlier than before.
void chain_streams(Program& program, bool only_neighbors = false);

}  // namespace tw
