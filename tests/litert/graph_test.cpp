// Which nodes are ours, and what the delegate does in graphs of several.
#include <cstring>

#include "litert/models/layer_models.h"
#include "litert/runner.h"

namespace tw::litert {
namespace {

constexpr int32_t kRows = 3, kValues = 40;

/// Tensors 0 to 3: input, weights of kValues x kValues, bias, output.
struct OneNode {
  explicit OneNode(const LayerKind& kind = {}) {
    layer = random_layer(kind, kValues, kValues, random);
    inputs = random_inputs(layer, kRows * kValues, random);
    model.tensors = {input_tensor(layer, {kRows, kValues}), weight_tensor(layer, {kValues}),
                     bias_tensor(layer), output_tensor(layer, {kRows, kValues})};
    model.inputs = {0};
    model.outputs = {3};
    model.nodes = {fully_connected_node({0, 1, 2}, 3, kind.activation)};
  }
  [[nodiscard]] std::vector<uint8_t> input_bytes() const {
    return bytes_of(layer.kind.input, inputs);
  }

  std::mt19937 random{9};
  Layer layer;
  std::vector<double> inputs;
  Model model;
};

std::vector<double> values_of(const std::vector<uint8_t>& floats) {
  std::vector<float> values(floats.size() / sizeof(float));
  std::memcpy(values.data(), floats.data(), floats.size());
  return {values.begin(), values.end()};
}

RunOptions logging() {
  RunOptions options;
  options.environment = {{"TILEWRIGHT_LOG", "1"}};
  return options;
}

class LeftToTheRuntime : public LitertTest {
 protected:
  static void check(const OneNode& graph, const std::vector<uint8_t>& inputs, const char* because) {
    const Outcome ours = run_model(graph.model, inputs, logging());
    EXPECT_EQ(ours.replaced, 0U);
    EXPECT_NE(ours.messages.find(because), std::string::npos) << ours.messages;
  }
};

TEST_F(LeftToTheRuntime, WeightsThatAreNoConstants) {
  OneNode graph;
  std::vector<uint8_t> inputs = graph.input_bytes();
  const std::vector<uint8_t>& weights = graph.model.tensors[1].data;
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  graph.model.tensors[1].data.clear();
  graph.model.inputs = {0, 1};
  check(graph, inputs, "weights that are no constants");
}

TEST_F(LeftToTheRuntime, SparseWeights) {
  OneNode graph;
  graph.model.tensors[1].is_sparse = true;
  check(graph, graph.input_bytes(), "sparse weights");
}

TEST_F(LeftToTheRuntime, OtherActivations) {
  constexpr auto kTanh = static_cast<Activation>(4);
  const OneNode graph({type_f32, type_f32, true, true, kTanh});
  check(graph, graph.input_bytes(), "an activation other than");
}

TEST_F(LeftToTheRuntime, WeightsWithZeroPoints) {
  OneNode graph({type_i8, type_i8, false});
  graph.model.tensors[1].zero_points = {3};
  check(graph, graph.input_bytes(), "weights that are not symmetric");
}

TEST_F(LeftToTheRuntime, ScalesOfColumns) {
  OneNode graph({type_f32, type_i8});
  graph.model.tensors[1].quantized_dimension = 1;
  check(graph, graph.input_bytes(), "weights that are not symmetric");
}

TEST_F(LeftToTheRuntime, SumsThatCouldLeaveInt32) {
  OneNode graph({type_i8, type_i8, false});
  const std::vector<double> bias(kValues, 2147483647.0);
  graph.model.tensors[2].data = bytes_of(type_i32, bias);
  check(graph, graph.input_bytes(), "left to the runtime");
}

using Graphs = LitertTest;

/// Of six nodes, one of which is the runtime's: RELU between the second and the third.
TEST_F(Graphs, TensorsBetweenOurNodesAndAroundTheRuntimes) {
  OneNode graph;
  graph.model.nodes.clear();
  int32_t from = 0;
  std::vector<double> wanted = graph.inputs;
  const auto add_tensor = [&](const ModelTensor& tensor) {
    graph.model.tensors.push_back(tensor);
    return static_cast<int32_t>(graph.model.tensors.size() - 1);
  };
  for (int i = 0; i < 5; ++i) {
    Layer layer = random_layer({type_f32, type_f32, true, false}, kValues, kValues, graph.random);
    for (double& weight : layer.weights) weight = static_cast<float>(weight / 8);
    const int32_t weights = add_tensor(weight_tensor(layer, {kValues}));
    const int32_t to = add_tensor(output_tensor(layer, {kRows, kValues}));
    graph.model.nodes.push_back(fully_connected_node({from, weights, no_tensor}, to));
    wanted = exact_products(layer, wanted);
    from = to;
    if (i != 1) continue;
    from = add_tensor(output_tensor(layer, {kRows, kValues}));
    graph.model.nodes.push_back({builtin_relu, 1, {to}, {from}});
    for (double& value : wanted) value = std::max(0.0, value);
  }
  graph.model.outputs = {from};
  const Outcome ours = run_model(graph.model, graph.input_bytes());
  ASSERT_EQ(ours.status, 0) << ours.messages;
  EXPECT_EQ(ours.replaced, 5U) << ours.messages;
  const std::vector<double> found = values_of(ours.outputs);
  ASSERT_EQ(found.size(), wanted.size());
  double largest = 0;
  for (const double value : wanted) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], wanted[i], largest * 1e-5) << i;
}

