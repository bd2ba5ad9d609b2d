// Interprets a kernel's Program on a multiplication and compares with the reference.
#pragma once

#include <string>
#include <vector>

#include "ir/interpreter.h"
#include "model/variant.h"
#include "reference/matmul_reference.h"

namespace tw::test {

/// How the call is made; values do not depend on it.
struct CallOptions {
  VectorLength vl;
  bool bias_argument = false;  ///< bias comes as an argument, the packed one is not looked at
  int misalign = 0;            ///< bytes, of every operand
  uint64_t dst_padding = 0;    ///< bytes between rows of the output
  uint64_t prefetch = 0;       ///< tw_args::rhs_prefetch
  uint64_t flags = 0;          ///< tw_args::flags
  size_t chunk = 0;            ///< of rows that pointers tell: values of k of each pointer
};

/// A multiplication whose operands are packed and whose result is known: what takes longer than to
/// interpret a Program, so it is done once for all Programs that are run on it.
struct Call {
  Call(const Variant& variant, Codes codes, const CallOptions& options);
  const Variant* variant;
  Codes codes;
  CallOptions options;
  std::vector<uint8_t> lhs, rhs;
  std::vector<float> expected;
};

/// Runs it, on physical registers or not. Empty when all outputs are right to the bit and no other
/// byte was written, else what is wrong. `verified`: it has run before.
std::string run_and_compare(const Program& program, const Call& call, bool physical,
                            bool verified = false);

}  // namespace tw::test
