#include "kernels/float_operands.h"

#include <cmath>
#include <cstring>

#include "reference/half_reference.h"

namespace tw::test {
namespace {

/// As references name it.
const char* type_of(const tw_layout& layout) {
  return layout.type == TW_F16 ? "f16" : layout.type == TW_BF16 ? "bf16" : "f32";
}

/// With weights as the layout can hold them.
FloatMatmul with_weights(const Matmul& problem, const tw_layout& rhs) {
  FloatMatmul floats{problem.m,    problem.n, problem.k,   problem.lhs, {},
                     problem.bias, {},        problem.min, problem.max};
  const size_t blocks = rhs.block == 0 ? 1 : problem.k / rhs.block;
  for (size_t i = 0; rhs.block != 0 && i < problem.rhs.size(); ++i) {
    const size_t block = i / problem.k * blocks + i % problem.k / rhs.block;
    const auto code = static_cast<float>(problem.rhs[i]);
    const float steps = problem.zeros.empty() ? code : code - problem.zeros[block];
    floats.rhs.push_back(steps * problem.scales[block]);
  }
  if (rhs.block != 0) return floats;
  if (!has_float_weights(rhs)) {
    floats.rhs.assign(problem.rhs.begin(), problem.rhs.end());
    floats.scales = problem.scales;
    return floats;
  }
  for (size_t i = 0; i < problem.rhs.size(); ++i) {
    const float value = static_cast<float>(problem.rhs[i]) * problem.scales[i / problem.k];
    floats.rhs.push_back(rounded_to(type_of(rhs), value));
  }
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
  for (float& value : floats.lhs) value = rounded_to(type_of(lhs), value);
  // In panels codes are floats of the lhs's type before they are multiplied.
  for (size_t i = 0; rhs.block != 0 && !is_unpacked(lhs) && i < floats.rhs.size(); ++i) {
    floats.rhs[i] = rounded_to(type_of(lhs), floats.rhs[i]);
  }
  floats.bf16_products = lhs.type == TW_BF16;
  if (!floats.bf16_products) return floats;
  for (std::vector<float>* side : {&floats.lhs, &floats.rhs}) {
    for (float& value : *side) value = std::fabs(value) < 0x1p-126F ? 0.0F : value;
  }
  return floats;
}

std::vector<uint8_t> float_rows(const Matmul& problem, const tw_layout& lhs) {
  const size_t size = lhs.data_bits / 8;
  std::vector<uint8_t> bytes(problem.lhs.size() * size);
  for (size_t i = 0; i < problem.lhs.size(); ++i) {
    const uint32_t bits = float_bits(type_of(lhs), rounded_to(type_of(lhs), problem.lhs[i]));
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}

std::vector<uint8_t> float_source(const Matmul& problem, const tw_layout& rhs, bool kxn) {
  const FloatMatmul floats = with_weights(problem, rhs);
  const size_t columns = kxn ? floats.n : floats.k;
  const size_t size = rhs.data_bits / 8;
  std::vector<uint8_t> bytes(floats.rhs.size() * size);
  for (size_t i = 0; i < floats.rhs.size(); ++i) {
    const size_t row = i / columns;
    const size_t column = i % columns;
    const float value = floats.rhs[kxn ? column * floats.k + row : i];
    const uint32_t bits = float_bits(type_of(rhs), value);
    std::memcpy(bytes.data() + i * size, &bits, size);  // the lower ones come first
  }
  return bytes;
}

}  // namespace tw::test
