// Register allocation. Vectors never spill: what does not fit is an error of the spec.
#pragma once

#include <stdexcept>

#include "ir/program.h"
#include "schedule/pressure.h"

namespace tw {

struct AllocationError : std::runtime_error {
  AllocationError(const std::string& message, const Pressure& sum)
      : std::runtime_error(message), pressure(sum) {}
  Pressure pressure;
};

/// Gives every value of a selected Program a physical register. Inserts copies where operands are
/// tied or loop variables meet, and parks scalars that hot loops do not touch in frame slots when
/// registers run out. Throws AllocationError with the sum of registers when it does not fit.
void allocate(Program& program);

}  // namespace tw
