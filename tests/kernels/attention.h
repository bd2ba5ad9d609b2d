// Attention through the run-time API, operands beside guard pages.
#pragma once

#include <string>
#include <vector>

#include "reference/attention_reference.h"
#include "support/guarded_buffer.h"
#include "tilewright/attention.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {

struct AttentionOptions {
  const char* isa = "";           ///< the device is limited to it
  const char* printer = nullptr;  ///< only kernels of this one
  Flush flush = Flush::end;       ///< of operands and their guard pages
  size_t gap = 0;                 ///< bytes between heads, and between rows of all heads
  bool heads_first = false;       ///< a head's rows stand together, instead of a row's heads
  size_t threads = 1;
};

/// Rows whose features this machine has.
std::vector<const tw_attention_kernel*> running_attention_kernels();

/// ISAs that a plan for these heads can be limited to, and gets kernels of.
std::vector<std::string> attention_isas(size_t key_size, size_t value_size);

/// [queries][heads][value_size]. Throws where bytes of gaps or beside operands change.
std::vector<float> run_attention(const Attention& in, const AttentionOptions& options);

/// Empty, or which output is how far off.
std::string compare_attention(const Attention& in, const std::vector<float>& found);

}  // namespace tw::test
