// RHS of 4 or 8 bits with a scale per block, from rows of k values (n x k).
#include "lower/pack_pieces.h"
#include "lower/pack_rhs.h"
#include "lower/pack_steps.h"
#include "lower/pack_tops.h"
#include "lower/widen.h"

namespace tw {
namespace {

int64_t offset_of(const Layout& layout, FieldKind kind) {
  return field_offset(layout, static_cast<size_t>(field_index(layout, kind)), 0).fixed;
}

/// Whether any bit differs from what operands want; of rows the caller may say so.
bool is_flipped(const Layout& layout, const Source& source) {
  const int offset = field_axes(source.axes, FieldKind::data).offset;
  return block_of(source) == 0 || in_every_code(layout, offset) != offset_bits(layout);
}

std::optional<CodeSums> sums_of(Builder& b, const Layout& layout, int64_t vectors) {
  if (field_index(layout, FieldKind::sums) < 0) return std::nullopt;
  return CodeSums(b, layout, SumWeights(b, layout), vectors);
}

/// Where a vector of columns is in source and panel, piece by piece. Sums of long blocks' pieces
/// are of codes; scales wait for all of them. Without sums: none.
struct Cursors {
  Value source, packed, sums;
  Value scales = no_value, to_scales = no_value;
};

/// Packs pieces of all columns of a panel.
class BlocksPacker {
 public:
  BlocksPacker(Builder& b, const Layout& layout, const Source& source)
      : b_(b),
        layout_(layout),
        source_(blocks_of(layout, source)),
        source_axes_(source.axes),
        flip_(is_flipped(layout, source) ? flip_bits(b, layout, source) : no_value),
        sums_(sums_of(b, layout, by_columns() ? pairs() : layout.order.kr / 4)),
        offset_(sums_ && layout.order.low_unsigned ? sums_->offset(b.constant(piece_of(layout)))
                                                   : no_value),
        way_(way_of_pieces(layout, source, b.isa()).value()),
        masks_(relayout_masks(b, way_)),
        tops_(top_bits(layout) != 0 ? std::optional<TopsPacker>(std::in_place, b, layout, source)
                                    : std::nullopt),
        scale_bytes_(b.isa().lanes32() * bits(field_of(layout, FieldKind::scales).type) / 8) {}

  void pack(const PackRun& run, bool stream) {
    stride_ = run.stride;
    stream_ = stream;
    const int64_t panel = layout_.panel.fixed;
    const int64_t bytes = packed_piece_bytes(layout_);
    std::vector<Value> inits = {run.source, run.packed, run.ahead};
    if (has_scales()) inits.push_back(run.scales);
    b_.loop("piece", run.steps, inits, [&](const std::vector<Value>& now) {
      fetch_rows(b_, now[2], source_.bytes * panel);
      Cursors at{now[0], b_.add(now[1], offset_of(layout_, FieldKind::data)), run.sums};
      if (has_scales()) {
        at.scales = now[3];
        at.to_scales = b_.add(now[1], offset_of(layout_, FieldKind::scales));
      }
      columns(at);
      if (tops_) tops_->pack(now[0], stride_, now[1], piece_of(layout_));
      std::vector<Value> next = {b_.add(now[0], source_.bytes, "source"),
                                 b_.add(now[1], bytes, "packed"),
                                 b_.add(now[2], source_.bytes * panel, "ahead")};
      if (has_scales()) next.push_back(b_.add(now[3], scale_bytes_ * panel / lanes(), "scales"));
      return next;
    });
  }

  /// Scales the sums of a long block's codes.
  void scale_block(Value codes, const Cursors& first) {
    stream_ = false;
    const Value count = b_.constant(layout_.panel.fixed / lanes());
    b_.loop("columns", count, {codes, first.sums, first.scales, first.to_scales},
            [&](const std::vector<Value>& at) {
              scale({no_value, no_value, at[1], at[2], at[3]}, b_.op(OpCode::load, {at[0]}));
              const Length bytes = b_.isa().vector_bytes;
              return std::vector<Value>{b_.add(at[0], bytes, "codes"), b_.add(at[1], bytes, "sums"),
                                        b_.add(at[2], scale_bytes_, "scales"),
                                        b_.add(at[3], scale_bytes_, "to_scales")};
            });
  }

 private:
  [[nodiscard]] int64_t lanes() const { return b_.isa().lanes32(); }
  [[nodiscard]] bool is_long() const { return has_long_blocks(layout_); }
  /// Scales were gathered for its pieces.
  [[nodiscard]] bool has_scales() const { return !is_long() && layout_.super_block == 0; }

