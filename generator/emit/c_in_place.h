// Which values are written inside the expression that uses them.
#pragma once

#include <vector>

#include "ir/program.h"

namespace tw {

/// Per value: its operation where that is written in place, else null. Every operation's result
/// must be used (drop_unused).
std::vector<const Op*> choose_in_place(const Program& program);

}  // namespace tw
