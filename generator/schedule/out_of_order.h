// A core that issues out of order, as it goes through a loop again and again.
#pragma once

#include "ir/program.h"
#include "model/core.h"

namespace tw {

/// Cycles per iteration of a core whose window is known: instructions enter it in order, wait in it
/// for their arguments and for ports, the earliest first, and leave it in order.
double out_of_order_cycles(const Program& program, const Loop& loop, const CoreModel& core);

}  // namespace tw
