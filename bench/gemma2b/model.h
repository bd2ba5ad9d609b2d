// Gemma 2B: its sizes, and weights of random codes that need not be kept anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tw::gemma {

struct Sizes {
  size_t layers, width, inner, heads, head, vocabulary;
};
inline constexpr Sizes kGemma2b = {18, 2048, 16384, 8, 256, 256000};
/// As many kinds of layers, small enough for a test.
inline constexpr Sizes kTiny = {2, 128, 256, 4, 32, 1000};

/// Weights of a fully connected layer: a column of the output for each of n rows of k codes, which
/// have 8 bits, or 4. The same matrix has the same codes whenever they are made.
struct Matrix {
  size_t n, k;
  int bits;
  uint64_t seed;
  float gain = 1;  ///< of outputs, in parts of the size of inputs

  [[nodiscard]] size_t row_bytes() const { return k * static_cast<size_t>(bits) / 8; }
};

/// All rows: int8 codes; or nibbles of code + 8, the first one in the low nibble.
std::vector<uint8_t> codes_of(const Matrix& matrix);
std::vector<float> scales_of(const Matrix& matrix);
/// The weights of one row.
std::vector<float> row_of(const Matrix& matrix, size_t row);

/// Which weights have 4 bits: MediaPipe's two ways to store the model.
enum class Scheme { int8, mixed };

struct Layer {
  Matrix q, k, v, post, up, gate, down;
};
Layer layer_of(const Sizes& sizes, Scheme scheme, size_t number);
/// Of the output's words, which embeddings are rows of.
Matrix logits_of(const Sizes& sizes, Scheme scheme);

/// Seeds of gains, behind those of matrices: two of a layer, one behind the last.
inline constexpr uint64_t kGains = 1 << 16;
/// Near 1.
std::vector<float> gains_of(const Sizes& sizes, uint64_t seed);

}  // namespace tw::gemma
