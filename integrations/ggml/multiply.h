// GGML_OP_MUL_MAT and GGML_OP_MUL_MAT_ID.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "integrations/ggml/ggml_abi.h"
#include "integrations/ggml/packing.h"

namespace tw::ggml {

/// One of the two operations; `ids` is null for MUL_MAT.
struct Node {
  const Tensor *weights, *input, *ids, *output;
};

/// Shapes and types that multiply() computes; where the weights lie is another matter.
bool can_multiply(const Node& node);

/// Memory that is kept from one call to the next.
struct Scratch {
  struct Free {
    void operator()(uint8_t* at) const;
  };
  /// To so many bytes at least; what was there is lost. Throws std::bad_alloc.
  void grow(size_t wanted);
  std::unique_ptr<uint8_t, Free> memory;
  size_t bytes = 0;
};

/// Nodes of one input, in parallel. Weights that are not packed (`extra` is null) are packed for
/// this once, as tests need it.
Status multiply(const std::vector<Node>& nodes, int threads, Scratch& scratch);

}  // namespace tw::ggml
