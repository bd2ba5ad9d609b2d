// Blocks, or parts of long ones, super-blocks: of all columns of a panel, packed by the ISA's
// moves.
#pragma once

#include <optional>
#include <vector>

#include "lower/pack_pieces.h"
#include "lower/pack_rhs.h"
#include "lower/pack_strips.h"
#include "lower/pack_tops.h"

namespace tw {

/// Whether scales wait for the sums of all codes of a block: those of a long one are not packed at
/// once, those of strips are not side by side, and zero points come one by one.
bool sums_codes_first(const Layout& layout);

/// Where a vector of columns is in source and panel, piece by piece. Where scales wait, sums are of
/// codes. Without sums: none.
struct PieceCursors {
  Value source, packed, sums;
  Value scales = no_value, to_scales = no_value;
};

/// Packs pieces of all columns of a panel.
class BlocksPacker {
 public:
  BlocksPacker(Builder& b, const Layout& layout, const Source& source);

  /// Memory that it needs, and is told of before it packs.
  [[nodiscard]] int64_t scratch_bytes() const;
  void use(Value scratch);

  void pack(const PackRun& run, bool stream);

  /// Stores i32 of so many columns as floats of the scales' type.
  void put_floats(Value from, Value columns, Value to) const;
  /// Adds the sums of a block's codes, of so many columns, times its scales.
  void scale_block(Value codes, Value columns, Value sums, Value scales) const;

 private:
  [[nodiscard]] int64_t lanes() const { return b_.isa().lanes32(); }
  /// Scales were gathered for its pieces.
  [[nodiscard]] bool has_scales() const { return !codes_first_ && layout_.super_block == 0; }

  /// A vector's lanes are no columns.
  [[nodiscard]] bool at_once() const;

  /// Pieces of a panel as wide as vectors.
  void pack_strips(const PackRun& run);

  /// Of a piece, the groups of k that hold the codes of its blocks, whose first ones begin there
  /// ...
  [[nodiscard]] std::vector<Value> groups(Value to) const;
  /// ... so far from which a code of a strip is, without the fields between blocks.
  [[nodiscard]] int64_t without_fields(int64_t offset) const;

  /// All columns of one piece.
  void columns(const PieceCursors& first);

  /// All of them at once.
  void column_pairs(const PieceCursors& at);

  /// Packs a piece of the columns that `rows` point to, returns what adds up to their sums.
  std::vector<Value> pack(const std::vector<Value>& rows, Value to);

  /// A vector of them at a time.
  void column_vectors(const PieceCursors& first);

  /// Packs the codes, returns their sums, if the layout has any.
  Value codes(const std::vector<Value>& rows, Value to);

  /// What the codes of a piece add up to.
  void keep(const PieceCursors& at, Value sum);

  /// Copies a vector of scales, or of what stands so many vectors of scales behind them.
  Value copy_scales(const PieceCursors& at, int64_t from, int64_t to);

  /// Of a vector of columns.
  void add_scaled(Value sums, Value codes, Value scales) const;

  /// Copies scales, and minimums, adds scale * sum to the columns' sums.
  void scale(const PieceCursors& at, Value sum);

  Builder& b_;
  const Layout& panel_layout_;
  Strips strips_;
  const Layout& layout_;  ///< a strip's
  SourceBlocks source_;
  const Source& whole_source_;
  bool codes_first_;
  Value flip_;
  CodeSums sums_;  ///< none: there are minimums, or tops
  Value offset_;
  Relayout way_;
  Masks masks_;
  std::optional<TopsPacker> tops_;
  int64_t scale_bytes_;                           ///< of a vector of columns
  Value stride_ = no_value, between_ = no_value;  ///< from row to row, from part to part of a strip
  bool stream_ = false;
};

}  // namespace tw
