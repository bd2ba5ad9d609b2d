#include <cmath>

#include "onnxruntime/models/cases.h"
#include "reference/quantize_reference.h"

namespace tw::onnxruntime {

namespace {

/// The node's operands, as numbers.
struct NbitsOperands {
  size_t k, blocks, block, bits;
  std::vector<float> a, scales, bias;
  std::vector<uint8_t> b, zeros;

  [[nodiscard]] int code(const std::vector<uint8_t>& codes, size_t i) const {
    const size_t per_byte = 8 / bits;
    return codes[i / per_byte] >> (i % per_byte * bits) & ((1 << bits) - 1);
  }
  /// Minus its zero point.
  [[nodiscard]] int weight(size_t column, size_t i) const {
    const size_t per_column = (blocks * bits + 7) / 8 * (8 / bits);
    const int zero = zeros.empty() ? 1 << (bits - 1) : code(zeros, column * per_column + i / block);
    return code(b, column * blocks * block + i) - zero;
  }
};

struct Activations {
  std::vector<double> codes, scales;  ///< a scale for each block
};

/// Codes of a row in blocks, the last one filled with zeros; or its floats.
Activations activations(const NbitsOperands& its, size_t row, bool is_quantized) {
  std::vector<float> values(its.blocks * its.block);
  std::copy_n(its.a.begin() + static_cast<std::ptrdiff_t>(row * its.k), its.k, values.begin());
  if (!is_quantized) {
    return {{values.begin(), values.end()}, std::vector<double>(its.blocks, 1)};
  }
  Activations made;
  for (size_t i = 0; i < its.blocks; ++i) {
    const auto block = test::quantize_block_qsi8d32(values.data() + i * its.block, its.block);
    made.codes.insert(made.codes.end(), block.codes.begin(), block.codes.end());
    made.scales.push_back(block.scale);
  }
  return made;
}

void add_output(const NbitsOperands& its, const Activations& row, size_t column, double rounding,
                Case& made) {
  double sum = its.bias.empty() ? 0 : its.bias[column], size = std::abs(sum);
  for (size_t i = 0; i < its.k; ++i) {
    const size_t block = i / its.block;
    const double term = row.codes[i] * row.scales[block] * its.weight(column, i) *
                        its.scales[column * its.blocks + block];
    sum += term;
    size += std::abs(term);
  }
  made.wanted.push_back(sum);
  made.bounds.push_back(size * rounding);
}

void add_constants(const NbitsOperands& its, int64_t n, Case& made) {
  const auto blocks = static_cast<int64_t>(its.blocks);
  const auto bytes = static_cast<int64_t>(its.block * its.bits / 8);
  auto& constants = made.model.constants;
  constants.push_back({"b", u8, {n, blocks, bytes}, its.b});
  constants.push_back({"scales", f32, {n * blocks}, bytes_of(its.scales)});
  const auto zeros = static_cast<int64_t>(its.zeros.size());
  if (!its.zeros.empty()) constants.push_back({"zeros", u8, {zeros}, its.zeros});
  if (!its.bias.empty()) constants.push_back({"bias", f32, {n}, bytes_of(its.bias)});
}

}  // namespace

Case nbits_case(const NbitsShape& shape, std::mt19937& random) {
  NbitsOperands its;
  its.k = static_cast<size_t>(shape.k);
  its.block = static_cast<size_t>(shape.block);
  its.bits = static_cast<size_t>(shape.bits);
  its.blocks = (its.k + its.block - 1) / its.block;
  const size_t m = product_of(shape.rows), n = static_cast<size_t>(shape.n);
  its.a = random_floats(m * its.k, 2, random);
  its.b = random_bytes(n * its.blocks * its.block * its.bits / 8, random);
  its.scales = random_floats(n * its.blocks, 2, random);
  if (shape.has_zeros) its.zeros = random_bytes(n * ((its.blocks * its.bits + 7) / 8), random);
  if (shape.has_bias) its.bias = random_floats(n, 2, random);
  OnnxNode node{"MatMulNBits", {"a", "b", "scales"}, {"y"}, {}, "com.microsoft"};
  if (shape.has_zeros || shape.has_bias) node.inputs.push_back(shape.has_zeros ? "zeros" : "");
  if (shape.has_bias) node.inputs.insert(node.inputs.end(), {"", "bias"});
  node.attributes = {{"K", shape.k},
                     {"N", shape.n},
                     {"bits", shape.bits},
                     {"block_size", shape.block},
                     {"accuracy_level", shape.accuracy}};
  Case made = case_of(node, shape.rows, shape.k, shape.n, f32, f32);
  made.inputs[0].bytes = bytes_of(its.a);
  add_constants(its, shape.n, made);
  // One rounding for each sum, and some of the numbers that it is made of.
  const bool is_quantized = shape.accuracy == 4;
  const double sums = static_cast<double>(is_quantized ? its.blocks : its.k);
  for (size_t i = 0; i < m; ++i) {
    const Activations row = activations(its, i, is_quantized);
    for (size_t j = 0; j < n; ++j) add_output(its, row, j, (sums + 8) * 0x1p-23, made);
  }
  return made;
}

}  // namespace tw::onnxruntime
