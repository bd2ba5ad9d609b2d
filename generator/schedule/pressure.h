// How many registers a Program needs at once.
#pragma once

#include <string>

#include "ir/program.h"

namespace tw {

/// Vector registers where most values live at once, by why they exist.
struct Pressure {
  int most = 0;
  int accumulators = 0;
  int operands = 0;
  int masks = 0;
  int other = 0;      ///< most = accumulators + operands + masks + other
  int available = 0;  ///< registers of that file
};

/// An argument that dies where a result is born shares its register with it, as do a loop's
/// parameter and what the loop yields for it.
Pressure pressure(const Program& program, Kind kind);
Pressure vector_pressure(const Program& program);

/// "needs 41 vector registers on neon_i8mm (32 accumulators + 8 operands + 1 mask), 32 exist"
std::string sum(const Pressure& pressure, const std::string& isa,
                const std::string& kind = "vector");

}  // namespace tw
