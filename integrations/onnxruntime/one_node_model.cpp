// The file format of models: fields are those of onnx.proto, whose names stand beside their
// numbers.
#include <set>

#include "integrations/onnxruntime/one_node.h"
#include "integrations/onnxruntime/protobuf.h"

namespace tw::onnxruntime {

namespace {

using protobuf::bytes, protobuf::number, protobuf::single;

/// `typed` is the value with its type (field 20).
std::string attribute(const std::string& name, const std::string& typed) {
  return bytes(5, bytes(1, name) + typed);
}

std::string attributes(const NodeFacts& node) {
  std::string made;
  for (const auto& [name, value] : node.integers) {
    made += attribute(name, number(3, value) + number(20, 2));  // i, INT
  }
  for (const auto& [name, value] : node.floats) {
    made += attribute(name, single(2, value) + number(20, 1));  // f, FLOAT
  }
  for (const auto& [name, values] : node.lists) {
    std::string list;
    for (const int64_t value : values) list += number(8, value);
    made += attribute(name, list + number(20, 7));  // ints, INTS
  }
  for (const auto& [name, word] : node.words) {
    made += attribute(name, bytes(4, word) + number(20, 3));  // s, STRING
  }
  return made;
}

std::string constant(const Operand& operand) {
  std::string made;
  for (const int64_t extent : operand.shape) made += number(1, extent);  // dims
  const auto* data = static_cast<const char*>(operand.data);
  made += number(2, operand.type) + bytes(8, operand.name);
  return made + bytes(9, {data, value_count(operand) * size_of(operand.type)});  // raw_data
}

std::string value(const Operand& operand, const std::vector<int64_t>& shape) {
  std::string extents;
  for (const int64_t extent : shape) extents += bytes(1, number(1, extent));  // dim_value
  return bytes(1, operand.name) + bytes(2, bytes(1, number(1, operand.type) + bytes(2, extents)));
}

std::string graph(const NodeFacts& node, const std::vector<int64_t>& shape) {
  std::string inputs, its;
  std::set<std::string> known;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Operand& input = node.inputs[i];
    its += bytes(1, input.name);
    if (!input.is_there() || !known.insert(input.name).second) continue;
    inputs += input.is_constant() ? bytes(5, constant(input))  // initializer
                                  : bytes(11, value(input, i == 0 ? shape : input.shape));
  }
  const Operand& output = node.outputs[0];
  its += bytes(2, output.name) + bytes(4, node.operation) + attributes(node) + bytes(7, node.maker);
  // The runtime finds out the output's shape.
  const std::string type = bytes(1, number(1, output.type));
  return bytes(1, its) + bytes(2, "node") + inputs +
         bytes(12, bytes(1, output.name) + bytes(2, type));
}

}  // namespace

std::string model_of(const NodeFacts& node, const std::vector<int64_t>& shape) {
  constexpr int64_t kFormat = 9, kOperators = 21;  // of ONNX 1.16, which 1.23 reads
  return number(1, kFormat) + bytes(7, graph(node, shape)) +
         bytes(8, bytes(1, "") + number(2, kOperators)) +
         bytes(8, bytes(1, "com.microsoft") + number(2, 1));
}

}  // namespace tw::onnxruntime
