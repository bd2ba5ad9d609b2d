// RHS of 4 or 8 bits with a scale per block, from rows of k values (n x k).
#include "lower/pack_block_pieces.h"
#include "lower/pack_plain_blocks.h"
#include "lower/pack_steps.h"
#include "lower/widen.h"

namespace tw {
namespace {

/// A panel, some blocks at a time, with their scales gathered as they are packed. Columns that do
/// not exist are code 0, with scales of 0, or the last one again.
class BlockPanelPacker {
 public:
  BlockPanelPacker(Builder& b, const Layout& layout, const Source& source)
      : b_(b),
        layout_(layout),
        whole_source_(source),
        source_(blocks_of(layout, source)),
        moved_(moved_from(layout, source)),
        row_bytes_(blocks_of(layout, moved_).bytes),
        blocks_(b, layout, moved_),
        nothing_(no_codes(b, layout, moved_)),
        stride_(b.arg(ArgField::pack_source_stride)),
        panel_(length(b, layout.panel)),
        scale_bits_(bits(field_of(layout, FieldKind::scales).type)),
        has_minimums_(field_index(layout, FieldKind::minimums) >= 0),
        repeats_(layout.edge == Edge::last),
        most_rows_(most_rows(layout)),
        gathered_bytes_(run_blocks(layout) * most_rows_ * scale_bits_ / 8),
        copy_(b.scratch(most_rows_ * (run_pieces() * row_bytes_ + 4) +
                        gathered_bytes_ * (has_minimums_ ? 2 : 1) + blocks_.scratch_bytes())),
        scales_(b.add(copy_, run_pieces() * most_rows_ * row_bytes_, "scales")),
        sums_(b.add(scales_, gathered_bytes_, "block_sums")) {
    if (field_index(layout, FieldKind::zero_points) >= 0) zeros_.emplace(b, layout, source);
    // Minimums are where sums are, of which there are none beside them.
    const int64_t kept = 4 * most_rows_ + (has_minimums_ ? gathered_bytes_ : 0);
    blocks_.use(b.add(sums_, kept, "strip_sums"));
  }

  [[nodiscard]] bool streams() const {
    const int64_t aligned = b_.isa().vector_bytes.fixed;
    return can_stream(b_.isa()) && (!sums_codes_first(layout_) || has_long_blocks(layout_)) &&
           layout_.panel.is_fixed() && block_bytes(layout_).fixed % aligned == 0 &&
           packed_piece_bytes(layout_) % aligned == 0 &&
           field_offset(layout_, FieldKind::data).fixed % aligned == 0;
  }

  void pack(const Panel& panel) {
    const PanelPlaces places = write_fields(b_, layout_, b_.arg(ArgField::pack_k), panel);
    const Value source = rows_of_panel(b_, panel, stride_).first;
    const Value scale_stride = source_.has_scales ? stride_ : b_.arg(ArgField::pack_scale_stride);
    const Value scales =
        source_.has_scales
            ? source
            : plus(b_, {b_.arg(ArgField::pack_scales), product(b_, {panel.row, scale_stride})});
    // While a panel is packed, the next one's rows are fetched as the contiguous bytes they are.
    const Value next =
        choose(b_, {less(b_, {panel.left, panel_}), product(b_, {panel_, stride_}), b_.constant(0)},
               "next");
    const Value scales_from = b_.op(OpCode::icopy, {scales}, {}, "scales_from");
    const Way way{panel.row, panel.rows, less(b_, {panel_, panel.left}, "missing"), next,
                  scale_stride};
    if (!sums_codes_first(layout_) || layout_.super_block != 0) {
      const Value count = over(b_, b_.arg(ArgField::pack_k), piece_of(layout_), "pieces");
      pack_runs(way, count, {source, scales_from, next, places.codes}, places.sums);
    } else {
      pack_blocks(way, {source, scales_from, next, places.codes}, places.sums);
    }
  }

 private:
  /// Pieces that are packed at a time, at the most.
  [[nodiscard]] int64_t run_pieces() const {
    const bool one =
        sums_codes_first(layout_) && layout_.super_block == 0 && !has_long_blocks(layout_);
    return one ? 1 : pack_run_values / piece_of(layout_);
  }

  [[nodiscard]] bool joins() const { return joins_codes(whole_source_, layout_); }

  /// The rows of a panel.
  struct Way {
    Value first_row;
    Value rows, missing;  ///< those that exist, and those that do not
    Value next;           ///< 0: there is no panel behind it
    Value scale_stride;
  };

