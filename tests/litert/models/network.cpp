#include "litert/models/network.h"

#include <cmath>

namespace tw::litert {

namespace {

constexpr float kLargest = 6;  // of activations, as of RELU6

/// Numbers between stages are of one size, however many there are; codes are of all their range.
Stage stage_of(const LayerKind& kind, const ImageShape& shape, bool is_depthwise,
               std::mt19937& random) {
  const int32_t taps = shape.kernel_height * shape.kernel_width;
  const int32_t k = is_depthwise ? taps : taps * shape.image.channels;
  Stage stage{random_layer(kind, shape.outputs, static_cast<size_t>(k), random), shape,
              is_depthwise};
  Layer& layer = stage.layer;
  layer.input_scale = layer.output_scale = kLargest / 255;
  layer.input_zero = layer.output_zero = -128;
  shrink_weights(layer, std::sqrt(static_cast<float>(k)));
  return stage;
}

/// A network's activations behind a stage.
Image image_behind(const Stage& stage) {
  const ImageShape& shape = stage.shape;
  return {shape.image.count, shape.image.height / shape.stride, shape.image.width / shape.stride,
          static_cast<int32_t>(stage.layer.n)};
}

Model stage_model(const Stage& stage) {
  return stage.is_depthwise ? depthwise_model(stage.layer, stage.shape)
                            : convolution_model(stage.layer, stage.shape);
}

std::vector<double> exact_stage(const Stage& stage, const std::vector<double>& values) {
  const double padding = stage.layer.kind.input == type_i8 ? stage.layer.input_zero : 0;
  const std::vector<double> rows = pixel_rows(stage.shape, values, padding);
  return stage.is_depthwise ? exact_channels(stage.layer, stage.shape, rows)
                            : exact_products(stage.layer, rows);
}

/// The average of all pixels of each channel.
Model pool_model(const Layer& layer, const Image& image) {
  Model model;
  model.tensors = {output_tensor(layer, {1, image.height, image.width, image.channels}),
                   output_tensor(layer, {1, 1, 1, image.channels})};
  model.inputs = {0};
  model.outputs = {1};
  model.nodes = {average_pool_node(0, 1, {padding_valid, 1, image.width, image.height})};
  return model;
}

std::vector<double> averages(const std::vector<double>& values, size_t channels) {
  std::vector<double> sums(channels);
  for (size_t i = 0; i < values.size(); ++i) sums[i % channels] += values[i];
  for (double& sum : sums) sum /= static_cast<double>(values.size() / channels);
  return sums;
}

}  // namespace

Network mobile_network(const LayerKind& kind, int32_t size, std::mt19937& random) {
  LayerKind inner = kind;
  inner.activation = activation_relu6;
  Network network;
  Image image{1, size, size, 3};
  const auto add = [&](int32_t kernel, size_t outputs, int32_t stride, bool is_depthwise) {
    const ImageShape shape{image, kernel, kernel, outputs, padding_same, stride};
    network.stages.push_back(stage_of(inner, shape, is_depthwise, random));
    image = image_behind(network.stages.back());
  };
  add(3, 32, 2, false);
  struct Block {
    size_t outputs;
    int32_t stride;
  };
  for (const Block& block : {Block{64, 1},
                             {128, 2},
                             {128, 1},
                             {256, 2},
                             {256, 1},
                             {512, 2},
                             {512, 1},
                             {512, 1},
                             {512, 1},
                             {512, 1},
                             {512, 1},
                             {1024, 2},
                             {1024, 1}}) {
    add(3, static_cast<size_t>(image.channels), block.stride, true);
    add(1, block.outputs, 1, false);
  }
  constexpr size_t kClasses = 1000;
  network.last = stage_of(kind, {{1, 1, 1, image.channels}, 1, 1, kClasses}, false, random);
  network.last.layer.output_zero = 0;
  return network;
}

Model network_model(const Network& network) {
  Model model = stage_model(network.stages.front());
  for (size_t i = 1; i < network.stages.size(); ++i) append(model, stage_model(network.stages[i]));
  const Stage& before = network.stages.back();
  append(model, pool_model(before.layer, image_behind(before)));
  append(model, stage_model(network.last));
  return model;
}

std::vector<double> exact_outputs(const Network& network, std::vector<double> values) {
  for (const Stage& stage : network.stages) values = exact_stage(stage, values);
  return exact_stage(network.last, averages(values, network.stages.back().layer.n));
}

}  // namespace tw::litert
