// K and V of one layer, and attention over them: 8 query heads (or as many as there are) share one
// head of K and V.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gemma2b/products.h"
#include "tilewright/attention.h"

namespace tw::gemma {

/// One for all layers: they have the same shape.
class Attention {
 public:
  Attention(const Sizes& sizes, size_t threads);

  struct Cache {
    std::vector<uint16_t> k, v;  ///< f16, a row of a head for each position
  };
  /// Writes the outputs of `rows` queries, the first of which stands at `position`; each attends to
  /// the positions up to its own. q and out: rows of all heads.
  void run(const Share& share, const float* q, const Cache& cache, size_t position, size_t rows,
           float* out) const;

 private:
  struct Destroy {
    void operator()(tw_attention_plan* plan) const { tw_attention_destroy(plan); }
  };
  [[nodiscard]] tw_attention_args args_of(const float* q, const Cache& cache, float* out) const;
  void run_one(const Share& share, tw_attention_args args) const;
  void run_block(tw_attention_args args, size_t first, size_t position) const;

  Sizes sizes_;
  size_t threads_;
  std::unique_ptr<tw_attention_plan, Destroy> plan_;
};

}  // namespace tw::gemma
