#include "onnxruntime/models/onnx.h"

#include <fstream>
#include <stdexcept>

#include "integrations/onnxruntime/protobuf.h"

namespace tw::onnxruntime {

namespace {

// Fields are those of onnx.proto, whose names stand beside their numbers.
using protobuf::number, protobuf::single;
constexpr auto text = protobuf::bytes;

std::string attribute_proto(const OnnxAttribute& attribute) {
  std::string made = text(1, attribute.name);
  if (const auto* whole = std::get_if<int64_t>(&attribute.value)) {
    made += number(3, *whole) + number(20, 2);  // i, type INT
  } else if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute.value)) {
    for (const int64_t value : *list) made += number(8, value);
    made += number(20, 7);  // ints, type INTS
  } else {
    made += single(2, std::get<float>(attribute.value)) + number(20, 1);  // f, type FLOAT
  }
  return made;
}

std::string node_proto(const OnnxNode& node, const std::string& name) {
  std::string made;
  for (const std::string& input : node.inputs) made += text(1, input);
  for (const std::string& output : node.outputs) made += text(2, output);
  made += text(3, name) + text(4, node.operation);
  for (const OnnxAttribute& attribute : node.attributes) {
    made += text(5, attribute_proto(attribute));
  }
  return made + text(7, node.maker);
}

std::string tensor_proto(const Tensor& tensor) {
  std::string made;
  for (const int64_t extent : tensor.shape) made += number(1, extent);
  made += number(2, tensor.type) + text(8, tensor.name);
  return made + text(9, {tensor.bytes.begin(), tensor.bytes.end()});  // raw_data
}

std::string value_proto(const OnnxValue& value) {
  std::string shape;
  for (size_t i = 0; i < value.shape.size(); ++i) {
    const int64_t extent = value.shape[i];
    // dim_value, or dim_param
    shape += text(1, extent >= 0 ? number(1, extent) : text(2, value.name + std::to_string(i)));
  }
  const std::string tensor_type = number(1, value.type) + text(2, shape);
  return text(1, value.name) + text(2, text(1, tensor_type));
}

std::string graph_proto(const OnnxModel& model) {
  std::string made;
  for (size_t i = 0; i < model.nodes.size(); ++i) {
    made += text(1, node_proto(model.nodes[i], "n" + std::to_string(i)));
  }
  made += text(2, "graph");
  for (const Tensor& tensor : model.constants) made += text(5, tensor_proto(tensor));
  for (const OnnxValue& value : model.inputs) made += text(11, value_proto(value));
  for (const OnnxValue& value : model.outputs) made += text(12, value_proto(value));
  return made;
}

}  // namespace

std::string file_of(const OnnxModel& model) {
  constexpr int64_t kFormat = 9, kOperators = 21;  // of ONNX 1.16
  return number(1, kFormat) + text(7, graph_proto(model)) +
         text(8, text(1, "") + number(2, kOperators)) +
         text(8, text(1, "com.microsoft") + number(2, 1));
}

void write_model(const std::string& path, const OnnxModel& model) {
  const std::string bytes = file_of(model);
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out) throw std::runtime_error("cannot write " + path);
}

}  // namespace tw::onnxruntime
