// Products by codes of 8 bits, a scale for each column or one for all: DynamicQuantizeMatMul,
// MatMulIntegerToFloat, QLinearMatMul; and without scales: MatMulInteger.
#include <algorithm>
#include <cmath>

#include "integrations/onnxruntime/layer.h"

namespace tw::onnxruntime {

namespace {

/// Weights as the kernels have them, int8 without zero points; refused where one does not fit.
std::vector<int8_t> signed_codes(const Operand& codes, const std::vector<int32_t>& zeros) {
  const size_t count = value_count(codes), columns = zeros.size();
  std::vector<int8_t> made(count);
  for (size_t i = 0; i < count; ++i) {
    const int32_t code = code_at(codes, i) - zeros[i % columns];
    require(code >= -128 && code <= 127, "weights whose zero points leave more than 8 bits");
    made[i] = static_cast<int8_t>(code);
  }
  return made;
}

void take_matrix(const Operand& codes, Layer& layer) {
  require(codes.is_constant() && is_code_type(codes.type), "weights that are no constant codes");
  require(codes.shape.size() == 2, "weights that are no matrix");
  layer.k = static_cast<size_t>(codes.shape[0]);
  layer.n = static_cast<size_t>(codes.shape[1]);
  require(layer.n != 0 && layer.k != 0, "empty weights");
  layer.source.order = TW_KXN;
  layer.source.stride = layer.n;
  layer.source.data_bytes = layer.n * layer.k;
  layer.source.data = codes.data;
}

void set_scales(std::vector<float> scales, Layer& layer) {
  layer.own_scales = std::move(scales);
  layer.source.scales = layer.own_scales.data();
  layer.source.scale_count = layer.n;
}

void take_codes(const Operand& codes, const Operand& zeros, const Operand& scales, Layer& layer) {
  take_matrix(codes, layer);
  const std::vector<int32_t> of_columns = zeros_of(zeros, codes.type, layer.n);
  const bool is_symmetric = std::ranges::all_of(of_columns, [](int32_t zero) { return zero == 0; });
  if (codes.type == type_u8 || !is_symmetric) {
    layer.own_codes = signed_codes(codes, of_columns);
    layer.source.data = layer.own_codes.data();
  }
  set_scales(spread_floats(scales, layer.n), layer);
}

/// The same of weights whose zero points the kernels take; as int8 where they are uint8.
void take_codes_as_they_are(const Operand& codes, const Operand& zeros, Layer& layer) {
  take_matrix(codes, layer);
  const int32_t shift = codes.type == type_u8 ? 128 : 0;
  std::vector<int32_t> of_columns = zeros_of(zeros, codes.type, layer.n);
  for (int32_t& zero : of_columns) zero -= shift;
  if (shift != 0) {
    layer.own_codes = signed_codes(codes, std::vector<int32_t>(layer.n, shift));
    layer.source.data = layer.own_codes.data();
  }
  set_scales(std::vector<float>(layer.n, 1), layer);
  if (std::ranges::all_of(of_columns, [](int32_t zero) { return zero == 0; })) return;
  layer.own_zeros.assign(of_columns.begin(), of_columns.end());
  layer.source.zero_points = layer.own_zeros.data();
  layer.source.zero_point_count = layer.n;
}

/// One number, which the run time may bring.
Number number_of(const Operand& operand, int32_t type) {
  if (!operand.is_there()) return {};
  require(operand.type == type, "a number of another type");
  if (!operand.is_constant()) return {0, operand.name};
  require(value_count(operand) == 1, "other than one number for all activations");
  const bool is_float = type == type_f32;
  return {
      is_float ? *static_cast<const float*>(operand.data) : static_cast<float>(code_at(operand, 0)),
      ""};
}

/// Of codes whose numbers are packed with the weights.
Number constant_number(const Operand& operand, int32_t type) {
  Number number = number_of(operand, type);
  require(number.input.empty(), "numbers that are no constants");
  return number;
}

float constant_scale(const Operand& operand) {
  require(operand.is_there(), "no scale");
  const float scale = constant_number(operand, type_f32).value;
  require(std::isfinite(scale) && scale > 0, "a scale that is none");
  return scale;
}

/// As int8 has it.
int32_t constant_zero(const Operand& operand, int32_t type) {
  const auto zero = static_cast<int32_t>(constant_number(operand, type).value);
  return type == type_u8 ? zero - 128 : zero;
}

}  // namespace

bool is_code_type(int32_t type) {
  return type == type_u8 || type == type_i8;
}

int32_t code_at(const Operand& codes, size_t i) {
  return codes.type == type_u8 ? static_cast<const uint8_t*>(codes.data)[i]
                               : static_cast<const int8_t*>(codes.data)[i];
}

std::vector<int32_t> zeros_of(const Operand& zeros, int32_t type, size_t n) {
  if (!zeros.is_there()) return std::vector<int32_t>(n, 0);
  require(zeros.is_constant() && zeros.type == type, "zero points that are no constants");
  const size_t given = value_count(zeros);
  require(given == 1 || given == n, "zero points of another number");
  std::vector<int32_t> made(n);
  for (size_t i = 0; i < n; ++i) made[i] = code_at(zeros, given == 1 ? 0 : i);
  return made;
}

Layer describe_integers(const NodeFacts& node) {
  require(node.outputs[0].type == type_f32, "outputs that are not float32");
  const bool is_quantized = node.operation == "MatMulIntegerToFloat";
  const Operand& rows = node.input(0);
  require(is_quantized ? is_code_type(rows.type) : rows.type == type_f32,
          "activations of a type that we have no kernels for");
  Layer layer;
  layer.family = "matmul_clamp_f32_qai8dxp_qsi8cxp";
  // a, b, (a's scale,) b's scale, (a's zero point,) b's zero point, bias
  take_codes(node.input(1), node.input(is_quantized ? 5 : 3), node.input(is_quantized ? 3 : 2),
             layer);
  take_input(rows, layer.k, layer);
  take_bias(node.input(is_quantized ? 6 : 4), layer);
  if (is_quantized) {
    layer.scale = number_of(node.input(2), type_f32);
    layer.zero = number_of(node.input(4), rows.type);
  }
  return layer;
}

void take_quantization(const Operand& scale, const Operand& zero, const Operand& output_scale,
                       const Operand& output_zero, Layer& layer) {
  layer.source.lhs_scale = constant_scale(scale);
  layer.input_zero = constant_zero(zero, layer.input_type);
  layer.source.lhs_zero_point = layer.input_zero;
  layer.source.dst_scale = constant_scale(output_scale);
  layer.output_zero = constant_zero(output_zero, layer.input_type);
}

/// a, its scale and zero point; b, likewise; the output's scale and zero point.
Layer describe_codes(const NodeFacts& node) {
  const Operand& rows = node.input(0);
  require(is_code_type(rows.type) && node.outputs[0].type == rows.type,
          "activations of a type that we have no kernels for");
  Layer layer;
  layer.family = "matmul_clamp_qai8_qai8p_qsi8cxp";
  layer.has_codes_out = true;
  take_codes(node.input(3), node.input(5), node.input(4), layer);
  take_input(rows, layer.k, layer);
  take_quantization(node.input(1), node.input(2), node.input(6), node.input(7), layer);
  return layer;
}

/// a, b, a's zero point, b's.
Layer describe_sums(const NodeFacts& node) {
  require(node.outputs[0].type == type_i32, "outputs that are not int32");
  const Operand &rows = node.input(0), &zero = node.input(2);
  require(is_code_type(rows.type), "activations of a type that we have no kernels for");
  require(!zero.has_shape || value_count(zero) == 1,  // others are seen when they come
          "other than one zero point for all activations");
  Layer layer;
  layer.has_sums_out = true;
  take_codes_as_they_are(node.input(1), node.input(3), layer);
  layer.family =
      layer.own_zeros.empty() ? "matmul_i32_qai8dxp_qsi8cxp" : "matmul_i32_qai8dxp_qai8cxp";
  take_input(rows, layer.k, layer);
  layer.scale = Number{1, ""};  // of no meaning here
  layer.zero = number_of(zero, rows.type);
  return layer;
}

}  // namespace tw::onnxruntime
