// DEPTHWISE_CONV_2D of every type against plain loops.
#include "litert/models/layer_models.h"
#include "litert/runner.h"

namespace tw::litert::depthwise_test {
namespace {

/// Of each output that channel's value.
std::vector<uint8_t> channel_bytes(const std::vector<uint8_t>& outputs, size_t channels,
                                   size_t bytes, size_t channel) {
  std::vector<uint8_t> values;
  for (size_t at = channel * bytes; at < outputs.size(); at += channels * bytes) {
    const auto first = outputs.begin() + static_cast<std::ptrdiff_t>(at);
    values.insert(values.end(), first, first + static_cast<std::ptrdiff_t>(bytes));
  }
  return values;
}

size_t input_values(const Image& image) {
  return static_cast<size_t>(image.count * image.height * image.width * image.channels);
}

Layer layer_of(const LayerKind& kind, const ImageShape& shape, std::mt19937& random) {
  return random_layer(kind, shape.outputs,
                      static_cast<size_t>(shape.kernel_height * shape.kernel_width), random);
}

class Depthwise : public LitertTest, public testing::WithParamInterface<ImageShape> {
 protected:
  static void check(const LayerKind& kind, const RunOptions& options = {}) {
    const ImageShape& shape = GetParam();
    std::mt19937 random(12);
    const Layer layer = layer_of(kind, shape, random);
    const std::vector<double> inputs = random_inputs(layer, input_values(shape.image), random);
    const Model model = depthwise_model(layer, shape);
    const Outcome ours = run_model(model, bytes_of(kind.input, inputs), options);
    ASSERT_EQ(ours.status, 0) << ours.messages;
    ASSERT_EQ(ours.replaced, model.nodes.size()) << ours.messages;
    const size_t bytes = kind.input == type_i8 ? 1 : sizeof(float);
    const double padding = kind.input == type_i8 ? layer.input_zero : 0;
    const std::vector<double> rows = pixel_rows(shape, inputs, padding);
    for (size_t c = 0; c < layer.n; ++c) {
      SCOPED_TRACE(testing::Message() << "channel " << c);
      expect_products(channel_of(layer, c), channel_rows(layer, shape, rows, c),
                      channel_bytes(ours.outputs, layer.n, bytes, c));
      if (HasFatalFailure()) return;
    }
  }
};

TEST_P(Depthwise, OfFloats) {
  check({type_f32, type_f32});
}
TEST_P(Depthwise, ByHalves) {
  check({type_f32, type_f16, true, true, activation_relu6});
}
TEST_P(Depthwise, OfCodes) {
  check({type_i8, type_i8, true, true, activation_relu6});
}
TEST_P(Depthwise, OnThreads) {
  RunOptions several;
  several.threads = 3;
  check({type_f32, type_f32, true, false}, several);
  check({type_i8, type_i8, false, false}, several);
}

INSTANTIATE_TEST_SUITE_P(, Depthwise,
                         testing::Values(ImageShape{{1, 7, 9, 5}, 3, 3, 5},
                                         ImageShape{{2, 8, 8, 40}, 3, 3, 40, padding_same, 2},
                                         ImageShape{{1, 9, 12, 17}, 5, 5, 17},
                                         ImageShape{{3, 11, 9, 8}, 5, 5, 8, padding_valid, 2},
                                         ImageShape{{1, 6, 3, 33}, 3, 3, 33, padding_valid},
                                         ImageShape{{1, 9, 12, 17}, 3, 3, 17, padding_same, 1, 2},
                                         ImageShape{{2, 10, 9, 5}, 3, 3, 5, padding_valid, 1, 3, 2},
                                         ImageShape{{1, 13, 11, 8}, 5, 5, 8, padding_same, 1, 2},
                                         ImageShape{{1, 3, 2, 20}, 3, 3, 20, padding_same, 1, 4},
                                         ImageShape{{2, 8, 8, 5}, 3, 3, 10, padding_same, 2},
                                         ImageShape{{1, 6, 7, 1}, 5, 5, 8},
                                         ImageShape{{2, 7, 8, 3}, 3, 3, 12, padding_valid, 1, 2}),
                         [](const auto& info) { return std::to_string(info.index); });

/// The same weights and kernel for images of another size.
TEST_F(LitertTest, DepthwiseOfImagesThatWereResized) {
  std::mt19937 random(13);
  ImageShape shape{{1, 6, 6, 20}, 3, 3, 20};
  const Layer layer = layer_of({type_i8, type_i8}, shape, random);
  const Model model = depthwise_model(layer, shape);
  shape.image = {2, 9, 4, 20};
  const std::vector<double> inputs = random_inputs(layer, input_values(shape.image), random);
  RunOptions resized;
  resized.shape = {2, 9, 4, 20};
  const Outcome ours = run_model(model, bytes_of(type_i8, inputs), resized);
  ASSERT_EQ(ours.status, 0) << ours.messages;
  const std::vector<double> rows = pixel_rows(shape, inputs, layer.input_zero);
  for (size_t c = 0; c < layer.n; ++c) {
    expect_products(channel_of(layer, c), channel_rows(layer, shape, rows, c),
                    channel_bytes(ours.outputs, layer.n, 1, c));
  }
}

/// Those that there are no kernels for.
TEST_F(LitertTest, DepthwiseThatIsLeftToTheRuntime) {
  RunOptions logging;
  logging.environment = {{"TILEWRIGHT_LOG", "1"}};
  const auto expect_left = [&](const LayerKind& kind, const ImageShape& shape,
                               const char* because) {
    std::mt19937 random(14);
    const Layer layer = layer_of(kind, shape, random);
    const std::vector<double> inputs = random_inputs(layer, input_values(shape.image), random);
    const Outcome ours =
        run_model(depthwise_model(layer, shape), bytes_of(kind.input, inputs), logging);
    EXPECT_EQ(ours.replaced, 0U);
    EXPECT_NE(ours.messages.find(because), std::string::npos) << ours.messages;
  };
  expect_left({}, {{1, 9, 9, 4}, 3, 3, 4, padding_same, 2, 2}, "taps that are apart, and windows");
  expect_left({}, {{1, 9, 9, 4}, 3, 4, 4}, "there are kernels of");
  expect_left({type_f32, type_i8}, {{1, 9, 9, 4}, 3, 3, 4}, "no depthwise kernels");
}

}  // namespace
}  // namespace tw::litert::depthwise_test
