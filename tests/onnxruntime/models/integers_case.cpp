#include <algorithm>
#include <cmath>

#include "onnxruntime/models/cases.h"
#include "reference/quantize_reference.h"

namespace tw::onnxruntime {

namespace {

int32_t code_of(int32_t type, uint8_t byte) {
  return type == u8 ? byte : static_cast<int8_t>(byte);
}

struct IntegerOperands {
  std::vector<uint8_t> b, zeros;
  std::vector<float> scales, bias;
  // Of activations that are codes, and of outputs:
  float a_scale = 0.02F, y_scale = 0.5F;
  uint8_t a_zero = 133, y_zero = 120;
};

IntegerOperands random_operands(const IntegersShape& shape, std::mt19937& random) {
  IntegerOperands made;
  const size_t n = static_cast<size_t>(shape.n), k = static_cast<size_t>(shape.k);
  const size_t columns = shape.by_columns ? n : 1;
  made.b = random_bytes(n * k, random);
  made.scales = random_floats(columns, 0.05F, random);
  for (float& scale : made.scales) scale = std::abs(scale) + 0.001F;
  if (shape.has_bias) made.bias = random_floats(n, 2, random);
  if (!shape.has_zeros) return made;
  // Near the middle, and codes between those that 8 bits still hold without it.
  const int middle = shape.weights_type == u8 ? 128 : 0;
  for (size_t i = 0; i < columns; ++i) {
    made.zeros.push_back(static_cast<uint8_t>(middle + static_cast<int>(random() % 9) - 4));
  }
  if (shape.has_wide_weights) made.zeros[0] = static_cast<uint8_t>(middle + 50);
  for (uint8_t& code : made.b) {
    if (shape.has_wide_weights) break;
    const int centered = std::clamp(code_of(shape.weights_type, code) - middle, -120, 120);
    code = static_cast<uint8_t>(centered + middle);
  }
  if (shape.has_wide_weights) made.b[0] = static_cast<uint8_t>(middle + 128);
  return made;
}

/// A row as codes less their zero point, and what a step is worth.
struct Row {
  std::vector<double> codes;
  double scale;
};

Row quantized_row(const std::vector<float>& a, size_t row, size_t k) {
  const auto its = test::quantize_row_qai8dx(a.data() + row * k, k);
  Row made{{}, its.scale};
  for (const int8_t code : its.codes) made.codes.push_back(code - its.zero_point);
  return made;
}

Row row_of_codes(const IntegersShape& shape, const IntegerOperands& its,
                 const std::vector<uint8_t>& a, size_t row, size_t k) {
  Row made{{}, its.a_scale};
  for (size_t i = 0; i < k; ++i) {
    made.codes.push_back(code_of(shape.rows_type, a[row * k + i]) -
                         code_of(shape.rows_type, its.a_zero));
  }
  return made;
}

void add_outputs(const IntegersShape& shape, const IntegerOperands& its, const Row& row,
                 Case& made) {
  const size_t n = static_cast<size_t>(shape.n);
  const bool has_codes_out = shape.operation == "QLinearMatMul";
  for (size_t j = 0; j < n; ++j) {
    const size_t column = shape.by_columns ? j : 0;
    const int zero = its.zeros.empty() ? 0 : code_of(shape.weights_type, its.zeros[column]);
    double sum = 0, bias = its.bias.empty() ? 0 : its.bias[j];
    for (size_t i = 0; i < row.codes.size(); ++i) {
      sum += row.codes[i] * (code_of(shape.weights_type, its.b[i * n + j]) - zero);
    }
    if (shape.operation == "MatMulInteger") {
      made.wanted.push_back(sum);
      made.bounds.push_back(0);
      continue;
    }
    const double real = sum * row.scale * its.scales[column] + bias;
    if (has_codes_out) {
      const int lowest = shape.rows_type == u8 ? 0 : -128;
      const double code = real / its.y_scale + code_of(shape.rows_type, its.y_zero);
      made.wanted.push_back(std::clamp<double>(code, lowest, lowest + 255));
      made.bounds.push_back(0.5 + 1e-4 * std::abs(real));
    } else {
      made.wanted.push_back(real);
      made.bounds.push_back((std::abs(real) + std::abs(bias) * 2) * 0x1p-21);
    }
  }
}

Tensor scalar(const char* name, float value) {
  return {name, f32, {}, bytes_of(std::vector<float>{value})};
}

void add_integer_constants(const IntegersShape& shape, const IntegerOperands& its, Case& made) {
  auto& constants = made.model.constants;
  const auto columns = static_cast<int64_t>(its.scales.size());
  const std::vector<int64_t> of_columns =
      shape.by_columns ? std::vector<int64_t>{columns} : std::vector<int64_t>{};
  constants.push_back({"b", shape.weights_type, {shape.k, shape.n}, its.b});
  const bool has_sums_out = shape.operation == "MatMulInteger";
  if (!has_sums_out) constants.push_back({"b_scale", f32, of_columns, bytes_of(its.scales)});
  if (!its.zeros.empty()) {
    constants.push_back({"b_zero", shape.weights_type, of_columns, its.zeros});
  }
  if (!its.bias.empty()) constants.push_back({"bias", f32, {shape.n}, bytes_of(its.bias)});
  if (shape.operation == "DynamicQuantizeMatMul") return;
  if (!has_sums_out) constants.push_back(scalar("a_scale", its.a_scale));
  constants.push_back({"a_zero", shape.rows_type, {}, {its.a_zero}});
  if (shape.operation != "QLinearMatMul") return;
  constants.push_back(scalar("y_scale", its.y_scale));
  constants.push_back({"y_zero", shape.rows_type, {}, {its.y_zero}});
}

std::vector<std::string> operands_of(const IntegersShape& shape) {
  const std::string zero = shape.has_zeros ? "b_zero" : "", bias = shape.has_bias ? "bias" : "";
  std::vector<std::string> operands = {"a", "b", "b_scale", zero, bias};
  if (shape.operation == "QLinearMatMul") {
    return {"a", "a_scale", "a_zero", "b", "b_scale", zero, "y_scale", "y_zero"};
  }
  if (shape.operation == "MatMulInteger") operands = {"a", "b", "a_zero", zero};
  if (shape.operation == "MatMulIntegerToFloat") {
    operands = {"a", "b", "a_scale", "b_scale", "a_zero", zero, bias};
  }
  while (operands.back().empty()) operands.pop_back();
  return operands;
}

}  // namespace

Case integers_case(const IntegersShape& shape, std::mt19937& random) {
  const IntegerOperands its = random_operands(shape, random);
  const size_t m = product_of(shape.rows), k = static_cast<size_t>(shape.k);
  const bool has_codes_in = shape.operation != "DynamicQuantizeMatMul";
  const bool has_codes_out = shape.operation == "QLinearMatMul";
  OnnxNode node{shape.operation, operands_of(shape), {"y"}, {}, "com.microsoft"};
  const bool has_sums_out = shape.operation == "MatMulInteger";
  if (has_codes_out || has_sums_out) node.maker = "";
  Case made = case_of(node, shape.rows, shape.k, shape.n, has_codes_in ? shape.rows_type : f32,
                      has_sums_out    ? i32
                      : has_codes_out ? shape.rows_type
                                      : f32);
  add_integer_constants(shape, its, made);
  const std::vector<uint8_t> codes = random_bytes(m * k, random);
  const std::vector<float> floats = random_floats(m * k, 2, random);
  made.inputs[0].bytes = has_codes_in ? codes : bytes_of(floats);
  for (size_t i = 0; i < m; ++i) {
    add_outputs(shape, its,
                has_codes_in ? row_of_codes(shape, its, codes, i, k) : quantized_row(floats, i, k),
                made);
  }
  return made;
}

}  // namespace tw::onnxruntime