/// Both of what becomes of the second node's output: it goes out, and into the third one.
TEST_F(Graphs, TensorsBetweenOurNodesThatAreOutputsToo) {
  OneNode graph;
  graph.model.tensors.push_back(output_tensor(graph.layer, {kRows, kValues}));
  graph.model.nodes.push_back(fully_connected_node({3, 1, 2}, 4));
  graph.model.outputs = {4, 3};
  const Outcome ours = run_model(graph.model, graph.input_bytes());
  ASSERT_EQ(ours.status, 0) << ours.messages;
  EXPECT_EQ(ours.replaced, 2U);
  const auto half = static_cast<std::ptrdiff_t>(ours.outputs.size() / 2);
  const std::vector<uint8_t> first(ours.outputs.begin() + half, ours.outputs.end());
  expect_products(graph.layer, graph.inputs, first);
  expect_products(graph.layer, values_of(first),
                  {ours.outputs.begin(), ours.outputs.begin() + half});
}

/// Floats of halves that a node of the runtime's reads too are made as ever.
TEST_F(Graphs, HalvesThatOthersReadToo) {
  OneNode graph({type_f32, type_f16});
  Model& model = graph.model;
  model.tensors.push_back(model.tensors[1]);
  model.tensors[1].type = type_f32;
  model.tensors[1].data.clear();
  model.tensors.push_back({type_f32, {kValues, kValues}});
  model.nodes = {
      dequantize_node(4, 1), fully_connected_node({0, 1, 2}, 3), {builtin_relu, 1, {1}, {5}}};
  model.outputs = {3, 5};
  const Outcome ours = run_model(model, graph.input_bytes());
  ASSERT_EQ(ours.status, 0) << ours.messages;
  EXPECT_EQ(ours.replaced, 1U) << ours.messages;
  const auto product = static_cast<std::ptrdiff_t>(kRows * kValues * sizeof(float));
  ASSERT_GT(ours.outputs.size(), static_cast<size_t>(product));
  expect_products(graph.layer, graph.inputs,
                  {ours.outputs.begin(), ours.outputs.begin() + product});
  const std::vector<double> relu = values_of({ours.outputs.begin() + product, ours.outputs.end()});
  for (size_t i = 0; i < relu.size(); ++i) {
    ASSERT_EQ(relu[i], std::max(0.0, graph.layer.weights[i])) << i;
  }
}

/// Of what this node made of two halves that go out of the model, weights and bias, too.
void expect_floats_of_halves(const OneNode& graph, const Outcome& ours) {
  const size_t product = kRows * kValues, weights = graph.layer.weights.size();
  const std::vector<double> all = values_of(ours.outputs);
  ASSERT_EQ(all.size(), product + weights + graph.layer.bias.size());
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(product),
             end = begin + static_cast<std::ptrdiff_t>(weights);
  EXPECT_EQ(std::vector<double>(begin, end), graph.layer.weights);
  EXPECT_EQ(std::vector<double>(end, all.end()), graph.layer.bias);
}

