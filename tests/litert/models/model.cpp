#include "litert/models/model.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "litert/models/flat.h"

namespace tw::litert {

namespace {

/// Numbers of types in files.
int8_t file_type(Type type) {
  switch (type) {
    case type_f32:
      return 0;
    case type_f16:
      return 1;
    case type_i32:
      return 2;
    case type_i8:
      return 9;
    case type_i4:
      return 17;
  }
  throw std::invalid_argument("a type without a number");
}

Flat::Child quantization_of(const ModelTensor& tensor) {
  return Flat::table({Flat::field(2, Flat::vector(tensor.scales)),
                      Flat::field(3, Flat::vector(tensor.zero_points)),
                      Flat::field(6, tensor.quantized_dimension)});
}

/// A matrix whose rows are sparse, with nothing in them.
Flat::Child sparsity_of(const ModelTensor& tensor) {
  const auto rows = static_cast<size_t>(tensor.shape.at(0));
  const auto indices = [](size_t count) {
    return Flat::table({Flat::field(0, Flat::vector(std::vector<int32_t>(count)))});
  };
  constexpr uint8_t kInt32Vector = 1;
  const Flat::Child dense =
      Flat::table({Flat::field(0, int8_t{0}), Flat::field(1, tensor.shape[0])});
  const Flat::Child sparse = Flat::table(
      {Flat::field(0, int8_t{1}), Flat::field(2, kInt32Vector), Flat::field(3, indices(rows + 1)),
       Flat::field(4, kInt32Vector), Flat::field(5, indices(0))});
  return Flat::table({Flat::field(0, Flat::vector(std::vector<int32_t>{0, 1})),
                      Flat::field(2, Flat::tables({dense, sparse}))});
}

Flat::Child tensor_of(const ModelTensor& tensor, size_t buffer) {
  std::vector<Flat::Field> fields = {
      Flat::field(0, Flat::vector(tensor.shape)), Flat::field(1, file_type(tensor.type)),
      Flat::field(2, static_cast<uint32_t>(buffer)), Flat::field(3, Flat::text("tensor"))};
  if (!tensor.scales.empty()) fields.push_back(Flat::field(4, quantization_of(tensor)));
  if (tensor.is_sparse) fields.push_back(Flat::field(6, sparsity_of(tensor)));
  return Flat::table(fields);
}

std::vector<Flat::Field> fields_of(const FullyConnectedOptions& options) {
  return {Flat::field(0, static_cast<int8_t>(options.activation)),
          Flat::field(1, static_cast<int8_t>(options.weights_format)),
          Flat::field(2, options.keeps_dimensions), Flat::field(3, options.asymmetric_inputs)};
}

std::vector<Flat::Field> fields_of(const ConvolutionOptions& options) {
  const int8_t padding = options.padding == padding_same ? 0 : 1;
  return {Flat::field(0, padding),
          Flat::field(1, options.stride_width),
          Flat::field(2, options.stride_height),
          Flat::field(3, static_cast<int8_t>(options.activation)),
          Flat::field(4, options.dilation_width),
          Flat::field(5, options.dilation_height)};
}

std::vector<Flat::Field> fields_of(const DepthwiseOptions& options) {
  const int8_t padding = options.padding == padding_same ? 0 : 1;
  return {Flat::field(0, padding),
          Flat::field(1, options.stride_width),
          Flat::field(2, options.stride_height),
          Flat::field(3, options.multiplier),
          Flat::field(4, static_cast<int8_t>(options.activation)),
          Flat::field(5, options.dilation_width),
          Flat::field(6, options.dilation_height)};
}

std::vector<Flat::Field> fields_of(const TransposedOptions& options) {
  const int8_t padding = options.padding == padding_same ? 0 : 1;
  return {Flat::field(0, padding), Flat::field(1, options.stride_width),
          Flat::field(2, options.stride_height),
          Flat::field(3, static_cast<int8_t>(options.activation))};
}

std::vector<Flat::Field> fields_of(const BatchMatMulOptions& options) {
  return {Flat::field(0, options.transposes_left), Flat::field(1, options.transposes_right),
          Flat::field(2, options.asymmetric_inputs)};
}

std::vector<Flat::Field> fields_of(const PoolOptions& options) {
  const int8_t padding = options.padding == padding_same ? 0 : 1;
  return {Flat::field(0, padding), Flat::field(1, options.stride), Flat::field(2, options.stride),
          Flat::field(3, options.width), Flat::field(4, options.height)};
}

std::vector<Flat::Field> fields_of(const SoftmaxOptions& options) {
  return {Flat::field(0, options.factor)};
}

std::vector<Flat::Field> fields_of(const MeanOptions& options) {
  return {Flat::field(0, options.keeps_dimensions)};
}

/// With the number of their kind.
void add_options(const ModelNode& node, std::vector<Flat::Field>& fields) {
  const auto add = [&](uint8_t kind, const auto& options) {
    fields.push_back(Flat::field(3, kind));
    fields.push_back(Flat::field(4, Flat::table(fields_of(options))));
  };
  constexpr uint8_t kConvolution = 1, kDepthwise = 2, kPool = 5, kFullyConnected = 8, kSoftmax = 9,
                    kMean = 27, kTransposed = 49, kBatchMatMul = 101;
  if (const auto* connected = std::get_if<FullyConnectedOptions>(&node.options)) {
    add(kFullyConnected, *connected);
  } else if (const auto* convolution = std::get_if<ConvolutionOptions>(&node.options)) {
    add(kConvolution, *convolution);
  } else if (const auto* depthwise = std::get_if<DepthwiseOptions>(&node.options)) {
    add(kDepthwise, *depthwise);
  } else if (const auto* transposed = std::get_if<TransposedOptions>(&node.options)) {
    add(kTransposed, *transposed);
  } else if (const auto* pool = std::get_if<PoolOptions>(&node.options)) {
    add(kPool, *pool);
  } else if (const auto* batch = std::get_if<BatchMatMulOptions>(&node.options)) {
    add(kBatchMatMul, *batch);
  } else if (const auto* softmax = std::get_if<SoftmaxOptions>(&node.options)) {
    add(kSoftmax, *softmax);
  } else if (const auto* mean = std::get_if<MeanOptions>(&node.options)) {
    add(kMean, *mean);
  }
}

Flat::Child node_of(const ModelNode& node, size_t code) {
  std::vector<Flat::Field> fields = {Flat::field(0, static_cast<uint32_t>(code)),
                                     Flat::field(1, Flat::vector(node.inputs)),
                                     Flat::field(2, Flat::vector(node.outputs))};
  add_options(node, fields);
  return Flat::table(fields);
}

Flat::Child code_of(const ModelNode& node) {
  return Flat::table({Flat::field(0, static_cast<int8_t>(node.builtin)),
                      Flat::field(2, node.version), Flat::field(3, node.builtin)});
}

constexpr size_t kBufferAlignment = 16;

}  // namespace

/// Buffer 0 is that of tensors without data; each node has a code of its own.
std::vector<uint8_t> file_of(const Model& model) {
  std::vector<Flat::Child> tensors, nodes, codes, buffers = {Flat::table({})};
  for (const ModelTensor& tensor : model.tensors) {
    tensors.push_back(tensor_of(tensor, tensor.data.empty() ? 0 : buffers.size()));
    if (tensor.data.empty()) continue;
    buffers.push_back(Flat::table({Flat::field(0, Flat::vector(tensor.data, kBufferAlignment))}));
  }
  for (const ModelNode& node : model.nodes) {
    nodes.push_back(node_of(node, codes.size()));
    codes.push_back(code_of(node));
  }
  const Flat::Child graph = Flat::table(
      {Flat::field(0, Flat::tables(tensors)), Flat::field(1, Flat::vector(model.inputs)),
       Flat::field(2, Flat::vector(model.outputs)), Flat::field(3, Flat::tables(nodes))});
  constexpr uint32_t kVersion = 3;
  return Flat::file(
      "TFL3",
      Flat::table({Flat::field(0, kVersion), Flat::field(1, Flat::tables(codes)),
                   Flat::field(2, Flat::tables({graph})), Flat::field(4, Flat::tables(buffers))}));
}

int32_t append_behind(int32_t tensor, Model& first, Model second) {
  const auto more = static_cast<int32_t>(first.tensors.size());
  const int32_t input = second.inputs.at(0);
  const auto moved = [&](int32_t& index) {
    if (index != no_tensor) index = index == input ? tensor : index + more;
  };
  for (ModelNode& node : second.nodes) {
    std::for_each(node.inputs.begin(), node.inputs.end(), moved);
    std::for_each(node.outputs.begin(), node.outputs.end(), moved);
    first.nodes.push_back(std::move(node));
  }
  std::move(second.tensors.begin(), second.tensors.end(), std::back_inserter(first.tensors));
  return second.outputs.at(0) + more;
}

void append(Model& first, Model second) {
  first.outputs = {append_behind(first.outputs.at(0), first, std::move(second))};
}

ModelNode fully_connected_node(std::vector<int32_t> inputs, int32_t output, Activation activation,
                               bool keeps_dimensions) {
  constexpr int32_t kVersion = 10;
  return {builtin_fully_connected,
          kVersion,
          std::move(inputs),
          {output},
          FullyConnectedOptions{activation, 0, keeps_dimensions, false}};
}

ModelNode dequantize_node(int32_t input, int32_t output) {
  constexpr int32_t kVersion = 3;
  return {builtin_dequantize, kVersion, {input}, {output}};
}

ModelNode batch_matmul_node(int32_t left, int32_t right, int32_t output, bool transposes_right) {
  constexpr int32_t kVersion = 4;
  return {builtin_batch_matmul,
          kVersion,
          {left, right},
          {output},
          BatchMatMulOptions{false, transposes_right, false}};
}

ModelNode convolution_node(std::vector<int32_t> inputs, int32_t output,
                           const ConvolutionOptions& options) {
  constexpr int32_t kVersion = 5;
  return {builtin_conv_2d, kVersion, std::move(inputs), {output}, options};
}

ModelNode average_pool_node(int32_t input, int32_t output, const PoolOptions& options) {
  constexpr int32_t kVersion = 2;
  return {builtin_average_pool_2d, kVersion, {input}, {output}, options};
}

ModelNode transposed_node(std::vector<int32_t> inputs, int32_t output,
                          const TransposedOptions& options) {
  constexpr int32_t kVersion = 4;
  return {builtin_transpose_conv, kVersion, std::move(inputs), {output}, options};
}

ModelNode depthwise_node(std::vector<int32_t> inputs, int32_t output,
                         const DepthwiseOptions& options) {
  constexpr int32_t kVersion = 3;
  return {builtin_depthwise_conv_2d, kVersion, std::move(inputs), {output}, options};
}

}  // namespace tw::litert
