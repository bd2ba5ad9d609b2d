// A selected operation seen as the operations that its row means.
#pragma once

#include <string>
#include <vector>

#include "ir/operation_check.h"
#include "ir/program.h"

namespace tw {

/// Where an argument of a row's operation comes from.
struct RowArg {
  int operand = -1;  ///< index into Row::operands, or
  int node = -1;     ///< index of the earlier operation that makes it
};

/// One operation of a row's meaning with the row's immediates filled in.
struct RowStep {
  OperationUse use;
  ShortList<RowArg, 4> args;
  int result = -1;  ///< index into Row::operands; -1: an inner value, or none
};

/// The steps of `op`, which is an instruction row, in order. Throws std::invalid_argument with what
/// is wrong when operands or immediates of `op` do not fit its row.
std::vector<RowStep> row_steps(const Program& program, const Op& op);

/// The value of operand `index` (results first).
Value operand_value(const Op& op, size_t index);

}  // namespace tw