/// Floats of halves that are outputs of the model are made as ever, whoever else reads them.
TEST_F(Graphs, HalvesThatAreOutputsToo) {
  OneNode graph({type_f32, type_f16});
  graph.model = fully_connected_model(graph.layer, {{kRows, kValues}, kValues});
  graph.model.outputs = {3, 1, 2};
  for (const bool is_read_later : {false, true}) {
    SCOPED_TRACE(is_read_later);
    if (is_read_later) {  // a partition of ours has the constants, another one reads them
      graph.model.tensors.push_back(input_tensor(graph.layer, {kRows, kValues}));
      const auto between = static_cast<int32_t>(graph.model.tensors.size()) - 1;
      graph.model.nodes.insert(graph.model.nodes.end() - 1, {builtin_relu, 1, {0}, {between}});
      graph.model.nodes.back().inputs[0] = between;
      for (double& value : graph.inputs) value = std::max(0.0, value);
    }
    const Outcome ours = run_model(graph.model, graph.input_bytes());
    ASSERT_EQ(ours.status, 0) << ours.messages;
    EXPECT_EQ(ours.replaced, 1U) << ours.messages;
    expect_floats_of_halves(graph, ours);
    const auto product = static_cast<std::ptrdiff_t>(kRows * kValues * sizeof(float));
    expect_products(graph.layer, graph.inputs,
                    {ours.outputs.begin(), ours.outputs.begin() + product});
  }
}

/// Those that nobody reads any longer are not made, even where another partition's node had them.
TEST_F(Graphs, HalvesOfALaterPartition) {
  OneNode graph({type_f32, type_f16});
  Model& model = graph.model;
  model.tensors.push_back(model.tensors[1]);
  model.tensors[1].type = type_f32;
  model.tensors[1].data.clear();
  model.tensors.push_back(input_tensor(graph.layer, {kRows, kValues}));
  model.nodes = {
      dequantize_node(4, 1), {builtin_relu, 1, {0}, {5}}, fully_connected_node({5, 1, 2}, 3)};
  const Outcome ours = run_model(model, graph.input_bytes());
  ASSERT_EQ(ours.status, 0) << ours.messages;
  EXPECT_EQ(ours.replaced, 2U) << ours.messages;
  for (double& value : graph.inputs) value = std::max(0.0, value);
  expect_products(graph.layer, graph.inputs, ours.outputs);
}

RunOptions resized(int32_t values) {
  RunOptions options;
  options.shape = {7, values};
  return options;
}

TEST_F(Graphs, InputsThatAreResized) {
  OneNode graph;
  const std::vector<double> inputs = random_inputs(graph.layer, 7 * kValues, graph.random);
  const Outcome ours = run_model(graph.model, bytes_of(type_f32, inputs), resized(kValues));
  ASSERT_EQ(ours.status, 0) << ours.messages;
  EXPECT_EQ(ours.replaced, 1U);
  expect_products(graph.layer, inputs, ours.outputs);
}

TEST_F(Graphs, InputsThatNoLongerFit) {
  const OneNode graph;
  const Outcome ours = run_model(graph.model, {}, resized(kValues - 1));
  EXPECT_NE(ours.status, 0);
  EXPECT_NE(ours.messages.find("tilewright: an input that is no rows of as many values"),
            std::string::npos)
      << ours.messages;
}

TEST_F(Graphs, Clones) {
  const OneNode graph;
  RunOptions three;
  three.clones = 3;
  const Outcome ours = run_model(graph.model, graph.input_bytes(), three);
  ASSERT_EQ(ours.status, 0) << ours.messages;
  expect_products(graph.layer, graph.inputs, ours.outputs);
}

class Options : public LitertTest {
 protected:
  /// Without a crash.
  static void expect_refused(const std::string& key, const std::string& value,
                             const std::string& because) {
    const OneNode graph;
    RunOptions options;
    options.options = {{key, value}};
    const Outcome ours = run_model(graph.model, graph.input_bytes(), options);
    EXPECT_EQ(ours.status, 1);
    EXPECT_EQ(ours.replaced, 0U);
    EXPECT_NE(ours.messages.find("tilewright: " + because), std::string::npos) << ours.messages;
  }
};

TEST_F(Options, ThatDoNotExist) {
  expect_refused("thread", "2", "no option \"thread\"; \"threads\" is legal");
}

TEST_F(Options, ThatAreNoNumbers) {
  for (const std::string value : {"", "0", "-1", "2x", "9999"}) {
    expect_refused("threads", value, "option \"threads\" is \"" + value + "\"; 1 to 1024 is legal");
  }
}

}  // namespace
}  // namespace tw::litert
