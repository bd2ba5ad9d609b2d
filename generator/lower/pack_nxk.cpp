// RHS from rows of k values (n x k): every panel column is a row of nibbles, bytes or floats in
// memory.
#include <bit>

#include "lower/pack_rhs.h"

namespace tw {
namespace {

/// The way from rows of k values; whole vectors are loaded where a tile of them has room.
std::optional<Relayout> way_of(const Layout& layout, const Isa& isa) {
  const bool floats = layout.element == ElementType::f32 || layout.element == ElementType::f16;
  const bool codes = is_plain_panel(layout) && CodeSums::possible(layout, isa);
  if (!floats && (!codes || !isa.has(OpCode::xor_))) return std::nullopt;
  auto way = find_relayout(layout, isa, {false, false, isa.vector_bytes.fixed});
  if (way && layout.panel.fixed % (way->tile.n + 1) != 0) return std::nullopt;
  return way;
}

RhsPackStep step_of(const Layout& layout, const Relayout& way) {
  const auto step_k = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(way.tile.k) + 1));
  return {step_k * bits(layout.element) / 8, layout.panel.fixed, 1};
}

}  // namespace

std::optional<RhsPackStep> nxk_step(const Layout& layout, const Isa& isa) {
  const auto way = way_of(layout, isa);
  return way ? std::optional(step_of(layout, *way)) : std::nullopt;
}

namespace {

/// What the loops over k have in common: cursors, prefetching of the next panel.
struct Walk {
  Builder& b;
  const Layout& layout;
  Relayout way;
  RhsPackStep step;
  Value stride, mask;

  Walk(Builder& builder, const Layout& of)
      : b(builder),
        layout(of),
        way(way_of(of, builder.isa()).value()),
        step(step_of(of, way)),
        stride(b.arg(ArgField::lhs_stride)),
        mask(relayout_mask(b, way)) {}

  [[nodiscard]] int64_t panel_bytes() const { return layout.panel.fixed * step.source_bytes; }
  [[nodiscard]] int64_t step_k() const { return step.source_bytes * 8 / bits(layout.element); }
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
  /// Pointers to so many columns.
  [[nodiscard]] std::vector<Value> rows(Value first, int64_t count) const {
    std::vector<Value> rows = {first};
    while (static_cast<int64_t>(rows.size()) < count) {
      rows.push_back(b.op(OpCode::iadd, {rows.back(), stride}, {}, "row"));
    }
    return rows;
  }
  /// One step of the columns that `rows` point to.
  void pack(const std::vector<Value>& rows, const TakePacked& take) const {
    const auto find = [&](Coordinates at) {
      return std::pair(rows[static_cast<size_t>(at.n)], at.k * bits(layout.element) / 8);
    };
    relayout(b, way, mask, {static_cast<int64_t>(rows.size()), step_k()}, find, take);
  }
  [[nodiscard]] std::vector<Value> next(const std::vector<Value>& now) const {
    return {b.add(now[0], step.source_bytes, "source"), b.add(now[1], panel_bytes(), "packed"),
            b.add(now[2], panel_bytes(), "ahead")};
  }
};

/// A loop over the panel's rows, those of one vector at a time, within the one over k. Sums are
/// taken from memory and back: one load and store in so many.
void lower_vectors(Builder& b, const Layout& layout, Value flip, bool stream) {
  const Walk walk(b, layout);
  const int64_t rows = walk.way.tile.n + 1;
  std::optional<CodeSums> sums;
  if (flip != no_value) sums.emplace(b, layout, SumWeights(b, layout), 1);
  const Value panel_sums = sums ? walk.sums() : no_value;
  b.loop("k", b.arg(ArgField::k), walk.start(), [&](const std::vector<Value>& now) {
    walk.prefetch(now[2]);
    std::vector<Value> inits = {now[0], now[1]};
    if (sums) inits.push_back(panel_sums);
    b.loop("rows", b.constant(layout.panel.fixed / rows), inits, [&](const std::vector<Value>& at) {
      const std::vector<Value> columns = walk.rows(at[0], rows);
      std::vector<Value> carried = sums ? sums->start() : std::vector<Value>{};
      walk.pack(columns, [&](Coordinates first, Value packed) {
        const int64_t offset = packed_offset(layout, first);
        if (sums) return PackedStore{b, *sums, flip, stream}(at[1], offset, 0, packed, carried);
        b.op(stream ? OpCode::store_stream : OpCode::store, {at[1], packed}, {.offset = offset});
      });
      std::vector<Value> next = {b.op(OpCode::iadd, {columns.back(), walk.stride}, {}, "rows"),
                                 b.add(at[1], packed_offset(layout, {rows, 0}), "to")};
      if (sums) {
        sums->finish(carried, b.constant(walk.step_k()), at[2]);
        next.push_back(b.add(at[2], b.isa().vector_bytes, "sums"));
      }
      return next;
    });
    return walk.next(now);
  });
}

/// All rows of the panel in one step, whose sums are carried through the loop.
void lower_panel(Builder& b, const Layout& layout, Value flip, bool stream) {
  const Walk walk(b, layout);
  const CodeSums sums(b, layout, SumWeights(b, layout),
                      layout.panel.fixed / vector_columns(layout, b.isa()));
  const PackedStore store{b, sums, flip, stream};
  std::vector<Value> inits = walk.start();
  const size_t cursors = inits.size();
  for (const Value zero : sums.start()) inits.push_back(zero);
  const auto results = b.loop("k", b.arg(ArgField::k), inits, [&](const std::vector<Value>& now) {
    walk.prefetch(now[2]);
    std::vector<Value> carried(now.begin() + static_cast<int64_t>(cursors), now.end());
    walk.pack(walk.rows(now[0], layout.panel.fixed), [&](Coordinates first, Value packed) {
      const int64_t offset = packed_offset(layout, first);
      store(now[1], offset, vector_of(layout, b.isa(), offset), packed, carried);
    });
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
  const bool codes = bits(layout.element) <= 8;
  const Value flip =
      codes ? b.op(OpCode::dup, {b.arg(ArgField::flags)}, {.bits = 32}, "flip") : no_value;
  const bool by_column = layout.order.pair == NibblePair::column;
  if (!codes || (!by_column && !is_apart(layout) && layout.order.kr == 4)) {
    lower_vectors(b, layout, flip, options.stream);
  } else {
    lower_panel(b, layout, flip, options.stream);
  }
  return b.finish();
}

}  // namespace tw
