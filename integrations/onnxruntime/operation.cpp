#include "integrations/onnxruntime/operation.h"

#include <algorithm>

#include "integrations/onnxruntime/images.h"
#include "tilewright/tilewright.hpp"

namespace tw::onnxruntime {

namespace {

/// Codes with the top bit flipped: int8 for uint8, and the way back.
void flip(const void* from, void* to, size_t count) {
  const auto* codes = static_cast<const uint8_t*>(from);
  std::transform(codes, codes + count, static_cast<uint8_t*>(to),
                 [](uint8_t code) { return static_cast<uint8_t>(code ^ 0x80U); });
}

/// Floats whose last block is filled with zeros.
const void* whole_blocks(const Layer& layer, const Addresses& at, size_t rows, Scratch& memory) {
  auto* to = reinterpret_cast<float*>(memory.of(rows * layer.k * sizeof(float)));
  const auto* from = static_cast<const float*>(at.input);
  for (size_t i = 0; i < rows; ++i) {
    float* row = to + i * layer.k;
    std::copy_n(from + i * layer.values, layer.values, row);
    std::fill(row + layer.values, row + layer.k, 0.0F);
  }
  return to;
}

/// The input as kernels read it.
const void* rows_of(const Layer& layer, const Addresses& at, size_t rows, Scratch& memory) {
  if (layer.values != layer.k) return whole_blocks(layer, at, rows, memory);
  if (layer.input_type != type_u8) return at.input;
  uint8_t* to = memory.of(rows * layer.k);
  flip(at.input, to, rows * layer.k);
  return to;
}

size_t row_count(const std::vector<int64_t>& shape) {
  size_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= static_cast<size_t>(shape[i]);
  return rows;
}

}  // namespace

std::vector<int64_t> output_shape(const Layer& layer, const std::vector<int64_t>& input) {
  if (layer.window) return convolved_shape(layer, input);
  require(!input.empty() && input.back() == static_cast<int64_t>(layer.values),
          "an input whose last dimension is not that of the weights");
  std::vector<int64_t> shape = input;
  shape.back() = static_cast<int64_t>(layer.n);
  return shape;
}

void run_layer(const Layer& layer, const PackedWeights& weights, const Addresses& at,
               const Threads& threads, Scratch& inputs, Scratch& scratch) {
  if (layer.window) {
    run_images(layer, weights, at, threads, inputs, scratch);
    return;
  }
  const size_t rows = row_count(at.shape);
  if (rows == 0) return;
  Product product = {weights, tilewright::sized<tw_lhs_source>(), tilewright::sized<tw_run_args>()};
  product.lhs.data = rows_of(layer, at, rows, inputs);
  product.lhs.stride = layer.k * (layer.input_type == type_f32 ? sizeof(float) : 1);
  product.lhs.data_bytes = rows * product.lhs.stride;
  if (layer.scale) {
    product.lhs.scale = at.scale;
    product.lhs.zero_point = layer.input_type == type_u8 ? at.zero - 128 : at.zero;
  }
  product.args.m = rows;
  product.args.dst = at.output;
  product.args.dst_stride = layer.n * (layer.has_codes_out ? 1 : sizeof(float));
  product.args.dst_bytes = rows * product.args.dst_stride;
  product.args.dst_zero_point = layer.output_zero;
  product.args.bias = layer.bias.empty() ? at.bias : layer.bias.data();
  product.args.bias_count = product.args.bias == nullptr ? 0 : layer.n;
  run_product(product, threads, scratch);
  if (layer.has_codes_out && layer.input_type == type_u8) {
    flip(at.output, at.output, rows * layer.n);
  }
}

}  // namespace tw::onnxruntime
