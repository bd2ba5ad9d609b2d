// RHS of 4 or 8 bits with a scale per block, from rows of k values (n x k).
#include "lower/pack_rhs.h"

namespace tw {
namespace {

constexpr int64_t run_bytes = 16;  // a segment

/// Values of k in so many bytes of source.
int64_t run_k(const Layout& layout) {
  return run_bytes * byte_codes(layout);
}

int64_t offset_of(const Layout& layout, FieldKind kind) {
  return field_offset(layout, static_cast<size_t>(field_index(layout, kind)), 0).fixed;
}

/// The way from 16 bytes of every column.
std::optional<Relayout> way_of(const Layout& layout, const Isa& isa, bool apart) {
  return find_relayout(layout, isa, {false, apart, run_bytes});
}

/// Where a vector of columns is in source and panel, block by block.
struct Cursors {
  Value source, packed, scales, to_scales, sums;
};

class BlockPacker {
 public:
  BlockPacker(Builder& b, const Layout& layout, const SourceBlocks& source, bool stream)
      : b_(b),
        layout_(layout),
        source_(source),
        stride_(b.arg(ArgField::lhs_stride)),
        flip_(b.op(OpCode::dup, {b.arg(ArgField::flags)}, {.bits = 32}, "flip")),
        sums_(b, layout, SumWeights(b, layout), by_columns() ? pairs() : layout.order.kr / 4),
        offset_(layout.order.low_unsigned ? sums_.offset(b.constant(layout.block)) : no_value),
        way_(way_of(layout, b.isa(), source.apart).value()),
        mask_(relayout_mask(b, way_)),
        stream_(stream),
        scale_bytes_(b.isa().lanes32() * bits(field_of(layout, FieldKind::scales).type) / 8) {}

  void write() {
    const int64_t panel = layout_.panel.fixed;
    const int64_t block = block_bytes(layout_).fixed;
    const Value sums = b_.op(OpCode::iadd, {b_.arg(ArgField::dst), b_.arg(ArgField::dst_stride)});
    const Value ahead =
        b_.op(OpCode::iadd, {b_.arg(ArgField::lhs), b_.arg(ArgField::rhs_prefetch)});
    const std::vector<Value> inits = {b_.arg(ArgField::lhs), b_.arg(ArgField::dst),
                                      b_.arg(ArgField::lookup), ahead};
    b_.loop("k", b_.arg(ArgField::k), inits, [&](const std::vector<Value>& now) {
      prefetch(now[3]);
      columns({now[0], b_.add(now[1], offset_of(layout_, FieldKind::data)), now[2],
               b_.add(now[1], offset_of(layout_, FieldKind::scales)), sums});
      return std::vector<Value>{b_.add(now[0], source_.bytes, "source"),
                                b_.add(now[1], block, "packed"),
                                b_.add(now[2], scale_bytes_ * panel / lanes(), "scales"),
                                b_.add(now[3], source_.bytes * panel, "ahead")};
    });
  }

 private:
  [[nodiscard]] int64_t lanes() const { return b_.isa().lanes32(); }

  void prefetch(Value ahead) {
    if (!b_.isa().has(OpCode::prefetch_near)) return;
    for (int64_t line = 0; line < source_.bytes * layout_.panel.fixed; line += 64) {
      b_.op(OpCode::prefetch_near, {ahead}, {.offset = line});
    }
  }

  [[nodiscard]] bool by_columns() const { return layout_.order.pair == NibblePair::column; }
  /// Columns whose nibbles stand in one half of the bytes of a packed vector, and such vectors.
  [[nodiscard]] int64_t half() const { return 16 / layout_.order.kr; }
  [[nodiscard]] int64_t pairs() const { return layout_.panel.fixed / (2 * half()); }

  /// All columns of one block.
  void columns(const Cursors& first) {
    if (by_columns()) {
      column_pairs(first);
    } else {
      column_vectors(first);
    }
  }

  /// All of them at once.
  void column_pairs(const Cursors& at) {
    std::vector<Value> rows = {at.source};
    while (static_cast<int64_t>(rows.size()) < layout_.panel.fixed) {
      rows.push_back(b_.op(OpCode::iadd, {rows.back(), stride_}, {}, "row"));
    }
    const std::vector<Value> carried = pack(rows, at.packed);
    const std::vector<Value> totals = sums_.column_totals(carried, offset_);
    for (size_t j = 0; j < totals.size(); ++j) {
      const auto i = static_cast<int64_t>(j);
      const Value from = b_.add(at.scales, scale_bytes_ * i);
      const Value to = b_.add(at.to_scales, scale_bytes_ * i);
      scale({no_value, no_value, from, to, b_.add(at.sums, b_.isa().vector_bytes * i)}, totals[j]);
    }
  }

