// CONV_2D of every type against plain loops.
#include "layer.h"
#include "litert.h"

namespace tw::litert {
namespace {

struct Image {
  int32_t count, height, width, channels;
};

struct Case {
  Image image;
  int32_t kernel_height, kernel_width;
  size_t outputs;
  PaddingType padding = padding_same;
  int32_t stride = 1, dilation = 1;
};

/// As the format defines paddings: outputs, and pixels in front of the first.
struct Along {
  int32_t outputs, before;
};
Along along(const Case& c, int32_t input, int32_t kernel) {
  const int32_t reach = (kernel - 1) * c.dilation + 1;
  if (c.padding == padding_valid) return {(input - reach + c.stride) / c.stride, 0};
  const int32_t outputs = (input + c.stride - 1) / c.stride;
  return {outputs, std::max(0, (outputs - 1) * c.stride + reach - input) / 2};
}

/// The pixels that the kernel lies on, of each output.
std::vector<double> rows_of(const Case& c, const std::vector<double>& inputs, double padding) {
  const Image& image = c.image;
  const Along down = along(c, image.height, c.kernel_height),
              across = along(c, image.width, c.kernel_width);
  std::vector<double> rows;
  const auto append_pixel = [&](int32_t i, int32_t y, int32_t x) {
    const bool is_inside = y >= 0 && y < image.height && x >= 0 && x < image.width;
    for (int32_t channel = 0; channel < image.channels; ++channel) {
      const int32_t at = ((i * image.height + y) * image.width + x) * image.channels + channel;
      rows.push_back(is_inside ? inputs[static_cast<size_t>(at)] : padding);
    }
  };
  for (int32_t i = 0; i < image.count; ++i) {
    for (int32_t out = 0; out < down.outputs * across.outputs; ++out) {
      const int32_t y = out / across.outputs * c.stride - down.before;
      const int32_t x = out % across.outputs * c.stride - across.before;
      for (int32_t tap = 0; tap < c.kernel_height * c.kernel_width; ++tap) {
        append_pixel(i, y + tap / c.kernel_width * c.dilation,
                     x + tap % c.kernel_width * c.dilation);
      }
    }
  }
  return rows;
}

Model model_of(const Case& c, const Layer& layer) {
  const Image& image = c.image;
  Model model;
  model.tensors = {
      input_tensor(layer, {image.count, image.height, image.width, image.channels}),
      weight_tensor(layer, {c.kernel_height, c.kernel_width, image.channels}), bias_tensor(layer),
      output_tensor(
          layer, {image.count, along(c, image.height, c.kernel_height).outputs,
                  along(c, image.width, c.kernel_width).outputs, static_cast<int32_t>(layer.n)})};
  model.inputs = {0};
  model.outputs = {3};
  model.nodes = {convolution_node(
      {0, 1, 2}, 3,
      {c.padding, c.stride, c.stride, layer.kind.activation, c.dilation, c.dilation})};
  if (layer.kind.weights == type_f16) {
    model.tensors.push_back(model.tensors[1]);
    model.tensors[1].type = type_f32;
    model.tensors[1].data.clear();
    model.nodes.insert(model.nodes.begin(), dequantize_node(4, 1));
  }
  return model;
}

class Convolution : public LitertTest, public testing::WithParamInterface<Case> {
 protected:
  static void check(const LayerKind& kind, const RunOptions& options = {}) {
    const Case& c = GetParam();
    std::mt19937 random(8);
    const auto k = static_cast<size_t>(c.kernel_height * c.kernel_width * c.image.channels);
    const Layer layer = random_layer(kind, c.outputs, k, random);
    const Image& image = c.image;
    const auto values =
        static_cast<size_t>(image.count * image.height * image.width * image.channels);
    const std::vector<double> inputs = random_inputs(layer, values, random);
    const Model model = model_of(c, layer);
    const Outcome ours = run_model(model, bytes_of(kind.input, inputs), options);
    ASSERT_EQ(ours.status, 0) << ours.messages;
    ASSERT_EQ(ours.replaced, model.nodes.size()) << ours.messages;
    const double padding = kind.input == type_i8 ? layer.input_zero : 0;
    expect_products(layer, rows_of(c, inputs, padding), ours.outputs);
  }
};

TEST_P(Convolution, OfFloats) {
  check({type_f32, type_f32});
}
TEST_P(Convolution, ByHalves) {
  check({type_f32, type_f16, true, true, activation_relu6});
}
TEST_P(Convolution, OfFloatsByCodes) {
  check({type_f32, type_i8});
}
TEST_P(Convolution, OfCodes) {
  check({type_i8, type_i8, true, true, activation_relu});
}
TEST_P(Convolution, OnThreads) {
  check({type_f32, type_f32}, {.more = "--threads 3"});
  check({type_i8, type_i8}, {.more = "--threads 3"});
}

INSTANTIATE_TEST_SUITE_P(, Convolution,
                         testing::Values(Case{{1, 6, 5, 20}, 1, 1, 18},
                                         Case{{2, 4, 4, 3}, 1, 1, 33}, Case{{1, 7, 9, 5}, 3, 3, 17},
                                         Case{{2, 7, 9, 4}, 3, 3, 20, padding_same, 2},
                                         Case{{1, 8, 8, 4}, 3, 3, 20, padding_same, 2},
                                         Case{{1, 9, 7, 6}, 3, 2, 19, padding_valid},
                                         Case{{1, 11, 9, 3}, 3, 3, 16, padding_same, 1, 2},
                                         Case{{1, 9, 9, 8}, 1, 1, 40, padding_valid, 2},
                                         Case{{3, 5, 6, 2}, 5, 5, 9, padding_valid}),
                         [](const auto& info) { return std::to_string(info.index); });

}  // namespace
}  // namespace tw::litert
