// Register allocation. Vectors never spill: what does not fit is an error of the spec.
#pragma once

#include <optional>
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
/// tied or loop variables meet, and spills scalars that hot loops do not touch to frame slots when
/// registers run out. Returns the error, with the sum of registers, when it does not fit.
[[nodiscard]] std::optional<AllocationError> try_allocate(Program& program);
/// The same, but throws the error.
void allocate(Program& program);

}  // namespace tw
