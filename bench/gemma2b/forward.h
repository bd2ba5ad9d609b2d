// Gemma 2B's forward pass: prompts that fill the caches, and tokens one after the other.
#pragma once

#include <memory>
#include <vector>

#include "gemma2b/cache.h"
#include "gemma2b/products.h"
#include "gemma2b/steps.h"

namespace tw::gemma {

class Gemma {
 public:
  /// Makes and packs all weights: of int8 2.5 GB, of mixed ones 1.3. Caches are for so many
  /// positions.
  Gemma(const Sizes& sizes, Scheme scheme, size_t positions, Engine& engine, Share share,
        size_t threads);

  /// Embeddings of tokens, as rows.
  [[nodiscard]] std::vector<float> embed(const std::vector<size_t>& tokens) const;
  /// One layer on rows whose first stands at `position`; without its feed-forward part if that is
  /// not asked for.
  void layer(size_t number, size_t position, std::vector<float>& rows, bool feeds_forward = true);
  /// Fills the caches from position 0 on, as MediaPipe's encoding does: the last layer ends with
  /// its attention, and no word is chosen.
  void read(const std::vector<size_t>& tokens);
  /// The likeliest word behind this one.
  size_t next(size_t token, size_t position);

 private:
  struct Products {
    std::unique_ptr<Product> q, k, v, post, up, gate, down;
    std::vector<float> before_attention, before_feed_forward;  ///< gains
    Attention::Cache cache;
  };
  void attend(Products& of, size_t position, size_t count, std::vector<float>& rows);
  void feed_forward(Products& of, size_t count, std::vector<float>& rows);
  void normalize(const std::vector<float>& rows, const std::vector<float>& gains, size_t count);
  void keep(Attention::Cache& cache, size_t position, size_t count);
  void add_to(std::vector<float>& rows, size_t count);

  Sizes sizes_;
  Matrix words_;
  Share share_;
  Angles angles_;
  Attention attention_;
  std::vector<Products> layers_;
  std::unique_ptr<Product> logits_;
  std::vector<float> last_gains_;
  std::vector<float> normal_, q_, k_, v_, out_, up_, gate_;  ///< rows of the layer at work
};

}  // namespace tw::gemma
