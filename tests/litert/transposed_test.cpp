// TRANSPOSE_CONV of every type against plain loops.
#include "litert/models/layer_models.h"
#include "litert/runner.h"

namespace tw::litert::transposed_test {
namespace {

struct TransposedShape {
  ImageShape images;
  int32_t more = 0;
};

Layer layer_of(const LayerKind& kind, const ImageShape& shape, std::mt19937& random) {
  const int32_t k = shape.kernel_height * shape.kernel_width * shape.image.channels;
  return random_layer(kind, shape.outputs, static_cast<size_t>(k), random);
}

std::vector<double> inputs_of(const Layer& layer, const Image& image, std::mt19937& random) {
  const int32_t values = image.count * image.height * image.width * image.channels;
  return random_inputs(layer, static_cast<size_t>(values), random);
}

class TransposedConvolution : public LitertTest,
                              public testing::WithParamInterface<TransposedShape> {
 protected:
  static void check(const LayerKind& kind, const RunOptions& options = {}) {
    const auto& [shape, more] = GetParam();
    std::mt19937 random(15);
    const Layer layer = layer_of(kind, shape, random);
    const std::vector<double> inputs = inputs_of(layer, shape.image, random);
    const Model model = transposed_model(layer, shape, more);
    const Outcome ours = run_model(model, bytes_of(kind.input, inputs), options);
    ASSERT_EQ(ours.status, 0) << ours.messages;
    ASSERT_EQ(ours.replaced, model.nodes.size()) << ours.messages;
    const double padding = kind.input == type_i8 ? layer.input_zero : 0;
    expect_products(layer, transposed_rows(shape, inputs, padding, more), ours.outputs);
  }
};

TEST_P(TransposedConvolution, OfFloats) {
  check({type_f32, type_f32});
}
TEST_P(TransposedConvolution, ByHalves) {
  check({type_f32, type_f16, true, true, activation_relu6});
}
TEST_P(TransposedConvolution, OfFloatsByCodes) {
  check({type_f32, type_i8});
}
TEST_P(TransposedConvolution, OfCodes) {
  check({type_i8, type_i8, true, true, activation_relu});
}
TEST_P(TransposedConvolution, OnThreads) {
  RunOptions several;
  several.threads = 3;
  check({type_f32, type_f32, true, false}, several);
  check({type_i8, type_i8, false, false}, several);
}

INSTANTIATE_TEST_SUITE_P(
    , TransposedConvolution,
    testing::Values(TransposedShape{{{1, 4, 5, 6}, 3, 3, 17, padding_same, 2}},
                    TransposedShape{{{2, 3, 4, 5}, 2, 2, 20, padding_valid, 2}},
                    TransposedShape{{{1, 5, 4, 8}, 4, 3, 9, padding_same, 1}},
                    TransposedShape{{{1, 3, 3, 4}, 5, 4, 18, padding_valid, 3}},
                    TransposedShape{
                        {{1, 4, 3, 7}, 2, 1, 16, padding_same, 3}},  // parts without taps
                    TransposedShape{{{1, 4, 3, 7}, 3, 3, 16, padding_valid, 2}, 1}),
    [](const auto& info) { return std::to_string(info.index); });

class LeftTransposed : public LitertTest {
 protected:
  static void check(const Model& model, const std::vector<uint8_t>& inputs, const char* because) {
    RunOptions logging;
    logging.environment = {{"TILEWRIGHT_LOG", "1"}};
    const Outcome ours = run_model(model, inputs, logging);
    EXPECT_EQ(ours.replaced, 0U);
    EXPECT_NE(ours.messages.find(because), std::string::npos) << ours.messages;
  }
  ImageShape shape{{1, 4, 4, 4}, 3, 3, 8, padding_same, 2};
  std::mt19937 random{16};
  Layer layer = layer_of({}, shape, random);
  std::vector<uint8_t> inputs = bytes_of(type_f32, inputs_of(layer, shape.image, random));
};

TEST_F(LeftTransposed, OutputsOfWhatASmallerInputMakes) {
  check(transposed_model(layer, shape, -2), inputs, "outputs that the input does not make");
}

TEST_F(LeftTransposed, SizesThatAreInputs) {
  Model model = transposed_model(layer, shape);
  const auto size = static_cast<int32_t>(model.tensors.size() - 1);
  const std::vector<uint8_t> bytes = model.tensors.back().data;
  model.tensors.back().data.clear();
  model.inputs.push_back(size);
  inputs.insert(inputs.end(), bytes.begin(), bytes.end());
  check(model, inputs, "a shape that is no constant");
}

}  // namespace
}  // namespace tw::litert::transposed_test
