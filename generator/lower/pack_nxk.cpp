// RHS from rows of k values (n x k): every panel column is a row of nibbles in memory.
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
std::vector<Four> load_blocks(const Source& source, int64_t first_row, int64_t blocks) {
  Builder& b = source.b;
  const int64_t count = segments(b.isa());
  auto load = [&](int64_t row, int64_t offset) {
    return b.op(OpCode::load, {source.rows[static_cast<size_t>(row)]}, {.offset = offset});
  };
  std::vector<Four> out(static_cast<size_t>(blocks));
  for (int64_t i = 0; i < 4; ++i) {
    if (count == 1) {
      for (int64_t j = 0; j < blocks; ++j) {
        out[static_cast<size_t>(j)][static_cast<size_t>(i)] = load(first_row + i, 16 * j);
      }
      continue;
    }
    Four rows{};
    for (int64_t l = 0; l < 4; ++l) rows[static_cast<size_t>(l)] = load(first_row + 4 * l + i, 0);
    const Four by_block = transpose_segments(b, rows);
    for (size_t j = 0; j < 4; ++j) out[j][static_cast<size_t>(i)] = by_block[j];
  }
  return out;
}

void pack_depth(const Source& source, const Layout& layout, int64_t step_bytes, Value dst,
                const PackedStore& store, const DepthRegroup& regroup,
                std::vector<Value>& carried) {
  const int64_t vector_bytes = source.b.isa().vector_bytes.fixed;
  const int64_t group_rows = vector_bytes / 4;
  for (int64_t first = 0; first < layout.panel.fixed; first += group_rows) {
    const std::vector<Four> blocks = load_blocks(source, first, step_bytes / 16);
    for (size_t j = 0; j < blocks.size(); ++j) {
      Four regrouped{};
      for (size_t i = 0; i < 4; ++i) regrouped[i] = regroup(blocks[j][i]);
      const Four packed = transpose_dwords(source.b, regrouped);
      for (size_t d = 0; d < 4; ++d) {
        const int64_t group = static_cast<int64_t>(4 * j + d);
        store(dst, group * group_bytes(layout) + first * 4, static_cast<size_t>(first / group_rows),
              packed[d], carried);
      }
    }
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
      columns.push_back(zip(b, 8, nibbles.low(b, low, high), nibbles.high(b, low, high)));
    }
    std::vector<Value> packed;
    if (half == 2) {
      for (const Pair& k : {zip(b, 64, columns[0].low, columns[1].low),
                            zip(b, 64, columns[0].high, columns[1].high)}) {
        packed.insert(packed.end(), {k.low, k.high});
      }
    } else {
      const Four low = transpose_dwords(
          b, {columns[0].low, columns[1].low, columns[2].low, columns[3].low});
      const Four high = transpose_dwords(
          b, {columns[0].high, columns[1].high, columns[2].high, columns[3].high});
      packed.insert(packed.end(), low.begin(), low.end());
      packed.insert(packed.end(), high.begin(), high.end());
    }
    const int64_t vector = first / (2 * half);
    for (size_t group = 0; group < packed.size(); ++group) {
      store(dst, static_cast<int64_t>(group) * group_bytes(layout) + vector * 16,
            static_cast<size_t>(vector), packed[group], carried);
    }
  }
}

}  // namespace

std::optional<RhsPackStep> nxk_step(const Layout& layout, const Isa& isa) {
  if (!is_plain_int4_panel(layout) || !CodeSums::possible(layout, isa)) return std::nullopt;
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
  const bool fits = has_all(isa, {"shl.32", "shr.32"}) && layout.order.kr == 4 &&
                    panel % (4 * count) == 0 &&
                    (count == 1 || (count == 4 && isa.has(OpCode::move_segments)));
  // Vectors of four segments take whole rows of 64 bytes: a line is touched once.
  return fits ? std::optional(RhsPackStep{count * 16, panel, 1}) : std::nullopt;
}

Program lower_pack_nxk(const Layout& layout, const Isa& isa, const PackOptions& options) {
  const RhsPackStep step = *nxk_step(layout, isa);
  const bool depth = layout.order.pair == NibblePair::depth;
  Builder b(options.name, isa);
  const CodeSums sums(b, layout);
  const Value flip = b.op(OpCode::dup, {b.arg(ArgField::flags)}, {.bits = 32}, "flip");
  const PackedStore store{b, sums, flip, options.stream};
  std::optional<DepthRegroup> regroup;
  std::optional<NibbleZip> nibbles;
  if (depth) {
    regroup.emplace(b);
  } else {
    nibbles.emplace(b);
  }

  const int64_t panel_source = layout.panel.fixed * step.source_bytes;
  const Value ahead = b.op(OpCode::iadd, {b.arg(ArgField::lhs), b.arg(ArgField::rhs_prefetch)});
  std::vector<Value> inits = {b.arg(ArgField::lhs), b.arg(ArgField::dst), ahead};
  const std::vector<Value> zeros = sums.start();
  inits.insert(inits.end(), zeros.begin(), zeros.end());
  const Value stride = b.arg(ArgField::lhs_stride);
  const auto results = b.loop("k", b.arg(ArgField::k), inits, [&](const std::vector<Value>& now) {
    if (isa.has(OpCode::prefetch)) {
      for (int64_t line = 0; line < panel_source; line += 64) {
        b.op(OpCode::prefetch, {now[2]}, {.offset = line});
      }
    }
    Source source{b, {now[0]}};
    for (int64_t row = 1; row < layout.panel.fixed; ++row) {
      source.rows.push_back(b.op(OpCode::iadd, {source.rows.back(), stride}, {}, "row"));
    }
    std::vector<Value> carried(now.begin() + 3, now.end());
    if (depth) {
      pack_depth(source, layout, step.source_bytes, now[1], store, *regroup, carried);
    } else {
      pack_column(source, layout, now[1], store, *nibbles, carried);
    }
    std::vector<Value> next = {b.add(now[0], step.source_bytes, "source"),
                               b.add(now[1], panel_source, "packed"),
                               b.add(now[2], panel_source, "stream")};
    next.insert(next.end(), carried.begin(), carried.end());
    return next;
  });
  const Value k = b.op(OpCode::imul, {b.arg(ArgField::k), b.constant(2 * step.source_bytes)});
  const Value panel_sums =
      b.op(OpCode::iadd, {b.arg(ArgField::dst), b.arg(ArgField::dst_stride)}, {}, "sums");
  sums.finish({results.begin() + 3, results.end()}, k, panel_sums);
  return b.finish();
}

}  // namespace tw
