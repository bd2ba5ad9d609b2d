// Depthwise convolutions through the run-time API, or line by line through a kernel of a plan.
#pragma once

#include <string>
#include <vector>

#include "reference/depthwise_reference.h"
#include "support/guarded_buffer.h"
#include "tilewright/depthwise.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {

struct DepthwiseOptions {
  const char* isa = "";          ///< the device is limited to it
  const char* kernel = nullptr;  ///< a row's name
  tw_rhs_order order = TW_KXN;   ///< of the weights
  Flush flush = Flush::end;      ///< of operands and their guard pages
  size_t gap = 0;                ///< bytes between pixels, of inputs and outputs
  bool bias_argument = false;    ///< floats: the packed one is another
  bool checked = false;          ///< the kernel is called by itself, its registers are looked at
};

/// Rows whose features this machine has.
std::vector<const tw_depthwise_kernel*> running_depthwise_kernels();
/// "f32", "f16" or "i8".
std::string type_of(const tw_depthwise_kernel& row);

/// The outputs' bytes, without gaps. Operands lie beside guard pages; throws where bytes of gaps or
/// beside operands change, and what the kernel does to its caller.
std::vector<uint8_t> run_depthwise(const Depthwise& in, const DepthwiseOptions& options);

}  // namespace tw::test
