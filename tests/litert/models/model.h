// Models for TensorFlow Lite, made of random weights.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "integrations/litert/litert_abi.h"

namespace tw::litert {

enum : int32_t {
  builtin_add = 0,
  builtin_average_pool_2d = 1,
  builtin_mul = 18,
  builtin_relu = 19,
  builtin_reshape = 22,
  builtin_softmax = 25,
  builtin_transpose = 39,
  builtin_mean = 40,
  builtin_sub = 41,
  builtin_rsqrt = 76,
  builtin_squared_difference = 99,
};

struct PoolOptions {
  PaddingType padding;
  int32_t stride, width, height;
};

struct SoftmaxOptions {
  float factor;  ///< of its inputs
};

struct MeanOptions {
  bool keeps_dimensions;
};

struct ModelTensor {
  Type type = type_f32;
  std::vector<int32_t> shape;
  std::vector<uint8_t> data = {};  ///< constants
  std::vector<float> scales = {};  ///< codes
  std::vector<int64_t> zero_points = {};
  int32_t quantized_dimension = 0;
  bool is_sparse = false;
};

struct ModelNode {
  int32_t builtin = 0;
  int32_t version = 1;
  std::vector<int32_t> inputs, outputs;
  std::variant<std::monostate, FullyConnectedOptions, ConvolutionOptions, DepthwiseOptions,
               TransposedOptions, BatchMatMulOptions, PoolOptions, SoftmaxOptions, MeanOptions>
      options = {};
};

struct Model {
  std::vector<ModelTensor> tensors;
  std::vector<int32_t> inputs, outputs;
  std::vector<ModelNode> nodes;
};

std::vector<uint8_t> file_of(const Model& model);

/// The second one's input is this tensor of the first one; says where its output lies then.
int32_t append_behind(int32_t tensor, Model& first, Model second);
/// One behind the other: the second one's input is the first one's output.
void append(Model& first, Model second);

ModelNode fully_connected_node(std::vector<int32_t> inputs, int32_t output,
                               Activation activation = activation_none,
                               bool keeps_dimensions = false);
ModelNode dequantize_node(int32_t input, int32_t output);
ModelNode batch_matmul_node(int32_t left, int32_t right, int32_t output, bool transposes_right);
ModelNode convolution_node(std::vector<int32_t> inputs, int32_t output,
                           const ConvolutionOptions& options);
ModelNode average_pool_node(int32_t input, int32_t output, const PoolOptions& options);
ModelNode transposed_node(std::vector<int32_t> inputs, int32_t output,
                          const TransposedOptions& options);
ModelNode depthwise_node(std::vector<int32_t> inputs, int32_t output,
                         const DepthwiseOptions& options);

}  // namespace tw::litert
