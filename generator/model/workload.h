// The matrix multiplications of a model: what benchmarks run and the tuner weighs.
// Read from specs/workloads/*.yaml by spec/workload_reader, made from models by spec/gguf_workload.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tw {

/// Where weights are when they are needed: `streamed` from memory, or `hot` in a cache.
enum class Regime { streamed, hot };
std::string_view name(Regime regime);

/// `count` multiplications of m x k activations with n x k weights, each with weights of its own.
struct Matmul {
  std::string name;
  std::string family;
  int64_t n = 0;
  int64_t k = 0;
  int64_t count = 1;
  int block = 0;       ///< values of k that share a scale; 0: families without blocks
  std::string scales;  ///< type of the scales of blocks, "f16"; empty: no blocks
  Regime regime = Regime::streamed;
};

/// Rows of activations, and how often the model meets them: 1 is decode, more is prefill.
struct Rows {
  int64_t m = 1;
  int64_t calls = 1;
};

struct Workload {
  std::string name;
  std::string about;
  std::vector<Matmul> matmuls;
  std::vector<Rows> rows;  ///< distinct
};

}  // namespace tw
