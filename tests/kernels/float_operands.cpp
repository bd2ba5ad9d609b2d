#include "kernels/float_operands.h"

#include <cmath>

#include "reference/half_reference.h"
#include "reference/pack_reference.h"

namespace tw::test {
namespace {

/// As references name it.
const char* type_of(const tw_layout& layout) {
  return layout.type == TW_F16 ? "f16" : layout.type == TW_BF16 ? "bf16" : "f32";
}

/// What the codes of a layout are, one by one.
std::vector<float> values_of(const std::vector<int8_t>& codes, const tw_layout& rhs) {
  const std::string& type = read_layout(rhs.text).type;
  if (!is_byte_float(type)) return {codes.begin(), codes.end()};
  std::vector<float> values;
  values.reserve(codes.size());
  for (const int8_t code : codes) values.push_back(byte_float_value(type, code));
  return values;
}

/// With weights as the layout can hold them.
FloatMatmul with_weights(const Matmul& problem, const tw_layout& rhs) {
  FloatMatmul floats{problem.m,    problem.n, problem.k,   problem.lhs, {},
                     problem.bias, {},        problem.min, problem.max};
  // Kernels read bits of e4m3 as those of an f16, 2^-8 of the value, and scales have the rest.
  if (read_layout(rhs.text).type == "e4m3") floats.unit = 256;
  if (!has_float_weights(rhs)) floats.rhs = values_of(problem.rhs, rhs);
  const size_t blocks = rhs.block == 0 ? 1 : problem.k / rhs.block;
  for (size_t i = 0; rhs.block != 0 && i < problem.rhs.size(); ++i) {
    const size_t block = i / problem.k * blocks + i % problem.k / rhs.block;
    if (!problem.zeros.empty()) floats.rhs[i] -= problem.zeros[block];
    floats.rhs[i] *= problem.scales[block];
  }
  if (rhs.block != 0) return floats;
  if (!has_float_weights(rhs)) {
    floats.scales = problem.scales;
    return floats;
  }
  floats.rhs.reserve(problem.rhs.size());
  for (size_t column = 0; column < problem.n; ++column) {
    const float scale = problem.scales[column];
    for (size_t i = column * problem.k; i < (column + 1) * problem.k; ++i) {
      floats.rhs.push_back(static_cast<float>(problem.rhs[i]) * scale);
    }
  }
  round_all(type_of(rhs), floats.rhs);
  return floats;
}

}  // namespace

bool has_float_rows(const tw_layout& lhs) {
  return lhs.type == TW_F32 || lhs.type == TW_F16 || lhs.type == TW_BF16;
}

bool has_float_weights(const tw_layout& rhs) {
  return rhs.data_bits >= 16;
}

bool is_unpacked(const tw_layout& lhs) {
  const bool known = lhs.type == TW_F32 || lhs.type == TW_F16 || lhs.type == TW_S8;
  return known && lhs.panel == 1 && lhs.panel_scalable == 0 && lhs.k_multiple == 1;
}

bool has_half_sums(const tw_layout& lhs, const tw_layout& rhs) {
  return is_unpacked(lhs) && lhs.type == TW_F16 && rhs.k_multiple == 1;
}

FloatMatmul as_floats(const Matmul& problem, const tw_layout& lhs, const tw_layout& rhs) {
  FloatMatmul floats = with_weights(problem, rhs);
  round_all(type_of(lhs), floats.lhs);
  // In panels codes are floats of the lhs's type before they are multiplied.
  if (rhs.block != 0 && !is_unpacked(lhs)) round_all(type_of(lhs), floats.rhs);
  floats.bf16_products = lhs.type == TW_BF16;
  if (!floats.bf16_products) return floats;
  for (std::vector<float>* side : {&floats.lhs, &floats.rhs}) {
    for (float& value : *side) value = std::fabs(value) < 0x1p-126F ? 0.0F : value;
  }
  return floats;
}

std::vector<uint8_t> float_rows(const Matmul& problem, const tw_layout& lhs) {
  return bytes_of_floats(type_of(lhs), problem.lhs);
}

std::vector<uint8_t> float_source(const Matmul& problem, const tw_layout& rhs, bool kxn) {
  const FloatMatmul floats = with_weights(problem, rhs);
  if (!kxn) return bytes_of_floats(type_of(rhs), floats.rhs);
  std::vector<float> values;
  values.reserve(floats.rhs.size());
  for (size_t row = 0; row < floats.k; ++row) {
    for (size_t column = 0; column < floats.n; ++column) {
      values.push_back(floats.rhs[column * floats.k + row]);
    }
  }
  return bytes_of_floats(type_of(rhs), values);
}

}  // namespace tw::test
