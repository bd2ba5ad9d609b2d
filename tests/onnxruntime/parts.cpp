// The tests' runner without a runtime: describes a node, packs its weights, runs it.
#include "integrations/onnxruntime/operation.h"
#include "onnxruntime/runner.h"
#include "support/environment.h"

namespace tw::onnxruntime {

namespace {

Operand operand_of(const Case& from, const std::string& name) {
  Operand operand;
  operand.name = name;
  for (const Tensor& constant : from.model.constants) {
    if (constant.name != name) continue;
    operand = {name, constant.type, true, constant.shape, constant.bytes.data()};
  }
  for (const auto* values : {&from.model.inputs, &from.model.outputs}) {
    for (const OnnxValue& value : *values) {
      if (value.name == name) operand = {name, value.type, true, value.shape, nullptr};
    }
  }
  return operand;
}

NodeFacts facts_of(const Case& from) {
  const OnnxNode& node = from.model.nodes.front();
  NodeFacts facts;
  facts.operation = node.operation;
  for (const std::string& name : node.inputs) facts.inputs.push_back(operand_of(from, name));
  for (const std::string& name : node.outputs) facts.outputs.push_back(operand_of(from, name));
  for (const OnnxAttribute& attribute : node.attributes) {
    if (const auto* whole = std::get_if<int64_t>(&attribute.value)) {
      facts.integers[attribute.name] = *whole;
    } else {
      facts.floats[attribute.name] = std::get<float>(attribute.value);
    }
  }
  return facts;
}

/// Null for a name that is none.
const uint8_t* bytes_of_input(const Case& from, const std::string& name) {
  for (const Tensor& input : from.inputs) {
    if (input.name == name) return input.bytes.data();
  }
  return nullptr;
}

float scale_of(const Case& from, const Number& number) {
  const uint8_t* found = bytes_of_input(from, number.input);
  float value = number.value;
  if (found != nullptr) std::memcpy(&value, found, sizeof value);
  return value;
}

int32_t zero_of(const Case& from, const Number& number, int32_t type) {
  const uint8_t* found = bytes_of_input(from, number.input);
  if (found == nullptr) return static_cast<int32_t>(number.value);
  return type == u8 ? *found : static_cast<int8_t>(*found);
}

std::vector<Tensor> run_case(const Case& from, int threads) {
  const Layer layer = describe(facts_of(from));
  const auto weights = make_weights(layer, static_cast<size_t>(threads));
  Tensor y = {"y", from.model.outputs[0].type, from.model.outputs[0].shape, {}};
  const size_t rows = from.wanted.size() / layer.n;
  y.bytes.resize(from.wanted.size() * (y.type == f32 ? sizeof(float) : 1));
  Addresses at = {bytes_of_input(from, layer.input),
                  rows,
                  y.bytes.data(),
                  reinterpret_cast<const float*>(bytes_of_input(from, layer.bias_input)),
                  0,
                  0};
  if (layer.scale) at.scale = scale_of(from, *layer.scale);
  if (layer.zero) at.zero = zero_of(from, *layer.zero, layer.input_type);
  Scratch of_rows, packed;
  run_layer(layer, *weights, at, {threads}, of_rows, packed);
  return {y};
}

}  // namespace

void OnnxTest::SetUp() {
  test::set_environment("TILEWRIGHT_ONNXRUNTIME_TEST", "1");
}

Outcome OnnxTest::run(const std::vector<Case>& cases, const RunOptions& options) {
  Outcome outcome;
  for (const auto& [name, value] : options.environment) {
    test::set_environment(name.c_str(), value.c_str());
  }
  for (const Case& one : cases) {
    try {
      outcome.outputs.push_back(run_case(one, options.threads));
      ++outcome.ours;
    } catch (const Refused& refused) {
      outcome.messages += std::string("node: ") + refused.what() + "; left to the runtime\n";
      outcome.outputs.emplace_back();
    }
  }
  return outcome;
}

}  // namespace tw::onnxruntime
