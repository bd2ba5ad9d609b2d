// Operands of a benchmark: random values, and packed weights that rotate through more memory than
// the last-level cache holds.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "machine.h"

namespace tw::bench {

/// A weight matrix in 4 bits, two codes to a byte, or in 8, with a scale and a bias per output
/// column; or in floats of 16 or 32 bits, with a bias. The bytes serve as n x k and as k x n alike:
/// random weights have no order.
struct Weights {
  size_t n = 0, k = 0;
  size_t bits = 4;
  std::vector<uint8_t> codes;  ///< n rows of k two's complement codes, low nibble first; or floats
  std::vector<float> scales, bias;
  [[nodiscard]] size_t stride() const { return (k * bits + 7) / 8; }
  [[nodiscard]] float value(size_t column, size_t depth) const;
};
Weights random_weights(size_t n, size_t k, size_t bits);
std::vector<float> random_values(size_t count);

/// Equal copies of a packed operand, one after the other: at least `least` bytes together.
class Copies {
 public:
  Copies(size_t bytes, size_t least);
  [[nodiscard]] std::byte* first() const { return memory_.data(); }
  /// Makes all copies equal to the first.
  void spread();
  /// The next copy in turn.
  const std::byte* next();
  [[nodiscard]] const Memory& memory() const { return memory_; }

 private:
  size_t stride_, count_, at_ = 0;
  Memory memory_;
};

}  // namespace tw::bench
