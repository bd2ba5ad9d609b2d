// The loops that do a compiled kernel's work, and the vectors that they keep on the stack.
#pragma once

#include "spill/disassembly.h"

namespace tw::spill {

/// Of all innermost loops with multiplications; `instructions` and `multiplies` are those of the
/// one with most multiplications.
struct HotLoops {
  int loops = 0;
  int instructions = 0;
  int multiplies = 0;
  int stores = 0;  ///< of vectors (and masks) to the stack
  int loads = 0;   ///< from there, memory operands of other instructions included
  [[nodiscard]] bool spills() const { return stores + loads > 0; }
};

/// Throws std::runtime_error when there is no such loop (so that nothing passes by not being
/// found) or one calls a function (which could spill unseen).
HotLoops examine(const std::vector<Instruction>& function);

}  // namespace tw::spill
