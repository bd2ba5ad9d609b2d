// Sources that packers convert, in plain C++: what a value of a row is. Shares no code with the
// generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "reference/half_reference.h"

namespace tw::test {

inline float half_at(const uint8_t* at) {
  return half_value(static_cast<uint16_t>(at[0] | at[1] << 8));
}

inline float brain_at(const uint8_t* at) {
  return value_of_bits("bf16", static_cast<uint32_t>(at[0] | at[1] << 8));
}

/// Of ggml's blocks of 32 nibbles: values 16 apart share a byte.
inline int nibble_at(const uint8_t* nibbles, size_t i) {
  return nibbles[i % 16] >> (i % 32 / 16 * 4) & 15;
}

inline float q4_0_value(const uint8_t* row, size_t i) {
  const uint8_t* block = row + i / 32 * 18;
  return static_cast<float>(nibble_at(block + 2, i) - 8) * half_at(block);
}

inline float q8_0_value(const uint8_t* row, size_t i) {
  const uint8_t* block = row + i / 32 * 34;
  return static_cast<float>(static_cast<int8_t>(block[2 + i % 32])) * half_at(block);
}

inline float q4_1_value(const uint8_t* row, size_t i) {
  const uint8_t* block = row + i / 32 * 20;
  const float scaled = half_at(block) * static_cast<float>(nibble_at(block + 4, i));
  return scaled + half_at(block + 2);
}

/// ggml's TQ1_0: digits to the base 3, the first one of each byte first, of 32, of 16 and of 4
/// bytes.
inline float tq1_0_value(const uint8_t* row, size_t i) {
  const uint8_t* block = row + i / 256 * 54;
  const size_t in = i % 256;
  const size_t byte = in < 160 ? in % 32 : in < 240 ? 32 + (in - 160) % 16 : 48 + (in - 240) % 4;
  const size_t digit = in < 160 ? in / 32 : in < 240 ? (in - 160) / 16 : (in - 240) / 4;
  constexpr unsigned powers[] = {1, 3, 9, 27, 81};
  const unsigned fraction = block[byte] * powers[digit] % 256;
  return (static_cast<float>(fraction * 3 / 256) - 1) * half_at(block + 52);
}

inline float bf16_value(const uint8_t* row, size_t i) {
  return brain_at(row + 2 * i);
}

inline float f16_value(const uint8_t* row, size_t i) {
  return half_at(row + 2 * i);
}

inline float f32_value(const uint8_t* row, size_t i) {
  float value = 0;
  std::memcpy(&value, row + 4 * i, sizeof value);
  return value;
}

struct SourceReference {
  const char* name;
  size_t block, block_bytes;  ///< so many values of a row in so many bytes
  float (*value)(const uint8_t* row, size_t i);
};

/// null: it is not converted, or unknown.
inline const SourceReference* find_source_reference(const char* name) {
  static const SourceReference list[] = {{"q4_0", 32, 18, q4_0_value},
                                         {"q8_0", 32, 34, q8_0_value},
                                         {"nxk_bf16", 1, 2, bf16_value},
                                         {"q4_1", 32, 20, q4_1_value},
                                         {"tq1_0", 256, 54, tq1_0_value},
                                         // rows of activations
                                         {"f16", 1, 2, f16_value},
                                         {"bf16", 1, 2, bf16_value},
                                         {"f32", 1, 4, f32_value}};
  for (const SourceReference& source : list) {
    if (std::strcmp(source.name, name) == 0) return &source;
  }
  return nullptr;
}

}  // namespace tw::test
