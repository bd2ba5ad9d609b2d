// Rows of random values as ggml stores them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/ggml_blocks.h"

namespace tw {

/// By their numbers in GGUF files.
enum class StoredType : uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  iq2_xxs = 16,
  iq2_xs = 17,
  iq3_xxs = 18,
  iq1_s = 19,
  iq4_nl = 20,
  iq3_s = 21,
  iq2_s = 22,
  iq4_xs = 23,
  iq1_m = 29,
  bf16 = 30,
  tq1_0 = 34,
  tq2_0 = 35,
  mxfp4 = 39,
  nvfp4 = 40,
  q1_0 = 41,
  q2_0 = 42
};

struct BlockType;
struct GridRows;

/// Bytes of so many values: whole blocks of 32, or of 256, where the type has blocks.
size_t stored_bytes(StoredType number, size_t values);

/// Gives the same rows on every machine.
class RandomRows {
 public:
  explicit RandomRows(uint64_t seed);

  /// Fills `values` with some whose root mean square is `size`; quicker for many at once.
  void fill(StoredType number, float size, std::vector<uint8_t>& values);

 private:
  uint64_t next();
  void fill_blocks(const BlockType& type, float size, std::vector<uint8_t>& values);
  void fill_grids(const GridRows& type, float size, std::vector<uint8_t>& values);
  void fill_steps(const test::GgmlType& type, test::GgmlBlock block);
  void fill_floats(StoredType type, float size, std::vector<uint8_t>& values);

  uint64_t state_;
  std::vector<float> bell_;  ///< from the normal distribution
};

}  // namespace tw
