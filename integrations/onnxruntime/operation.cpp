#include "integrations/onnxruntime/operation.h"

#include <algorithm>
#include <cmath>
#include <cstring>

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
const void* whole_blocks(const Layer& layer, const Addresses& at, Scratch& memory) {
  auto* to = reinterpret_cast<float*>(memory.of(at.rows * layer.k * sizeof(float)));
  const auto* from = static_cast<const float*>(at.input);
  for (size_t i = 0; i < at.rows; ++i) {
    float* row = to + i * layer.k;
    std::copy_n(from + i * layer.values, layer.values, row);
    std::fill(row + layer.values, row + layer.k, 0.0F);
  }
  return to;
}

/// The input as kernels read it.
const void* rows_of(const Layer& layer, const Addresses& at, Scratch& memory) {
  if (layer.values != layer.k) return whole_blocks(layer, at, memory);
  if (layer.input_type != type_u8) return at.input;
  uint8_t* to = memory.of(at.rows * layer.k);
  flip(at.input, to, at.rows * layer.k);
  return to;
}

}  // namespace

void run_layer(const Layer& layer, const PackedWeights& weights, const Addresses& at,
               const Threads& threads, Scratch& rows, Scratch& scratch) {
  if (at.rows == 0) return;
  Product product = {weights, tilewright::sized<tw_lhs_source>(), tilewright::sized<tw_run_args>()};
  product.lhs.data = rows_of(layer, at, rows);
  product.lhs.stride = layer.k * (layer.input_type == type_f32 ? sizeof(float) : 1);
  product.lhs.data_bytes = at.rows * product.lhs.stride;
  if (layer.scale) {
    product.lhs.scale = at.scale;
    product.lhs.zero_point = layer.input_type == type_u8 ? at.zero - 128 : at.zero;
  }
  product.args.m = at.rows;
  product.args.dst = at.output;
  product.args.dst_stride = layer.n * (layer.has_codes_out ? 1 : sizeof(float));
  product.args.dst_bytes = at.rows * product.args.dst_stride;
  product.args.dst_zero_point = layer.output_zero;
  product.args.bias = layer.bias.empty() ? at.bias : layer.bias.data();
  product.args.bias_count = product.args.bias == nullptr ? 0 : layer.n;
  run_product(product, threads, scratch);
  if (layer.has_codes_out && layer.input_type == type_u8) {
    flip(at.output, at.output, at.rows * layer.n);
  }
}

}  // namespace tw::onnxruntime
