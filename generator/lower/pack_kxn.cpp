// RHS from rows of n values (k x n): every source row holds the codes of all columns for one k.
// Vectors of so many rows as a group of k takes hold whole panels; they are turned by zips of
// bytes.
#include <algorithm>
#include <numeric>

#include "lower/pack_rhs.h"

namespace tw {
namespace {

/// Source rows, near and far ones: those of low nibbles, then those of high nibbles.
using SourceRows = std::vector<Value>;

/// Values of k that one step takes: what lies between nibbles must be at hand.
int64_t step_k(const Layout& layout) {
  if (layout.order.pair == NibblePair::none) return group_k(layout);
  return is_apart(layout) ? 2 * layout.order.distance : 8;
}

/// The packed vectors of one panel that a call makes: the panel may go on in the next call.
struct Part {
  int64_t first_vector;
  int64_t vectors;
  size_t first_sum;  ///< of its accumulators
  CodeSums sums;
};

/// The panels that the `call`th vector of columns touches.
struct Touched {
  int64_t first_panel;
  std::vector<Part> parts;

  Touched(Builder& b, const Layout& layout, int64_t call) {
    const int64_t bytes = b.isa().vector_bytes.fixed;
    const int64_t panel = layout.panel.fixed;
    const int64_t begin = call * byte_codes(layout) * bytes;
    const int64_t end = begin + byte_codes(layout) * bytes;
    first_panel = begin / panel;
    const SumWeights weights(b, layout);
    size_t first_sum = 0;
    for (int64_t p = first_panel; p * panel < end; ++p) {
      const int64_t from = std::max(begin - p * panel, int64_t{0});
      const int64_t to = std::min(end - p * panel, panel);
      const int64_t columns = vector_columns(layout, b.isa());
      const int64_t vectors = (to - from) / columns;
      parts.push_back({from / columns, vectors, first_sum, CodeSums(b, layout, weights, vectors)});
      first_sum += parts.back().sums.accumulators();
    }
  }
};

/// Writes vectors of packed columns to the panels that they belong to.
struct PanelStore {
  Builder& b;
  const Layout& layout;
  const Touched& touched;
  std::vector<Value> panels;  ///< where each panel's step of k goes
  int64_t group;              ///< of k in the step
  Value flip;
  bool stream;
  std::vector<Value>& carried;  ///< accumulators of all parts, one after the other

