// Operands as a user has them, for both libraries.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace tw::test {

struct Shape {
  size_t m = 1, n = 1, k = 1;
};

struct Bounds {
  float min = -INFINITY, max = INFINITY;
};

/// What rows of activations are like.
enum class Rows {
  mixed,     ///< around 0
  positive,  ///< the zero point is at one end ...
  negative,  ///< ... or at the other
  zeros,
  equal,
  ties,       ///< half as far apart as the codes
  outlier,    ///< one value sets the scale
  magnitude,  ///< rows of very unlike size
  extreme,    ///< almost as small, and as large, as a row can be for KleidiAI
  count
};

struct Activations {
  size_t m = 0, k = 0;
  std::vector<float> values;  ///< [m][k]
};

struct Weights {
  size_t n = 0, k = 0;
  bool kxn = false;  ///< k rows of n nibbles, not n rows of k
  bool unsigned_nibbles = false;
  std::vector<uint8_t> nibbles;  ///< dense rows of whole bytes
  std::vector<float> scales;
  std::vector<float> bias;  ///< empty: none

  [[nodiscard]] const float* bias_or_null() const { return bias.empty() ? nullptr : bias.data(); }
  [[nodiscard]] size_t row_bytes() const { return ((kxn ? n : k) + 1) / 2; }
  [[nodiscard]] int code(size_t column, size_t depth) const;
};

Activations make_activations(const Shape& shape, Rows rows, std::mt19937& random);
/// Scales are up to 2^`spread` times larger or smaller than usual.
Weights make_weights(const Shape& shape, bool kxn, int spread, std::mt19937& random);

/// Every edge of panels of so many rows and columns, and of k, and some in the middle.
std::vector<Shape> shapes(size_t mr, size_t nr);

}  // namespace tw::test
