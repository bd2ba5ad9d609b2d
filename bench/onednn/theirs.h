// One of oneDNN's products: the same weights and activations as one of ours, packed as the library
// likes them for so many rows, in as many copies as fill more memory than the caches hold.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include <memory>
#include <unordered_map>
#include <vector>

#include "measure/planned_matmul.h"

namespace tw::bench {

/// What activations and weights are to the library. Outputs are f32, of codes the bare sums.
enum class Types { u8_by_s8, s8_by_s8, bf16, f32 };

class Theirs {
 public:
  /// What weights hold must be what `types` says.
  Theirs(const dnnl::engine& engine, Types types, const measure::Weights& weights,
         const measure::Activations& activations, size_t rotate_bytes);
  /// dst = lhs x the next copy of the weights.
  void run();
  /// Runs, and fails unless sampled outputs are the product.
  void check();
  /// "brg:avx512_core_vnni": the library's own name for what runs.
  [[nodiscard]] const char* implementation() const { return name_.c_str(); }

 private:
  [[nodiscard]] double activation(size_t row, size_t depth) const;
  [[nodiscard]] double weight(size_t column, size_t depth) const;

  Types types_;
  const measure::Weights& weights_;
  size_t m_;
  std::vector<uint8_t> lhs_;
  measure::Memory dst_;
  dnnl::stream stream_;
  dnnl::matmul product_;
  std::string name_;
  dnnl::memory packed_;
  std::unordered_map<int, dnnl::memory> arguments_;
  std::unique_ptr<measure::Copies> copies_;
};

}  // namespace tw::bench
