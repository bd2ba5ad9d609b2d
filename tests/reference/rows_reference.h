// Rows of values in memory, as K and V are: floats, or ggml's blocks of q8_0, told byte by byte.
// Shares no code with the generator.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "reference/half_reference.h"

namespace tw::test {

constexpr size_t q8_0_values = 32, q8_0_bytes = 34;

/// Of so many values; of blocks whole ones.
inline size_t row_bytes_of(const std::string& type, size_t values) {
  return type == "q8_0" ? values / q8_0_values * q8_0_bytes : values * bytes_of_float(type);
}

/// The scale with which the value that is farthest from 0 becomes code 127 or -128: that of a block
/// which has been rounded is its own.
inline float q8_0_scale(const float* block) {
  const float high = std::max(0.0F, *std::max_element(block, block + q8_0_values));
  const float low = -std::min(0.0F, *std::min_element(block, block + q8_0_values));
  return rounded_to("f16", high >= low ? high / 127 : low / 128);
}

inline float q8_0_code(float value, float scale) {
  return scale == 0 ? 0 : std::clamp(std::nearbyint(value / scale), -128.0F, 127.0F);
}

/// To what rows of the type hold.
inline void round_rows(const std::string& type, std::vector<float>& values) {
  if (type != "q8_0") {
    for (float& x : values) x = rounded_to(type, x);
    return;
  }
  for (size_t first = 0; first < values.size(); first += q8_0_values) {
    const float scale = q8_0_scale(&values[first]);
    for (size_t i = first; i < first + q8_0_values; ++i) {
      values[i] = q8_0_code(values[i], scale) * scale;
    }
  }
}

/// Writes values that the type holds.
inline void put_row(const std::string& type, const float* values, size_t count, uint8_t* at) {
  if (type != "q8_0") {
    for (size_t i = 0; i < count; ++i) {
      const uint32_t bits = float_bits(type, values[i]);
      std::memcpy(at + i * bytes_of_float(type), &bits, bytes_of_float(type));
    }
    return;
  }
  for (; count >= q8_0_values; count -= q8_0_values, values += q8_0_values, at += q8_0_bytes) {
    const float scale = q8_0_scale(values);
    const uint32_t bits = float_bits("f16", scale);
    std::memcpy(at, &bits, 2);
    for (size_t i = 0; i < q8_0_values; ++i) {
      at[2 + i] = static_cast<uint8_t>(static_cast<int>(q8_0_code(values[i], scale)));
    }
  }
}

}  // namespace tw::test
