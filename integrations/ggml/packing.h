// How a matrix of weights lies packed: n rows of k values, as ggml has them, in our panels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tilewright/tilewright.h"

namespace tw::ggml {

struct FlatForm;

/// A type of ggml's that we have kernels for.
struct WeightType {
  int32_t number;  ///< TensorType
  const char* name;
  const char* family;
  size_t block;        ///< values that share a scale; 0: none
  size_t block_bytes;  ///< of one value where there are no blocks
  tw_rhs_order order;
  const char* source;  ///< the order, as registry rows of packers name it
  /// Whether there are products of bf16 that lose less than ggml's own arithmetic, which rounds
  /// activations to 8 bits, or to bf16.
  bool rounds_well;
  size_t flat_bytes =
      0;  ///< of a block as packers read it, where that is flat (flat.h); 0: as ggml's
};
const WeightType* weight_type(int32_t number);  ///< null: not ours

size_t row_bytes(const WeightType& type, size_t k);

struct FreePlan {
  void operator()(tw_plan* plan) const { tw_plan_destroy(plan); }
};

/// Never changes after it was made.
struct Packing {
  const WeightType* type = nullptr;
  size_t n = 0, k = 0;
  std::unique_ptr<tw_plan, FreePlan> plan;
  /// Of products of bf16, by the same packed weights; null: there are none, or they lose too much.
  std::unique_ptr<tw_plan, FreePlan> rounded;
  const tw_packer* packer = nullptr;
  const FlatForm* flat = nullptr;  ///< of rows, if packers do not read ggml's
  size_t vector_bytes = 0;         ///< of the machine, for layouts that depend on them
  size_t panel = 0;                ///< rows
  size_t panel_bytes = 0;
  size_t bytes = 0;  ///< of a matrix, a multiple of kAlignment
};
inline constexpr size_t kAlignment = 64;

/// Kept for the life of the process. Null when nothing here runs such weights.
const Packing* find_packing(const WeightType& type, size_t n, size_t k);

/// Of the two plans the one that is faster for so many rows. `rounds`: activations may be of bf16.
const tw_plan* plan_for(const Packing& packing, size_t rows, bool rounds);

/// Whether we would be faster than ggml: there are kernels for this CPU, and there is enough to do.
bool is_worth_it(const Packing& packing);

/// `size` bytes from `offset` on of `matrices` matrices as ggml has them, packed one after the
/// other.
struct Span {
  size_t offset, size;
};
void set_span(const Packing& packing, size_t matrices, Span span, const void* data, void* packed);
void get_span(const Packing& packing, size_t matrices, Span span, const void* packed, void* data);

/// `count` rows of one packed matrix, as they were.
void unpack_rows(const Packing& packing, const void* matrix, size_t first, size_t count,
                 std::vector<uint8_t>& rows);

}  // namespace tw::ggml
