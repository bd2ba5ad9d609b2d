// A layer that runs.
#pragma once

#include <memory>

#include "integrations/common/product.h"
#include "integrations/onnxruntime/layer.h"

namespace tw::onnxruntime {

/// Where things lie just now. Numbers of the layer that are inputs are here as well.
struct Addresses {
  const void* input;
  std::vector<int64_t> shape;  ///< the input's
  void* output;
  const float* bias;  ///< null: the layer's own, or none
  float scale;
  int32_t zero;  ///< as the node's codes have it
};

/// Throws Refused for an input that the weights do not fit.
std::vector<int64_t> output_shape(const Layer& layer, const std::vector<int64_t>& input);

/// `weights` are the layer's. Throws tilewright::Error or std::bad_alloc.
void run_layer(const Layer& layer, const PackedWeights& weights, const Addresses& at,
               const Threads& threads, Scratch& inputs, Scratch& scratch);

}  // namespace tw::onnxruntime
