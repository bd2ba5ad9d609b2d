// Rows of values in memory, as K and V are: floats, ggml's blocks of q8_0 and q4_0, told byte by
// byte, or s8, int8 with a scale and a zero point elsewhere. Shares no code with the generator.
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

/// ggml's blocks: a scale of f16, and codes from -highest - 1 to highest.
constexpr size_t block_values = 32;
struct BlockType {
  float highest = 0;  ///< 0: not a type of blocks
  size_t bytes = 0;
};
inline BlockType block_type(const std::string& type) {
  if (type == "q8_0") return {127, 34};
  if (type == "q4_0") return {7, 18};
  return {};
}
inline bool has_blocks(const std::string& type) {
  return block_type(type).bytes != 0;
}

/// Of a row of s8, whose values are (code - zero) * scale.
struct RowScale {
  float scale = 1;
  int8_t zero = 0;
};

/// Of so many values; of blocks whole ones.
inline size_t row_bytes_of(const std::string& type, size_t values) {
  if (type == "s8") return values;
  if (has_blocks(type)) return values / block_values * block_type(type).bytes;
  return values * bytes_of_float(type);
}

/// The scale with which the value that is farthest from 0 becomes the highest or the lowest code:
/// that of a block which has been rounded is its own.
inline float block_scale(const std::string& type, const float* block) {
  const float highest = block_type(type).highest;
  const float high = std::max(0.0F, *std::max_element(block, block + block_values)) / highest;
  const float low = -std::min(0.0F, *std::min_element(block, block + block_values)) / (highest + 1);
  return rounded_to("f16", std::max(high, low));
}

inline float block_code(const std::string& type, float value, float scale) {
  const float highest = block_type(type).highest;
  return scale == 0 ? 0 : std::clamp(std::nearbyint(value / scale), -highest - 1, highest);
}

/// To what rows of the type hold.
inline void round_rows(const std::string& type, std::vector<float>& values) {
  if (!has_blocks(type)) {
    for (float& x : values) x = rounded_to(type, x);
    return;
  }
  for (size_t first = 0; first < values.size(); first += block_values) {
    const float scale = block_scale(type, &values[first]);
    for (size_t i = first; i < first + block_values; ++i) {
      values[i] = block_code(type, values[i], scale) * scale;
    }
  }
}

/// Writes values that the type holds.
inline void put_row(const std::string& type, const float* values, size_t count, uint8_t* at,
                    RowScale s8 = {}) {
  if (type == "s8") {
    for (size_t i = 0; i < count; ++i) {
      at[i] = static_cast<uint8_t>(static_cast<int>(values[i] / s8.scale) + s8.zero);
    }
    return;
  }
  if (!has_blocks(type)) {
    for (size_t i = 0; i < count; ++i) {
      const uint32_t bits = float_bits(type, values[i]);
      std::memcpy(at + i * bytes_of_float(type), &bits, bytes_of_float(type));
    }
    return;
  }
  const size_t bytes = block_type(type).bytes;
  for (; count >= block_values; count -= block_values, values += block_values, at += bytes) {
    const float scale = block_scale(type, values);
    const uint32_t bits = float_bits("f16", scale);
    std::memcpy(at, &bits, 2);
    const auto code = [&](size_t i) {
      return static_cast<int>(block_code(type, values[i], scale));
    };
    for (size_t i = 0; i < bytes - 2; ++i) {
      // Of nibbles the lower one is of the block's first half, and either is what its code is
      // plus 8.
      at[2 + i] =
          static_cast<uint8_t>(type == "q8_0" ? code(i) : code(i) + 8 + (code(i + 16) + 8) * 16);
    }
  }
}

}  // namespace tw::test
