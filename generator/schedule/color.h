// Registers for webs: interference coloring, register lists first.
#pragma once

#include <vector>

#include "schedule/webs.h"

namespace tw {

struct Coloring {
  std::vector<int> registers;  ///< per web: index into its file, -1 for webs of other files
  int failed = -1;             ///< a web that found no register; -1: all did
};

/// Colors the webs of one register file. Tries several orders; registers that a kernel need not
/// save are taken first.
Coloring color(const Webs& webs, const Isa& isa, int file);

}  // namespace tw
