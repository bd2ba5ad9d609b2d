#include "integrations/onnxruntime/host.h"

#include <memory>

namespace tw::onnxruntime {

namespace {

void read_shape(const Api& api, const ShapeInfo* info, int32_t& type, std::vector<int64_t>& shape) {
  check(api, api.element_type(info, &type));
  size_t rank = 0;
  check(api, api.rank(info, &rank));
  shape.resize(rank);
  check(api, api.extents(info, shape.data(), rank));
}

void read_constant(const Api& api, const ValueInfo* info, Operand& operand) {
  bool is_constant = false;
  check(api, api.is_constant(info, &is_constant));
  if (!is_constant) return;
  const Value* value = nullptr;
  check(api, api.initializer(info, &value));
  if (value == nullptr) return;
  const Shape shape = shape_of(api, value);
  operand.type = shape.type;
  operand.shape = shape.extents;
  operand.has_shape = true;
  check(api, api.data(value, &operand.data));
}

std::string name_of_value(const Api& api, const ValueInfo* info) {
  if (info == nullptr) return "";
  const char* name = nullptr;
  check(api, api.name_of_value(info, &name));
  return name;
}

Operand read_operand(const Api& api, const ValueInfo* info) {
  Operand operand;
  operand.name = name_of_value(api, info);
  if (operand.name.empty()) return operand;
  const TypeInfo* type = nullptr;
  check(api, api.type_of_value(info, &type));
  const ShapeInfo* tensor = nullptr;
  if (type != nullptr) check(api, api.tensor_info(type, &tensor));
  if (tensor != nullptr) {
    read_shape(api, tensor, operand.type, operand.shape);
    operand.has_shape = !operand.shape.empty();  // or a scalar, which is no less unknown to us
  }
  read_constant(api, info, operand);
  return operand;
}

std::vector<const ValueInfo*> inputs_of(const Api& api, const Node* node) {
  size_t count = 0;
  check(api, api.input_count(node, &count));
  std::vector<const ValueInfo*> inputs(count);
  check(api, api.inputs(node, inputs.data(), count));
  return inputs;
}

std::vector<const ValueInfo*> outputs_of(const Api& api, const Node* node) {
  size_t count = 0;
  check(api, api.output_count(node, &count));
  std::vector<const ValueInfo*> outputs(count);
  check(api, api.outputs(node, outputs.data(), count));
  return outputs;
}

/// Null: not set; a name that an operator does not know is a failure there.
const Attribute* find_attribute(const Api& api, const Node* node, const char* name) {
  const Attribute* attribute = nullptr;
  Status* status = api.attribute(node, name, &attribute);
  if (status == nullptr) return attribute;
  api.release_status(status);
  return nullptr;
}

/// How many bytes there are.
size_t read_bytes(const Api& api, const Attribute* attribute, AttributeType type, void* to,
                  size_t room) {
  size_t bytes = 0;
  Status* status = api.read_attribute(attribute, type, to, room, &bytes);
  if (status != nullptr) api.release_status(status);
  require(status == nullptr && bytes <= room, "an attribute that cannot be read");
  return bytes;
}

template <class Number>
void read_number(const Api& api, const Node* node, const char* name, AttributeType type,
                 std::map<std::string, Number>& into) {
  const Attribute* attribute = find_attribute(api, node, name);
  if (attribute == nullptr) return;
  Number number = 0;
  read_bytes(api, attribute, type, &number, sizeof number);
  into[name] = number;
}

void read_list(const Api& api, const Node* node, const char* name, NodeFacts& facts) {
  const Attribute* attribute = find_attribute(api, node, name);
  if (attribute == nullptr) return;
  int64_t numbers[32];
  const size_t bytes = read_bytes(api, attribute, attribute_ints, numbers, sizeof numbers);
  facts.lists[name].assign(numbers, numbers + bytes / sizeof *numbers);
}

void read_word(const Api& api, const Node* node, const char* name, NodeFacts& facts) {
  const Attribute* attribute = find_attribute(api, node, name);
  if (attribute == nullptr) return;
  char letters[64] = {};
  read_bytes(api, attribute, attribute_string, letters, sizeof letters - 1);
  facts.words[name] = letters;
}

}  // namespace

void check(const Api& api, Status* status) {
  if (status == nullptr) return;
  const std::string message = api.message_of_status(status);
  api.release_status(status);
  throw HostFailed(message);
}

std::vector<const Node*> nodes_of(const Api& api, const Graph* graph) {
  size_t count = 0;
  check(api, api.node_count(graph, &count));
  std::vector<const Node*> nodes(count);
  check(api, api.nodes(graph, nodes.data(), count));
  return nodes;
}

namespace {

std::string maker_of(const Api& api, const Node* node) {
  const char* domain = nullptr;
  check(api, api.domain_of_node(node, &domain));
  return domain;
}

}  // namespace

std::string operation_of(const Api& api, const Node* node) {
  const char* operation = nullptr;
  check(api, api.operator_of_node(node, &operation));
  const std::string maker = maker_of(api, node);
  const bool is_known = maker.empty() || maker == "ai.onnx" || maker == "com.microsoft";
  return is_known ? operation : "";
}

std::string name_of(const Api& api, const Node* node) {
  const char* name = nullptr;
  check(api, api.name_of_node(node, &name));
  return name;
}

std::vector<std::string> input_names(const Api& api, const Node* node) {
  std::vector<std::string> names;
  for (const ValueInfo* input : inputs_of(api, node)) names.push_back(name_of_value(api, input));
  return names;
}

NodeFacts read_node(const Api& api, const Node* node) {
  NodeFacts facts;
  facts.operation = operation_of(api, node);
  facts.maker = maker_of(api, node);
  for (const ValueInfo* input : inputs_of(api, node)) {
    facts.inputs.push_back(read_operand(api, input));
  }
  for (const ValueInfo* output : outputs_of(api, node)) {
    facts.outputs.push_back(read_operand(api, output));
  }
  for (const char* name : {"K", "N", "bits", "block_size", "accuracy_level", "weight_prepacked",
                           "transA", "transB", "transBatchA", "transBatchB", "group"}) {
    read_number(api, node, name, attribute_int, facts.integers);
  }
  for (const char* name : {"alpha", "beta"}) {
    read_number(api, node, name, attribute_float, facts.floats);
  }
  for (const char* name : {"kernel_shape", "strides", "dilations", "pads"}) {
    read_list(api, node, name, facts);
  }
  read_word(api, node, "auto_pad", facts);
  return facts;
}

Shape shape_of(const Api& api, const Value* value) {
  ShapeInfo* info = nullptr;
  check(api, api.shape_of(value, &info));
  const std::unique_ptr<ShapeInfo, void (*)(ShapeInfo*)> held(info, api.release_shape);
  Shape shape;
  read_shape(api, info, shape.type, shape.extents);
  return shape;
}

}  // namespace tw::onnxruntime
