// List scheduling of a loop body for a core that issues in order.
#pragma once

#include "ir/program.h"
#include "model/core.h"

namespace tw {

/// Reorders the body (operations only) so that each instruction stands where it would not wait:
/// longest chain first among those that can issue. What uses a loop variable or a tied argument
/// comes before the instruction that overwrites its register, so that no copies are needed.
/// `limit`: vector registers that may be live at once inside the body, loop variables and values
/// from outside included, as far as the order can hold to it.
void list_schedule(const Program& program, Loop& loop, const CoreModel& core, int limit);

}  // namespace tw
