// Interprets a kernel's Program on a multiplication and compares with the reference.
#pragma once

#include <string>

#include "ir/interpreter.h"
#include "model/variant.h"
#include "reference/matmul_reference.h"

namespace tw::test {

/// How the call is made; values do not depend on it.
struct CallOptions {
  VectorLength vl;
  bool physical = false;       ///< on physical registers
  bool bias_argument = false;  ///< bias comes as an argument, the packed one is not looked at
  int misalign = 0;            ///< bytes, of every operand
  uint64_t dst_padding = 0;    ///< bytes between rows of the output
  uint64_t prefetch = 0;       ///< tw_args::rhs_prefetch
};

/// Empty when all outputs are right to the bit and no other byte was written, else what is wrong.
std::string run_and_compare(const Program& program, const Variant& variant, const Codes& codes,
                            const CallOptions& options);

}  // namespace tw::test
