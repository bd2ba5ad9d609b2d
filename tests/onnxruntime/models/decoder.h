// A decoder of the shape of Llama and Phi, as exporters write it: MatMulNBits, RMS norms, grouped
// attention with rotary positions and a cache. Weights are random. Rows of embeddings are inputs.
#pragma once

#include <random>

#include "onnxruntime/models/onnx.h"

namespace tw::onnxruntime {

struct DecoderShape {
  int64_t layers = 6, width = 2048, inner = 5632, heads = 16, groups = 4, words = 16000;
  int64_t positions = 1024;
  int64_t block = 32, bits = 4, bits_of_words = 8;
  bool has_zeros = true;
  int64_t accuracy = 4;  ///< 0: products of floats

  [[nodiscard]] int64_t head() const { return width / heads; }
};

/// Inputs: "x", rows of embeddings; "last" and "total", the number of positions less 1, and that;
/// "past.0.key" ... Outputs: "logits" of the last row, "present.0.key" ...
OnnxModel decoder_model(const DecoderShape& shape, std::mt19937& random);

}  // namespace tw::onnxruntime
