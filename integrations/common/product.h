// Rows of activations times packed weights, in parallel.
#pragma once

#include <cstdint>

#include "integrations/common/packed_weights.h"

namespace tw {

/// Grows to what the largest product needs.
class Scratch {
 public:
  uint8_t* of(size_t bytes);

 private:
  AlignedMemory memory_;
  size_t bytes_ = 0;
};

/// `lhs` and `args` as the run time wants them, but for packed operands and scratch memory.
struct Product {
  const PackedWeights& weights;
  tw_lhs_source lhs;
  tw_run_args args;
};

/// Throws tilewright::Error or std::bad_alloc.
void run_product(const Product& product, Threads threads, Scratch& scratch);

}  // namespace tw
