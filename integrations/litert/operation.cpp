#include "integrations/litert/operation.h"

#include <cmath>
#include <limits>

#include "integrations/litert/convolution.h"
#include "integrations/litert/depthwise.h"
#include "integrations/litert/tensors.h"
#include "integrations/litert/transposed.h"
#include "tilewright/tilewright.hpp"

namespace tw::litert {

namespace {

struct Range {
  float lowest, highest;
};

Range range_of(Activation activation) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  switch (activation) {
    case activation_relu:
      return {0, kInfinity};
    case activation_relu_n1_to_1:
      return {-1, 1};
    case activation_relu6:
      return {0, 6};
    default:
      return {-kInfinity, kInfinity};
  }
}

/// The code nearest to a value, of those that there are.
float code_of(float value, const Quantization& its) {
  const float code = std::round(value / its.scale) + static_cast<float>(its.zero_point);
  return std::fmin(std::fmax(code, -128), 127);
}

void set_clamp(const Operation& operation, const Tensor& output, tw_run_args& args) {
  const Range range = range_of(operation.activation);
  args.clamp = 1;
  args.min = range.lowest;
  args.max = range.highest;
  if (!has_codes_out(*operation.scheme)) return;
  const Quantization its = whole_quantization(output).value();
  args.min = code_of(range.lowest, its);
  args.max = code_of(range.highest, its);
  args.dst_zero_point = its.zero_point;
}

size_t bytes_of_value(const Scheme& scheme) {
  return scheme.input == type_i8 ? 1 : sizeof(float);
}

void set_bias(const Operation& operation, const Addresses& at, tw_run_args& args) {
  args.bias = operation.own_bias.empty() ? at.bias : operation.own_bias.data();
  args.bias_count = args.bias == nullptr ? 0 : outputs_of(operation);
}

}  // namespace

size_t outputs_of(const Operation& operation) {
  return operation.transposed ? operation.parts.front()->n : operation.weights->n;
}

std::vector<int32_t> output_shape(const Operation& operation, const Tensor& input) {
  if (operation.window) return convolved_shape(operation, input);
  if (operation.transposed) return transposed_shape(operation, input);
  const size_t k = operation.weights->k, values = value_count(input);
  const auto n = static_cast<int32_t>(operation.weights->n);
  if (values % k != 0) throw Refused("an input that is no rows of as many values as the weights");
  if (!operation.keeps_dimensions) return {static_cast<int32_t>(values / k), n};
  std::vector<int32_t> shape(input.dims->data, input.dims->data + rank(input));
  if (shape.empty() || static_cast<size_t>(shape.back()) != k)
    throw Refused("an input whose last dimension is not that of the weights");
  shape.back() = n;
  shape.insert(shape.begin(), operation.leading_ones, 1);
  return shape;
}

void run(const Operation& operation, const Tensor& input, const Tensor& output, const Addresses& at,
         int threads, Scratch& scratch) {
  const size_t bytes = bytes_of_value(*operation.scheme);
  auto args = tilewright::sized<tw_run_args>();
  set_clamp(operation, output, args);
  set_bias(operation, at, args);
  args.dst = at.output;
  args.dst_stride = outputs_of(operation) * bytes;
  if (operation.transposed) {
    run_transposed(operation, input, at.input, args, threads, scratch);
    return;
  }
  if (operation.weights->depthwise != nullptr) {
    run_depthwise(operation, input, at.input, args, threads);
    return;
  }
  const size_t k = operation.weights->k;
  Product product = {*operation.weights, tilewright::sized<tw_lhs_source>(), args};
  if (operation.window) {
    run_convolution(operation, input, at.input, product, threads, scratch);
    return;
  }
  product.args.m = value_count(input) / k;
  product.args.dst_bytes = product.args.m * product.args.dst_stride;
  product.lhs.data = at.input;
  product.lhs.stride = k * bytes;
  product.lhs.data_bytes = product.args.m * product.lhs.stride;
  run_product(product, {threads}, scratch);
}

}  // namespace tw::litert
