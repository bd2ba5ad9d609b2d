// What a loop body costs on a core.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "model/core.h"

namespace tw {

/// The core's costs of an instruction; of nothing in particular when its table lacks the class.
const IssueClass& issue_class(const CoreModel& core, const std::string& name);
/// Classes of the instructions that end a loop: AssemblyRules::loop_end, a line each.
std::vector<const IssueClass*> loop_control(const Isa& isa, const CoreModel& core);

/// Cycles from argument `arg` of `op` to its result `result`: what comes with a memory operand
/// waits for the load, the rest does not; a pointer's step takes one cycle.
int latency(const Isa& isa, const CoreModel& core, const Op& op, size_t arg, size_t result);

/// Cycles until `result` is there, whatever it waits for.
int result_latency(const Isa& isa, const CoreModel& core, const Op& op, size_t result);

/// Cycles until the first and the last of an operation's results are written.
struct WriteLatency {
  int first = 0;
  int last = 0;
};
WriteLatency write_latency(const Isa& isa, const CoreModel& core, const Op& op);

/// Lower bounds on the cycles of one iteration.
struct Bounds {
  double ports = 0;               ///< micro-operations over the ports that can take them
  double dispatch = 0;            ///< instructions over the core's width
  double latency = 0;             ///< the longest chain through loop variables
  std::vector<double> port_load;  ///< cycles each port is busy when the work is spread evenly
};
Bounds bounds(const Program& program, const Loop& loop, const CoreModel& core);

/// The smallest number of cycles in which they all fit on the ports.
double port_cycles(const std::vector<const IssueClass*>& classes);

/// Cycles per iteration in the steady state. In-order cores are simulated, instruction by
/// instruction; for the others it is the largest bound.
double cycles_per_iteration(const Program& program, const Loop& loop, const CoreModel& core);

}  // namespace tw
