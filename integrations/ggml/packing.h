// How a matrix of weights lies packed: n rows of k values, as ggml has them, in our panels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tilewright/tilewright.h"

namespace tw::ggml {

/// A type of ggml's that we have kernels for.
struct WeightType {
  int32_t number;  ///< TensorType
  const char* name;
  const char* family;
  size_t block;        ///< values that share a scale; 0: none
  size_t block_bytes;  ///< of one value where there are no blocks
  size_t code_bits;
  const char* source;  ///< as registry rows of packers name it
};
const WeightType* weight_type(int32_t number);  ///< null: not ours

size_t row_bytes(const WeightType& type, size_t k);

/// Where a panel's values lie, for one block of k; found out by packing numbers (unpack.cpp).
struct PanelMap {
  size_t depth = 0;   ///< values of k that it repeats after
  size_t stride = 0;  ///< bytes
  /// By row of the panel, then by value of the block: places of codes, counted in codes.
  std::vector<uint32_t> codes;
  std::vector<uint8_t> flips;    ///< what code 0 has become, for types with blocks
  std::vector<uint32_t> scales;  ///< by row: bytes
};

struct FreePlan {
  void operator()(tw_plan* plan) const { tw_plan_destroy(plan); }
};

/// Never changes after it was made.
struct Packing {
  const WeightType* type = nullptr;
  size_t n = 0, k = 0;
  std::unique_ptr<tw_plan, FreePlan> plan;
  const tw_packer* packer = nullptr;
  size_t vector_bytes = 0;  ///< of the machine, for layouts that depend on them
  size_t panel = 0;         ///< rows
  size_t panel_bytes = 0;
  size_t bytes = 0;  ///< of a matrix, a multiple of kAlignment
  PanelMap map;
};
inline constexpr size_t kAlignment = 64;

/// Kept for the life of the process. Null when nothing here runs such weights, or when weights
/// packed so could not be read back.
const Packing* find_packing(const WeightType& type, size_t n, size_t k);

/// Whether we would be faster than ggml: there are kernels for this CPU, and there is enough to do.
bool is_worth_it(const Packing& packing);

/// One panel from and to its rows, of which the last panel has fewer.
void pack_panel(const Packing& packing, size_t rows, const uint8_t* source, uint8_t* panel);
void unpack_panel(const Packing& packing, size_t rows, const uint8_t* panel, uint8_t* rows_out);

/// Sets packing.map. False if this layout can not be read back bit by bit.
bool find_map(Packing& packing);

/// `size` bytes from `offset` on of `matrices` matrices as ggml has them, packed one after the
/// other.
struct Span {
  size_t offset, size;
};
void set_span(const Packing& packing, size_t matrices, Span span, const void* data, void* packed);
void get_span(const Packing& packing, size_t matrices, Span span, const void* packed, void* data);

}  // namespace tw::ggml
