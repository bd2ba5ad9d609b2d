// Rows of random values as ggml stores them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tw {

/// F32, F16, Q8_0, Q4_0, Q4_1 and Q4_K, by their numbers in GGUF files.
enum class StoredType : uint32_t { f32 = 0, f16 = 1, q4_0 = 2, q4_1 = 3, q8_0 = 8, q4_k = 12 };

/// Bytes of so many values: whole blocks of 32, or of 256, where the type has blocks.
size_t stored_bytes(StoredType type, size_t values);

/// Gives the same rows on every machine.
class RandomRows {
 public:
  explicit RandomRows(uint64_t seed);

  /// Fills `values` with some whose root mean square is `size`; quicker for many at once.
  void fill(StoredType type, float size, std::vector<uint8_t>& values);

 private:
  uint64_t next();
  void fill_blocks(StoredType type, float size_of_codes, float size, std::vector<uint8_t>& values);
  void fill_super_blocks(float size, std::vector<uint8_t>& values);
  void fill_floats(StoredType type, float size, std::vector<uint8_t>& values);

  uint64_t state_;
  std::vector<float> bell_;  ///< from the normal distribution
};

}  // namespace tw
