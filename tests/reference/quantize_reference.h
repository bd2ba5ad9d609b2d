// qai8dx and qsi8d32 in plain C++: a row of floats to int8 codes with a scale and a zero point of
// its own, or with a scale per block.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "reference/half_reference.h"

namespace tw::test {

/// value = scale * (code - zero_point)
struct QuantizedRow {
  std::vector<int8_t> codes;
  int32_t zero_point = 0;
  float scale = 1;
};

/// Codes 0 and a scale that is no number, so that the row's outputs are none either.
inline QuantizedRow not_a_row(size_t k) {
  return {std::vector<int8_t>(k, 0), 0, std::numeric_limits<float>::quiet_NaN()};
}

/// How values go to codes; everything else is rounded to nearest even.
enum class Ties { even, away };

/// Every operation below is one f32 rounding (to nearest even), in this order; no fma.
inline QuantizedRow quantize_row_qai8dx(const float* row, size_t k, Ties ties = Ties::even) {
  if (std::any_of(row, row + k, [](float x) { return !std::isfinite(x); })) return not_a_row(k);
  float lowest = 0;
  float highest = 0;
  for (size_t i = 0; i < k; ++i) {
    lowest = std::min(lowest, row[i]);
    highest = std::max(highest, row[i]);
  }
  float inverse = lowest == highest ? 1.0F : 255.0F / (highest - lowest);
  // Values near both ends of the floats: their difference is none. Values near none: 1 / scale is.
  if (std::isinf(highest - lowest)) inverse = 127.5F / (highest / 2 - lowest / 2);
  if (std::isinf(inverse)) inverse = std::numeric_limits<float>::max();
  const float a = lowest * inverse;
  const float b = highest * inverse;
  const float low_end = -128.0F - a;
  const float high_end = 127.0F - b;
  const float zero = (-128.0F + a) + (127.0F + b) > 0 ? low_end : high_end;

  QuantizedRow result;
  result.zero_point = static_cast<int32_t>(std::nearbyint(std::clamp(zero, -128.0F, 127.0F)));
  result.scale = 1.0F / inverse;
  for (size_t i = 0; i < k; ++i) {
    const float scaled = row[i] * inverse;
    const float rounded = ties == Ties::even ? std::nearbyint(scaled) : std::round(scaled);
    const float code = rounded + static_cast<float>(result.zero_point);
    result.codes.push_back(static_cast<int8_t>(std::clamp(code, -128.0F, 127.0F)));
  }
  return result;
}

/// How blocks are quantized.
struct BlockRule {
  Ties ties = Ties::even;
  bool half_scale = false;  ///< which is kept as f16; codes are of its inverse before that
};

/// A block, symmetric: codes -127 to 127. Blocks below 2^-100 count as zeros.
inline QuantizedRow quantize_block_qsi8d32(const float* block, size_t k, BlockRule rule = {}) {
  if (std::any_of(block, block + k, [](float x) { return !std::isfinite(x); })) return not_a_row(k);
  float largest = 0;
  for (size_t i = 0; i < k; ++i) largest = std::max(largest, std::fabs(block[i]));
  if (largest < 0x1p-100F) return {std::vector<int8_t>(k, 0), 0, 0};
  QuantizedRow result;
  result.scale = largest / 127.0F;
  const float inverse = rule.half_scale ? 1.0F / result.scale : 127.0F / largest;
  for (size_t i = 0; i < k; ++i) {
    const float scaled = block[i] * inverse;
    const float code = rule.ties == Ties::even ? std::nearbyint(scaled) : std::round(scaled);
    result.codes.push_back(static_cast<int8_t>(std::clamp(code, -127.0F, 127.0F)));
  }
  if (rule.half_scale) result.scale = rounded_to("f16", result.scale);
  return result;
}

}  // namespace tw::test
