// The matrix multiplications of a model in a GGUF file.
#pragma once

#include <string>
#include <vector>

#include "model/workload.h"
#include "spec/gguf_reader.h"

namespace tw {

struct ModelWorkload {
  Workload workload;                 ///< no matmuls: none is of a type that is served
  int64_t matrices = 0;              ///< counted in it
  std::vector<std::string> remarks;  ///< what was left out, a line each
};

/// Weights that a token is multiplied with: attention, feed-forward (of experts those that a token
/// uses) and output, grouped by shape and type. Vectors, such as norms, are no matmuls. Throws
/// std::runtime_error when there are absurdly many.
ModelWorkload workload_of(const GgufModel& model);

}  // namespace tw
