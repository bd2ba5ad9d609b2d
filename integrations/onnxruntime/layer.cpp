#include "integrations/onnxruntime/layer.h"

#include <algorithm>

#include "integrations/common/message.h"
#include "integrations/common/this_device.h"
#include "tilewright/tilewright.hpp"

namespace tw::onnxruntime {

namespace {

struct Operator {
  const char* name;
  Layer (*describe)(const NodeFacts& node);
};

constexpr Operator kOperators[] = {
    {"MatMulNBits", describe_nbits},
    {"MatMul", describe_floats},
    {"FusedMatMul", describe_floats},
    {"Gemm", describe_floats},
    {"DynamicQuantizeMatMul", describe_integers},
    {"MatMulIntegerToFloat", describe_integers},
    {"QLinearMatMul", describe_codes},
    {"MatMulInteger", describe_sums},
    {"QLinearConv", describe_convolution},
};

const Operator* find_operator(const std::string& name) {
  const auto* found =
      std::ranges::find_if(kOperators, [&](const Operator& known) { return known.name == name; });
  return found == std::end(kOperators) ? nullptr : found;
}

}  // namespace

Layer::Layer() : source(tilewright::sized<tw_rhs_source>()) {}

bool may_be_layer(const std::string& operation) {
  return find_operator(operation) != nullptr;
}

Layer describe(const NodeFacts& node) {
  const Operator* known = find_operator(node.operation);
  require(known != nullptr, "an operator that we do not have");
  require(node.outputs.size() == 1 && node.outputs[0].is_there(), "other than one output");
  return known->describe(node);
}

void take_input(const Operand& rows, size_t values, Layer& layer) {
  require(rows.is_there(), "no input");
  if (rows.has_shape && rows.shape.back() >= 0) {
    require(rows.shape.back() == static_cast<int64_t>(values),
            "an input whose last dimension is not that of the weights");
  }
  layer.input = rows.name;
  layer.input_type = rows.type;
  layer.values = values;
}

std::vector<float> spread_floats(const Operand& constant, size_t count) {
  require(constant.is_constant() && constant.type == type_f32, "numbers that are no constants");
  const auto* values = static_cast<const float*>(constant.data);
  const size_t given = value_count(constant);
  require(given == count || given == 1, "numbers that are neither one of each output nor of all");
  return given == count ? std::vector<float>(values, values + count)
                        : std::vector<float>(count, values[0]);
}

void take_bias(const Operand& bias, Layer& layer) {
  if (!bias.is_there()) return;
  require(bias.type == type_f32, "a bias that is not float32");
  if (bias.is_constant()) {
    layer.bias = spread_floats(bias, layer.n);
    return;
  }
  require(bias.has_shape && value_count(bias) == layer.n &&
              bias.shape.back() == static_cast<int64_t>(layer.n),
          "a bias that has not one value of each output");
  layer.bias_input = bias.name;
}

void plan_layer(const Layer& layer, size_t threads, PackedWeights& made) {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = layer.family;
  matmul.n = layer.n;
  matmul.k = layer.k;
  matmul.block = layer.block;
  if (layer.block != 0) matmul.scales = TW_SCALES_F32;
  if (layer.input_type != type_f32) matmul.lhs_type = TW_S8;
  if (layer.has_codes_out) matmul.dst_type = TW_S8;
  if (layer.has_sums_out) matmul.dst_type = TW_S32;
  matmul.taps = layer.taps;
  matmul.threads = threads;
  tw_plan* plan = nullptr;
  const tw_status status = tw_plan_create(&this_device(), &matmul, &plan);
  made.plan.reset(plan);
  made.n = layer.n;
  made.k = layer.k;
  require(status == TW_OK, tw_error_message());
  constexpr size_t kMany = 128;
  require(is_set("TILEWRIGHT_ONNXRUNTIME_TEST", "1") || !is_portable(plan, kMany),
          "no kernels that would be faster");
}

std::shared_ptr<const PackedWeights> make_weights(const Layer& layer, size_t threads) {
  auto made = std::make_shared<PackedWeights>();
  plan_layer(layer, threads, *made);
  pack_weights(layer.source, {static_cast<int>(threads)}, *made);
  return made;
}

}  // namespace tw::onnxruntime
