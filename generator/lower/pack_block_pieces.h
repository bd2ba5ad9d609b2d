// Blocks, or parts of long ones, super-blocks: of all columns of a panel, packed by the ISA's
// moves. For pack_blocks.cpp.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "lower/pack_join.h"
#include "lower/pack_rhs.h"
#include "lower/pack_strips.h"
#include "lower/pack_tops.h"
#include "lower/widen.h"

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

/// Whether scales wait for the sums of all codes of a block: those of a long one are not packed at
/// once, those of strips are not side by side, and zero points come one by one.
inline bool sums_codes_first(const Layout& layout) {
  return has_long_blocks(layout) || !layout.panel.is_fixed() ||
         field_index(layout, FieldKind::zero_points) >= 0;
}

/// Where a vector of columns is in source and panel, piece by piece. Where scales wait, sums are of
/// codes. Without sums: none.
struct PieceCursors {
  Value source, packed, sums;
  Value scales = no_value, to_scales = no_value;
};

/// Packs pieces of all columns of a panel.
class BlocksPacker {
 public:
  BlocksPacker(Builder& b, const Layout& layout, const Source& source)
      : b_(b),
        panel_layout_(layout),
        strips_(b, layout),
        layout_(strips_.layout()),
        source_(blocks_of(layout, source)),
        whole_source_(source),
        codes_first_(sums_codes_first(layout)),
        flip_(is_flipped(layout, source) ? flip_bits(b, layout, source) : no_value),
        sums_(b, layout_, sum_weights(b, layout_),
              at_once() ? group_bytes(layout_) / 16 : layout.order.kr / 4),
        offset_(sums_ && layout.order.low_unsigned ? sums_.offset(b.constant(piece_of(layout)))
                                                   : no_value),
        way_(way_of_pieces(layout_, source, b.isa()).value()),
        masks_(relayout_masks(b, way_)),
        tops_(top_bits(layout) != 0
                  ? std::optional<TopsPacker>(std::in_place, b, layout, source, piece_of(layout))
                  : std::nullopt),
        scale_bytes_(b.isa().lanes32() * bits(field_of(layout, FieldKind::scales).type) / 8) {}

  /// Memory that it needs, and is told of before it packs.
  [[nodiscard]] int64_t scratch_bytes() const {
    return strips_.scratch_bytes() + (tops_ ? tops_->scratch_bytes() : 0);
  }

  void use(Value scratch) {
    strips_.use(scratch);
    if (tops_) tops_->use(b_.add(scratch, strips_.scratch_bytes(), "top_lanes"));
  }

  void pack(const PackRun& run, bool stream) {
    stride_ = run.stride;
    stream_ = stream;
    if (!strips_.is_panel()) return pack_strips(run);
    const int64_t panel = layout_.panel.fixed;
    const int64_t bytes = packed_piece_bytes(layout_);
    std::vector<Value> inits = {run.source, run.packed, run.ahead};
    if (has_scales()) inits.push_back(run.scales);
    b_.loop("piece", run.steps, inits, [&](const std::vector<Value>& now) {
      fetch_rows(b_, now[2], source_.bytes * panel);
      PieceCursors at{now[0], b_.add(now[1], field_offset(layout_, FieldKind::data)), run.sums};
      if (has_scales()) {
        at.scales = now[3];
        at.to_scales = b_.add(now[1], field_offset(layout_, FieldKind::scales));
      }
      columns(at);
      if (tops_) tops_->pack(now[0], stride_, now[1], stream_);
      std::vector<Value> next = {b_.add(now[0], source_.bytes, "source"),
                                 b_.add(now[1], bytes, "packed"),
                                 b_.add(now[2], source_.bytes * panel, "ahead")};
      if (has_scales()) next.push_back(b_.add(now[3], scale_bytes_ * panel / lanes(), "scales"));
      return next;
    });
  }

  /// Stores i32 of so many columns as floats of the scales' type.
  void put_floats(Value from, Value columns, Value to) const {
    const ElementType type = field_of(layout_, FieldKind::scales).type;
    const Value half = below_half(b_, type);
    b_.loop("columns", over(b_, columns, lanes(), "vectors"), {from, to},
            [&](const std::vector<Value>& at) {
              const Value real = b_.op(OpCode::cvt_i32_f32, {b_.op(OpCode::load, {at[0]})});
              b_.op(OpCode::store, {at[1], narrowed(b_, real, type, half)});
              return std::vector<Value>{b_.add(at[0], b_.isa().vector_bytes, "from"),
                                        b_.add(at[1], scale_bytes_, "to")};
            });
  }