  void operator()(int64_t column, Value codes) const {
    const auto index = static_cast<size_t>(column / layout.panel.fixed - touched.first_panel);
    const Part& part = touched.parts[index];
    const int64_t vector = column % layout.panel.fixed / vector_columns(layout, b.isa());
    const auto begin = carried.begin() + static_cast<int64_t>(part.first_sum);
    std::vector<Value> own(begin, begin + static_cast<int64_t>(part.sums.accumulators()));
    const int64_t at = group * group_bytes(layout) + vector * b.isa().vector_bytes.fixed;
    PackedStore{b, part.sums, flip, stream}(
        panels[index], at, static_cast<size_t>(vector - part.first_vector), codes, own);
    std::copy(own.begin(), own.end(), begin);
  }
};

/// From vectors of the bytes 0, 1, 2, 3 of 16 columns: the columns in fours.
Four join_bytes(Builder& b, const Four& bytes) {
  const Pair x01 = zip(b, 8, bytes[0], bytes[1]);
  const Pair x23 = zip(b, 8, bytes[2], bytes[3]);
  const Pair first = zip(b, 16, x01.low, x23.low);
  const Pair second = zip(b, 16, x01.high, x23.high);
  return {first.low, first.high, second.low, second.high};
}

/// Stores columns from their bytes, [kr / 4][4]: in every segment those of 16 columns, as many as
/// `pitch` behind the columns of the segment before.
void store_columns(const std::vector<Four>& bytes, int64_t first_column, int64_t pitch,
                   const PanelStore& store) {
  Builder& b = store.b;
  const Four fours = join_bytes(b, bytes[0]);  // columns 0-3, 4-7 ...
  if (bytes.size() == 2) {
    const Four behind = join_bytes(b, bytes[1]);
    for (size_t i = 0; i < 4; ++i) {
      const Pair twos = zip(b, 32, fours[i], behind[i]);
      store(first_column + static_cast<int64_t>(i) * 4, twos.low);
      store(first_column + static_cast<int64_t>(i) * 4 + 2, twos.high);
    }
    return;
  }
  // Every segment had columns of its own; now vectors hold neighbors.
  const int64_t count = segments(b.isa());
  for (int64_t i = 0; i < 4; i += count) {
    const std::vector<Value> neighbors =
        transpose_segments(b, {fours.begin() + i, fours.begin() + i + count});
    for (int64_t s = 0; s < count; ++s) {
      store(first_column + pitch * s + 4 * i, neighbors[static_cast<size_t>(s)]);
    }
  }
}

/// Packed byte x of a column is row x.
void pack_bytes(const SourceRows& rows, int64_t first_column, const PanelStore& store) {
  std::vector<Four> bytes(rows.size() / 4);
  for (size_t x = 0; x < rows.size(); ++x) bytes[x / 4][x % 4] = rows[x];
  store_columns(bytes, first_column, 16, store);
}

/// Packed byte x of a column: near row x low, far row x high.
void pack_depth(const SourceRows& rows, const NibbleZip& nibbles, int64_t first_column,
                const PanelStore& store) {
  Builder& b = store.b;
  const size_t kr = rows.size() / 2;
  // Byte x of columns in order: of each segment the first 16, then the others.
  std::vector<Four> low_half(kr / 4);
  std::vector<Four> high_half(kr / 4);
  for (size_t x = 0; x < kr; ++x) {
    const Value high = nibbles.high(b, rows[x], rows[x + kr]);
    const Value low = nibbles.low(b, rows[x], rows[x + kr]);
    const Pair columns = zip(b, 8, low, high);
    low_half[x / 4][x % 4] = columns.low;
    high_half[x / 4][x % 4] = columns.high;
  }
  store_columns(low_half, first_column, 32, store);
  store_columns(high_half, first_column + 16, 32, store);
}

/// Bytes 2 t and 2 t + 1 of a row hold columns 4 t .. 4 t + 3: columns 0 and 2 of the four make
/// one packed byte, 1 and 3 the other. Turns 8 rows of them into [t][column][k].
void pack_column(const SourceRows& rows, const NibbleZip& nibbles, int64_t first_column,
                 const PanelStore& store) {
  Builder& b = store.b;
  std::array<Four, 2> bytes{};  // [column 0, 1 of four][rows 0|2, 1|3, 4|6, 5|7], 8 t each
  constexpr std::array<size_t, 4> first_row = {0, 1, 4, 5};
  for (size_t i = 0; i < 4; ++i) {
    const Value x = rows[first_row[i]];
    const Value y = rows[first_row[i] + 2];
    const Value even = b.op(OpCode::uzp_even, {x, y}, {.bits = 8});
    const Value odd = b.op(OpCode::uzp_odd, {x, y}, {.bits = 8});
    bytes[0][i] = nibbles.low(b, odd, even);
    bytes[1][i] = nibbles.high(b, odd, even);
  }
  std::array<Four, 2> turned{};  // [column][t 0 1, 2 3, 4 5, 6 7], 8 k each
  for (size_t j = 0; j < 2; ++j) {
    const Pair k0123 = zip(b, 8, bytes[j][0], bytes[j][1]);  // k 0 1, k 2 3
    const Pair k4567 = zip(b, 8, bytes[j][2], bytes[j][3]);
    const Pair low = zip(b, 16, k0123.low, k0123.high);  // k 0 .. 3 of t 0 .. 3, t 4 .. 7
    const Pair high = zip(b, 16, k4567.low, k4567.high);
    const Pair t0123 = zip(b, 32, low.low, high.low);
    const Pair t4567 = zip(b, 32, low.high, high.high);
    turned[j] = {t0123.low, t0123.high, t4567.low, t4567.high};
  }
  for (size_t i = 0; i < 4; ++i) {
    const Pair packed = zip(b, 64, turned[0][i], turned[1][i]);
    const int64_t column = first_column + static_cast<int64_t>(i) * 8;
    store(column, packed.low);
    store(column + 4, packed.high);
  }
}

/// `from` + i * stride for i in [first, first + count).
std::vector<Value> strided(Builder& b, Value from, Value stride, int64_t first, int64_t count,
                           const std::string& name) {
  std::vector<Value> out;
  Value at = from;
  for (int64_t i = 0; i < first + count; ++i) {
    if (i > 0) at = b.op(OpCode::iadd, {at, stride}, {}, name);
    if (i >= first) out.push_back(at);
  }
  return out;
}

}  // namespace

std::optional<RhsPackStep> kxn_step(const Layout& layout, const Isa& isa) {
  const bool bytes = layout.order.pair == NibblePair::none;
  if (!is_plain_panel(layout) || !CodeSums::possible(layout, isa) ||
      (!bytes && !NibbleZip::possible(isa)) ||
      !has_all(isa, {"xor", "zip_lo.8", "zip_hi.8", "zip_lo.16", "zip_hi.16"})) {
    return std::nullopt;
  }
  const bool pairs =
      segments(isa) == 1 && layout.order.kr == 8 && has_all(isa, {"zip_lo.32", "zip_hi.32"});
  if (bytes) {
    if (layout.order.kr != 4 && !pairs) return std::nullopt;
  } else if (is_apart(layout)) {
    if (segments(isa) != 1 || (layout.order.kr != 4 && !pairs)) return std::nullopt;
  } else if (group_k(layout) != 8) {
    return std::nullopt;
  }
  if (layout.order.pair == NibblePair::column) {
    if (!has_all(isa, {"uzp_even.8", "uzp_odd.8", "zip_lo.32", "zip_hi.32"})) return std::nullopt;
  } else if (!can_transpose_segments(isa)) {
    return std::nullopt;
  }
  const int64_t panel = layout.panel.fixed;
  if (panel % vector_columns(layout, isa) != 0) return std::nullopt;
  const int64_t calls = panel / std::gcd(panel, byte_codes(layout) * isa.vector_bytes.fixed);
  return RhsPackStep{isa.vector_bytes.fixed, step_k(layout), calls};
}

namespace {

/// Adds every part's sums to its panel's.
void finish_sums(Builder& b, const Layout& layout, const Touched& touched,
                 const std::vector<Value>& carried) {
  const Value k = b.op(OpCode::imul, {b.arg(ArgField::k), b.constant(step_k(layout))});
  const Value first = b.op(OpCode::iadd, {b.arg(ArgField::dst), b.arg(ArgField::dst_stride)});
  const std::vector<Value> sums =
      strided(b, first, b.arg(ArgField::rhs_stride), touched.first_panel,
              static_cast<int64_t>(touched.parts.size()), "sums");
  for (size_t p = 0; p < touched.parts.size(); ++p) {
    const Part& part = touched.parts[p];
    const auto begin = carried.begin() + static_cast<int64_t>(part.first_sum);
    const int64_t skip = part.first_vector * vector_columns(layout, b.isa()) * 4;
    part.sums.finish({begin, begin + static_cast<int64_t>(part.sums.accumulators())}, k,
                     b.add(sums[p], skip));
  }
}

/// Rows of the source, with a prefetch ahead of each.
struct RowReader {
  Builder& b;
  Value stride, ahead;

