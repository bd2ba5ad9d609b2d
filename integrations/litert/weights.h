// Weights packed for our kernels: once, and shared by all interpreters of a model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "integrations/common/packed_weights.h"
#include "integrations/litert/litert_abi.h"
#include "tilewright/depthwise.h"

namespace tw::litert {

/// Types of activations, weights and outputs that we have kernels for.
struct Scheme {
  Type input, weights;
  const char* family;
  const char* depthwise = nullptr;  ///< null: none; halves of weights are made floats for it
};
const Scheme* find_scheme(Type input, Type weights);  ///< null: none

/// Outputs have the type of the input.
inline bool has_codes_out(const Scheme& scheme) {
  return scheme.input == type_i8;
}

/// Of depthwise weights.
struct Taps {
  size_t height, width, stride;

  auto operator<=>(const Taps& other) const = default;
};

/// Of a transposed convolution, as tw_convolution has them.
struct TransposedWindow {
  size_t height, width, kernel_height, kernel_width, stride_height, stride_width;
  size_t top, bottom, left, right, more_height, more_width;

  auto operator<=>(const TransposedWindow& other) const = default;
};
tw_convolution convolution_of(const TransposedWindow& window, size_t pixel_bytes);

/// Of its weights.
struct TransposedPart {
  TransposedWindow window;
  size_t index;

  auto operator<=>(const TransposedPart& other) const = default;
};

/// All that packed weights hang on. Constants of a model stay where they are as long as one of its
/// interpreters does, and so longer than what is packed for it.
struct WeightSource {
  const Scheme* scheme = nullptr;
  const void* data = nullptr;
  tw_rhs_order order = TW_NXK;  ///< n rows of k values; TW_KXN: k rows of n
  size_t n = 0, k = 0;
  size_t taps = 0;                     ///< as tw_matmul has them
  size_t rows = 0;                     ///< of activations that they are meant for; 0: unknown
  size_t threads = 1;                  ///< likewise
  std::optional<Taps> depthwise;       ///< each channel by itself: TW_KXN, k taps of n channels
  std::optional<TransposedPart> part;  ///< k and taps are its own
  std::vector<float> scales;           ///< of rows; floats: none
  /// Codes out: what is packed with the weights.
  const void* bias = nullptr;
  int32_t lhs_zero_point = 0;
  float lhs_scale = 0, dst_scale = 0;

  auto operator<=>(const WeightSource& other) const = default;
};

struct Weights : PackedWeights {                   // without a plan: depthwise
  const tw_depthwise_kernel* depthwise = nullptr;  ///< that they are packed for
};

/// Null where our kernels cannot serve them here, or would not be faster than the host's own.
std::shared_ptr<const Weights> find_weights(const WeightSource& source);

}  // namespace tw::litert
