// Software pipelining of hot loops, by core model.
#pragma once

#include "ir/program.h"
#include "model/core.h"

namespace tw {

/// For cores that issue in order (the others look ahead by themselves): schedules the body of each
/// hot loop, and where that is faster moves its first loads, and what decodes them, into the
/// iteration before. The first iteration's share of them then stands before the loop and the rest
/// of the last iteration after it, both in loops that run once, or not at all when the loop's count
/// is 0, so that nothing is read that was not read before.
/// Uses all vector registers but `spare`, unless the Program needed more before.
/// By their models, the six kernels shipped for Cortex-A55 and A510 run 3 to 138 % faster than as
/// selected; of that, moving loads into the iteration before gives 0 to 19 %.
void pipeline(Program& program, const CoreModel& core, int spare = 0);

}  // namespace tw
