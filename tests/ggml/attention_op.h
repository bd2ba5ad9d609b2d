// GGML_OP_FLASH_ATTN_EXT as llama.cpp makes it, with random contents, and what it must give.
#pragma once

#include <vector>

#include "ggml/tensors.h"
#include "reference/attention_reference.h"

namespace tw::ggml {

struct AttentionShape {
  size_t queries = 1, positions = 1;
  size_t heads = 1, kv_heads = 1;
  size_t key_size = 32, value_size = 32;
  int32_t key_type = type_f16, value_type = type_f16;
  size_t batches = 1, kv_batches = 1;
  size_t mask_batches = 1;  ///< 0: no mask
  size_t mask_heads = 1;
  bool has_sinks = false;
  float softcap = 0, max_bias = 0;
};

/// Q, K and V are views of rows that hold all heads, as of a cache; masks have more rows than there
/// are queries, of NaNs. Outputs are NaNs, too.
class AttentionOp {
 public:
  explicit AttentionOp(const AttentionShape& shape);
  AttentionOp(const AttentionOp&) = delete;

  /// Where an output is not what it should be; empty: nowhere.
  [[nodiscard]] std::string wrong() const;

  Tensor op;
  OwnTensor q, k, v, mask, sinks, output;

 private:
  void fill();

  AttentionShape shape_;
  std::vector<test::Attention> batches_;
};

}  // namespace tw::ggml
