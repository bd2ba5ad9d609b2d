// The loops of a disassembled function.
#pragma once

#include <vector>

#include "spill/disassembly.h"

namespace tw::spill {

/// Indices of instructions, ascending.
using Loop = std::vector<size_t>;

/// Natural loops: what can reach a branch back to a block without leaving what that block
/// dominates. Loops with one head are one. Where a compiler put the blocks does not matter.
/// Throws std::runtime_error at a jump whose target is not in the function's text.
std::vector<Loop> find_loops(const std::vector<Instruction>& function);

bool is_call(const Instruction& instruction);

}  // namespace tw::spill
