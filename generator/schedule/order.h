// Ordering for least register pressure; serves both printers.
#pragma once

#include "ir/program.h"

namespace tw {

/// Reorders operations within basic blocks that need more registers than exist, by
/// greedy list scheduling from both ends. Data and memory dependences hold. A block that fits,
/// or for which nothing better is found, keeps the order in which it came.
void order(Program& program);

}  // namespace tw
