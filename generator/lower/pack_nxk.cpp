// RHS from rows of k values (n x k): every panel column is a row of nibbles, bytes or floats in
// memory.
#include "lower/pack_rhs.h"

namespace tw {
namespace {

/// Rows of the source as one step sees them.
struct Source {
  Builder& b;
  std::vector<Value> rows;  ///< one pointer a column
};

/// The two middle bytes of every dword change places, then the middle nibbles of every 16 bits:
/// k 0 1 2 3 4 5 6 7 becomes 0 4 1 5 2 6 3 7.
struct DepthRegroup {
  Builder& b;
  Value bytes, nibbles;
  explicit DepthRegroup(Builder& builder)
      : b(builder),
        bytes(splat32(builder, 0x0000ff00U, "middle_bytes")),
        nibbles(splat32(builder, 0x00f000f0U, "middle_nibbles")) {}

  [[nodiscard]] Value swap(Value x, int64_t distance, Value mask) const {
    const Value moved = b.op(OpCode::shr, {x}, {.bits = 32, .imm = distance});
    const Value differs = b.op(OpCode::and_, {b.op(OpCode::xor_, {x, moved}), mask});
    const Value back = b.op(OpCode::shl, {differs}, {.bits = 32, .imm = distance});
    return b.op(OpCode::xor_, {b.op(OpCode::xor_, {x, differs}), back});
  }
  [[nodiscard]] Value operator()(Value x) const { return swap(swap(x, 8, bytes), 4, nibbles); }
};

/// Blocks of 16 bytes of 4 x segments rows: [block][i], segment l of vector i is row 4 l + i.
std::vector<Four> load_blocks(const Source& source) {
  Builder& b = source.b;
  const int64_t count = segments(b.isa());
  auto load = [&](int64_t row) {
    return b.op(OpCode::load, {source.rows[static_cast<size_t>(row)]});
  };
  std::vector<Four> out(static_cast<size_t>(count));
  for (int64_t i = 0; i < 4; ++i) {
    std::vector<Value> rows;
    for (int64_t l = 0; l < count; ++l) rows.push_back(load(4 * l + i));
    const std::vector<Value> by_block = transpose_segments(b, rows);
    for (size_t j = 0; j < by_block.size(); ++j) out[j][static_cast<size_t>(i)] = by_block[j];
  }
  return out;
}

/// Packs one step of 4 x segments rows: dword lane r of every packed vector is row r. Nibbles are
/// regrouped first, bytes stand as they are.
void pack_dwords(const Source& source, const Layout& layout, Value dst, const PackedStore& store,
                 const std::optional<DepthRegroup>& regroup, std::vector<Value>& carried) {
  Builder& b = source.b;
  int64_t offset = 0;
  for (Four block : load_blocks(source)) {
    for (size_t i = 0; regroup && i < 4; ++i) block[i] = (*regroup)(block[i]);
    for (const Value packed : transpose_dwords(b, block)) {
      store(dst, offset, 0, packed, carried);
      offset += group_bytes(layout);
    }
  }
}

/// Bytes in groups of 8 of k: 16 bytes of two columns make two packed vectors.
void pack_pairs(const Source& source, const Layout& layout, Value dst, const PackedStore& store,
                std::vector<Value>& carried) {
  Builder& b = source.b;
  for (size_t c = 0; c < source.rows.size(); c += 2) {
    const Value x = b.op(OpCode::load, {source.rows[c]});
    const Value y = b.op(OpCode::load, {source.rows[c + 1]});
    const Pair groups = zip(b, 64, x, y);
    const auto offset = static_cast<int64_t>(c / 2) * 16;
    store(dst, offset, c / 2, groups.low, carried);
    store(dst, offset + group_bytes(layout), c / 2, groups.high, carried);
  }
}

/// Packed vectors of 16 bytes: high nibbles of columns c .. c + half - 1, low ones of the next.
void pack_column(const Source& source, const Layout& layout, Value dst, const PackedStore& store,
                 const NibbleZip& nibbles, std::vector<Value>& carried) {
  Builder& b = source.b;
  const int64_t half = 16 / layout.order.kr;
  auto load = [&](int64_t row) {
    return b.op(OpCode::load, {source.rows[static_cast<size_t>(row)]});
  };
  for (int64_t first = 0; first < layout.panel.fixed; first += 2 * half) {
    std::vector<Pair> columns;  // k 0 .. 15, k 16 .. 31
    for (int64_t c = first; c < first + half; ++c) {
      const Value high = load(c);
      const Value low = load(c + half);
      const Value second = nibbles.high(b, low, high);
      const Value first = nibbles.low(b, low, high);
      columns.push_back(zip(b, 8, first, second));
    }
    const std::vector<Value> packed = groups_of_columns(b, columns);
    const int64_t vector = first / (2 * half);
    for (size_t group = 0; group < packed.size(); ++group) {
      store(dst, static_cast<int64_t>(group) * group_bytes(layout) + vector * 16,
            static_cast<size_t>(vector), packed[group], carried);
    }
  }
}

/// A column's 32 values of k are 16 bytes of source: low nibbles k 0 .. 15, high ones k 16 .. 31.
void pack_apart(const Source& source, const Layout& layout, Value dst, const PackedStore& store,
                const NibbleZip& nibbles, std::vector<Value>& carried) {
  Builder& b = source.b;
  const auto columns = static_cast<size_t>(vector_columns(layout, b.isa()));
  for (size_t first = 0; first < source.rows.size(); first += columns) {
    std::vector<Value> packed;  // bytes of k of one column each
    for (size_t c = first; c < first + columns; c += 2) {
      const Value x = b.op(OpCode::load, {source.rows[c]});
      const Value y = b.op(OpCode::load, {source.rows[c + 1]});
      const Value near = b.op(OpCode::uzp_even, {x, y}, {.bits = 64});
      const Value far = b.op(OpCode::uzp_odd, {x, y}, {.bits = 64});
      const Value even = nibbles.low(b, near, far);  // k 0 2 .. 14 of x, then of y
      const Value odd = nibbles.high(b, near, far);
      const Pair both = zip(b, 8, even, odd);
      packed.push_back(both.low);
      packed.push_back(both.high);
    }
    if (columns == 4) {
      const Four groups = transpose_dwords(b, {packed[0], packed[1], packed[2], packed[3]});
      packed.assign(groups.begin(), groups.end());
    } else {
      const Pair groups = zip(b, 64, packed[0], packed[1]);
      packed = {groups.low, groups.high};
    }
    const size_t vector = first / columns;
    for (size_t group = 0; group < packed.size(); ++group) {
      store(dst,
            static_cast<int64_t>(group) * group_bytes(layout) + static_cast<int64_t>(vector) * 16,
            vector, packed[group], carried);
    }
  }
}

}  // namespace

std::optional<RhsPackStep> nxk_step(const Layout& layout, const Isa& isa) {
  if (layout.element == ElementType::f32 && layout.panel.is_fixed()) {
    const bool fits = has_all(isa, {"zip_lo.32", "zip_hi.32", "zip_lo.64", "zip_hi.64"}) &&
                      layout.panel.fixed % isa.lanes32() == 0 && can_transpose_segments(isa);
    return fits ? std::optional(RhsPackStep{segments(isa) * 16, layout.panel.fixed, 1})
                : std::nullopt;
  }
  if (!is_plain_panel(layout) || !CodeSums::possible(layout, isa)) return std::nullopt;
  if (!has_all(isa, {"xor", "zip_lo.32", "zip_hi.32", "zip_lo.64", "zip_hi.64"})) {
    return std::nullopt;
  }
  const int64_t panel = layout.panel.fixed;
  const int64_t count = segments(isa);
  if (layout.order.pair == NibblePair::column) {
    const bool fits = has_all(isa, {"zip_lo.8", "zip_hi.8"}) && NibbleZip::possible(isa) &&
                      panel % (32 / layout.order.kr) == 0;
    return fits ? std::optional(RhsPackStep{16, panel, 1}) : std::nullopt;
  }
  if (is_apart(layout)) {
    const bool fits = has_all(isa, {"zip_lo.8", "zip_hi.8", "uzp_even.64", "uzp_odd.64"}) &&
                      NibbleZip::possible(isa) && count == 1 && layout.order.distance == 16 &&
                      panel % 4 == 0;
    return fits ? std::optional(RhsPackStep{16, panel, 1}) : std::nullopt;
  }
  const bool bytes = layout.order.pair == NibblePair::none;
  if (bytes && layout.order.kr == 8) {
    return count == 1 && panel % 4 == 0 ? std::optional(RhsPackStep{16, panel, 1}) : std::nullopt;
  }
  const bool fits = (bytes || has_all(isa, {"shl.32", "shr.32"})) && layout.order.kr == 4 &&
                    panel % (4 * count) == 0 && can_transpose_segments(isa);
  // Vectors of four segments take whole rows of 64 bytes: a line is touched once.
  return fits ? std::optional(RhsPackStep{count * 16, panel, 1}) : std::nullopt;
}

namespace {

/// What the loops over k have in common: cursors, prefetching of the next panel.
struct Walk {
  Builder& b;
  const Layout& layout;
  RhsPackStep step;
  Value stride;

