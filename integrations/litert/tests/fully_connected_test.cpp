// FULLY_CONNECTED of every type against plain loops.
#include "layer.h"
#include "litert.h"

namespace tw::litert {
namespace {

struct Shape {
  std::vector<int32_t> input;
  size_t n;
  bool keeps_dimensions = false;
};

size_t rows_of(const Shape& shape) {
  size_t rows = 1;
  for (size_t i = 0; i + 1 < shape.input.size(); ++i) rows *= static_cast<size_t>(shape.input[i]);
  return rows;
}

std::vector<int32_t> output_of(const Shape& shape) {
  const auto n = static_cast<int32_t>(shape.n);
  if (!shape.keeps_dimensions) return {static_cast<int32_t>(rows_of(shape)), n};
  std::vector<int32_t> output = shape.input;
  output.back() = n;
  return output;
}

/// Weights and bias of 16 bits are made floats by nodes of their own, as converters write them.
void add_halves(Model& model) {
  for (const int32_t index : {1, 2}) {
    if (static_cast<size_t>(index) + 1 >= model.tensors.size() ||
        model.tensors[static_cast<size_t>(index)].data.empty()) {
      continue;
    }
    ModelTensor& tensor = model.tensors[static_cast<size_t>(index)];
    const auto halves = static_cast<int32_t>(model.tensors.size());
    ModelTensor of_halves = tensor;
    tensor.data.clear();
    tensor.type = type_f32;
    model.nodes.insert(model.nodes.begin(), dequantize_node(halves, index));
    model.tensors.push_back(of_halves);
  }
}

/// Tensors: input, weights, bias if there is one, output.
Model model_of(const Layer& layer, const Shape& shape) {
  Model model;
  model.tensors = {input_tensor(layer, shape.input),
                   weight_tensor(layer, {static_cast<int32_t>(layer.k)})};
  std::vector<int32_t> inputs = {0, 1, no_tensor};
  if (layer.kind.has_bias) {
    inputs[2] = 2;
    model.tensors.push_back(bias_tensor(layer));
    if (layer.kind.weights == type_f16) {
      model.tensors[2].type = type_f16;
      model.tensors[2].data = bytes_of(type_f16, layer.bias);
    }
  }
  const auto output = static_cast<int32_t>(model.tensors.size());
  model.tensors.push_back(output_tensor(layer, output_of(shape)));
  model.inputs = {0};
  model.outputs = {output};
  model.nodes = {
      fully_connected_node(inputs, output, layer.kind.activation, shape.keeps_dimensions)};
  if (layer.kind.weights == type_f16) add_halves(model);
  return model;
}

class FullyConnected : public LitertTest {
 protected:
  /// Runs the layer with us and compares.
  static void check(const LayerKind& kind, const Shape& shape, const RunOptions& options = {}) {
    std::mt19937 random(7);
    const auto k = static_cast<size_t>(shape.input.back());
    const Layer layer = random_layer(kind, shape.n, k, random);
    const std::vector<double> inputs = random_inputs(layer, rows_of(shape) * k, random);
    SCOPED_TRACE(testing::Message() << rows_of(shape) << " x " << shape.n << " x " << k
                                    << ", activation " << kind.activation);
    const Model model = model_of(layer, shape);
    const Outcome ours = run_model(model, bytes_of(kind.input, inputs), options);
    ASSERT_EQ(ours.status, 0) << ours.messages;
    ASSERT_EQ(ours.replaced, model.nodes.size()) << ours.messages;
    expect_products(layer, inputs, ours.outputs);
  }
};

struct Named {
  const char* name;
  LayerKind kind;
};
void PrintTo(const Named& named, std::ostream* out) {
  *out << named.name;
}

class Types : public FullyConnected, public testing::WithParamInterface<Named> {};

TEST_P(Types, ShapesThatFillNoTiles) {
  for (const Shape& shape : {Shape{{1, 1}, 1}, Shape{{1, 33}, 17}, Shape{{5, 7}, 3},
                             Shape{{3, 64}, 100}, Shape{{70, 129}, 67}}) {
    check(GetParam().kind, shape);
  }
}

TEST_P(Types, Activations) {
  for (const Activation activation : {activation_relu, activation_relu_n1_to_1, activation_relu6}) {
    LayerKind kind = GetParam().kind;
    kind.activation = activation;
    check(kind, {{9, 40}, 33});
  }
}

TEST_P(Types, WithoutABias) {
  LayerKind kind = GetParam().kind;
  kind.has_bias = false;
  check(kind, {{6, 31}, 20});
}

TEST_P(Types, BatchesAreRows) {
  check(GetParam().kind, {{2, 3, 20}, 18, true});
  check(GetParam().kind, {{2, 3, 20}, 18, false});
}

TEST_P(Types, SeveralThreads) {
  check(GetParam().kind, {{40, 96}, 200}, {.more = "--threads 4"});
  check(GetParam().kind, {{40, 96}, 200}, {.more = "--option threads=2"});
}

INSTANTIATE_TEST_SUITE_P(, Types,
                         testing::Values(Named{"f32", {type_f32, type_f32}},
                                         Named{"f16Weights", {type_f32, type_f16}},
                                         Named{"f32byInt8Rows", {type_f32, type_i8}},
                                         Named{"f32byInt8", {type_f32, type_i8, false}},
                                         Named{"f32byInt4Rows", {type_f32, type_i4}},
                                         Named{"int8Rows", {type_i8, type_i8}},
                                         Named{"int8", {type_i8, type_i8, false}},
                                         Named{"int8byInt4", {type_i8, type_i4, false}}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tw::litert
