#include "litert/models/layer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "reference/half_reference.h"
#include "reference/quantize_reference.h"

namespace tw::litert {

namespace {

bool is_codes(Type type) {
  return type == type_i8 || type == type_i4;
}

/// Codes, or values that such a float has.
std::vector<double> random_numbers(Type type, size_t count, std::mt19937& random) {
  const int largest = type == type_i4 ? 7 : 127;
  std::uniform_int_distribution<int> codes(-largest, largest);
  std::uniform_real_distribution<float> floats(-2, 2);
  std::vector<double> numbers(count);
  for (double& number : numbers) {
    number = is_codes(type)     ? codes(random)
             : type == type_f16 ? codes(random) / 64.0
                                : floats(random);
  }
  return numbers;
}

template <class Value>
void append(std::vector<uint8_t>& bytes, Value value) {
  const auto* first = reinterpret_cast<const uint8_t*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof value);
}

std::vector<uint8_t> nibbles_of(const std::vector<double>& codes) {
  std::vector<uint8_t> bytes((codes.size() + 1) / 2);
  for (size_t i = 0; i < codes.size(); ++i) {
    const int nibble = static_cast<int>(codes[i]) & 15;
    bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] | nibble << (i % 2 * 4));
  }
  return bytes;
}

ModelTensor activations(Type type, const std::vector<int32_t>& shape, float scale, int32_t zero) {
  ModelTensor made{type, shape};
  if (!is_codes(type)) return made;
  made.scales = {scale};
  made.zero_points = {zero};
  return made;
}

double clamped(const Layer& layer, double value) {
  switch (layer.kind.activation) {
    case activation_relu:
      return std::max(value, 0.0);
    case activation_relu_n1_to_1:
      return std::clamp(value, -1.0, 1.0);
    case activation_relu6:
      return std::clamp(value, 0.0, 6.0);
    default:
      return value;
  }
}

/// Of codes in, codes out: exact.
double expected_code(const Layer& layer, int64_t sum, size_t column) {
  const float real = layer.input_scale * layer.scales[column] / layer.output_scale;
  const auto code = [&](double value) {
    return std::clamp(std::round(value / double{layer.output_scale}) + layer.output_zero, -128.0,
                      127.0);
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const float scaled = static_cast<float>(sum) * real;
  return std::clamp(std::nearbyint(double{scaled}) + layer.output_zero,
                    code(clamped(layer, -kInfinity)), code(clamped(layer, kInfinity)));
}

struct Sum {
  double value = 0, size = 0;
};

Sum dot(const double* a, const double* b, size_t k) {
  Sum sum;
  for (size_t i = 0; i < k; ++i) {
    sum.value += a[i] * b[i];
    sum.size += std::abs(a[i] * b[i]);
  }
  return sum;
}

/// The codes that floats are rounded to for weights of codes, less their zero point.
std::vector<double> rounded_row(const std::vector<double>& row, double& scale) {
  const std::vector<float> values(row.begin(), row.end());
  const test::QuantizedRow codes = test::quantize_row_qai8dx(values.data(), values.size());
  std::vector<double> rounded;
  for (const int8_t code : codes.codes) rounded.push_back(code - codes.zero_point);
  scale = codes.scale;
  return rounded;
}

void expect_row(const Layer& layer, std::vector<double> row, const uint8_t* outputs) {
  const bool has_codes_in = layer.kind.input == type_i8;
  double row_scale = 1;
  if (has_codes_in) {
    for (double& code : row) code -= layer.input_zero;
  } else if (is_codes(layer.kind.weights)) {
    row = rounded_row(row, row_scale);
  }
  for (size_t j = 0; j < layer.n; ++j) {
    Sum sum = dot(row.data(), layer.weights.data() + j * layer.k, layer.k);
    const double bias = layer.bias.empty() ? 0 : layer.bias[j];
    if (has_codes_in) {
      const auto total = static_cast<int64_t>(sum.value + bias);
      ASSERT_EQ(static_cast<int8_t>(outputs[j]), expected_code(layer, total, j)) << "column " << j;
      continue;
    }
    const double scale = layer.scales.empty() ? 1 : row_scale * double{layer.scales[j]};
    const double unit = static_cast<double>(layer.k + 4) * 0x1p-24;
    const double bound = unit / (1 - unit) * (sum.size * scale + std::abs(bias));
    float found = 0;
    std::memcpy(&found, outputs + j * sizeof found, sizeof found);
    ASSERT_NEAR(found, clamped(layer, sum.value * scale + bias), bound) << "column " << j;
  }
}

}  // namespace

