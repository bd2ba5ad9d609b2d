// What a loop body costs on a core.
#pragma once

#include <vector>

#include "ir/program.h"
#include "model/core.h"
#include "schedule/cost.h"

namespace tw {

/// The hot loop that does most work, null if there is none.
const Loop* hottest_loop(const Program& program);
/// The loop whose body that loop stands in, null if there is none.
const Loop* loop_around(const Program& program, const Loop& loop);

/// Lower bounds on the cycles of one iteration.
struct Bounds {
  double ports = 0;               ///< cycles of ports over the ports that can give them
  double dispatch = 0;            ///< micro-operations over the core's width
  double latency = 0;             ///< the longest chain through loop variables
  std::vector<double> port_load;  ///< cycles each port is busy when the work is spread evenly
};
Bounds bounds(const Program& program, const Loop& loop, const CoreModel& core);

/// The smallest number of cycles in which they all fit on the ports.
double port_cycles(const std::vector<IssueClass>& all);

/// Cycles per iteration in the steady state. In-order cores are simulated, instruction by
/// instruction, and so are the others if the size of their window is known; else it is the largest
/// bound.
double cycles_per_iteration(const Program& program, const Loop& loop, const CoreModel& core);

}  // namespace tw
