// What a call of multiply() is made of: products of whole rows by one matrix of weights, and copies
// of rows for inputs and outputs whose rows are not one regular step apart.
#pragma once

#include <vector>

#include "integrations/ggml/multiply.h"

namespace tw::ggml {

/// An address, or an offset in scratch memory, whose address is known only when all is planned.
struct Place {
  const void* base = nullptr;  ///< null: scratch memory
  size_t offset = 0;
  bool operator==(const Place& other) const { return base == other.base && offset == other.offset; }
};

/// `values` floats, `step` bytes apart in their source.
struct Copy {
  Place from, to;
  size_t step, values;
};

struct Product {
  const Packing* packing;
  const tw_plan* plan;  ///< one of its
  Place weights;
  size_t rows;
  Place input;
  size_t input_stride;
  Place output;
  size_t output_stride;
  Place lhs = {};                    ///< where the input is packed
  size_t lhs_bytes = 0, lhs_id = 0;  ///< 0 bytes: the kernels read the input itself
  bool packs_lhs = false;            ///< the first one of those that share it
  size_t scratch_bytes = 0;          ///< that each thread needs
};

/// Weights that are packed for this call only.
struct Loose {
  const Tensor* weights;
  const Packing* packing;
  Place packed;
};

/// In this order.
struct Work {
  std::vector<Loose> loose;
  std::vector<Copy> gather;
  std::vector<Product> products;
  std::vector<Copy> scatter;
  size_t scratch_bytes = 0;
};

/// Throws std::bad_alloc, or std::out_of_range for a number of an expert that is not there.
Work plan_work(const std::vector<Node>& nodes);

}  // namespace tw::ggml