Layer random_layer(const LayerKind& kind, size_t n, size_t k, std::mt19937& random) {
  Layer layer;
  layer.kind = kind;
  layer.n = n;
  layer.k = k;
  layer.weights = random_numbers(kind.weights, n * k, random);
  for (size_t i = 0; is_codes(kind.weights) && i < n; ++i) {
    layer.scales.push_back(0.002F + (kind.by_rows ? 0.001F * static_cast<float>(i % 7) : 0));
  }
  // Outputs of codes fill their range, and leave it at times.
  layer.output_scale = 0.03F * std::sqrt(static_cast<float>(k));
  if (kind.has_bias) {
    layer.bias = random_numbers(kind.weights == type_f16 ? type_f16 : kind.input, n, random);
    if (kind.input == type_i8) {
      for (double& code : layer.bias) code *= 50;
    }
  }
  return layer;
}

void shrink_weights(Layer& layer, float times) {
  for (float& scale : layer.scales) scale /= times;
  if (!layer.scales.empty()) return;
  for (double& weight : layer.weights) {
    const float small = static_cast<float>(weight) / times;
    weight = layer.kind.weights == type_f16 ? test::half_value(test::half_bits(small)) : small;
  }
}

std::vector<double> random_inputs(const Layer& layer, size_t count, std::mt19937& random) {
  return random_numbers(layer.kind.input, count, random);
}

std::vector<uint8_t> bytes_of(Type type, const std::vector<double>& values) {
  if (type == type_i4) return nibbles_of(values);
  std::vector<uint8_t> bytes;
  for (const double value : values) {
    switch (type) {
      case type_f32:
        append(bytes, static_cast<float>(value));
        break;
      case type_f16:
        append(bytes, test::half_bits(static_cast<float>(value)));
        break;
      case type_i32:
        append(bytes, static_cast<int32_t>(value));
        break;
      default:
        append(bytes, static_cast<int8_t>(value));
    }
  }
  return bytes;
}

ModelTensor weight_tensor(const Layer& layer, const std::vector<int32_t>& row_shape) {
  ModelTensor made{layer.kind.weights, {static_cast<int32_t>(layer.n)}};
  made.shape.insert(made.shape.end(), row_shape.begin(), row_shape.end());
  made.data = bytes_of(layer.kind.weights, layer.weights);
  made.scales = layer.scales;
  if (!layer.kind.by_rows && !made.scales.empty()) made.scales.resize(1);
  made.zero_points.resize(made.scales.size());
  return made;
}

ModelTensor bias_tensor(const Layer& layer) {
  const Type type = layer.kind.input == type_i8 ? type_i32 : type_f32;
  std::vector<double> bias = layer.bias;
  bias.resize(layer.n);
  return {type, {static_cast<int32_t>(layer.n)}, bytes_of(type, bias)};
}

ModelTensor input_tensor(const Layer& layer, const std::vector<int32_t>& shape) {
  return activations(layer.kind.input, shape, layer.input_scale, layer.input_zero);
}

ModelTensor output_tensor(const Layer& layer, const std::vector<int32_t>& shape) {
  return activations(layer.kind.input, shape, layer.output_scale, layer.output_zero);
}

std::vector<double> exact_products(const Layer& layer, const std::vector<double>& rows) {
  const bool has_codes = layer.kind.input == type_i8;
  const double zero = has_codes ? layer.input_zero : 0;
  std::vector<double> products;
  for (size_t i = 0; i < rows.size(); i += layer.k) {
    std::vector<double> row(rows.begin() + static_cast<std::ptrdiff_t>(i),
                            rows.begin() + static_cast<std::ptrdiff_t>(i + layer.k));
    for (double& value : row) value -= zero;
    for (size_t j = 0; j < layer.n; ++j) {
      double scale = layer.scales.empty() ? 1 : double{layer.scales[j]};
      const double sum = dot(row.data(), layer.weights.data() + j * layer.k, layer.k).value;
      const double bias = layer.bias.empty() ? 0 : layer.bias[j];
      if (has_codes) {
        scale *= double{layer.input_scale} / double{layer.output_scale};
        products.push_back(std::clamp((sum + bias) * scale + layer.output_zero, -128.0, 127.0));
      } else {
        products.push_back(clamped(layer, sum * scale + bias));
      }
    }
  }
  return products;
}

void expect_products(const Layer& layer, const std::vector<double>& rows,
                     const std::vector<uint8_t>& outputs) {
  const size_t m = rows.size() / layer.k;
  const size_t bytes = layer.n * (layer.kind.input == type_i8 ? 1 : sizeof(float));
  ASSERT_EQ(outputs.size(), m * bytes);
  for (size_t i = 0; i < m; ++i) {
    SCOPED_TRACE(testing::Message() << "row " << i);
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(i * layer.k);
    expect_row(layer, {begin, begin + static_cast<std::ptrdiff_t>(layer.k)},
               outputs.data() + i * bytes);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace tw::litert
