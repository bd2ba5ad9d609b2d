// Layers of realistic shapes, for scripts/litert:
//
//   layers list                       their names
//   layers write NAME MODEL INPUTS    a layer's model, with random weights, and inputs for it
//   layers error NAME OUTPUTS         how far outputs are from plain loops in double precision, as
//   a
//                                     share of the largest one; of codes: in steps
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <variant>

#include "litert/models/layer_models.h"
#include "litert/models/network.h"
#include "litert/models/transformer.h"

namespace tw::litert {
namespace {

struct DepthwiseShape {
  ImageShape images;
};
struct TransposedShape {
  ImageShape images;
};
struct NetworkShape {
  int32_t size;  ///< of the image, in pixels
};

struct NamedLayer {
  const char* name;
  LayerKind kind;
  std::variant<MatrixShape, ImageShape, BatchShape, DepthwiseShape, TransposedShape, NetworkShape,
               BlockShape>
      shape;
};

const MatrixShape kPrompt = {{128, 1024}, 1024}, kOneRow = {{1, 1024}, 1024};
const BatchShape kBatches = {{8, 16, 1024}, 1024};
const ImageShape kPoints = {{1, 28, 28, 256}, 1, 1, 256}, kWindow = {{1, 28, 28, 128}, 3, 3, 128};
const DepthwiseShape kChannels = {{{1, 56, 56, 128}, 3, 3, 128}},
                     kApart = {{{1, 33, 33, 512}, 3, 3, 512, padding_same, 1, 2}},
                     kMore = {{{1, 56, 56, 64}, 3, 3, 128}};
const TransposedShape kLarger = {{{1, 28, 28, 128}, 3, 3, 64, padding_same, 2}};

const BlockShape kBlock = {128, 512, 8, 2048};

const NamedLayer kLayers[] = {
    {"fc-f32", {type_f32, type_f32}, kPrompt},
    {"fc-f32-1", {type_f32, type_f32}, kOneRow},
    {"fc-f16w", {type_f32, type_f16}, kPrompt},
    {"fc-f16w-1", {type_f32, type_f16}, kOneRow},
    {"fc-int8w", {type_f32, type_i8, false}, kPrompt},
    {"fc-int8w-1", {type_f32, type_i8, false}, kOneRow},
    {"fc-int8w-rows", {type_f32, type_i8}, kPrompt},
    {"fc-int8w-rows-1", {type_f32, type_i8}, kOneRow},
    {"fc-int4w-rows", {type_f32, type_i4}, kPrompt},
    {"fc-int4w-rows-1", {type_f32, type_i4}, kOneRow},
    {"fc-int8", {type_i8, type_i8, false}, kPrompt},
    {"fc-int8-1", {type_i8, type_i8, false}, kOneRow},
    {"bmm-f32", {type_f32, type_f32, true, false}, kBatches},
    {"bmm-int8w", {type_f32, type_i8, false, false}, kBatches},
    {"bmm-int8w-rows", {type_f32, type_i8, true, false}, kBatches},
    {"bmm-int8", {type_i8, type_i8, false, false}, kBatches},
    {"conv1x1-f32", {type_f32, type_f32}, kPoints},
    {"conv3x3-f32", {type_f32, type_f32}, kWindow},
    {"conv3x3-f16w", {type_f32, type_f16}, kWindow},
    {"conv1x1-int8w", {type_f32, type_i8}, kPoints},
    {"conv3x3-int8w", {type_f32, type_i8}, kWindow},
    {"conv1x1-int8", {type_i8, type_i8}, kPoints},
    {"conv3x3-int8", {type_i8, type_i8}, kWindow},
    {"dwconv3x3-f32", {type_f32, type_f32}, kChannels},
    {"dwconv3x3-f16w", {type_f32, type_f16}, kChannels},
    {"dwconv3x3-int8", {type_i8, type_i8}, kChannels},
    {"dwconv3x3-dilated-f32", {type_f32, type_f32}, kApart},
    {"dwconv3x3-dilated-int8", {type_i8, type_i8}, kApart},
    {"dwconv3x3-more-f32", {type_f32, type_f32}, kMore},
    {"dwconv3x3-more-int8", {type_i8, type_i8}, kMore},
    {"tconv3x3-f32", {type_f32, type_f32}, kLarger},
    {"tconv3x3-int8", {type_i8, type_i8}, kLarger},
    {"mobilenet-f32", {type_f32, type_f32}, NetworkShape{224}},
    {"mobilenet-f16w", {type_f32, type_f16}, NetworkShape{224}},
    {"mobilenet-int8", {type_i8, type_i8}, NetworkShape{224}},
    {"transformer-f32", {type_f32, type_f32}, kBlock},
    {"transformer-f16w", {type_f32, type_f16}, kBlock},
    {"transformer-int8w", {type_f32, type_i8, false}, kBlock},
    {"transformer-int8w-rows", {type_f32, type_i8}, kBlock},
};

struct MadeLayer {
  Model model;
  std::vector<double> inputs;
  std::function<std::vector<double>()> wanted;  ///< outputs by plain loops
};

std::mt19937 random(11);

/// Of rows that the inputs are.
MadeLayer made_of_rows(const Layer& layer, Model model, size_t rows) {
  const std::vector<double> inputs = random_inputs(layer, rows * layer.k, random);
  return {std::move(model), inputs, [layer, inputs] { return exact_products(layer, inputs); }};
}

MadeLayer make(const LayerKind& kind, const MatrixShape& shape) {
  const auto k = static_cast<size_t>(shape.input.back());
  const Layer layer = random_layer(kind, shape.n, k, random);
  return made_of_rows(layer, fully_connected_model(layer, shape), rows_of(shape));
}

MadeLayer make(const LayerKind& kind, const BatchShape& shape) {
  const Layer layer = random_layer(kind, shape.n, static_cast<size_t>(shape.left.back()), random);
  return made_of_rows(layer, batch_matmul_model(layer, shape), rows_of({shape.left, shape.n}));
}

std::vector<double> random_pixels(const Layer& layer, const Image& image) {
  const int32_t values = image.count * image.height * image.width * image.channels;
  return random_inputs(layer, static_cast<size_t>(values), random);
}

double padding_of(const Layer& layer) {
  return layer.kind.input == type_i8 ? layer.input_zero : 0;
}

MadeLayer make(const LayerKind& kind, const ImageShape& shape) {
  const int32_t k = shape.kernel_height * shape.kernel_width * shape.image.channels;
  const Layer layer = random_layer(kind, shape.outputs, static_cast<size_t>(k), random);
  const std::vector<double> inputs = random_pixels(layer, shape.image);
  return {convolution_model(layer, shape), inputs,
          [=] { return exact_products(layer, pixel_rows(shape, inputs, padding_of(layer))); }};
}

MadeLayer make(const LayerKind& kind, const DepthwiseShape& shape) {
  const ImageShape& images = shape.images;
  const int32_t k = images.kernel_height * images.kernel_width;
  const Layer layer = random_layer(kind, images.outputs, static_cast<size_t>(k), random);
  const std::vector<double> inputs = random_pixels(layer, images.image);
  return {depthwise_model(layer, images), inputs, [=] {
            return exact_channels(layer, images, pixel_rows(images, inputs, padding_of(layer)));
          }};
}

MadeLayer make(const LayerKind& kind, const TransposedShape& shape) {
  const ImageShape& images = shape.images;
  const int32_t k = images.kernel_height * images.kernel_width * images.image.channels;
  const Layer layer = random_layer(kind, images.outputs, static_cast<size_t>(k), random);
  const std::vector<double> inputs = random_pixels(layer, images.image);
  return {transposed_model(layer, images), inputs, [=] {
            return exact_products(layer, transposed_rows(images, inputs, padding_of(layer)));
          }};
}

MadeLayer make(const LayerKind& kind, const NetworkShape& shape) {
  const Network network = mobile_network(kind, shape.size, random);
  const Stage& first = network.stages.front();
  const std::vector<double> inputs = random_pixels(first.layer, first.shape.image);
  return {network_model(network), inputs, [=] { return exact_outputs(network, inputs); }};
}

MadeLayer make(const LayerKind& kind, const BlockShape& shape) {
  const Block block = random_block(kind, shape, random);
  const std::vector<double> inputs =
      random_inputs(block.queries, static_cast<size_t>(shape.rows * shape.width), random);
  return {block_model(block), inputs, [=] { return exact_outputs(block, inputs); }};
}

MadeLayer make(const NamedLayer& named) {
  return std::visit([&](const auto& shape) { return make(named.kind, shape); }, named.shape);
}

const NamedLayer& find(const std::string& name) {
  for (const NamedLayer& named : kLayers) {
    if (named.name == name) return named;
  }
  throw std::invalid_argument("no layer " + name);
}

void write_bytes(const char* path, const std::vector<uint8_t>& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  if (!out) throw std::runtime_error(std::string("cannot write ") + path);
}

double number_at(Type type, const std::vector<uint8_t>& outputs, size_t i) {
  if (type == type_i8) return static_cast<int8_t>(outputs.at(i));
  float value = 0;
  if (outputs.size() < (i + 1) * sizeof value) throw std::runtime_error("too few outputs");
  std::memcpy(&value, outputs.data() + i * sizeof value, sizeof value);
  return value;
}

double error_of(const NamedLayer& named, const std::vector<uint8_t>& outputs) {
  const Type type = named.kind.input;
  const std::vector<double> wanted = make(named).wanted();
  double largest = 0, error = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    largest = std::max(largest, std::abs(wanted[i]));
    const double difference = std::abs(number_at(type, outputs, i) - wanted[i]);
    error = std::isnan(difference) ? difference : std::max(error, difference);
  }
  return type == type_i8 ? error : error / largest;
}

void run(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  if (what == "list" && count == 2) {
    for (const NamedLayer& named : kLayers) std::cout << named.name << "\n";
  } else if (what == "write" && count == 5) {
    const NamedLayer& named = find(words[2]);
    const MadeLayer made = make(named);
    write_bytes(words[3], file_of(made.model));
    write_bytes(words[4], bytes_of(named.kind.input, made.inputs));
  } else if (what == "error" && count == 4) {
    std::ifstream in(words[3], std::ios::binary);
    std::cout << error_of(find(words[2]), {std::istreambuf_iterator<char>(in), {}}) << "\n";
  } else {
    throw std::invalid_argument("layers list|write|error");
  }
}

}  // namespace
}  // namespace tw::litert

int main(int count, char** words) {
  try {
    tw::litert::run(count, words);
    return EXIT_SUCCESS;
  } catch (const std::exception& failure) {
    std::cerr << "layers: " << failure.what() << "\n";
    return EXIT_FAILURE;
  }
}
