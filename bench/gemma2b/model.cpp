#include "gemma2b/model.h"

#include <cmath>
#include <cstring>

namespace tw::gemma {

namespace {

/// splitmix64's finish: any word of a matrix without those before it.
uint64_t random_word(uint64_t seed, uint64_t index) {
  uint64_t word = (seed << 40) + index * 0x9e3779b97f4a7c15U;
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9U;
  word = (word ^ word >> 27) * 0x94d049bb133111ebU;
  return word ^ word >> 31;
}

void fill_row(const Matrix& matrix, size_t row, uint8_t* bytes) {
  const size_t words = matrix.row_bytes() / sizeof(uint64_t);
  for (size_t i = 0; i < words; ++i) {
    const uint64_t word = random_word(matrix.seed, row * words + i);
    std::memcpy(bytes + i * sizeof word, &word, sizeof word);
  }
}

/// The mean square of all codes of so many bits is about a third of the largest one's.
float scale_of(const Matrix& matrix, size_t row) {
  const auto largest = static_cast<float>(1 << (matrix.bits - 1));
  const float unit = std::sqrt(3.0F / static_cast<float>(matrix.k)) / largest * matrix.gain;
  return unit * (1 + static_cast<float>(row % 8) / 32);
}

}  // namespace

std::vector<uint8_t> codes_of(const Matrix& matrix) {
  std::vector<uint8_t> codes(matrix.n * matrix.row_bytes());
  for (size_t row = 0; row < matrix.n; ++row) {
    fill_row(matrix, row, &codes[row * matrix.row_bytes()]);
  }
  return codes;
}

std::vector<float> scales_of(const Matrix& matrix) {
  std::vector<float> scales(matrix.n);
  for (size_t row = 0; row < matrix.n; ++row) scales[row] = scale_of(matrix, row);
  return scales;
}

std::vector<float> row_of(const Matrix& matrix, size_t row) {
  std::vector<uint8_t> bytes(matrix.row_bytes());
  fill_row(matrix, row, bytes.data());
  const float scale = scale_of(matrix, row);
  std::vector<float> values(matrix.k);
  for (size_t i = 0; i < matrix.k; ++i) {
    const int code =
        matrix.bits == 8 ? static_cast<int8_t>(bytes[i]) : (bytes[i / 2] >> (i % 2 * 4) & 15) - 8;
    values[i] = scale * static_cast<float>(code);
  }
  return values;
}

Layer layer_of(const Sizes& sizes, Scheme scheme, size_t number) {
  // What a layer adds is smaller than what it is added to, as in trained models.
  constexpr float kAdded = 0.25F;
  const int inner_bits = scheme == Scheme::int8 ? 8 : 4;
  const size_t width = sizes.width, inner = sizes.inner, all_heads = sizes.heads * sizes.head;
  const uint64_t seed = 8 * number;
  return {{all_heads, width, 8, seed + 1},
          {sizes.head, width, 8, seed + 2},
          {sizes.head, width, 8, seed + 3},
          {width, all_heads, 8, seed + 4, kAdded},
          {inner, width, inner_bits, seed + 5},
          {inner, width, inner_bits, seed + 6},
          {width, inner, inner_bits, seed + 7, kAdded}};
}

Matrix logits_of(const Sizes& sizes, Scheme scheme) {
  return {sizes.vocabulary, sizes.width, scheme == Scheme::int8 ? 8 : 4, 8 * sizes.layers + 1};
}

std::vector<float> gains_of(const Sizes& sizes, uint64_t seed) {
  std::vector<float> gains(sizes.width);
  for (size_t i = 0; i < gains.size(); ++i) {
    gains[i] = 0.75F + static_cast<float>(random_word(seed, i) % 512) / 1024;
  }
  return gains;
}

}  // namespace tw::gemma
