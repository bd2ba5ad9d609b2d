#include "integrations/litert/tensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace tw::litert {

namespace {

/// Null where the tensor is not quantized so; then its parameters mean nothing.
const AffineQuantization* affine(const Tensor& tensor) {
  const auto& its = tensor.quantization;
  const auto* found = static_cast<const AffineQuantization*>(its.params);
  const bool is_known = its.type == quantization_affine && found != nullptr &&
                        found->scale != nullptr && found->zero_point != nullptr &&
                        found->scale->size > 0 && found->zero_point->size > 0;
  return is_known ? found : nullptr;
}

bool is_scale(float value) {
  return std::isfinite(value) && value > 0;
}

float float_of_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16, magnitude = half & 0x7fffU;
  constexpr uint32_t kInfinity = 0x7c00;
  if (magnitude >= kInfinity) {
    return std::bit_cast<float>(sign | 0x7f800000U | (magnitude - kInfinity) << 13);
  }
  // The exponent's bias is 112 less; denormals come out right, as the product is exact.
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
  return sign != 0 ? -value : value;
}

}  // namespace

size_t value_count(const Tensor& tensor) {
  size_t count = 1;
  for (int32_t i = 0; i < rank(tensor); ++i) count *= extent(tensor, i);
  return count;
}

std::optional<Quantization> whole_quantization(const Tensor& tensor) {
  const AffineQuantization* its = affine(tensor);
  if (its == nullptr || its->scale->size != 1 || !is_scale(its->scale->data[0])) return {};
  return Quantization{its->scale->data[0], its->zero_point->data[0]};
}

std::vector<float> scales_along(const Tensor& weights, int32_t dimension) {
  const AffineQuantization* its = affine(weights);
  if (its == nullptr || dimension >= rank(weights)) return {};
  const size_t rows = extent(weights, dimension);
  const int32_t *zeros = its->zero_point->data, *end = zeros + its->zero_point->size;
  const float* scales = its->scale->data;
  const auto count = static_cast<size_t>(its->scale->size);
  const bool is_symmetric = std::all_of(zeros, end, [](int32_t zero) { return zero == 0; });
  const bool is_by_rows = count == rows && its->dimension == dimension;
  if (!is_symmetric || !std::all_of(scales, scales + count, is_scale)) return {};
  if (count == 1) return std::vector<float>(rows, scales[0]);
  return is_by_rows ? std::vector<float>(scales, scales + rows) : std::vector<float>();
}

Ints* make_ints(const std::vector<int32_t>& values) {
  auto* made = static_cast<Ints*>(std::malloc(sizeof(int32_t) * (values.size() + 1)));
  if (made == nullptr) throw std::bad_alloc();
  made->size = static_cast<int32_t>(values.size());
  if (!values.empty()) std::memcpy(made->data, values.data(), values.size() * sizeof(int32_t));
  return made;
}

std::vector<float> floats_of_halves(const void* halves, size_t count) {
  std::vector<float> floats(count);
  for (size_t i = 0; i < count; ++i) {
    uint16_t half = 0;
    std::memcpy(&half, static_cast<const char*>(halves) + i * sizeof half, sizeof half);
    floats[i] = float_of_half(half);
  }
  return floats;
}

}  // namespace tw::litert
