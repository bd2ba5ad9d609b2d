// Whether a node is faster by our kernels than by the runtime's own, on this machine.
#pragma once

#include <map>

#include "integrations/onnxruntime/host.h"
#include "integrations/onnxruntime/layer.h"

namespace tw::onnxruntime {

/// What was measured for nodes of a kind is known for the next of them.
class Measured {
 public:
  /// Runs both on one thread, with the node's rows, or with 1 and 128 where the graph leaves open
  /// how many there are. Throws Refused where it leaves open more than that,
  /// or where the runtime does not run the node alone.
  bool is_ours(const Api& api, const NodeFacts& node, const Layer& layer);

 private:
  std::map<std::string, bool> known_;
};

}  // namespace tw::onnxruntime
