// Whether one operation is used as its line in the operation list says.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace tw {

/// An operation without the values: what a plain Op and a node of a row's meaning have in common.
struct OperationUse {
  OpCode code{};
  int bits = 0;
  Length offset;
  int64_t imm = 0;
  Types args;
  ShortList<Type, 1> results;
};

/// Empty, or what is wrong: "the lane width is 24 bits, must be 8, 16, 32 or 64".
std::string check_operation(const OperationUse& use, int frame_slots);

}  // namespace tw
