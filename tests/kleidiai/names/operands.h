// Random operands as clients of KleidiAI have them, and what their products are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kleidiai/names/libraries.h"
#include "reference/quantize_reference.h"
#include "support/environment.h"

namespace tw::test {

/// Random problems of each function; of packers and rows of floats several times as many.
inline const int cases = is_long() ? 60 : 20;

inline size_t up_to(size_t most, std::mt19937& random) {
  return 1 + random() % most;
}

/// What a micro-kernel's name says of its weights: "qsi4cxp", "nxk".
struct WeightsKind {
  bool nibbles = true, blocks = false, kxn = false;
  bool sequential = false;  ///< nibbles of a byte are neighbors in k
  bool rows = false;     ///< blocks that begin with their scale, of f16; for activations in blocks
  bool apart = false;    ///< packed scales of blocks stand behind all codes
  bool offsets = false;  ///< code 0 of a block is worth something
  bool high_first = false;  ///< a byte's first value of k is its high nibble
  bool table = false;       ///< codes of 2 bits that stand for values of a table
};
WeightsKind kind_of(const std::string& name);
/// Whatever order nibbles have before they are packed.
bool operator==(const WeightsKind& a, const WeightsKind& b);

/// How a name's packer rounds activations, or its kernel's does.
struct RowsKind {
  bool blocks = false;
  Ties ties = Ties::away;
  bool apart = false;  ///< packed scales of blocks stand behind all codes
  bool sums = false;   ///< blocks keep what their codes are worth together
  bool f16 = false;    ///< floats that are rounded to that, for weights in blocks
};
RowsKind rows_of(const std::string& name);

/// Cut off.
uint16_t bf16_of(float value);
float f32_of(uint16_t bf16);
/// f16, as the processor has them.
uint16_t f16_from(float value);
float f32_from(uint16_t f16);

/// Rows of floats with a stride; or the same of 16 bits, which the floats are rounded to.
struct Floats {
  size_t m = 0, k = 0, stride = 0;  ///< in bytes, of f32
  std::vector<float> values;
  std::vector<uint16_t> halves;  ///< none: packers read f32
  [[nodiscard]] const float* row(size_t i) const { return values.data() + i * stride / 4; }
  [[nodiscard]] const uint8_t* source() const;
  [[nodiscard]] size_t source_stride() const { return halves.empty() ? stride : stride / 2; }
};
enum class Halves { none, f16, bf16 };
/// Those of a packer's name.
Halves halves_of(const std::string& name);
void round_to(Halves type, Floats& floats);
Floats random_floats(size_t m, size_t k, std::mt19937& random, bool dense = false);

struct ClientWeights {
  WeightsKind kind;
  size_t n = 0, k = 0, bl = 0;
  bool unsigned_codes = false;
  size_t stride = 0;
  std::vector<uint8_t> codes;
  std::vector<float> scales, bias;  ///< [n][blocks]; no bias: empty
  std::vector<float> offsets;       ///< [n][blocks], or none
  size_t scale_stride = 0;
  std::vector<uint16_t> bf16_scales;  ///< of blocks, with that stride
  std::vector<uint8_t> rows;          ///< instead of all these: blocks behind their scales
  std::vector<int32_t> table;         ///< of four values; none: the usual ones

  [[nodiscard]] int code(size_t column, size_t depth) const;
  [[nodiscard]] float scale(size_t column, size_t depth) const;
  /// Of the columns from `column` on, which a packer can begin with.
  [[nodiscard]] RhsSource from(size_t column = 0) const;
  [[nodiscard]] size_t blocks() const { return bl == 0 ? 1 : k / bl; }
  [[nodiscard]] const int32_t* lookup() const { return table.empty() ? nullptr : table.data(); }
};
ClientWeights random_weights(WeightsKind kind, size_t n, size_t k, size_t bl, std::mt19937& random);

/// One output without any rounding behind the codes, and how far from it f32 sums may be.
struct ExactOutput {
  double value = 0, bound = 0;
  double size = 0;  ///< of all that is added up together
};
/// `row`: as a whole, or in as many blocks as the weights have.
ExactOutput exact_output(const std::vector<QuantizedRow>& row, const ClientWeights& weights,
                         size_t column);
/// The same of a row that is rounded to f16, as its weights are when they have their scales.
ExactOutput exact_output(const float* row, const ClientWeights& weights, size_t column);
/// A row as a client's packer quantizes it.
std::vector<QuantizedRow> quantized(const float* row, size_t k, size_t bl, const RowsKind& kind);

}  // namespace tw::test
