// A node of the host's graph, as we do it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "integrations/common/product.h"
#include "integrations/common/refused.h"
#include "integrations/litert/litert_abi.h"
#include "integrations/litert/weights.h"

namespace tw::litert {

/// Of a convolution.
struct Window {
  size_t height, width;  ///< of the kernel
  ConvolutionOptions options;
};

struct Operation {
  const Scheme* scheme = nullptr;
  int32_t input = no_tensor, output = no_tensor;
  int32_t bias = no_tensor;     ///< floats that are read when it runs
  std::vector<float> own_bias;  ///< or those that were halves in the model
  Activation activation = activation_none;
  bool keeps_dimensions = false;
  size_t leading_ones = 0;  ///< dimensions that the output has in front of the input's
  std::optional<Window> window;
  size_t outputs_of_channel = 1;  ///< of a depthwise convolution
  std::optional<TransposedWindow> transposed;
  std::vector<std::shared_ptr<const Weights>> parts;  ///< of a transposed convolution's weights
  std::shared_ptr<const Weights> weights;             ///< of all others
};

size_t outputs_of(const Operation& operation);  ///< of each row of the product

/// The output's shape for the input's that is known now.
std::vector<int32_t> output_shape(const Operation& operation, const Tensor& input);

/// Where tensors lie just now.
struct Addresses {
  const void* input;
  void* output;
  const float* bias;  ///< null: own_bias, or none
};
/// Throws tilewright::Error or std::bad_alloc.
void run(const Operation& operation, const Tensor& input, const Tensor& output, const Addresses& at,
         int threads, Scratch& scratch);

}  // namespace tw::litert