  Walk(Builder& builder, const Layout& of)
      : b(builder),
        layout(of),
        step(*nxk_step(of, builder.isa())),
        stride(builder.arg(ArgField::lhs_stride)) {}

  [[nodiscard]] int64_t panel_bytes() const { return layout.panel.fixed * step.source_bytes; }
  [[nodiscard]] int64_t step_k() const { return byte_codes(layout) * step.source_bytes; }
  [[nodiscard]] Value sums() const {
    return b.op(OpCode::iadd, {b.arg(ArgField::dst), b.arg(ArgField::dst_stride)}, {}, "sums");
  }
  [[nodiscard]] std::vector<Value> start() const {
    const Value ahead = b.op(OpCode::iadd, {b.arg(ArgField::lhs), b.arg(ArgField::rhs_prefetch)});
    return {b.arg(ArgField::lhs), b.arg(ArgField::dst), ahead};
  }
  void prefetch(Value ahead) const {
    if (!b.isa().has(OpCode::prefetch_near)) return;
    for (int64_t line = 0; line < panel_bytes(); line += 64) {
      b.op(OpCode::prefetch_near, {ahead}, {.offset = line});
    }
  }
  [[nodiscard]] Source rows(Value first, int64_t count) const {
    Source source{b, {first}};
    while (static_cast<int64_t>(source.rows.size()) < count) {
      source.rows.push_back(b.op(OpCode::iadd, {source.rows.back(), stride}, {}, "row"));
    }
    return source;
  }
  [[nodiscard]] std::vector<Value> next(const std::vector<Value>& now) const {
    return {b.add(now[0], step.source_bytes, "source"), b.add(now[1], panel_bytes(), "packed"),
            b.add(now[2], panel_bytes(), "ahead")};
  }
};

/// A loop over the panel's rows, a vector of columns at a time, within the one over k. Sums are
/// taken from memory and back: one load and store in so many.
void lower_dwords(Builder& b, const Layout& layout, Value flip, bool stream) {
  const Walk walk(b, layout);
  const CodeSums sums(b, layout, SumWeights(b, layout), 1);
  std::optional<DepthRegroup> regroup;
  if (layout.order.pair == NibblePair::depth) regroup.emplace(b);
  const PackedStore store{b, sums, flip, stream};
  const int64_t bytes = b.isa().vector_bytes.fixed;
  const int64_t rows = bytes / 4;
  const Value panel_sums = walk.sums();
  const std::vector<Value> inits = walk.start();
  b.loop("k", b.arg(ArgField::k), inits, [&](const std::vector<Value>& now) {
    walk.prefetch(now[2]);
    b.loop("rows", b.constant(layout.panel.fixed / rows), {now[0], now[1], panel_sums},
           [&](const std::vector<Value>& at) {
             const Source source = walk.rows(at[0], rows);
             std::vector<Value> carried = sums.start();
             pack_dwords(source, layout, at[1], store, regroup, carried);
             sums.finish(carried, b.constant(walk.step_k()), at[2]);
             return std::vector<Value>{
                 b.op(OpCode::iadd, {source.rows.back(), walk.stride}, {}, "rows"),
                 b.add(at[1], bytes, "to"), b.add(at[2], bytes, "sums")};
           });
    return walk.next(now);
  });
}

/// The same for 32-bit values, which are moved as they are.
void lower_values(Builder& b, const Layout& layout, bool stream) {
  const Walk walk(b, layout);
  const int64_t bytes = b.isa().vector_bytes.fixed;
  const int64_t rows = bytes / 4;
  b.loop("k", b.arg(ArgField::k), walk.start(), [&](const std::vector<Value>& now) {
    walk.prefetch(now[2]);
    b.loop("rows", b.constant(layout.panel.fixed / rows), {now[0], now[1]},
           [&](const std::vector<Value>& at) {
             const Source source = walk.rows(at[0], rows);
             int64_t offset = 0;
             for (const Four& block : load_blocks(source)) {
               for (const Value packed : transpose_dwords(b, block)) {
                 b.op(stream ? OpCode::store_stream : OpCode::store, {at[1], packed},
                      {.offset = offset});
                 offset += layout.panel.fixed * 4;
               }
             }
             return std::vector<Value>{
                 b.op(OpCode::iadd, {source.rows.back(), walk.stride}, {}, "rows"),
                 b.add(at[1], bytes, "to")};
           });
    return walk.next(now);
  });
}

/// All rows of the panel in one step, whose sums are carried through the loop.
void lower_panel(Builder& b, const Layout& layout, Value flip, bool stream) {
  const Walk walk(b, layout);
  const CodeSums sums(b, layout, SumWeights(b, layout),
                      layout.panel.fixed / vector_columns(layout, b.isa()));
  std::optional<NibbleZip> nibbles;
  if (layout.order.pair != NibblePair::none) nibbles.emplace(b);
  const PackedStore store{b, sums, flip, stream};
  std::vector<Value> inits = walk.start();
  const size_t cursors = inits.size();
  for (const Value zero : sums.start()) inits.push_back(zero);
  const auto results = b.loop("k", b.arg(ArgField::k), inits, [&](const std::vector<Value>& now) {
    walk.prefetch(now[2]);
    std::vector<Value> carried(now.begin() + static_cast<int64_t>(cursors), now.end());
    const Source source = walk.rows(now[0], layout.panel.fixed);
    if (!nibbles) {
      pack_pairs(source, layout, now[1], store, carried);
    } else if (is_apart(layout)) {
      pack_apart(source, layout, now[1], store, *nibbles, carried);
    } else {
      pack_column(source, layout, now[1], store, *nibbles, carried);
    }
    std::vector<Value> next = walk.next(now);
    next.insert(next.end(), carried.begin(), carried.end());
    return next;
  });
  const Value k = b.op(OpCode::imul, {b.arg(ArgField::k), b.constant(walk.step_k())});
  sums.finish({results.begin() + static_cast<int64_t>(cursors), results.end()}, k, walk.sums());
}

}  // namespace

Program lower_pack_nxk(const Layout& layout, const Isa& isa, const PackOptions& options) {
  Builder b(options.name, isa);
  if (layout.element == ElementType::f32) {
    lower_values(b, layout, options.stream);
    return b.finish();
  }
  const Value flip = b.op(OpCode::dup, {b.arg(ArgField::flags)}, {.bits = 32}, "flip");
  const bool by_column = layout.order.pair == NibblePair::column;
  if (!by_column && !is_apart(layout) && layout.order.kr == 4) {
    lower_dwords(b, layout, flip, options.stream);
  } else {
    lower_panel(b, layout, flip, options.stream);
  }
  return b.finish();
}

}  // namespace tw
