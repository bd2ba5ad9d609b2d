// Operands of a benchmark: random values, and packed weights that rotate through more memory than
// the last-level cache holds.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "measure/machine.h"
#include "tilewright/registry.h"

namespace tw::measure {

/// A weight matrix in 2 or 4 bits, several codes to a byte, or in up to 8, with a bias per output
/// column and a scale, or one for each of its blocks; or in floats of 16 or 32 bits, with a bias.
/// The bytes serve as n x k and as k x n alike: random weights have no order.
struct Weights {
  size_t n = 0, k = 0;
  size_t bits = 4;
  tw_type element = TW_S4;     ///< of the packed rhs that they are for: which floats
  std::vector<uint8_t> codes;  ///< n rows of k two's complement codes, low bits first; or floats
  std::vector<float> scales, bias;
  const tw_code_table* table = nullptr;  ///< of the values of codes; null: they are numbers
  int lowest = 0;                        ///< code of the table, its first value
  size_t block = 0;                      ///< 0: no blocks
  tw_scales type = TW_SCALES_UNSET;
  std::vector<uint16_t> half_scales;  ///< the bits of scales that are no f32
  [[nodiscard]] size_t blocks() const { return block == 0 ? 1 : k / block; }
  [[nodiscard]] const void* scale_data() const;
  [[nodiscard]] size_t stride() const { return (k * bits + 7) / 8; }
  [[nodiscard]] float value(size_t column, size_t depth) const;
};
/// Codes and scales as that packed rhs has them, or weights of so many bits.
Weights random_weights(size_t n, size_t k, const tw_layout& rhs, size_t bits = 0);
/// Whether packers read blocks that hold everything, ggml's: their scales are not the only numbers.
/// Codes of such weights have a byte each.
bool has_own_rows(const tw_axes& axes);
/// Those blocks, and rows of them: of minimums that leave values as they are.
const tw_source& source_of(const tw_layout& rhs);
std::vector<uint8_t> source_rows(const Weights& weights, const tw_layout& rhs);
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

}  // namespace tw::measure