  /// One block after the other: scales come when their codes' sums are there.
  void pack_blocks(const Way& way, const std::vector<Value>& first, Value sums) {
    const Value block =
        has_long_blocks(layout_) ? b_.arg(ArgField::pack_block) : b_.constant(layout_.block);
    const Value pieces = over(b_, block, piece_of(layout_));
    const Value row = times(b_, pieces, source_.bytes, "row_bytes");
    const Value codes = codes_bytes(b_, layout_, block);
    const Value blocks = b_.op(OpCode::idiv, {b_.arg(ArgField::pack_k), block}, {}, "blocks");
    const int64_t scale_bytes = source_.has_scales ? source_.bytes : scale_bits_ / 8;
    std::vector<Value> inits = first;
    if (zeros_) inits.push_back(zeros_at(way));
    b_.loop("block", blocks, inits, [&](const std::vector<Value>& now) {
      const Value to_scales =
          has_long_blocks(layout_)
              ? plus(b_, {now[3], codes}, "to_scales")
              : behind(b_, now[3], field_offset(layout_, FieldKind::scales), "packed");
      gather(now[1], way, b_.constant(1), to_scales);
      const Value behind_scales = behind(b_, to_scales, of_columns(scale_bits_ / 8), "fields");
      if (has_minimums_) {
        const Value minimums = b_.add(now[1], source_.minimums, "minimums");
        gather(minimums, way, b_.constant(1), behind_scales);
      }
      if (zeros_) put_zeros(way, now[4], behind_scales);
      if (sums != no_value)
        b_.op(OpCode::fill_bytes, {sums_, b_.constant(0), length(b_, of_columns(4))});
      pack_runs(way, pieces, now, sums_);
      if (sums != no_value) blocks_.scale_block(sums_, panel_, sums, to_scales);
      std::vector<Value> next = {
          plus(b_, {now[0], row}, "source"), b_.add(now[1], scale_bytes, "scales_from"),
          plus(b_, {now[2], next_rows(row)}, "next"),
          has_long_blocks(layout_) ? behind(b_, to_scales, block_field_bytes(layout_), "packed")
                                   : behind(b_, now[3], block_bytes(layout_), "packed")};
      if (zeros_ && zeros_are_codes()) next.push_back(plus(b_, {now[4], block}, "first_k"));
      if (zeros_ && !zeros_are_codes()) next.push_back(b_.add(now[4], scale_bytes, "zeros_from"));
      return next;
    });
  }

  /// Zero points of a block, of the scales' type; without an array of them, 0. `at`: what
  /// zeros_at() says of the block.
  void put_zeros(const Way& way, Value at, Value to) const {
    const auto given = [&] {
      if (zeros_are_codes()) return put_zero_codes(way, at, to);
      const Value from = plus(b_, {b_.arg(ArgField::pack_zero_points), at}, "zeros_from");
      gather(from, way, b_.constant(1), to);
    };
    b_.branch(b_.arg(ArgField::pack_zero_points), Compare::not_equal, b_.constant(0), given, [&] {
      b_.op(OpCode::fill_bytes, {to, b_.constant(0), length(b_, of_columns(scale_bits_ / 8))});
    });
  }
  [[nodiscard]] bool zeros_are_codes() const { return whole_source_.zero_codes; }
  /// Of the first block: its value of k, or how far into the array the panel's first column has its
  /// zero point.
  [[nodiscard]] Value zeros_at(const Way& way) const {
    if (zeros_are_codes()) return number(b_, 0, "first_k");
    return product(b_, {way.first_row, way.scale_stride}, "zeros_from");
  }

  /// Column by column to the sums' memory, from there by vectors.
  void put_zero_codes(const Way& way, Value first_k, Value to) const {
    if (!repeats_) b_.op(OpCode::fill_bytes, {sums_, b_.constant(0), length(b_, of_columns(4))});
    const Value rows = repeats_ ? panel_ : way.rows;
    b_.loop("zeros", rows, {number(b_, 0, "row"), sums_}, [&](const std::vector<Value>& at) {
      const Value row = repeats_ ? smaller(b_, {at[0], b_.add(way.rows, -1)}, "row") : at[0];
      const Value column = plus(b_, {way.first_row, row}, "column");
      const Value code = zeros_->zero_code(column, first_k);
      b_.op(OpCode::store_scalar, {at[1], code}, {.bits = 32});
      return std::vector<Value>{b_.add(at[0], 1, "row"), b_.add(at[1], 4, "at")};
    });
    blocks_.put_floats(sums_, panel_, to);
  }

  /// So many bytes of each column.
  [[nodiscard]] Length of_columns(int64_t bytes) const { return layout_.panel * bytes; }
  /// How far what is fetched is ahead of a row's place, of which so many bytes are packed.
  [[nodiscard]] Value next_rows(Value bytes) const {
    if (layout_.panel.is_fixed()) return times(b_, bytes, layout_.panel.fixed - 1);
    return product(b_, {bytes, b_.add(panel_, -1)});
  }

