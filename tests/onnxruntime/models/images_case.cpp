// QLinearConv.
#include <algorithm>
#include <cmath>

#include "onnxruntime/models/cases.h"

namespace tw::onnxruntime {

namespace {

constexpr float kImageScale = 0.02F, kOutputScale = 0.5F;
constexpr uint8_t kImageZero = 131, kOutputZero = 125;

int32_t code_of_byte(int32_t type, uint8_t byte) {
  return type == u8 ? byte : static_cast<int8_t>(byte);
}

struct ImageOperands {
  std::vector<uint8_t> x, w, zeros;
  std::vector<float> scales;
  std::vector<int32_t> bias;
};

ImageOperands random_images(const ImagesShape& shape, std::mt19937& random) {
  const auto outputs = static_cast<size_t>(shape.outputs);
  const size_t taps = product_of(shape.kernel) * static_cast<size_t>(shape.channels);
  ImageOperands made;
  made.x =
      random_bytes(product_of({shape.count, shape.channels, shape.height, shape.width}), random);
  made.w = random_bytes(outputs * taps, random);
  made.scales = random_floats(shape.by_outputs ? outputs : 1, 0.05F, random);
  for (float& scale : made.scales) scale = std::abs(scale) + 0.001F;
  made.zeros.assign(made.scales.size(), shape.weights_type == u8 ? 128 : 0);
  if (!shape.has_bias) return made;
  for (size_t i = 0; i < outputs; ++i) {
    made.bias.push_back(static_cast<int32_t>(random() % 20000) - 10000);
  }
  return made;
}

struct Place {
  int64_t image, output, line, column;
};

/// The sum of products of codes less their zero points, padding being zeros.
int64_t sum_at(const ImagesShape& shape, const ImageOperands& its, const Place& at) {
  int64_t sum = its.bias.empty() ? 0 : its.bias[static_cast<size_t>(at.output)];
  const int zero = shape.weights_type == u8 ? 128 : 0;
  for (int64_t channel = 0; channel < shape.channels; ++channel) {
    for (int64_t i = 0; i < shape.kernel[0]; ++i) {
      for (int64_t j = 0; j < shape.kernel[1]; ++j) {
        const int64_t line = at.line * shape.strides[0] + i * shape.dilations[0] - shape.pads[0];
        const int64_t column =
            at.column * shape.strides[1] + j * shape.dilations[1] - shape.pads[1];
        if (line < 0 || line >= shape.height || column < 0 || column >= shape.width) continue;
        const int64_t pixel =
            ((at.image * shape.channels + channel) * shape.height + line) * shape.width + column;
        const int64_t tap =
            ((at.output * shape.channels + channel) * shape.kernel[0] + i) * shape.kernel[1] + j;
        sum += (code_of_byte(shape.images_type, its.x[static_cast<size_t>(pixel)]) -
                code_of_byte(shape.images_type, kImageZero)) *
               (code_of_byte(shape.weights_type, its.w[static_cast<size_t>(tap)]) - zero);
      }
    }
  }
  return sum;
}

std::vector<int64_t> output_extents(const ImagesShape& shape) {
  std::vector<int64_t> made = {shape.count, shape.outputs};
  const int64_t inputs[] = {shape.height, shape.width};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t reach = (shape.kernel[i] - 1) * shape.dilations[i] + 1;
    made.push_back((inputs[i] + shape.pads[i] + shape.pads[2 + i] - reach) / shape.strides[i] + 1);
  }
  return made;
}

void add_image_constants(const ImagesShape& shape, const ImageOperands& its, Case& made) {
  const auto scalar = [](const char* name, float value) {
    return Tensor{name, f32, {}, bytes_of(std::vector<float>{value})};
  };
  const auto of_outputs = static_cast<int64_t>(its.scales.size());
  const std::vector<int64_t> spread =
      shape.by_outputs ? std::vector<int64_t>{of_outputs} : std::vector<int64_t>{};
  made.model.constants = {
      scalar("x_scale", kImageScale),
      {"x_zero", shape.images_type, {}, {kImageZero}},
      {"w",
       shape.weights_type,
       {shape.outputs, shape.channels, shape.kernel[0], shape.kernel[1]},
       its.w},
      {"w_scale", f32, spread, bytes_of(its.scales)},
      {"w_zero", shape.weights_type, spread, its.zeros},
      scalar("y_scale", kOutputScale),
      {"y_zero", shape.images_type, {}, {kOutputZero}},
  };
  if (shape.has_bias)
    made.model.constants.push_back({"bias", i32, {shape.outputs}, bytes_of(its.bias)});
}

}  // namespace

Case images_case(const ImagesShape& shape, std::mt19937& random) {
  const ImageOperands its = random_images(shape, random);
  OnnxNode node{"QLinearConv",
                {"a", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero"},
                {"y"},
                {{"kernel_shape", shape.kernel},
                 {"strides", shape.strides},
                 {"dilations", shape.dilations},
                 {"pads", shape.pads}},
                ""};
  if (shape.has_bias) node.inputs.push_back("bias");
  Case made;
  made.model.nodes = {node};
  const std::vector<int64_t> in = {shape.count, shape.channels, shape.height, shape.width},
                             out = output_extents(shape);
  made.model.inputs = {{"a", shape.images_type, in}};
  made.model.outputs = {{"y", shape.images_type, out}};
  made.inputs = {{"a", shape.images_type, in, its.x}};
  add_image_constants(shape, its, made);
  const int lowest = shape.images_type == u8 ? 0 : -128;
  for (size_t i = 0; i < product_of(out); ++i) {
    const auto at = static_cast<int64_t>(i);
    const Place place = {at / (out[1] * out[2] * out[3]), at / (out[2] * out[3]) % out[1],
                         at / out[3] % out[2], at % out[3]};
    const double scale = its.scales[shape.by_outputs ? static_cast<size_t>(place.output) : 0];
    const double real =
        static_cast<double>(sum_at(shape, its, place)) * scale * kImageScale / kOutputScale;
    made.wanted.push_back(std::clamp<double>(real + code_of_byte(shape.images_type, kOutputZero),
                                             lowest, lowest + 255));
    made.bounds.push_back(0.5 + 1e-4 * std::abs(real));
  }
  return made;
}

}  // namespace tw::onnxruntime
