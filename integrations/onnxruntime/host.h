// The host's interface, with its failures as exceptions.
#pragma once

#include <stdexcept>

#include "integrations/onnxruntime/node.h"

namespace tw::onnxruntime {

struct HostFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Throws HostFailed where there is a status, which it releases.
void check(const Api& api, Status* status);

/// Nothing may be thrown through the host's code.
template <class Action>
Status* guarded(const Api& api, Action action) noexcept {
  try {
    action();
    return nullptr;
  } catch (const std::exception& failure) {
    return api.create_status(status_failed, failure.what());
  }
}

std::vector<const Node*> nodes_of(const Api& api, const Graph* graph);
std::string operation_of(const Api& api, const Node* node);  ///< "" of other makers' operators
std::string name_of(const Api& api, const Node* node);
/// Names of the values that a node reads, "" where one is omitted.
std::vector<std::string> input_names(const Api& api, const Node* node);
/// Throws Refused for attributes that it cannot read.
NodeFacts read_node(const Api& api, const Node* node);

/// Of a value when a node runs.
struct Shape {
  int32_t type = type_none;
  std::vector<int64_t> extents;
};
Shape shape_of(const Api& api, const Value* value);

}  // namespace tw::onnxruntime