  /// Adds the sums of a block's codes, of so many columns, times its scales.
  void scale_block(Value codes, Value columns, Value sums, Value scales) const {
    const Value count = over(b_, columns, lanes(), "vectors");
    b_.loop("columns", count, {codes, sums, scales}, [&](const std::vector<Value>& at) {
      const Value sum = b_.op(OpCode::load, {at[0]});
      add_scaled(at[1], sum, b_.op(OpCode::load, {at[2]}, {.bytes = scale_bytes_}, "scale"));
      const Length bytes = b_.isa().vector_bytes;
      return std::vector<Value>{b_.add(at[0], bytes, "codes"), b_.add(at[1], bytes, "sums"),
                                b_.add(at[2], scale_bytes_, "scales")};
    });
  }

 private:
  [[nodiscard]] int64_t lanes() const { return b_.isa().lanes32(); }
  /// Scales were gathered for its pieces.
  [[nodiscard]] bool has_scales() const { return !codes_first_ && layout_.super_block == 0; }

  /// A vector's lanes are no columns.
  [[nodiscard]] bool at_once() const {
    return layout_.order.pair == NibblePair::column || layout_.order.pair == NibblePair::next;
  }

  /// Whether any bit differs from what operands want; of rows the caller may say so.
  static bool is_flipped(const Layout& layout, const Source& source) {
    const int offset = field_axes(source.axes, FieldKind::data).offset;
    return block_of(source) == 0 || in_every_code(layout, offset) != offset_bits(layout);
  }

  /// Pieces of a panel as wide as vectors.
  void pack_strips(const PackRun& run) {
    between_ = strips_.between(stride_);
    const Value rows = times(b_, stride_, strips_.rows(), "strip");
    const int64_t fetched = source_.bytes * layout_.panel.fixed;
    const Value steps = length(b_, steps_bytes(panel_layout_), "steps");
    const std::vector<Value> first = {run.source, run.packed, run.ahead};
    b_.loop("piece", run.steps, first, [&](const std::vector<Value>& now) {
      std::vector<Value> inits = {now[0], plus(b_, {now[1], steps}, "codes"), now[2]};
      if (sums_) inits.push_back(run.sums);
      const std::vector<Value> last =
          b_.loop("strip", segments_of(b_), inits, [&](const std::vector<Value>& at) {
            fetch_rows(b_, at[2], fetched);
            strips_.with_sums(sums_ ? at[3] : no_value, [&](Value sums) {
              columns({at[0], at[1], sums});
            });
            std::vector<Value> next = {plus(b_, {at[0], rows}, "source"),
                                       b_.add(at[1], strips_.bytes(), "packed"),
                                       b_.add(at[2], fetched, "ahead")};
            if (sums_) next.push_back(b_.add(at[3], 4 * strips_.rows(), "sums"));
            return next;
          });
      if (tops_) tops_->pack(now[0], stride_, now[1], stream_);
      const Value bytes = length(b_, packed_piece_length(panel_layout_), "piece_bytes");
      return std::vector<Value>{b_.add(now[0], source_.bytes, "source"),
                                plus(b_, {now[1], bytes}, "packed"), last[2]};
    });
  }

  /// Of a piece, the groups of k that hold the codes of its blocks, whose first ones begin there
  /// ...
  [[nodiscard]] std::vector<Value> groups(Value to) const {
    const int64_t super = layout_.super_block;
    if (super == 0 || strips_.is_panel()) {
      return strips_.groups(to, piece_of(layout_) / group_k(layout_));
    }
    std::vector<Value> all;
    const Value bytes = length(b_, block_bytes(panel_layout_), "block_bytes");
    for (const Value block : strided(b_, to, bytes, 0, super / layout_.block, "block")) {
      const std::vector<Value> its = strips_.groups(block, layout_.block / group_k(layout_));
      all.insert(all.end(), its.begin(), its.end());
    }
    return all;
  }

  /// ... so far from which a code of a strip is, without the fields between blocks.
  [[nodiscard]] int64_t without_fields(int64_t offset) const {
    if (layout_.super_block == 0 || strips_.is_panel()) return offset;
    const int64_t block = block_bytes(layout_).fixed;
    return offset - offset / block * block_field_bytes(layout_).fixed;
  }

  /// All columns of one piece.
  void columns(const PieceCursors& first) {
    if (at_once()) {
      column_pairs(first);
    } else {
      column_vectors(first);
    }
  }

  /// All of them at once.
  void column_pairs(const PieceCursors& at) {
    const auto rows = strips_.rows(at.source, stride_, between_);
    const std::vector<Value> carried = pack(rows, at.packed);
    const auto vectors = static_cast<size_t>(layout_.panel.fixed / lanes());
    const std::vector<Value> totals =
        sums_ ? sums_.totals(carried, offset_) : std::vector<Value>(vectors, no_value);
    for (size_t j = 0; j < vectors; ++j) {
      const auto i = static_cast<int64_t>(j);
      PieceCursors its{no_value, no_value, no_value};
      if (sums_) its.sums = b_.add(at.sums, b_.isa().vector_bytes * i);
      if (has_scales()) {
        its.scales = b_.add(at.scales, scale_bytes_ * i);
        its.to_scales = b_.add(at.to_scales, scale_bytes_ * i);
      }
      keep(its, totals[j]);
    }
  }

