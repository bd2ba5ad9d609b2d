// Which nodes of the host's graph are ours.
#pragma once

#include <map>
#include <vector>

#include "integrations/litert/operation.h"

namespace tw::litert {

struct Claims {
  std::map<int32_t, Operation> operations;  ///< by their nodes
  /// Nodes that made floats of constant halves, for nobody but those operations.
  std::vector<int32_t> dequantized;
};
/// Weights are packed for so many threads. Throws std::bad_alloc.
Claims claim_nodes(Context& context, int threads);

}  // namespace tw::litert
