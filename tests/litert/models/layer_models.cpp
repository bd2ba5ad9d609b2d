#include "litert/models/layer_models.h"

#include <algorithm>

namespace tw::litert {

namespace {

std::vector<int32_t> output_of(const MatrixShape& shape) {
  const auto n = static_cast<int32_t>(shape.n);
  if (!shape.keeps_dimensions) return {static_cast<int32_t>(rows_of(shape)), n};
  std::vector<int32_t> output = shape.input;
  output.back() = n;
  return output;
}

/// The constant becomes a node's output, a tensor of 16 bits its input.
void make_of_halves(Model& model, size_t constant, const std::vector<double>& values) {
  ModelTensor& floats = model.tensors[constant];
  const ModelTensor halves = {type_f16, floats.shape, bytes_of(type_f16, values)};
  floats.type = type_f32;
  floats.data.clear();
  const auto from = static_cast<int32_t>(model.tensors.size());
  model.nodes.insert(model.nodes.begin(), dequantize_node(from, static_cast<int32_t>(constant)));
  model.tensors.push_back(halves);
}

/// Tensors 0 to 3: input, weights, bias, output; of weights of 16 bits the next one is those.
constexpr size_t first_halves = 4;
Model layer_model(const Layer& layer, const std::vector<int32_t>& input,
                  const std::vector<int32_t>& weight_row, const std::vector<int32_t>& output) {
  Model model;
  model.tensors = {input_tensor(layer, input), weight_tensor(layer, weight_row), bias_tensor(layer),
                   output_tensor(layer, output)};
  model.inputs = {0};
  model.outputs = {3};
  if (layer.kind.weights == type_f16) {
    make_of_halves(model, 1, layer.weights);
    if (layer.kind.has_bias) make_of_halves(model, 2, layer.bias);
  }
  return model;
}

std::vector<int32_t> operands(const Layer& layer) {
  return {0, 1, layer.kind.has_bias ? 2 : no_tensor};
}

std::vector<double> transposed(const std::vector<double>& rows, size_t n, size_t k) {
  std::vector<double> columns(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) columns[i % k * n + i / k] = rows[i];
  return columns;
}

ModelTensor matrix_tensor(const Layer& layer, const BatchShape& shape) {
  ModelTensor made = weight_tensor(layer, {static_cast<int32_t>(layer.k)});
  made.quantized_dimension = static_cast<int32_t>(shape.leading_ones);
  if (!shape.transposes) {
    std::swap(made.shape[0], made.shape[1]);
    made.data = bytes_of(layer.kind.weights, transposed(layer.weights, layer.n, layer.k));
    ++made.quantized_dimension;
  }
  made.shape.insert(made.shape.begin(), shape.leading_ones, 1);
  return made;
}

int32_t dilation_across(const ImageShape& shape) {
  return shape.other_dilation != 0 ? shape.other_dilation : shape.dilation;
}

/// As the format defines paddings: outputs, and pixels in front of the first.
struct Along {
  int32_t outputs, before;
};
Along along(const ImageShape& shape, int32_t input, int32_t kernel, int32_t dilation) {
  const int32_t reach = (kernel - 1) * dilation + 1;
  if (shape.padding == padding_valid) return {(input - reach + shape.stride) / shape.stride, 0};
  const int32_t outputs = (input + shape.stride - 1) / shape.stride;
  return {outputs, std::max(0, (outputs - 1) * shape.stride + reach - input) / 2};
}
Along down(const ImageShape& shape) {
  return along(shape, shape.image.height, shape.kernel_height, shape.dilation);
}
Along across(const ImageShape& shape) {
  return along(shape, shape.image.width, shape.kernel_width, dilation_across(shape));
}

/// Of a transposed convolution: outputs, and what is cut off in front of them.
Along along_transposed(const ImageShape& shape, int32_t input, int32_t kernel, int32_t more) {
  const int32_t whole = (input - 1) * shape.stride + kernel;
  const int32_t outputs = (shape.padding == padding_same ? input * shape.stride : whole) + more;
  return {outputs, std::max(0, whole - outputs) / 2};
}

}  // namespace

size_t rows_of(const MatrixShape& shape) {
  size_t rows = 1;
  for (size_t i = 0; i + 1 < shape.input.size(); ++i) rows *= static_cast<size_t>(shape.input[i]);
  return rows;
}

Model fully_connected_model(const Layer& layer, const MatrixShape& shape) {
  Model model = layer_model(layer, shape.input, {static_cast<int32_t>(layer.k)}, output_of(shape));
  model.nodes.push_back(
      fully_connected_node(operands(layer), 3, layer.kind.activation, shape.keeps_dimensions));
  return model;
}

Model batch_matmul_model(const Layer& layer, const BatchShape& shape) {
  std::vector<int32_t> output = shape.left;
  output.back() = static_cast<int32_t>(shape.n);
  const size_t rank = std::max(output.size(), shape.leading_ones + 2);
  output.insert(output.begin(), rank - output.size(), 1);
  Model model;
  model.tensors = {input_tensor(layer, shape.left), matrix_tensor(layer, shape),
                   output_tensor(layer, output)};
  model.inputs = {0};
  model.outputs = {2};
  model.nodes = {batch_matmul_node(0, 1, 2, shape.transposes)};
  if (layer.kind.weights == type_f16) {
    make_of_halves(model, 1,
                   shape.transposes ? layer.weights : transposed(layer.weights, layer.n, layer.k));
  }
  return model;
}

Model convolution_model(const Layer& layer, const ImageShape& shape) {
  const Image& image = shape.image;
  Model model = layer_model(
      layer, {image.count, image.height, image.width, image.channels},
      {shape.kernel_height, shape.kernel_width, image.channels},
      {image.count, down(shape).outputs, across(shape).outputs, static_cast<int32_t>(layer.n)});
  model.nodes.push_back(
      convolution_node(operands(layer), 3,
                       {shape.padding, shape.stride, shape.stride, layer.kind.activation,
                        dilation_across(shape), shape.dilation}));
  return model;
}

Model depthwise_model(const Layer& layer, const ImageShape& shape) {
  const Image& image = shape.image;
  const std::vector<double> taps_first = transposed(layer.weights, layer.n, layer.k);
  Model model = layer_model(
      layer, {image.count, image.height, image.width, image.channels}, {},
      {image.count, down(shape).outputs, across(shape).outputs, static_cast<int32_t>(layer.n)});
  ModelTensor& weights = model.tensors[1];
  weights.shape = {1, shape.kernel_height, shape.kernel_width, static_cast<int32_t>(layer.n)};
  weights.quantized_dimension = 3;
  const bool halves = layer.kind.weights == type_f16;
  if (halves) model.tensors[first_halves].shape = weights.shape;
  model.tensors[halves ? first_halves : 1].data = bytes_of(layer.kind.weights, taps_first);
  model.nodes.push_back(depthwise_node(
      operands(layer), 3,
      {shape.padding, shape.stride, shape.stride, static_cast<int32_t>(layer.n) / image.channels,
       layer.kind.activation, dilation_across(shape), shape.dilation}));
  return model;
}

Model transposed_model(const Layer& layer, const ImageShape& shape, int32_t more) {
  const Image& image = shape.image;
  const std::vector<int32_t> output = {
      image.count, along_transposed(shape, image.height, shape.kernel_height, more).outputs,
      along_transposed(shape, image.width, shape.kernel_width, more).outputs,
      static_cast<int32_t>(layer.n)};
  Model model = layer_model(layer, {image.count, image.height, image.width, image.channels},
                            {shape.kernel_height, shape.kernel_width, image.channels}, output);
  const auto size = static_cast<int32_t>(model.tensors.size());
  model.tensors.push_back({type_i32, {4}, bytes_of(type_i32, {output.begin(), output.end()})});
  model.nodes.push_back(
      transposed_node({size, 1, 0, layer.kind.has_bias ? 2 : no_tensor}, 3,
                      {shape.padding, shape.stride, shape.stride, layer.kind.activation}));
  return model;
}

std::vector<double> transposed_rows(const ImageShape& shape, const std::vector<double>& inputs,
                                    double padding, int32_t more) {
  const Image& image = shape.image;
  const Along lines = along_transposed(shape, image.height, shape.kernel_height, more);
  const Along columns = along_transposed(shape, image.width, shape.kernel_width, more);
  const int32_t taps = shape.kernel_height * shape.kernel_width;
  std::vector<double> rows;
  for (int32_t out = 0; out < image.count * lines.outputs * columns.outputs; ++out) {
    const int32_t i = out / (lines.outputs * columns.outputs);
    for (int32_t tap = 0; tap < taps; ++tap) {
      const int32_t down =
          out / columns.outputs % lines.outputs + lines.before - tap / shape.kernel_width;
      const int32_t across = out % columns.outputs + columns.before - tap % shape.kernel_width;
      const int32_t y = down / shape.stride, x = across / shape.stride;
      const bool is_there = down >= 0 && across >= 0 && down % shape.stride == 0 &&
                            across % shape.stride == 0 && y < image.height && x < image.width;
      for (int32_t c = 0; c < image.channels; ++c) {
        const int32_t at = ((i * image.height + y) * image.width + x) * image.channels + c;
        rows.push_back(is_there ? inputs[static_cast<size_t>(at)] : padding);
      }
    }
  }
  return rows;
}

Layer channel_of(const Layer& layer, size_t output) {
  Layer one = layer;
  one.n = 1;
  const auto first = layer.weights.begin() + static_cast<std::ptrdiff_t>(output * layer.k);
  one.weights.assign(first, first + static_cast<std::ptrdiff_t>(layer.k));
  if (!layer.scales.empty()) one.scales = {layer.scales[output]};
  if (!layer.bias.empty()) one.bias = {layer.bias[output]};
  return one;
}

std::vector<double> channel_rows(const Layer& layer, const ImageShape& shape,
                                 const std::vector<double>& rows, size_t output) {
  const auto channels = static_cast<size_t>(shape.image.channels);
  std::vector<double> taps;
  for (size_t i = output / (layer.n / channels); i < rows.size(); i += channels) {
    taps.push_back(rows[i]);
  }
  return taps;
}

std::vector<double> exact_channels(const Layer& layer, const ImageShape& shape,
                                   const std::vector<double>& rows) {
  const auto channels = static_cast<size_t>(shape.image.channels);
  std::vector<double> outputs(rows.size() / layer.k / channels * layer.n);
  for (size_t output = 0; output < layer.n; ++output) {
    const std::vector<double> own =
        exact_products(channel_of(layer, output), channel_rows(layer, shape, rows, output));
    for (size_t i = 0; i < own.size(); ++i) outputs[i * layer.n + output] = own[i];
  }
  return outputs;
}

std::vector<double> pixel_rows(const ImageShape& shape, const std::vector<double>& inputs,
                               double padding) {
  const Image& image = shape.image;
  const Along lines = down(shape), columns = across(shape);
  std::vector<double> rows;
  const auto append_pixel = [&](int32_t i, int32_t y, int32_t x) {
    const bool is_inside = y >= 0 && y < image.height && x >= 0 && x < image.width;
    for (int32_t channel = 0; channel < image.channels; ++channel) {
      const int32_t at = ((i * image.height + y) * image.width + x) * image.channels + channel;
      rows.push_back(is_inside ? inputs[static_cast<size_t>(at)] : padding);
    }
  };
  for (int32_t i = 0; i < image.count; ++i) {
    for (int32_t out = 0; out < lines.outputs * columns.outputs; ++out) {
      const int32_t y = out / columns.outputs * shape.stride - lines.before;
      const int32_t x = out % columns.outputs * shape.stride - columns.before;
      for (int32_t tap = 0; tap < shape.kernel_height * shape.kernel_width; ++tap) {
        append_pixel(i, y + tap / shape.kernel_width * shape.dilation,
                     x + tap % shape.kernel_width * dilation_across(shape));
      }
    }
  }
  return rows;
}

}  // namespace tw::litert
