// A small kernel in plain C++ with packers of its own, and the same kernel with one fault at a
// time: what the harness must catch.
#pragma once

#include <vector>

#include "kernels/harness.h"

namespace tw::test {

enum class Fault {
  none,
  wrong_value,      ///< one product of the last k step is missing
  one_sided_clamp,  ///< the lower bound is forgotten
  ignored_bias,     ///< args->bias is not looked at
  write_past_n,     ///< one value right of the portion, in every row
  write_past_dst,   ///< the same below the last row: past the end of the buffer
  write_before_dst,
  tail_row,  ///< the last row of an odd number is dropped
  read_past_lhs,
  read_past_rhs,
  read_past_bias,
  changed_operand,     ///< writes into its packed rhs
  clobbered_register,  ///< a callee-saved general register
  clobbered_state,     ///< a callee-saved vector register or the rounding mode
  clobbered_stack      ///< the stack pointer
};

/// The row of the kernel with that fault.
tw_kernel wrong_kernel(Fault fault);
Packers wrong_kernel_packers();

}  // namespace tw::test
