// RHS of 4 or 8 bits with a scale per block, from rows of k values (n x k).
#include "lower/pack_rhs.h"

namespace tw {
namespace {

constexpr int64_t run_bytes = 16;  // a segment

/// Values of k in so many bytes of source.
int64_t run_k(const Layout& layout) {
  return run_bytes * byte_codes(layout);
}

bool is_bytes(const Layout& layout) {
  return layout.order.pair == NibblePair::none;
}

int64_t offset_of(const Layout& layout, FieldKind kind) {
  return field_offset(layout, static_cast<size_t>(field_index(layout, kind)), 0).fixed;
}

/// Bytes of neighbours in k to bytes of values 16 apart, in every segment.
struct Spread {
  Builder& b;
  Value low_nibbles = no_value;
  Spread(Builder& builder, bool needed) : b(builder) {
    if (needed) low_nibbles = splat32(builder, 0x0f0f0f0fU, "low_nibbles");
  }

  [[nodiscard]] Value operator()(Value x) const {
    const Value even = b.op(OpCode::and_, {x, low_nibbles});
    const Value shifted = b.op(OpCode::shr, {x}, {.bits = 32, .imm = 4});
    const Value odd = b.op(OpCode::and_, {shifted, low_nibbles});
    const Pair k = zip(b, 8, even, odd);
    return b.op(OpCode::or_, {k.low, b.op(OpCode::shl, {k.high}, {.bits = 32, .imm = 4})});
  }
};

/// 16 bytes of 4 x segments rows: segment l of vector i is row 4 l + i.
Four load_runs(Builder& b, const std::vector<Value>& rows, int64_t offset) {
  Four out{};
  for (size_t i = 0; i < 4; ++i) {
    if (segments(b.isa()) == 1) {
      out[i] = b.op(OpCode::load, {rows[i]}, {.offset = offset});
      continue;
    }
    Value x = b.op(OpCode::load_dup, {rows[i]}, {.bits = 128, .offset = offset});
    for (int64_t l = 1; l < segments(b.isa()); ++l) {
      x = b.op(OpCode::load_lane, {x, rows[4 * static_cast<size_t>(l) + i]},
               {.bits = 128, .offset = offset, .imm = l});
    }
    out[i] = x;
  }
  return out;
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
        spread_(b, must_spread()),
        nibbles_(b, by_columns()),
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
  [[nodiscard]] bool must_spread() const {
    return layout_.order.pair == NibblePair::depth && !source_.apart;
  }
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
    std::vector<Value> carried = sums_.start();
    for (int64_t run = 0; run < layout_.block / run_k(layout_); ++run) {
      for (int64_t vector = 0; vector < pairs(); ++vector)
        pack_pair(rows, at, run, vector, carried);
    }
    const std::vector<Value> totals = sums_.column_totals(carried, offset_);
    for (size_t j = 0; j < totals.size(); ++j) {
      const auto i = static_cast<int64_t>(j);
      const Value from = b_.add(at.scales, scale_bytes_ * i);
      const Value to = b_.add(at.to_scales, scale_bytes_ * i);
      scale({no_value, no_value, from, to, b_.add(at.sums, b_.isa().vector_bytes * i)}, totals[j]);
    }
  }