  /// So many pieces from source, scales' source, distance to the next panel and packed block on.
  void pack_runs(const Way& way, Value pieces, const std::vector<Value>& from, Value sums) {
    const Value zero = b_.constant(0);
    const bool is_super = layout_.super_block != 0;
    const bool gathers = !sums_codes_first(layout_) && !is_super;
    std::vector<Value> inits = {number(b_, 0, "first"), from[0], from[2], from[3]};
    if (gathers) inits.push_back(from[1]);
    b_.stepped_loop("run", pieces, run_pieces(), inits, [&](const std::vector<Value>& now) {
      const Value count =
          smaller(b_, {b_.op(OpCode::isub, {pieces, now[0]}), b_.constant(run_pieces())}, "count");
      if (gathers) gather(now[4], way, count, scales_);
      if (gathers && has_minimums_) {
        const Value to = b_.add(scales_, gathered_bytes_);
        gather(b_.add(now[4], source_.minimums), way, count, to);
      }
      const Value row_bytes = times(b_, count, row_bytes_, "row_bytes");
      PackRun run;
      if (joins()) {
        copy(now[1], way.rows, row_bytes);
        run.source = copy_;
        run.stride = row_bytes;
      } else {
        const PackRows rows = rows_or_copies(b_, {now[1], stride_}, way.missing, {copy_, row_bytes},
                                             [&] { copy(now[1], way.rows, row_bytes); });
        run.source = rows.first;
        run.stride = rows.stride;
      }
      run.steps = count;
      run.ahead = plus(b_, {run.source, choose(b_, {way.next, now[2], zero}, "distance")}, "ahead");
      run.packed = now[3];
      run.sums = sums;
      run.scales = scales_;
      run.numbers = joins() ? now[1] : run.source;
      run.numbers_stride = joins() ? stride_ : run.stride;
      if (is_super) put_all_numbers(run, way.rows);
      pack_run(b_, run, streams(), no_value,
               [&](const PackRun& it, bool stream) { blocks_.pack(it, stream); });
      const int64_t bytes = run_pieces() * source_.bytes;
      std::vector<Value> next = {
          b_.add(now[0], run_pieces(), "first"), b_.add(now[1], bytes, "source"),
          layout_.panel.is_fixed() ? b_.add(now[2], (layout_.panel.fixed - 1) * bytes, "next")
                                   : plus(b_, {now[2], next_rows(b_.constant(bytes))}, "next"),
          behind(b_, now[3], packed_piece_length(layout_) * run_pieces(), "packed")};
      const int64_t scale_bytes = source_.has_scales ? bytes : run_pieces() * scale_bits_ / 8;
      if (gathers) next.push_back(b_.add(now[4], scale_bytes, "scales_from"));
      return next;
    });
  }

  /// Of all super-blocks of a run.
  void put_all_numbers(const PackRun& run, Value rows) const {
    if (run_pieces() == 1) return put_numbers(run, rows);
    b_.loop("numbers", run.steps, {run.numbers, run.packed}, [&](const std::vector<Value>& at) {
      PackRun one = run;
      one.numbers = at[0];
      one.packed = at[1];
      put_numbers(one, rows);
      return std::vector<Value>{b_.add(at[0], source_.bytes, "from"),
                                behind(b_, at[1], packed_piece_length(layout_), "packed")};
    });
  }

  /// Of a super-block; columns that do not exist have none.
  void put_numbers(const PackRun& run, Value rows) const {
    b_.branch(rows, Compare::below, panel_, [&] {
      const auto clear = [&](Length offset, Length bytes) {
        b_.op(OpCode::fill_bytes,
              {behind(b_, run.packed, offset, "packed"), b_.constant(0), length(b_, bytes)});
      };
      clear(0, steps_bytes(layout_));
      for (int64_t block = 1; block <= layout_.super_block / layout_.block; ++block) {
        const Length end = steps_bytes(layout_) + block_bytes(layout_) * block;
        clear(end - block_field_bytes(layout_), block_field_bytes(layout_));
      }
    });
    b_.loop("column", rows, {number(b_, 0, "column"), run.numbers},
            [&](const std::vector<Value>& at) {
              put_super_block_numbers(b_, layout_, whole_source_, at[1], run.packed, at[0]);
              return std::vector<Value>{b_.add(at[0], 1, "column"),
                                        plus(b_, {at[1], run.numbers_stride}, "from")};
            });
  }

