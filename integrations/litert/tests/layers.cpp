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
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <variant>

#include "litert/models/layer_models.h"

namespace tw::litert {
namespace {

struct NamedLayer {
  const char* name;
  LayerKind kind;
  std::variant<MatrixShape, ImageShape, BatchShape> shape;
};

const MatrixShape kPrompt = {{128, 1024}, 1024}, kOneRow = {{1, 1024}, 1024};
const BatchShape kBatches = {{8, 16, 1024}, 1024};
const ImageShape kPoints = {{1, 28, 28, 256}, 1, 1, 256}, kWindow = {{1, 28, 28, 128}, 3, 3, 128};

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
};

struct MadeLayer {
  Layer layer;
  Model model;
  std::vector<double> inputs;
  std::vector<double> rows;  ///< of the product
};

MadeLayer make(const NamedLayer& named) {
  std::mt19937 random(11);
  MadeLayer made;
  if (const auto* matrix = std::get_if<MatrixShape>(&named.shape)) {
    const auto k = static_cast<size_t>(matrix->input.back());
    made.layer = random_layer(named.kind, matrix->n, k, random);
    made.model = fully_connected_model(made.layer, *matrix);
    made.inputs = made.rows = random_inputs(made.layer, rows_of(*matrix) * k, random);
    return made;
  }
  if (const auto* batches = std::get_if<BatchShape>(&named.shape)) {
    const auto k = static_cast<size_t>(batches->left.back());
    made.layer = random_layer(named.kind, batches->n, k, random);
    made.model = batch_matmul_model(made.layer, *batches);
    const MatrixShape rows = {batches->left, batches->n};
    made.inputs = made.rows = random_inputs(made.layer, rows_of(rows) * k, random);
    return made;
  }
  const auto& images = std::get<ImageShape>(named.shape);
  const Image& image = images.image;
  const int32_t k = images.kernel_height * images.kernel_width * image.channels;
  made.layer = random_layer(named.kind, images.outputs, static_cast<size_t>(k), random);
  made.model = convolution_model(made.layer, images);
  const int32_t values = image.count * image.height * image.width * image.channels;
  made.inputs = random_inputs(made.layer, static_cast<size_t>(values), random);
  made.rows =
      pixel_rows(images, made.inputs, named.kind.input == type_i8 ? made.layer.input_zero : 0);
  return made;
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

double number_at(const Layer& layer, const std::vector<uint8_t>& outputs, size_t i) {
  if (layer.kind.input == type_i8) return static_cast<int8_t>(outputs.at(i));
  float value = 0;
  if (outputs.size() < (i + 1) * sizeof value) throw std::runtime_error("too few outputs");
  std::memcpy(&value, outputs.data() + i * sizeof value, sizeof value);
  return value;
}

double error_of(const MadeLayer& made, const std::vector<uint8_t>& outputs) {
  const std::vector<double> wanted = exact_products(made.layer, made.rows);
  double largest = 0, error = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    largest = std::max(largest, std::abs(wanted[i]));
    const double difference = std::abs(number_at(made.layer, outputs, i) - wanted[i]);
    error = std::isnan(difference) ? difference : std::max(error, difference);
  }
  return made.layer.kind.input == type_i8 ? error : error / largest;
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
    std::cout << error_of(make(find(words[2])), {std::istreambuf_iterator<char>(in), {}}) << "\n";
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