  /// Packs a block of the columns that `rows` point to, returns what adds up to their sums.
  std::vector<Value> pack(const std::vector<Value>& rows, Value to) {
    const PackedStore store{b_, sums_, flip_, stream_};
    std::vector<Value> carried = sums_.start();
    const auto find = [&](Coordinates at) {
      return std::pair(rows[static_cast<size_t>(at.n)],
                       source_.codes + at.k / run_k(layout_) * run_bytes);
    };
    relayout(b_, way_, mask_, {static_cast<int64_t>(rows.size()), layout_.block}, find,
             [&](Coordinates first, Value packed) {
               const int64_t offset = packed_offset(layout_, first);
               store(to, offset, vector_of(layout_, b_.isa(), offset), packed, carried);
             });
    return carried;
  }

  /// A vector of them at a time.
  void column_vectors(const Cursors& first) {
    const Value count = b_.constant(layout_.panel.fixed / lanes());
    b_.loop("columns", count,
            {first.source, first.packed, first.scales, first.to_scales, first.sums},
            [&](const std::vector<Value>& at) {
              std::vector<Value> rows = {at[0]};
              for (int64_t r = 1; r < lanes(); ++r) {
                rows.push_back(b_.op(OpCode::iadd, {rows.back(), stride_}, {}, "row"));
              }
              const Value sum = codes(rows, at[1]);
              scale({no_value, no_value, at[2], at[3], at[4]}, sum);
              return std::vector<Value>{b_.op(OpCode::iadd, {rows.back(), stride_}, {}, "rows"),
                                        b_.add(at[1], lanes() * layout_.order.kr, "to"),
                                        b_.add(at[2], scale_bytes_, "scales"),
                                        b_.add(at[3], scale_bytes_, "to_scales"),
                                        b_.add(at[4], b_.isa().vector_bytes, "sums")};
            });
  }

  /// Packs the codes, returns their sums.
  Value codes(const std::vector<Value>& rows, Value to) {
    const std::vector<Value> carried = pack(rows, to);
    if (layout_.order.kr == 8) {
      return b_.op(OpCode::pair_add, {carried[0], carried[1]}, {.bits = 32});
    }
    return offset_ == no_value ? carried[0] : sums_.total(carried[0], offset_);
  }

  /// Copies scales, adds scale * sum to the columns' sums.
  void scale(const Cursors& at, Value sum) {
    const ElementType type = field_of(layout_, FieldKind::scales).type;
    const Value packed = b_.op(OpCode::load, {at.scales}, {.bytes = scale_bytes_}, "scale");
    // A line that gets streamed stores and others too is written twice.
    const bool stream = stream_ && b_.isa().has(OpCode::store_stream, 0, scale_bytes_);
    b_.op(stream ? OpCode::store_stream : OpCode::store, {at.to_scales, packed});
    Value real = packed;
    if (type == ElementType::f16) real = b_.op(OpCode::cvt_f16_f32, {packed});
    if (type == ElementType::bf16) real = b_.op(OpCode::cvt_bf16_f32, {packed});
    const Value old = b_.op(OpCode::load, {at.sums});
    const Value codes = b_.op(OpCode::cvt_i32_f32, {sum});
    b_.op(OpCode::store, {at.sums, b_.op(OpCode::fma, {codes, real, old})});
  }

  Builder& b_;
  const Layout& layout_;
  const SourceBlocks& source_;
  Value stride_, flip_;
  CodeSums sums_;
  Value offset_;
  Relayout way_;
  Value mask_;
  bool stream_;
  int64_t scale_bytes_;  ///< of a vector of columns
};

}  // namespace

SourceBlocks source_blocks(const Layout& layout, const Source& source) {
  const FieldAxes& codes = field_axes(source.axes, FieldKind::data);
  if (block_of(source) == 0) return {layout.block / byte_codes(layout), 0, false};
  const Part& block = std::get<Part>(source.axes.members.front());
  return {block_bytes(source), start(block, FieldKind::data, 0).fixed / 8,
          codes.axes.back().step != Length{1}};
}

bool can_pack_blocks(const Layout& layout, const Isa& isa) {
  const auto way = way_of(layout, isa, false);
  return way && CodeSums::possible(layout, isa) && layout.panel.fixed % isa.lanes32() == 0 &&
         layout.panel.fixed % (way->tile.n + 1) == 0 && way->tile.k < layout.block &&
         has_all(isa, {"xor", "fma", "cvt_i32_f32", "cvt_f16_f32", "cvt_bf16_f32"});
}

Program lower_pack_blocks(const Layout& layout, const Isa& isa, const SourceBlocks& source,
                          const PackOptions& options) {
  Builder b(options.name, isa);
  BlockPacker(b, layout, source, options.stream).write();
  return b.finish();
}

}  // namespace tw