  [[nodiscard]] bool by_columns() const { return layout_.order.pair == NibblePair::column; }
  /// Columns whose nibbles stand in one half of the bytes of a packed vector, and such vectors.
  [[nodiscard]] int64_t half() const { return 16 / layout_.order.kr; }
  [[nodiscard]] int64_t pairs() const { return layout_.panel.fixed / (2 * half()); }

  /// All columns of one piece.
  void columns(const Cursors& first) {
    if (by_columns()) {
      column_pairs(first);
    } else {
      column_vectors(first);
    }
  }

  /// All of them at once.
  void column_pairs(const Cursors& at) {
    const auto rows = strided(b_, at.source, stride_, 0, layout_.panel.fixed, "row");
    const std::vector<Value> carried = pack(rows, at.packed);
    const auto vectors = static_cast<size_t>(layout_.panel.fixed / lanes());
    const std::vector<Value> totals =
        sums_ ? sums_->column_totals(carried, offset_) : std::vector<Value>(vectors, no_value);
    for (size_t j = 0; j < vectors; ++j) {
      const auto i = static_cast<int64_t>(j);
      Cursors its{no_value, no_value, no_value};
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
    const PackedStore store{b_, sums_ ? &*sums_ : nullptr, flip_, stream_};
    std::vector<Value> carried = sums_ ? sums_->start() : std::vector<Value>();
    const auto find = [&](Coordinates at) {
      const int64_t bit =
          place(source_axes_, FieldKind::data, {0, at.k, 0}, {pack_run_values, {}, 0});
      return std::pair(rows[static_cast<size_t>(at.n)], bit / 8);
    };
    relayout(b_, way_, masks_, {static_cast<int64_t>(rows.size()), piece_of(layout_)}, find,
             [&](Coordinates first, Value packed) {
               const int64_t offset = packed_offset(layout_, first);
               const size_t vector = sums_ ? vector_of(layout_, b_.isa(), offset) : 0;
               store(to, offset, vector, packed, carried);
             });
    return carried;
  }

  /// A vector of them at a time.
  void column_vectors(const Cursors& first) {
    const Value count = b_.constant(layout_.panel.fixed / lanes());
    std::vector<Value> inits = {first.source, first.packed};
    if (has_scales()) inits.insert(inits.end(), {first.scales, first.to_scales});
    if (sums_) inits.push_back(first.sums);
    b_.loop("columns", count, inits, [&](const std::vector<Value>& at) {
      const auto rows = strided(b_, at[0], stride_, 0, lanes(), "row");
      const Value sum = codes(rows, at[1]);
      Cursors its{no_value, no_value, sums_ ? at.back() : no_value};
      if (has_scales()) its.scales = at[2], its.to_scales = at[3];
      keep(its, sum);
      std::vector<Value> next = {b_.op(OpCode::iadd, {rows.back(), stride_}, {}, "rows"),
                                 b_.add(at[1], lanes() * layout_.order.kr, "to")};
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
    const bool two_lanes = layout_.order.kr == 8;
    const Value all =
        two_lanes ? b_.op(OpCode::pair_add, {carried[0], carried[1]}, {.bits = 32}) : carried[0];
    if (CodeSums::factor(layout_) != 1) {
      return b_.op(OpCode::sar, {all}, {.bits = 32, .imm = 4}, "sum");
    }
    if (two_lanes) return all;
    return offset_ == no_value ? carried[0] : sums_->total(carried[0], offset_);
  }

  /// What the codes of a piece add up to.
  void keep(const Cursors& at, Value sum) {
    if (has_scales()) return scale(at, sum);
    if (!is_long()) return;
    const Value old = b_.op(OpCode::load, {at.sums});
    b_.op(OpCode::store, {at.sums, b_.op(OpCode::add, {sum, old}, {.bits = 32})});
  }

  /// Copies a vector of scales, or of what stands so many vectors of scales behind them.
  Value copy_scales(const Cursors& at, int64_t from, int64_t to) {
    const Value packed = b_.op(OpCode::load, {at.scales},
                               {.offset = from * scale_bytes_, .bytes = scale_bytes_}, "scale");
    // A line that gets streamed stores and others too is written twice.
    const bool stream = stream_ && b_.isa().has(OpCode::store_stream, 0, scale_bytes_);
    b_.op(stream ? OpCode::store_stream : OpCode::store, {at.to_scales, packed},
          {.offset = to * scale_bytes_});
    return packed;
  }

  /// Copies scales, and minimums, adds scale * sum to the columns' sums.
  void scale(const Cursors& at, Value sum) {
    const ElementType type = field_of(layout_, FieldKind::scales).type;
    const Value packed = copy_scales(at, 0, 0);
    const int64_t vectors = layout_.panel.fixed / lanes();
    if (field_index(layout_, FieldKind::minimums) >= 0) {
      copy_scales(at, run_blocks(layout_) * vectors, vectors);
    }
    if (!sums_) return;
    const Value real = widened(b_, packed, type);
    const Value old = b_.op(OpCode::load, {at.sums});
    const Value codes = b_.op(OpCode::cvt_i32_f32, {sum});
    b_.op(OpCode::store, {at.sums, b_.op(OpCode::fma, {codes, real, old})});
  }

  Builder& b_;
  const Layout& layout_;
  SourceBlocks source_;
  const Part& source_axes_;
  Value flip_;
  std::optional<CodeSums> sums_;  ///< none: there are minimums, or tops
  Value offset_;
  Relayout way_;
  Masks masks_;
  std::optional<TopsPacker> tops_;
  int64_t scale_bytes_;  ///< of a vector of columns
  Value stride_ = no_value;
  bool stream_ = false;
};

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
        panel_(b.constant(layout.panel.fixed)),
        scale_bits_(bits(field_of(layout, FieldKind::scales).type)),
        has_minimums_(field_index(layout, FieldKind::minimums) >= 0),
        repeats_(layout.edge == Edge::last),
        gathered_bytes_(run_blocks(layout) * layout.panel.fixed * scale_bits_ / 8),
        copy_(b.scratch(layout.panel.fixed * (run_pieces() * row_bytes_ + 4) +
                        gathered_bytes_ * (has_minimums_ ? 2 : 1))),
        scales_(b.add(copy_, run_pieces() * layout.panel.fixed * row_bytes_, "scales")),
        sums_(b.add(scales_, gathered_bytes_, "block_sums")) {}

  [[nodiscard]] bool streams() const {
    const int64_t aligned = b_.isa().vector_bytes.fixed;
    return can_stream(b_.isa()) && block_bytes(layout_).fixed % aligned == 0 &&
           packed_piece_bytes(layout_) % aligned == 0 &&
           offset_of(layout_, FieldKind::data) % aligned == 0;
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
    const Way way{panel.rows, less(b_, {panel_, panel.left}, "missing"), next, scale_stride};
    if (!has_long_blocks(layout_)) {
      const Value count = over(b_, b_.arg(ArgField::pack_k), piece_of(layout_), "pieces");
      pack_runs(way, count, {source, scales_from, next, places.codes}, places.sums);
    } else {
      pack_long(way, {source, scales_from, next, places.codes}, places.sums);
    }
  }

 private:
  [[nodiscard]] int64_t run_pieces() const { return pack_run_values / piece_of(layout_); }

  [[nodiscard]] bool joins() const { return joins_codes(whole_source_, layout_); }

  /// The rows of a panel.
  struct Way {
    Value rows, missing;  ///< those that exist, and those that do not
    Value next;           ///< 0: there is no panel behind it
    Value scale_stride;
  };

  /// One long block after the other: scales come when their codes' sums are there.
  void pack_long(const Way& way, const std::vector<Value>& first, Value sums) {
    const Value block = b_.arg(ArgField::pack_block);
    const Value row = times(b_, over(b_, block, piece_of(layout_)), source_.bytes, "row_bytes");
    const Value codes = codes_bytes(b_, layout_, block);
    const Value blocks = b_.op(OpCode::idiv, {b_.arg(ArgField::pack_k), block}, {}, "blocks");
    const int64_t columns = layout_.panel.fixed;
    b_.loop("block", blocks, first, [&](const std::vector<Value>& now) {
      gather(now[1], way, b_.constant(1), scales_);
      b_.op(OpCode::fill_bytes, {sums_, b_.constant(0), b_.constant(columns * 4)});
      pack_runs(way, over(b_, block, piece_of(layout_)), now, sums_);
      const Value to_scales = plus(b_, {now[3], codes}, "to_scales");
      blocks_.scale_block(sums_, {no_value, no_value, sums, scales_, to_scales});
      return std::vector<Value>{plus(b_, {now[0], row}, "source"),
                                b_.add(now[1], scale_bits_ / 8, "scales_from"),
                                plus(b_, {now[2], times(b_, row, columns - 1)}, "next"),
                                b_.add(to_scales, block_field_bytes(layout_), "packed")};
    });
  }

  /// So many pieces from source, scales' source, distance to the next panel and packed block on.
  void pack_runs(const Way& way, Value pieces, const std::vector<Value>& from, Value sums) {
    const Value zero = b_.constant(0);
    const bool is_super = layout_.super_block != 0;
    const bool gathers = !has_long_blocks(layout_) && !is_super;
    std::vector<Value> inits = {number(b_, 0, "first"), from[0], from[2], from[3]};
    if (gathers) inits.push_back(from[1]);
    b_.stepped_loop("run", pieces, run_pieces(), inits, [&](const std::vector<Value>& now) {
      const Value count =
          smaller(b_, {b_.op(OpCode::isub, {pieces, now[0]}), b_.constant(run_pieces())}, "count");
      if (gathers) gather(now[4], way, count, scales_);
      if (gathers && has_minimums_) {
        gather(b_.add(now[4], source_.minimums), way, count, b_.add(scales_, gathered_bytes_));
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
          b_.add(now[2], (layout_.panel.fixed - 1) * bytes, "next"),
          b_.add(now[3], run_pieces() * packed_piece_bytes(layout_), "packed")};
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
                                b_.add(at[1], packed_piece_bytes(layout_), "to")};
    });
  }

  /// Of a super-block; columns that do not exist have none.
  void put_numbers(const PackRun& run, Value rows) const {
    b_.branch(rows, Compare::below, panel_, [&] {
      const auto clear = [&](int64_t offset, Length bytes) {
        b_.op(OpCode::fill_bytes,
              {b_.add(run.packed, offset), b_.constant(0), b_.constant(bytes.fixed)});
      };
      clear(0, steps_bytes(layout_));
      for (int64_t block = 1; block <= layout_.super_block / layout_.block; ++block) {
        const int64_t end = steps_bytes(layout_).fixed + block * block_bytes(layout_).fixed;
        clear(end - block_field_bytes(layout_).fixed, block_field_bytes(layout_));
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
    const Value all = times(b_, count, layout_.panel.fixed * bytes);
    if (!repeats_) {
      b_.branch(way.rows, Compare::below, panel_, [&] {
        b_.op(OpCode::fill_bytes, {to, b_.constant(0), all});
      });
    }
    for_rows(b_, layout_, "scales", way.rows, {from, to}, [&](const std::vector<Value>& row) {
      b_.loop("scale", count, {row[0], row[1]}, [&](const std::vector<Value>& at) {
        const Value scale = b_.op(OpCode::load_scalar, {at[0]}, {.bits = scale_bits_}, "scale");
        b_.op(OpCode::store_scalar, {at[1], scale}, {.bits = scale_bits_});
        return std::vector<Value>{b_.add(at[0], pitch), b_.add(at[1], layout_.panel.fixed * bytes)};
      });
      const Value next = b_.add(row[1], bytes);
      return std::vector<Value>{plus(b_, {row[0], way.scale_stride}), next};
    });
  }

  /// Blocks of the columns that exist, or their codes.
  void copy(Value source, Value rows, Value row_bytes) const {
    if (!repeats_) {
      b_.op(OpCode::fill_bytes, {copy_, nothing_, times(b_, row_bytes, layout_.panel.fixed)});
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
  int64_t gathered_bytes_;  ///< of the blocks whose scales are gathered; minimums stand behind them
  Value copy_, scales_;
  Value sums_;  ///< of the codes of a long block, i32
};

}  // namespace

bool can_pack_blocks(const Layout& layout, const Source& source, const Isa& isa) {
  if (joins_codes(source, layout) && !CodeJoiner::possible(source, isa)) return false;
  const auto way = way_of_pieces(layout, moved_from(layout, source), isa);
  const Length scales = lanes_bytes(isa, field_of(layout, FieldKind::scales).type);
  const bool moves_scales = layout.super_block != 0 ||
                            (isa.has(OpCode::load, 0, scales) && isa.has(OpCode::store, 0, scales));
  // Scales are gathered as they are, from blocks that are pieces.
  const bool has_pieces = block_of(source) == 0 || !has_long_blocks(layout);
  return way && moves_scales && has_pieces && sign_of_scales(source) == 0 &&
         field_index(layout, FieldKind::zero_points) < 0 &&
         field_index(layout, FieldKind::offsets) < 0 &&
         can_move_tops(layout, source, isa, piece_of(layout)) &&
         (field_index(layout, FieldKind::sums) < 0 || CodeSums::possible(layout, isa)) &&
         layout.panel.fixed % isa.lanes32() == 0 && layout.panel.fixed % (way->tile.n + 1) == 0 &&
         way->tile.k < piece_of(layout) &&
         has_all(isa, {"xor", "fma", "cvt_i32_f32", "cvt_f16_f32", "cvt_bf16_f32"});
}

void lower_pack_blocks(Builder& b, const Layout& layout, const Source& source) {
  BlockPanelPacker packer(b, layout, source);
  for_panels(b, layout, [&](const Panel& panel) { packer.pack(panel); });
  if (packer.streams()) b.op(OpCode::store_fence);
}

}  // namespace tw
