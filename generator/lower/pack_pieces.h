// Blocks, or parts of long ones, that packers of weights in blocks move at a time.
#pragma once

#include <optional>
#include <variant>

#include "lower/pack_join.h"
#include "lower/relayout.h"

namespace tw {

constexpr int64_t pack_run_values = 256;  ///< of k that are packed at a time

/// Values of k that are unrolled: a short block, a part of a long one, a super-block.
inline int64_t piece_of(const Layout& layout) {
  if (layout.super_block != 0) return layout.super_block;
  return has_long_blocks(layout) ? long_block_step : layout.block;
}

/// How the pieces of a row lie in a source.
struct SourceBlocks {
  int64_t bytes = 0;        ///< from piece to piece
  int64_t minimums = 0;     ///< from a piece's start to its minimum, if it has one
  bool has_scales = false;  ///< a block begins with its scale
};

inline SourceBlocks blocks_of(const Layout& layout, const Source& source) {
  if (block_of(source) == 0) return {piece_of(layout) / byte_codes(layout), 0, false};
  const Part& block = std::get<Part>(source.axes.members.front());
  const bool minimums = find_field(block, FieldKind::minimums) != nullptr;
  return {block_bytes(source), minimums ? start(block, FieldKind::minimums, 0).fixed / 8 : 0, true};
}

/// Blocks whose scales are gathered at a time.
inline int64_t run_blocks(const Layout& layout) {
  return has_long_blocks(layout) ? 1 : pack_run_values / piece_of(layout);
}

inline Length packed_piece_length(const Layout& layout) {
  if (layout.super_block != 0) return super_block_bytes(layout);
  if (!has_long_blocks(layout)) return block_bytes(layout);
  return data_bytes(layout, long_block_step);
}
/// In panels of fixed size.
inline int64_t packed_piece_bytes(const Layout& layout) {
  return packed_piece_length(layout).fixed;
}

/// What lies in memory when codes are moved to their places: of codes that are put together first,
/// rows of those.
inline Source moved_from(const Layout& layout, const Source& source) {
  return joins_codes(source, layout) ? CodeJoiner::rows(layout) : source;
}

/// The way from 16 bytes, a segment, of every column.
inline std::optional<Relayout> way_of_pieces(const Layout& layout, const Source& source,
                                             const Isa& isa) {
  constexpr int64_t bytes = 16;
  return find_relayout(layout, source, isa, bytes);
}

}  // namespace tw