  /// Packs a piece of the columns that `rows` point to, returns what adds up to their sums.
  std::vector<Value> pack(const std::vector<Value>& rows, Value to) {
    const PackedStore store{b_, sums_, flip_, stream_};
    std::vector<Value> carried = sums_.start();
    const std::vector<Value> its_groups = groups(to);
    const auto find = [&](Coordinates at) {
      const int64_t bit = source_bit(whole_source_, FieldKind::data, at.k);
      return std::pair(rows[static_cast<size_t>(at.n)], bit / 8);
    };
    relayout(b_, way_, masks_, {static_cast<int64_t>(rows.size()), piece_of(layout_)}, find,
             [&](Coordinates first, Value packed) {
               const int64_t all = packed_offset(layout_, first);
               const auto [place, offset] = strips_.place(its_groups, without_fields(all));
               store(place, offset, vector_of(layout_, b_.isa(), all), packed, carried);
             });
    return carried;
  }

  /// A vector of them at a time: of what has 32 bits a column, or of codes that are more columns'.
  void column_vectors(const PieceCursors& first) {
    const int64_t together = std::max(lanes(), way_.tile.n + 1);
    const Value count = b_.constant(layout_.panel.fixed / together);
    std::vector<Value> inits = {first.source, first.packed};
    if (has_scales()) inits.insert(inits.end(), {first.scales, first.to_scales});
    if (sums_) inits.push_back(first.sums);
    b_.loop("columns", count, inits, [&](const std::vector<Value>& at) {
      const auto rows = strided(b_, at[0], stride_, 0, together, "row");
      const Value sum = codes(rows, at[1]);
      PieceCursors its{no_value, no_value, sums_ ? at.back() : no_value};
      if (has_scales()) its.scales = at[2], its.to_scales = at[3];
      keep(its, sum);
      std::vector<Value> next = {b_.op(OpCode::iadd, {rows.back(), stride_}, {}, "rows"),
                                 b_.add(at[1], together * layout_.order.kr, "to")};
      if (has_scales()) {
        next.push_back(b_.add(at[2], scale_bytes_, "scales"));
        next.push_back(b_.add(at[3], scale_bytes_, "to_scales"));
      }
      if (sums_) next.push_back(b_.add(at.back(), b_.isa().vector_bytes, "sums"));
      return next;
    });
  }

  /// Packs the codes, returns their sums, if the layout has any.
  Value codes(const std::vector<Value>& rows, Value to) {
    const std::vector<Value> carried = pack(rows, to);
    if (!sums_) return no_value;
    const Value sum = sums_.total(carried, 0, offset_);
    if (CodeSums::factor(layout_) == 1) return sum;
    return b_.op(OpCode::sar, {sum}, {.bits = 32, .imm = 4}, "sum");
  }

  /// What the codes of a piece add up to.
  void keep(const PieceCursors& at, Value sum) {
    if (has_scales()) return scale(at, sum);
    if (!codes_first_ || !sums_) return;
    const Value old = b_.op(OpCode::load, {at.sums});
    b_.op(OpCode::store, {at.sums, b_.op(OpCode::add, {sum, old}, {.bits = 32})});
  }

  /// Copies a vector of scales, or of what stands so many vectors of scales behind them.
  Value copy_scales(const PieceCursors& at, int64_t from, int64_t to) {
    const Value packed = b_.op(OpCode::load, {at.scales},
                               {.offset = from * scale_bytes_, .bytes = scale_bytes_}, "scale");
    // A line that gets streamed stores and others too is written twice.
    const bool stream = stream_ && b_.isa().has(OpCode::store_stream, 0, scale_bytes_);
    b_.op(stream ? OpCode::store_stream : OpCode::store, {at.to_scales, packed},
          {.offset = to * scale_bytes_});
    return packed;
  }

  /// Of a vector of columns.
  void add_scaled(Value sums, Value codes, Value scales) const {
    const Value real = widened(b_, scales, field_of(layout_, FieldKind::scales).type);
    const Value old = b_.op(OpCode::load, {sums});
    const Value floats = b_.op(OpCode::cvt_i32_f32, {codes});
    b_.op(OpCode::store, {sums, b_.op(OpCode::fma, {floats, real, old})});
  }

  /// Copies scales, and minimums, adds scale * sum to the columns' sums.
  void scale(const PieceCursors& at, Value sum) {
    const Value packed = copy_scales(at, 0, 0);
    const int64_t vectors = layout_.panel.fixed / lanes();
    if (field_index(layout_, FieldKind::minimums) >= 0) {
      copy_scales(at, run_blocks(layout_) * vectors, vectors);
    }
    if (sums_) add_scaled(at.sums, sum, packed);
  }

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
