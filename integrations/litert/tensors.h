// What a tensor of the host's says, in numbers that we can use.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "integrations/litert/litert_abi.h"

namespace tw::litert {

inline bool is_constant(const Tensor& tensor) {
  return tensor.allocation == allocation_read_only && tensor.data != nullptr;
}

inline size_t extent(const Tensor& tensor, int32_t dimension) {
  return static_cast<size_t>(tensor.dims->data[dimension]);
}
inline int32_t rank(const Tensor& tensor) {
  return tensor.dims == nullptr ? 0 : tensor.dims->size;
}
size_t value_count(const Tensor& tensor);

/// Of a tensor as a whole: value = (code - zero_point) * scale.
struct Quantization {
  float scale;
  int32_t zero_point;
};
std::optional<Quantization> whole_quantization(const Tensor& tensor);

/// Of symmetric weights: one scale for each of this dimension. Empty where they are quantized in
/// another way.
std::vector<float> scales_along(const Tensor& weights, int32_t dimension);

/// A copy for the host, which frees it.
Ints* make_ints(const std::vector<int32_t>& values);

std::vector<float> floats_of_halves(const void* halves, size_t count);

}  // namespace tw::litert
