// From an ordered Program to one with instructions and registers.
#pragma once

#include "ir/program.h"
#include "model/core.h"

namespace tw {

/// The Program after each stage.
struct Scheduled {
  Program selected;
  Program pipelined;
  Program allocated;
};

/// Selects, pipelines and allocates: with long register lists, pairs or single loads, whatever is
/// fastest by the core's model, the fewest instructions when equal. Where register lists or
/// pipelining take registers that are not there, does with shorter ones, or without; likewise with
/// constants of hot loops, which stand in front of them as far as registers go. Throws
/// AllocationError when nothing fits and std::runtime_error when the ISA lacks an instruction.
Scheduled schedule(const Program& ordered, const CoreModel& core, bool paired_loads = false);

}  // namespace tw