  /// Scales, or minimums, of so many blocks, block by block.
  void gather(Value from, const Way& way, Value count, Value to) const {
    const int64_t bytes = scale_bits_ / 8;
    const int64_t pitch = source_.has_scales ? source_.bytes : bytes;
    const Value all = product(b_, {count, length(b_, of_columns(bytes))});
    if (!repeats_) {
      b_.branch(way.rows, Compare::below, panel_, [&] {
        b_.op(OpCode::fill_bytes, {to, b_.constant(0), all});
      });
    }
    for_rows(b_, layout_, "scales", way.rows, {from, to}, [&](const std::vector<Value>& row) {
      b_.loop("scale", count, {row[0], row[1]}, [&](const std::vector<Value>& at) {
        const Value scale = b_.op(OpCode::load_scalar, {at[0]}, {.bits = scale_bits_}, "scale");
        b_.op(OpCode::store_scalar, {at[1], scale}, {.bits = scale_bits_});
        return std::vector<Value>{b_.add(at[0], pitch), behind(b_, at[1], of_columns(bytes))};
      });
      const Value next = b_.add(row[1], bytes);
      return std::vector<Value>{plus(b_, {row[0], way.scale_stride}), next};
    });
  }

  /// Blocks of the columns that exist, or their codes.
  void copy(Value source, Value rows, Value row_bytes) const {
    if (!repeats_) {
      b_.op(OpCode::fill_bytes, {copy_, nothing_, product(b_, {row_bytes, panel_})});
    }
    for_rows(b_, layout_, "copy", rows, {source, copy_}, [&](const std::vector<Value>& at) {
      if (joins()) {
        CodeJoiner(b_, layout_, whole_source_).vectors(at[0], at[1]);
      } else {
        b_.op(OpCode::copy_bytes, {at[1], at[0], row_bytes});
      }
      const Value next = plus(b_, {at[1], row_bytes});
      return std::vector<Value>{plus(b_, {at[0], stride_}), next};
    });
  }

  Builder& b_;
  const Layout& layout_;
  const Source& whole_source_;
  SourceBlocks source_;
  Source moved_;
  int64_t row_bytes_;  ///< of a piece of a row, where it is copied to
  BlocksPacker blocks_;
  Value nothing_, stride_, panel_;
  int scale_bits_;
  bool has_minimums_;
  bool repeats_;
  std::optional<PlainBlocks> zeros_;  ///< what says where zero points are
  int64_t most_rows_;
  int64_t gathered_bytes_;  ///< of the blocks whose scales are gathered; minimums stand behind them
  Value copy_, scales_;
  Value sums_;  ///< of the codes of a block, i32
};

}  // namespace

/// Tops of short blocks, scales, then minimums or zero points stand behind the codes of each block,
/// and nothing else.
static bool has_simple_fields(const Layout& layout) {
  if (has_fields_apart(layout)) return false;
  if (layout.super_block != 0) return true;
  const int tops = field_index(layout, FieldKind::tops);
  const int scales = field_index(layout, FieldKind::scales);
  const int minimums = field_index(layout, FieldKind::minimums);
  const int zeros = field_index(layout, FieldKind::zero_points);
  return layout.fields[0].kind == FieldKind::data && (tops < 0 || tops == 1) &&
         scales == (tops < 0 ? 1 : 2) && (minimums < 0 || minimums == scales + 1) &&
         (zeros < 0 || zeros == scales + 1);
}

bool can_pack_blocks(const Layout& layout, const Source& source, const Isa& isa) {
  if (joins_codes(source, layout) && !CodeJoiner::possible(source, isa)) return false;
  if (!has_strips(layout)) return false;
  if (sums_codes_first(layout) && !has_simple_fields(layout)) return false;
  const Layout strip = strip_of(layout);
  const auto way = way_of_pieces(strip, moved_from(layout, source), isa);
  const Length scales = lanes_bytes(isa, field_of(layout, FieldKind::scales).type);
  const bool moves_scales = layout.super_block != 0 ||
                            (isa.has(OpCode::load, 0, scales) && isa.has(OpCode::store, 0, scales));
  // Scales are gathered as they are, from blocks that are pieces.
  const bool has_pieces = block_of(source) == 0 || !has_long_blocks(layout);
  return way && moves_scales && has_pieces && sign_of_scales(source) == 0 &&
         field_index(layout, FieldKind::offsets) < 0 &&
         can_move_tops(layout, source, isa, piece_of(layout)) &&
         (field_index(layout, FieldKind::sums) < 0 || CodeSums::possible(strip, isa)) &&
         strip.panel.fixed % isa.lanes32() == 0 && strip.panel.fixed % (way->tile.n + 1) == 0 &&
         way->tile.k < piece_of(layout) &&
         has_all(isa, {"xor", "fma", "cvt_i32_f32", "cvt_f16_f32", "cvt_bf16_f32"});
}

void lower_pack_blocks(Builder& b, const Layout& layout, const Source& source) {
  BlockPanelPacker packer(b, layout, source);
  for_panels(b, layout, [&](const Panel& panel) { packer.pack(panel); });
  if (packer.streams()) b.op(OpCode::store_fence);
}

}  // namespace tw
