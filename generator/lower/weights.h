// Weights as f32, whatever is packed. Codes with scales per block of k become
//   w = (float(code) - zero point) * scale
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "lower/tile.h"

namespace tw {

/// Floats of 16 signed bytes, one for each lane of a vector, as look_up_32 takes them.
Value worth_table(const Tile1& t, const std::array<uint8_t, 16>& worths);

/// Vectors of columns of a panel of pairs.
inline constexpr int64_t pair_vectors = 2;
/// Values of k that an iteration of a decoder to floats takes: a block that is unrolled, or a step.
inline int64_t decoded_at_once(const Variant& v) {
  return v.rhs.block != 0 && !has_long_blocks(v.rhs) ? v.rhs.block : v.knobs.unroll_k;
}
/// A tile's weights as panels of pairs of bf16, from `to` on. decode_pairs.cpp
void decode_to_pairs(const Tile1& t, Value to);
/// A tile's panel of codes of 4 bits, `t.padded` values of k, as one of int8 with all its fields,
/// from `to` on. decode_codes.cpp
void decode_to_codes(const Tile1& t, Value to);

/// The same of codes in short blocks, as decoded_layout() has them. decode_bytes.cpp
void decode_to_bytes(const Tile1& t, Value to);
/// Throws std::invalid_argument where an ISA can not copy what such panels have beside codes.
void check_fields(const Variant& v);

/// A vector of weights of one k as f32. Where they are codes, a lane holds several bytes of its
/// column: one code goes to the top of the lane, and back with its sign; or to the bottom, and a
/// vector as long as there are codes tells what it is worth.
class Weights {
 public:
  explicit Weights(const Layout& rhs);

  /// Before any loop over k.
  void prepare(const Tile1& t);
  /// Before the weights of a block; `rhs`: as for column_scale().
  void begin_block(const Tile1& t, const std::vector<Value>& rhs);
  /// The value of k whose turn is `i`: codes go as they lie, so that those of a byte follow each
  /// other.
  [[nodiscard]] int64_t k_of(int64_t i) const;
  /// Of vector j of the tile.
  Value operator()(const Tile1& t, const std::vector<Value>& rhs, int64_t j, int64_t k);

 private:
  void prepare_table(const Tile1& t);
  void prepare_halves(const Tile1& t);
  [[nodiscard]] Value halves(const Tile1& t, Value bytes) const;
  Value of_halves(const Tile1& t, Value cursor, int64_t j, int64_t k);
  Value real(const Tile1& t, Value codes, int64_t bit, const std::string& name) const;
  [[nodiscard]] bool adds_zeros(const Tile1& t) const;
  [[nodiscard]] Value scaled(const Tile1& t, Value code, int64_t j, const std::string& name) const;

  const Layout& rhs_;
  int64_t group_;           ///< values of k whose codes share bytes
  Value signs_ = no_value;  ///< of unsigned codes: bits that differ from signed ones
  Value table_ = no_value;  ///< what each code is worth; none: no instruction looks that up
  Value lowest_ = no_value, above_ = no_value;  ///< of f16 that E4M3 becomes: bits
  /// Codes, by cursor, vector behind it and group of kr.
  std::map<std::tuple<Value, int64_t, int64_t>, Value> loaded_;
  std::vector<Value> scales_;  ///< of the block's columns
  std::vector<Value> zeros_;   ///< likewise; times -scale where adds_zeros()
};

}  // namespace tw
