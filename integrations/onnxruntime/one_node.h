// A node by the runtime's own kernels, in a session of its own.
#pragma once

#include <memory>

#include "integrations/onnxruntime/host.h"

namespace tw::onnxruntime {

/// On one thread. Inputs that are no constants are filled with numbers that mean nothing.
class OneNode {
 public:
  /// `shape` is the first input's. Throws HostFailed.
  OneNode(const Api& api, const NodeFacts& node, const std::vector<int64_t>& shape);
  /// Throws HostFailed.
  void run();

 private:
  template <class Type>
  using Held = std::unique_ptr<Type, void (*)(Type*)>;
  [[nodiscard]] Held<Value> tensor(int32_t type, const std::vector<int64_t>& shape) const;

  const Api& api_;
  std::vector<std::string> names_;  ///< of inputs
  std::string output_;
  Held<Environment> environment_;
  Held<Session> session_;
  std::vector<Held<Value>> inputs_;
};

/// A model of that node alone, as a file has it.
std::string model_of(const NodeFacts& node, const std::vector<int64_t>& shape);

/// Bytes of a value.
size_t size_of(int32_t type);

/// Floats between -1 and 1, codes of all kinds; ones where there is one value only.
void fill(void* values, int32_t type, size_t count);

}  // namespace tw::onnxruntime
