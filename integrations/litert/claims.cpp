#include "integrations/litert/claims.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "integrations/common/message.h"
#include "integrations/litert/convolution.h"
#include "integrations/litert/tensors.h"
#include "integrations/litert/transposed.h"
#include "tilewright/tilewright.hpp"

namespace tw::litert {

namespace {

struct KnownNode {
  int32_t index = 0;
  const Node* node = nullptr;
  int32_t builtin = 0;
};

/// A DEQUANTIZE of constant halves.
struct Halves {
  int32_t node = 0;
  const Tensor* tensor = nullptr;
};

struct Graph {
  Context& context;
  std::vector<KnownNode> nodes;
  std::map<int32_t, Halves> halves;  ///< by the tensor that becomes their floats
  std::set<int32_t> outputs;         ///< of the model

  [[nodiscard]] const Tensor& tensor(int32_t index) const { return context.tensors[index]; }
};

int32_t input_of(const Node& node, int32_t i) {
  return i < node.inputs->size ? node.inputs->data[i] : no_tensor;
}

/// The host does not tell them: they are what a part that has all nodes would make for others.
std::set<int32_t> model_outputs(Context& context, const Ints& plan) {
  Partition* parts = nullptr;
  int32_t count = 0;
  if (context.preview(&context, &plan, &parts, &count) != ok)
    throw Refused("a graph without parts");
  std::set<int32_t> outputs;
  for (int32_t i = 0; i < count; ++i) {
    const Ints& its = *parts[i].outputs;
    outputs.insert(its.data, its.data + its.size);
  }
  return outputs;
}

Graph read_graph(Context& context) {
  Ints* plan = nullptr;
  if (context.execution_plan(&context, &plan) != ok) throw Refused("a graph without a plan");
  Graph graph{context, {}, {}, model_outputs(context, *plan)};
  for (int32_t i = 0; i < plan->size; ++i) {
    Node* node = nullptr;
    Registration* registration = nullptr;
    if (context.node_and_registration(&context, plan->data[i], &node, &registration) != ok) {
      throw Refused("a plan with a node that is not there");
    }
    graph.nodes.push_back({plan->data[i], node, registration->builtin});
    if (registration->builtin != builtin_dequantize) continue;
    const Tensor& from = graph.tensor(node->inputs->data[0]);
    if (from.type == type_f16 && is_constant(from)) {
      graph.halves[node->outputs->data[0]] = {plan->data[i], &from};
    }
  }
  return graph;
}

// ---- parts of a node ----

void require(bool holds, const char* otherwise) {
  if (!holds) throw Refused(otherwise);
}

const Tensor& constant_weights(const Graph& graph, int32_t index) {
  require(index != no_tensor, "no weights");
  const auto halves = graph.halves.find(index);
  const Tensor& weights =
      halves != graph.halves.end() ? *halves->second.tensor : graph.tensor(index);
  require(is_constant(weights), "weights that are no constants");
  require(weights.sparsity == nullptr, "sparse weights");
  require(value_count(weights) != 0, "empty weights");
  return weights;
}

Activation known_activation(Activation activation) {
  require(activation >= activation_none && activation <= activation_relu6,
          "an activation other than RELU, RELU_N1_TO_1 and RELU6");
  return activation;
}

/// Codes out have a constant bias, which is packed with the weights.
void take_bias(const Graph& graph, int32_t index, Operation& operation, WeightSource& source) {
  if (index == no_tensor) return;
  const Tensor& bias = graph.tensor(index);
  require(value_count(bias) == source.n, "a bias that has not one value of each output");
  if (has_codes_out(*operation.scheme)) {
    require(bias.type == type_i32 && is_constant(bias), "a bias that is no constant int32");
    source.bias = bias.data;
    return;
  }
  require(bias.type == type_f32, "a bias that is not float32");
  const auto halves = graph.halves.find(index);
  if (halves == graph.halves.end()) {
    operation.bias = index;
  } else {
    operation.own_bias = floats_of_halves(halves->second.tensor->data, source.n);
  }
}

/// Scales and zero points, as far as there are codes.
void take_quantization(const Graph& graph, const Tensor& weights, int32_t dimension,
                       const Operation& operation, WeightSource& source) {
  if (weights.type == type_f32 || weights.type == type_f16) return;
  source.scales = scales_along(weights, dimension);
  require(!source.scales.empty(), "weights that are not symmetric, by rows or as a whole");
  if (!has_codes_out(*operation.scheme)) return;
  const auto input = whole_quantization(graph.tensor(operation.input));
  const auto output = whole_quantization(graph.tensor(operation.output));
  require(input && output, "activations without a scale");
  source.lhs_zero_point = input->zero_point;
  source.lhs_scale = input->scale;
  source.dst_scale = output->scale;
}

/// Where a node has its operands; one dimension of the weights is that of the outputs.
struct Places {
  int32_t dimension;
  int32_t input = 0, weights = 1, bias = 2;
};

/// What all nodes have in common.
void take_operands(const Graph& graph, const Node& node, const Places& at, Operation& operation,
                   WeightSource& source) {
  require(node.inputs->size > std::max(at.input, at.weights) && node.outputs->size == 1,
          "inputs or outputs of other numbers");
  operation.input = node.inputs->data[at.input];
  operation.output = node.outputs->data[0];
  const Tensor& weights = constant_weights(graph, node.inputs->data[at.weights]);
  const Tensor& input = graph.tensor(operation.input);
  operation.scheme = find_scheme(input.type, weights.type);
  require(operation.scheme != nullptr, "types that we have no kernels for");
  require(graph.tensor(operation.output).type == input.type, "outputs of another type");
  source.scheme = operation.scheme;
  source.data = weights.data;
  source.n = extent(weights, at.dimension);
  source.k = value_count(weights) / source.n;
  take_bias(graph, input_of(node, at.bias), operation, source);
  take_quantization(graph, weights, at.dimension, operation, source);
}

/// That the input has now; 0 where it is not known or does not fit yet.
size_t rows_of(const Operation& operation, const Tensor& input, size_t k) {
  const size_t values = value_count(input);
  if (!operation.window) return values % k == 0 ? values / k : 0;
  return rank(input) == 4 ? extent(input, 1) * extent(input, 2) : 0;
}

void pack_weights(const Graph& graph, Operation& operation, WeightSource& source) {
  source.rows = rows_of(operation, graph.tensor(operation.input), source.k);
  operation.weights = find_weights(source);
  require(operation.weights != nullptr, "no kernels that would be faster");
}

// ---- nodes ----

Operation fully_connected(const Graph& graph, const Node& node, WeightSource source) {
  const auto& options = *static_cast<const FullyConnectedOptions*>(node.builtin);
  Operation operation;
  operation.activation = known_activation(options.activation);
  operation.keeps_dimensions = options.keeps_dimensions;
  require(options.weights_format == 0, "shuffled weights");
  take_operands(graph, node, {0}, operation, source);
  require(rank(constant_weights(graph, node.inputs->data[1])) == 2, "weights that are no matrix");
  pack_weights(graph, operation, source);
  return operation;
}

/// What convolutions of both kinds have in common.
Operation windowed(const Graph& graph, const Node& node, const ConvolutionOptions& options) {
  Operation operation;
  const Tensor& weights = constant_weights(graph, input_of(node, 1));
  require(rank(weights) == 4, "weights that are no images");
  operation.window = {extent(weights, 1), extent(weights, 2), options};
  operation.activation = known_activation(options.activation);
  require(options.padding == padding_same || options.padding == padding_valid, "another padding");
  require(options.stride_width > 0 && options.stride_height > 0 && options.dilation_width > 0 &&
              options.dilation_height > 0,
          "a step of 0");
  return operation;
}

Operation convolution(const Graph& graph, const Node& node, WeightSource source) {
  Operation operation =
      windowed(graph, node, *static_cast<const ConvolutionOptions*>(node.builtin));
  const Tensor& weights = constant_weights(graph, input_of(node, 1));
  take_operands(graph, node, {0}, operation, source);
  require(operation.scheme->weights != type_i4, "convolutions by codes of 4 bits");
  const Tensor& input = graph.tensor(operation.input);
  require(rank(input) == 4 && extent(input, 3) == extent(weights, 3), "groups");
  if (!is_plain(*operation.window)) source.taps = extent(weights, 1) * extent(weights, 2);
  pack_weights(graph, operation, source);
  return operation;
}

Operation depthwise(const Graph& graph, const Node& node, WeightSource source) {
  const auto& options = *static_cast<const DepthwiseOptions*>(node.builtin);
  Operation operation =
      windowed(graph, node,
               {options.padding, options.stride_width, options.stride_height, options.activation,
                options.dilation_width, options.dilation_height});
  const Tensor& weights = constant_weights(graph, input_of(node, 1));
  require(extent(weights, 0) == 1, "weights that are several images");
  require(options.stride_width == options.stride_height, "two strides");
  require(
      options.stride_width == 1 || (options.dilation_width == 1 && options.dilation_height == 1),
      "taps that are apart, and windows that are");
  source.order = TW_KXN;
  take_operands(graph, node, {3}, operation, source);
  require(operation.scheme->depthwise != nullptr, "types that we have no depthwise kernels for");
  const Tensor& input = graph.tensor(operation.input);
  require(rank(input) == 4 && extent(input, 3) != 0 && source.n % extent(input, 3) == 0,
          "other than as many outputs of each channel");
  operation.outputs_of_channel = source.n / extent(input, 3);
  source.depthwise =
      Taps{extent(weights, 1), extent(weights, 2), static_cast<size_t>(options.stride_height)};
  pack_weights(graph, operation, source);
  return operation;
}

/// The outputs' lines and columns, a constant of the model's.
const int32_t* output_size(const Graph& graph, const Node& node) {
  const int32_t index = input_of(node, 0);
  require(index != no_tensor, "no shape");
  const Tensor& shape = graph.tensor(index);
  require(is_constant(shape) && shape.type == type_i32 && value_count(shape) == 4,
          "a shape that is no constant");
  const auto* its = static_cast<const int32_t*>(shape.data);
  require(its[1] > 0 && its[2] > 0, "no outputs");
  return its + 1;
}

Operation transposed(const Graph& graph, const Node& node, WeightSource source) {
  const auto& options = *static_cast<const TransposedOptions*>(node.builtin);
  Operation operation;
  operation.activation = known_activation(options.activation);
  require(options.padding == padding_same || options.padding == padding_valid, "another padding");
  require(options.stride_width > 0 && options.stride_height > 0, "a step of 0");
  const Tensor& weights = constant_weights(graph, input_of(node, 1));
  require(rank(weights) == 4, "weights that are no images");
  take_operands(graph, node, {.dimension = 0, .input = 2, .weights = 1, .bias = 3}, operation,
                source);
  require(operation.scheme->weights != type_i4, "convolutions by codes of 4 bits");
  const Tensor& input = graph.tensor(operation.input);
  require(rank(input) == 4 && extent(input, 3) == extent(weights, 3), "groups");
  const int32_t* size = output_size(graph, node);
  operation.transposed = transposed_window(input, weights, options, static_cast<size_t>(size[0]),
                                           static_cast<size_t>(size[1]));
  require(operation.transposed.has_value(), "outputs that the input does not make");
  const tw_convolution convolution = convolution_of(*operation.transposed, 1);
  auto part = tilewright::sized<tw_convolution_outputs>();
  for (size_t i = 0; i == 0 || i < part.parts; ++i) {
    tilewright::check(tw_convolution_part(&convolution, i, &part));
    source.part = {*operation.transposed, i};
    source.taps = part.taps;
    source.k = part.taps * extent(input, 3);
    source.rows = part.lines * part.columns;
    operation.parts.push_back(find_weights(source));
    require(operation.parts.back() != nullptr, "no kernels that would be faster");
  }
  return operation;
}

/// By one constant matrix: fully connected, but for the order of the weights.
Operation batch_matmul(const Graph& graph, const Node& node, WeightSource source) {
  const auto& options = *static_cast<const BatchMatMulOptions*>(node.builtin);
  require(!options.transposes_left, "columns of the input that are rows");
  const Tensor& weights = constant_weights(graph, input_of(node, 1));
  const int32_t dimensions = rank(weights);
  require(dimensions >= 2, "weights that are no matrix");
  for (int32_t i = 0; i + 2 < dimensions; ++i) {
    require(extent(weights, i) == 1, "weights that are several matrices");
  }
  Operation operation;
  operation.keeps_dimensions = true;
  source.order = options.transposes_right ? TW_NXK : TW_KXN;
  take_operands(graph, node, {dimensions - (options.transposes_right ? 2 : 1)}, operation, source);
  require(operation.scheme->weights != type_i4, "batches by codes of 4 bits");
  const int32_t inputs = rank(graph.tensor(operation.input));
  operation.leading_ones = static_cast<size_t>(std::max(0, dimensions - inputs));
  pack_weights(graph, operation, source);
  return operation;
}

/// True: it is ours.
bool claim(const Graph& graph, const KnownNode& known, int threads, Claims& claims) {
  WeightSource source;
  source.threads = static_cast<size_t>(std::max(1, threads));
  try {
    if (known.builtin == builtin_fully_connected) {
      claims.operations.emplace(known.index, fully_connected(graph, *known.node, source));
    } else if (known.builtin == builtin_conv_2d) {
      claims.operations.emplace(known.index, convolution(graph, *known.node, source));
    } else if (known.builtin == builtin_depthwise_conv_2d) {
      claims.operations.emplace(known.index, depthwise(graph, *known.node, source));
    } else if (known.builtin == builtin_transpose_conv) {
      claims.operations.emplace(known.index, transposed(graph, *known.node, source));
    } else if (known.builtin == builtin_batch_matmul) {
      claims.operations.emplace(known.index, batch_matmul(graph, *known.node, source));
    }
  } catch (const std::runtime_error& refused) {  // the run time's, too
    if (is_set("TILEWRIGHT_LOG", "1")) {
      message("node {} is left to the runtime: {}", known.index, refused.what());
    }
  }
  return claims.operations.contains(known.index);
}

/// Tensors whose values somebody needs: the model's user, or a node.
std::set<int32_t> read_tensors(const Graph& graph, const Claims& claims) {
  std::set<int32_t> read = graph.outputs;
  for (const KnownNode& known : graph.nodes) {
    const auto ours = claims.operations.find(known.index);
    if (ours == claims.operations.end()) {
      read.insert(known.node->inputs->data, known.node->inputs->data + known.node->inputs->size);
    } else {
      read.insert({ours->second.input, ours->second.bias});
    }
  }
  return read;
}

}  // namespace

Claims claim_nodes(Context& context, int threads) {
  const Graph graph = read_graph(context);
  Claims claims;
  std::set<int32_t> ours;  // tensors
  for (const KnownNode& known : graph.nodes) {
    if (!claim(graph, known, threads, claims)) continue;
    ours.insert(known.node->inputs->data, known.node->inputs->data + known.node->inputs->size);
  }
  const std::set<int32_t> read = read_tensors(graph, claims);
  for (const auto& [tensor, halves] : graph.halves) {
    if (ours.contains(tensor) && !read.contains(tensor)) claims.dequantized.push_back(halves.node);
  }
  return claims;
}

}  // namespace tw::litert