  /// Adds `count` rows from `first` on to `rows`; returns the one behind them.
  Value read(Value first, int64_t count, SourceRows& rows) const {
    const std::vector<Value> pointers = strided(b, first, stride, 0, count, "row");
    for (const Value pointer : pointers) {
      if (b.isa().has(OpCode::prefetch)) {
        b.op(OpCode::prefetch, {b.op(OpCode::iadd, {pointer, ahead})});
      }
      rows.push_back(b.op(OpCode::load, {pointer}));
    }
    return b.op(OpCode::iadd, {pointers.back(), stride}, {}, "source");
  }
};

/// A step whose near and far rows have others between them. Returns the row behind all of them.
Value pack_apart(const Layout& layout, const RowReader& reader, Value first,
                 const NibbleZip& nibbles, int64_t first_column, PanelStore& store) {
  Builder& b = store.b;
  const Value distance = b.op(OpCode::imul, {reader.stride, b.constant(layout.order.distance)});
  Value near = first;
  Value far = b.op(OpCode::iadd, {first, distance}, {}, "far");
  for (store.group = 0; store.group < layout.order.distance / layout.order.kr; ++store.group) {
    SourceRows rows;
    near = reader.read(near, layout.order.kr, rows);
    far = reader.read(far, layout.order.kr, rows);
    pack_depth(rows, nibbles, first_column, store);
  }
  return far;
}

}  // namespace

Program lower_pack_kxn(const Layout& layout, const Isa& isa, const PackOptions& options,
                       int64_t call) {
  Builder b(options.name, isa);
  const Touched touched(b, layout, call);
  std::optional<NibbleZip> nibbles;
  if (layout.order.pair != NibblePair::none) nibbles.emplace(b);
  const Value flip = b.op(OpCode::dup, {b.arg(ArgField::flags)}, {.bits = 32}, "flip");
  const Value source = b.add(b.arg(ArgField::lhs), call * isa.vector_bytes.fixed, "source");
  std::vector<Value> inits = {source, b.arg(ArgField::dst)};
  for (const Part& part : touched.parts) {
    for (const Value zero : part.sums.start()) inits.push_back(zero);
  }
  const Value panel_stride = b.arg(ArgField::rhs_stride);
  const int64_t first_column = call * byte_codes(layout) * isa.vector_bytes.fixed;
  const RowReader reader{b, b.arg(ArgField::lhs_stride), b.arg(ArgField::rhs_prefetch)};
  const auto results = b.loop("k", b.arg(ArgField::k), inits, [&](const std::vector<Value>& now) {
    std::vector<Value> carried(now.begin() + 2, now.end());
    PanelStore store{b,
                     layout,
                     touched,
                     strided(b, now[1], panel_stride, touched.first_panel,
                             static_cast<int64_t>(touched.parts.size()), "panel"),
                     0,
                     flip,
                     options.stream,
                     carried};
    Value behind = no_value;
    if (is_apart(layout)) {
      behind = pack_apart(layout, reader, now[0], *nibbles, first_column, store);
    } else {
      SourceRows rows;
      behind = reader.read(now[0], step_k(layout), rows);
      if (!nibbles) {
        pack_bytes(rows, first_column, store);
      } else if (layout.order.pair == NibblePair::depth) {
        pack_depth(rows, *nibbles, first_column, store);
      } else {
        pack_column(rows, *nibbles, first_column, store);
      }
    }
    std::vector<Value> next = {
        behind, b.add(now[1], step_k(layout) / group_k(layout) * group_bytes(layout), "packed")};
    next.insert(next.end(), carried.begin(), carried.end());
    return next;
  });
  finish_sums(b, layout, touched, {results.begin() + 2, results.end()});
  return b.finish();
}

}  // namespace tw
