// The matrix multiplications of a model: what benchmarks run and the tuner weighs.
// Read from specs/workloads/*.yaml by spec/workload_reader.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tw {

/// `count` multiplications of m x k activations with n x k weights, each with weights of its own.
struct Matmul {
  std::string name;
  int64_t n = 0;
  int64_t k = 0;
  int64_t count = 1;
};

struct Workload {
  std::string name;
  std::string about;
  std::vector<Matmul> matmuls;
  std::vector<int64_t> m;  ///< rows of activations: 1 is decode, more is prefill
};

}  // namespace tw
