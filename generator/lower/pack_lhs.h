// Packers of activations that are quantized, from rows of floats, or that are codes.
#pragma once

#include "lower/pack_walk.h"
#include "lower/quantize.h"

namespace tw {

/// Rows with a scale and a zero point each, packed in panels without blocks; or with blocks.
/// Sums and how often values stand there are the packer's arguments.
void lower_pack_lhs_rows(Builder& b, const Layout& layout, ElementType from);
void lower_pack_lhs_blocks(Builder& b, const Layout& layout, ElementType from);

/// Bytes of one code.
inline int64_t code_bytes(const Layout& layout) {
  return bits(layout.element) / 8;
}
/// A row's groups of kr codes stand next to each other: a panel has one row, and codes are in
/// order.
inline bool is_one_row(const Layout& layout) {
  return layout.panel == Length{1} && !layout.order.even_first;
}
/// Copies so many codes of a row, a multiple of `at_once`, to their places between those of the
/// panel's other rows; not for is_one_row().
void put_codes(Builder& b, const Layout& layout, Value panel, Value to, Value codes, Value count,
               int64_t at_once);

/// Calls body(row of the panel, its floats) for so many rows, of which panel.rows exist: the last
/// of these again behind them.
void for_rows(Builder& b, const Panel& panel, Value rows, bool repeats,
              const std::function<void(Value r, Value floats)>& body);

/// Parts of Builder::scratch(), one after the other.
class ScratchParts {
 public:
  /// Where a part of so many bytes begins.
  int64_t add(int64_t bytes) {
    const int64_t at = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return at;
  }
  [[nodiscard]] int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

}  // namespace tw
