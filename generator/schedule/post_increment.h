// Post-increment addressing: loads and the step of their pointer in one row.
#pragma once

#include "ir/program.h"

namespace tw {

/// For hot loops in which loads read through a pointer that then steps by a constant. Divides that
/// step into those of the ISA's rows that load and step: equal loads through one pointer, followed
/// by its step, the longest row first, up to a gap. Selection then finds these rows.
/// Does nothing where the ISA has no such rows or others need the pointer later.
/// `only_neighbors`: joins no loads between which one through another pointer stands, so that
/// hardly any value is loaded earlier than before. Returns whether it joined any.
bool chain_post_increments(Program& program, bool only_neighbors = false);

}  // namespace tw
