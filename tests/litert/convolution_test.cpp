// CONV_2D of every type against plain loops.
#include "litert/models/layer_models.h"
#include "litert/runner.h"

namespace tw::litert {
namespace {

class Convolution : public LitertTest, public testing::WithParamInterface<ImageShape> {
 protected:
  static void check(const LayerKind& kind, const RunOptions& options = {}) {
    const ImageShape& shape = GetParam();
    std::mt19937 random(8);
    const auto k =
        static_cast<size_t>(shape.kernel_height * shape.kernel_width * shape.image.channels);
    const Layer layer = random_layer(kind, shape.outputs, k, random);
    const Image& image = shape.image;
    const auto values =
        static_cast<size_t>(image.count * image.height * image.width * image.channels);
    const std::vector<double> inputs = random_inputs(layer, values, random);
    const Model model = convolution_model(layer, shape);
    const Outcome ours = run_model(model, bytes_of(kind.input, inputs), options);
    ASSERT_EQ(ours.status, 0) << ours.messages;
    ASSERT_EQ(ours.replaced, model.nodes.size()) << ours.messages;
    const double padding = kind.input == type_i8 ? layer.input_zero : 0;
    expect_products(layer, pixel_rows(shape, inputs, padding), ours.outputs);
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
  RunOptions several;
  several.threads = 3;
  check({type_f32, type_f32}, several);
  check({type_i8, type_i8}, several);
}

INSTANTIATE_TEST_SUITE_P(, Convolution,
                         testing::Values(ImageShape{{1, 6, 5, 20}, 1, 1, 18},
                                         ImageShape{{2, 4, 4, 3}, 1, 1, 33},
                                         ImageShape{{1, 7, 9, 5}, 3, 3, 17},
                                         ImageShape{{2, 7, 9, 4}, 3, 3, 20, padding_same, 2},
                                         ImageShape{{1, 8, 8, 4}, 3, 3, 20, padding_same, 2},
                                         ImageShape{{1, 9, 7, 6}, 3, 2, 19, padding_valid},
                                         ImageShape{{1, 11, 9, 3}, 3, 3, 16, padding_same, 1, 2, 3},
                                         ImageShape{{1, 9, 9, 8}, 1, 1, 40, padding_valid, 2},
                                         ImageShape{{3, 5, 6, 2}, 5, 5, 9, padding_valid}),
                         [](const auto& info) { return std::to_string(info.index); });

}  // namespace
}  // namespace tw::litert
