#include "integrations/onnxruntime/node.h"

namespace tw::onnxruntime {

size_t value_count(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (const int64_t extent : shape) {
    require(extent >= 0, "values of an unknown shape");
    count *= static_cast<size_t>(extent);
  }
  return count;
}

size_t value_count(const Operand& operand) {
  return value_count(operand.shape);
}

const Operand& NodeFacts::input(size_t i) const {
  static const Operand omitted;
  return i < inputs.size() ? inputs[i] : omitted;
}

int64_t NodeFacts::integer(const char* name, int64_t otherwise) const {
  const auto found = integers.find(name);
  return found == integers.end() ? otherwise : found->second;
}

float NodeFacts::number(const char* name, float otherwise) const {
  const auto found = floats.find(name);
  return found == floats.end() ? otherwise : found->second;
}

std::vector<int64_t> NodeFacts::list(const char* name, size_t count, int64_t otherwise) const {
  const auto found = lists.find(name);
  if (found == lists.end()) return std::vector<int64_t>(count, otherwise);
  require(found->second.size() == count, "attributes of other numbers");
  return found->second;
}

}  // namespace tw::onnxruntime
