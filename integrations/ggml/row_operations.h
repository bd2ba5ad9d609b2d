// Operations that stand between products: where all of a graph is ours, its threads are called once
// and not again and again, by the host and by us in turns. Each is divided into units, like rows,
// that threads share.
#pragma once

#include <cstddef>

#include "integrations/ggml/ggml_abi.h"

namespace tw::ggml {

struct RowOperation {
  const char* name;  ///< ggml's
  bool (*covers)(const Tensor& op);
  size_t (*units)(const Tensor& op);
  /// Units from `begin` to `end`.
  void (*compute)(const Tensor& op, size_t begin, size_t end);
  /// Of what tensors hold; throws std::out_of_range. Null: anything is right.
  void (*check)(const Tensor& op) = nullptr;
};

/// Finds the host's numbers of them.
void find_row_operations(const char* (*name_of)(int32_t op));
/// Null: it is none of them, or not as they are covered.
const RowOperation* covering_row_operation(const Tensor& op);
/// Of a tensor that it covers.
Status compute_rows(const RowOperation& operation, const Tensor& op, int threads);

extern const RowOperation kRmsNorm, kAdd, kMultiply, kScale, kGlu, kRope, kSetRows, kGetFloats,
    kCopy, kContiguous;

}  // namespace tw::ggml
