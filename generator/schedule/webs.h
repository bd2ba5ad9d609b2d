// Values that must share a register, gathered into webs: loop variables, tied operands, counters.
#pragma once

#include <bitset>
#include <stdexcept>
#include <vector>

#include "ir/program.h"
#include "schedule/liveness.h"

namespace tw {

/// A bit per register of a file.
using RegisterSet = std::bitset<most_registers>;

struct Web {
  int file = -1;  ///< index into Isa::files
  RegisterSet allowed;
  Intervals live;
  int group = -1;    ///< webs of a group have fixed distances between their registers ...
  int place = 0;     ///< ... and this is its distance from the group's first register
  bool hot = false;  ///< lives in a hot loop
};

struct Webs {
  std::vector<int> of;  ///< web of each value, -1 for values that are nowhere defined
  std::vector<Web> webs;
  std::vector<std::vector<int>> groups;
  Liveness live;
};

/// Is the row a plain copy of a register?
bool is_copy(const Row& row);

/// Gathers webs. Where values that must share a register live at the same time, or one value is
/// wanted in two places, inserts copies (or repeats the operation, where it has no arguments) until
/// there is no such place. Throws std::runtime_error when the ISA has no row that copies,
/// ScatteredOperands where copies do not help.
struct ScatteredOperands : std::runtime_error {
  using std::runtime_error::runtime_error;
};
Webs gather_webs(Program& program);

}  // namespace tw
