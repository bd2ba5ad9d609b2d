// What a kernel's hot loop is made of and what it costs on a core.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "emit/register_map.h"
#include "ir/program.h"
#include "model/core.h"
#include "schedule/simulate.h"

namespace tw {

/// Of the hot loop that does most work, with long blocks of the loop over these; counts are per
/// iteration.
struct Explanation {
  std::string kernel, isa, core, loop;
  std::string vectors;                           ///< how long they are, where the core says
  std::vector<std::pair<std::string, int>> mix;  ///< rows by mnemonic, most first
  int instructions = 0;                          ///< loop control included
  int64_t macs = 0;  ///< with vectors of 16 bytes, where their length is not fixed ...
  double times = 1;  ///< ... and so many times as many with those of the core
  double macs_per_instruction = 0;
  Bounds bounds;
  double cycles = 0;               ///< predicted
  double clock = 1;                ///< of the core's usual one, beside such work
  double macs_per_cycle = 0;       ///< of the usual clock
  double peak_macs_per_cycle = 0;  ///< of the multiply-accumulate instruction alone on this core
  double share_of_peak = 0;        ///< 0 to 1
  std::vector<std::pair<std::string, double>> ports;  ///< busy cycles of each port
  std::vector<RegisterUse> registers;                 ///< empty before allocation
};

/// `program` is selected, perhaps allocated. `block_trips`: of the hot loop in an iteration of the
/// loop over blocks around it, whose own instructions then count, too; 0: there is none. Throws
/// std::runtime_error if it has no hot loop.
Explanation explain(const Program& program, const CoreModel& core, int64_t block_trips = 0);

/// For people.
std::string to_text(const Explanation& explanation);

}  // namespace tw