  /// 32 values of k of the columns in one packed vector.
  void pack_pair(const std::vector<Value>& rows, const Cursors& at, int64_t run, int64_t vector,
                 std::vector<Value>& carried) {
    const PackedStore store{b_, sums_, flip_, stream_};
    auto load = [&](int64_t row) {
      return b_.op(OpCode::load, {rows[static_cast<size_t>(row)]},
                   {.offset = source_.codes + run * run_bytes});
    };
    std::vector<Pair> columns;
    for (int64_t c = 2 * half() * vector; c < 2 * half() * vector + half(); ++c) {
      const Value high = load(c);
      const Value low = load(c + half());
      const Value second = nibbles_.high(b_, low, high);
      const Value first = nibbles_.low(b_, low, high);
      columns.push_back(source_.apart ? Pair{first, second} : zip(b_, 8, first, second));
    }
    const std::vector<Value> packed = groups_of_columns(b_, columns);
    for (size_t i = 0; i < packed.size(); ++i) {
      const int64_t group = run * run_k(layout_) / layout_.order.kr + static_cast<int64_t>(i);
      store(at.packed, group * group_bytes(layout_) + vector * 16, static_cast<size_t>(vector),
            packed[i], carried);
    }
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
    const PackedStore store{b_, sums_, flip_, stream_};
    std::vector<Value> carried = sums_.start();
    int64_t group = 0;
    for (int64_t run = 0; run < layout_.block / run_k(layout_); ++run) {
      Four runs = load_runs(b_, rows, source_.codes + run * run_bytes);
      if (layout_.order.kr == 8) {
        two_columns(runs, to, group, carried);
        group += 2;
        continue;
      }
      if (must_spread()) {
        for (Value& x : runs) x = spread_(x);
      }
      for (const Value packed : transpose_dwords(b_, runs)) {
        store(to, group++ * group_bytes(layout_), 0, packed, carried);
      }
    }
    if (layout_.order.kr == 8) {
      return b_.op(OpCode::pair_add, {carried[0], carried[1]}, {.bits = 32});
    }
    return offset_ == no_value ? carried[0] : sums_.total(carried[0], offset_);
  }

  /// Bytes in groups of 8 of k: a packed vector holds two columns.
  void two_columns(const Four& runs, Value to, int64_t group, std::vector<Value>& carried) {
    const PackedStore store{b_, sums_, flip_, stream_};
    for (size_t v = 0; v < 2; ++v) {
      const Pair groups = zip(b_, 64, runs[2 * v], runs[2 * v + 1]);
      const int64_t at = group * group_bytes(layout_) + static_cast<int64_t>(v) * 16;
      store(to, at, v, groups.low, carried);
      store(to, at + group_bytes(layout_), v, groups.high, carried);
    }
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
  Spread spread_;
  NibbleZip nibbles_;
  bool stream_;
  int64_t scale_bytes_;  ///< of a vector of columns
};

}  // namespace

std::optional<SourceBlocks> source_blocks(const Layout& layout, const std::string& source) {
  const int64_t codes = layout.block / byte_codes(layout);
  if (source == "nxk") return SourceBlocks{codes, 0, false};
  constexpr int64_t ggml_block = 32;
  const std::string own = is_bytes(layout) ? "q8_0" : "q4_0";
  const bool ggml =
      layout.block == ggml_block && field_of(layout, FieldKind::scales).type == ElementType::f16;
  if (source == own && ggml) return SourceBlocks{2 + codes, 2, true};
  return std::nullopt;
}

bool can_pack_blocks(const Layout& layout, const Isa& isa) {
  const DataOrder& order = layout.order;
  const bool both =
      CodeSums::possible(layout, isa) && isa.lanes32() >= 4 && layout.panel.is_fixed() &&
      has_all(isa, {"xor", "zip_lo.8", "zip_hi.8", "zip_lo.32", "zip_hi.32", "zip_lo.64",
                    "zip_hi.64", "fma", "cvt_i32_f32", "cvt_f16_f32", "cvt_bf16_f32"});
  if (!both) return false;
  if (order.pair == NibblePair::column) {
    const bool whole = layout.panel.fixed % (32 / order.kr) == 0;
    return segments(isa) == 1 && NibbleZip::possible(isa) && whole;
  }
  const bool loads =
      segments(isa) == 1 || (isa.has(OpCode::load_dup, 128) && isa.has(OpCode::load_lane, 128));
  if (!loads || layout.panel.fixed % isa.lanes32() != 0) return false;
  if (is_bytes(layout)) return order.kr == 4 || (order.kr == 8 && segments(isa) == 1);
  return order.kr == 4 && order.distance == run_k(layout) / 2 &&
         has_all(isa, {"or", "shl.32", "shr.32"});
}

Program lower_pack_blocks(const Layout& layout, const Isa& isa, const SourceBlocks& source,
                          const PackOptions& options) {
  Builder b(options.name, isa);
  BlockPacker(b, layout, source, options.stream).write();
  return b.finish();
}

}  // namespace tw
