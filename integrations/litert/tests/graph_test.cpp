// Which nodes are ours, and what the delegate does in graphs of several.
#include <cstring>

#include "layer.h"
#include "litert.h"

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

class LeftToTheRuntime : public LitertTest {
 protected:
  /// The runtime computes it, with and without us.
  static void check(const OneNode& graph, const std::vector<uint8_t>& inputs, const char* because) {
    const Outcome ours = run_model(graph.model, inputs, {.environment = "TILEWRIGHT_LOG=1"});
    const Outcome theirs = run_model(graph.model, inputs, {.with_us = false});
    ASSERT_EQ(ours.status, 0) << ours.messages;
    EXPECT_EQ(ours.replaced, 0U);
    EXPECT_NE(ours.messages.find(because), std::string::npos) << ours.messages;
    EXPECT_FALSE(theirs.outputs.empty());
    EXPECT_EQ(ours.outputs, theirs.outputs);
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

TEST_F(LeftToTheRuntime, OtherActivations) {
  OneNode graph({type_f32, type_f32, true, true, static_cast<Activation>(4)});  // TANH
  const Outcome ours =
      run_model(graph.model, graph.input_bytes(), {.environment = "TILEWRIGHT_LOG=1"});
  EXPECT_EQ(ours.replaced, 0U);
  EXPECT_NE(ours.messages.find("an activation other than"), std::string::npos) << ours.messages;
}

TEST_F(LeftToTheRuntime, WeightsWithZeroPoints) {
  OneNode graph({type_i8, type_i8, false});
  graph.model.tensors[1].zero_points = {3};
  const Outcome ours =
      run_model(graph.model, graph.input_bytes(), {.environment = "TILEWRIGHT_LOG=1"});
  EXPECT_EQ(ours.replaced, 0U);
  EXPECT_NE(ours.messages.find("weights that are not symmetric"), std::string::npos)
      << ours.messages;
}

TEST_F(LeftToTheRuntime, SumsThatCouldLeaveInt32) {
  OneNode graph({type_i8, type_i8, false});
  const std::vector<double> bias(kValues, 2147483647.0);
  graph.model.tensors[2].data = bytes_of(type_i32, bias);
  check(graph, graph.input_bytes(), "left to the runtime");
}

TEST_F(LeftToTheRuntime, WhereOnlyPortableKernelsRun) {
  const OneNode graph;
  const Outcome ours =
      run_model(graph.model, graph.input_bytes(),
                {.environment = "TILEWRIGHT_LITERT_TEST=0 TILEWRIGHT_ISA=scalar TILEWRIGHT_LOG=1"});
  ASSERT_EQ(ours.status, 0) << ours.messages;
  EXPECT_EQ(ours.replaced, 0U);
  EXPECT_NE(ours.messages.find("no kernels that would be faster"), std::string::npos);
}

using Graphs = LitertTest;

/// Of five nodes, one of which is the runtime's: RELU between the second and the third.
TEST_F(Graphs, TensorsBetweenOurNodesAndAroundTheRuntimes) {
  OneNode graph;
  std::vector<Layer> layers;
  graph.model.nodes.clear();
  int32_t from = 0;
  for (int i = 0; i < 5; ++i) {
    const auto first = static_cast<int32_t>(graph.model.tensors.size());
    layers.push_back(random_layer({}, kValues, kValues, graph.random));
    for (double& weight : layers.back().weights) weight /= 16;
    graph.model.tensors.push_back(weight_tensor(layers.back(), {kValues}));
    graph.model.tensors.push_back(output_tensor(layers.back(), {kRows, kValues}));
    graph.model.nodes.push_back(fully_connected_node({from, first, no_tensor}, first + 1));
    layers.back().bias.clear();
    from = first + 1;
    if (i != 1) continue;
    graph.model.tensors.push_back(output_tensor(layers.back(), {kRows, kValues}));
    constexpr int32_t kRelu = 19;
    graph.model.nodes.push_back({kRelu, 1, {from}, {from + 1}});
    ++from;
  }
  graph.model.outputs = {from};
  const Outcome ours = run_model(graph.model, graph.input_bytes());
  const Outcome theirs = run_model(graph.model, graph.input_bytes(), {.with_us = false});
  ASSERT_EQ(ours.status, 0) << ours.messages;
  EXPECT_EQ(ours.replaced, 5U) << ours.messages;
  const std::vector<double> found = values_of(ours.outputs), wanted = values_of(theirs.outputs);
  ASSERT_EQ(found.size(), static_cast<size_t>(kRows * kValues));
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
  constexpr int32_t kRelu = 19;
  model.nodes = {dequantize_node(4, 1), fully_connected_node({0, 1, 2}, 3), {kRelu, 1, {1}, {5}}};
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

/// Floats of halves that nobody reads any longer take no memory, even where another partition's
/// node had them.
TEST_F(Graphs, HalvesOfALaterPartition) {
  OneNode graph({type_f32, type_f16});
  Model& model = graph.model;
  model.tensors.push_back(model.tensors[1]);
  model.tensors[1].type = type_f32;
  model.tensors[1].data.clear();
  model.tensors.push_back(input_tensor(graph.layer, {kRows, kValues}));
  constexpr int32_t kRelu = 19;
  model.nodes = {dequantize_node(4, 1), {kRelu, 1, {0}, {5}}, fully_connected_node({5, 1, 2}, 3)};
  const Outcome ours = run_model(model, graph.input_bytes());
  ASSERT_EQ(ours.status, 0) << ours.messages;
  EXPECT_EQ(ours.replaced, 2U) << ours.messages;
  for (double& value : graph.inputs) value = std::max(0.0, value);
  expect_products(graph.layer, graph.inputs, ours.outputs);
}

TEST_F(Graphs, InputsThatAreResized) {
  OneNode graph;
  const std::vector<double> inputs = random_inputs(graph.layer, 7 * kValues, graph.random);
  const Outcome ours =
      run_model(graph.model, bytes_of(type_f32, inputs), {.more = "--resize 7,40"});
  ASSERT_EQ(ours.status, 0) << ours.messages;
  EXPECT_EQ(ours.replaced, 1U);
  expect_products(graph.layer, inputs, ours.outputs);
}

TEST_F(Graphs, InputsThatNoLongerFit) {
  const OneNode graph;
  const Outcome ours = run_model(graph.model, {}, {.more = "--resize 7,39"});
  EXPECT_NE(ours.status, 0);
  EXPECT_NE(ours.messages.find("tilewright: an input that is no rows of as many values"),
            std::string::npos)
      << ours.messages;
}

/// One packed copy, however many interpreters of a model there are.
TEST_F(Graphs, ClonesShareWeights) {
  OneNode graph;
  constexpr int32_t kLarge = 1024;
  const Layer layer = random_layer({}, kLarge, kLarge, graph.random);
  graph.model.tensors = {input_tensor(layer, {1, kLarge}), weight_tensor(layer, {kLarge}),
                         bias_tensor(layer), output_tensor(layer, {1, kLarge})};
  const std::vector<double> inputs = random_inputs(layer, kLarge, graph.random);
  const std::vector<uint8_t> bytes = bytes_of(type_f32, inputs);
  const Outcome one = run_model(graph.model, bytes),
                eight = run_model(graph.model, bytes, {.more = "--clones 8"});
  ASSERT_EQ(eight.status, 0) << eight.messages;
  expect_products(layer, inputs, eight.outputs);
  constexpr size_t kPackedKib = size_t{kLarge} * kLarge * sizeof(float) / 1024;
  EXPECT_LT(eight.kib, one.kib + kPackedKib) << "each packs its own";
}

using Options = LitertTest;

TEST_F(Options, ThatDoNotExist) {
  const OneNode graph;
  const Outcome ours = run_model(graph.model, graph.input_bytes(), {.more = "--option thread=2"});
  EXPECT_NE(ours.messages.find("tilewright: no option \"thread\"; \"threads\" is legal"),
            std::string::npos)
      << ours.messages;
  EXPECT_EQ(ours.status, 1) << "it must not crash";
}

TEST_F(Options, ThatAreNoNumbers) {
  const OneNode graph;
  for (const std::string value : {"", "0", "-1", "2x", "9999"}) {
    const Outcome ours =
        run_model(graph.model, graph.input_bytes(), {.more = "--option threads=" + value});
    EXPECT_NE(ours.messages.find("tilewright: option \"threads\" is \"" + value +
                                 "\"; 1 to 1024 is legal"),
              std::string::npos)
        << ours.messages;
    EXPECT_EQ(ours.status, 1);
  }
}

}  // namespace
}  // namespace tw::litert
