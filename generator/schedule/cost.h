// What one instruction costs on a core.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "model/core.h"

namespace tw {

/// The core's costs of a row's instructions, for the length of its vectors. Each waits for the one
/// before. Costs of nothing in particular where the core's table lacks the class.
std::vector<IssueClass> costs(const Isa& isa, const CoreModel& core, const Row& row);
/// An issue class of the ISA's rows that the core's table lacks; empty when there is none.
std::string missing_class(const CoreModel& core, const Isa& isa);
/// Of the instructions that end a loop: AssemblyRules::loop_end, a line each.
std::vector<IssueClass> loop_control(const Isa& isa, const CoreModel& core);

/// What of its usual clock a core keeps that multiplies so many vectors a cycle, as wide as its
/// table says, and loads so many beside them.
double clock_share(const CoreModel& core, double multiplies, double loads);

/// Cycles from argument `arg` of `op` to its result `result`: what comes with a memory operand
/// waits for the load, the rest does not; a pointer's step takes one cycle.
int latency(const Isa& isa, const CoreModel& core, const Op& op, size_t arg, size_t result);

/// Cycles until `result` is there, whatever it waits for.
int result_latency(const Isa& isa, const CoreModel& core, const Op& op, size_t result);

/// Cycles until the first and the last of a single instruction's results are written.
struct WriteLatency {
  int first = 0;
  int last = 0;
};
WriteLatency write_latency(const Isa& isa, const CoreModel& core, const Op& op);

}  // namespace tw
