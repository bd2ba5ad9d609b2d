// RHS from rows of n values (k x n): every source row holds the codes of all columns for one k.
// A vector of columns is packed at a time.
#include <algorithm>
#include <numeric>

#include "lower/pack_rhs.h"

namespace tw {
namespace {

/// Values of k that one step takes: what lies between nibbles must be at hand.
int64_t step_k(const Layout& layout) {
  return is_apart(layout) ? 2 * layout.order.distance : group_k(layout);
}

std::optional<Relayout> way_of(const Layout& layout, const Isa& isa) {
  return find_relayout(layout, isa, {true, false, isa.vector_bytes.fixed});
}

/// The packed vectors of one panel that a call makes: the panel may go on in the next call.
struct PanelPart {
  int64_t first_vector;
  int64_t vectors;
  size_t first_sum;  ///< of its accumulators
  CodeSums sums;
};

/// The panels that the `call`th vector of columns touches.
struct Touched {
  int64_t first_panel;
  std::vector<PanelPart> parts;

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
  Value flip;
  bool stream;
  std::vector<Value>& carried;  ///< accumulators of all parts, one after the other

  void operator()(Coordinates at, Value codes) const {
    const int64_t panel = layout.panel.fixed;
    const auto index = static_cast<size_t>(at.n / panel - touched.first_panel);
    const PanelPart& part = touched.parts[index];
    const int64_t offset = packed_offset(layout, {at.n % panel, at.k});
    const size_t vector =
        vector_of(layout, b.isa(), offset) - static_cast<size_t>(part.first_vector);
    const auto begin = carried.begin() + static_cast<int64_t>(part.first_sum);
    std::vector<Value> own(begin, begin + static_cast<int64_t>(part.sums.accumulators()));
    PackedStore{b, part.sums, flip, stream}(panels[index], offset, vector, codes, own);
    std::copy(own.begin(), own.end(), begin);
  }
};

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
  const bool codes = is_plain_panel(layout) && CodeSums::possible(layout, isa);
  if (!codes || !isa.has(OpCode::xor_) || !way_of(layout, isa)) return std::nullopt;
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
    const PanelPart& part = touched.parts[p];
    const auto begin = carried.begin() + static_cast<int64_t>(part.first_sum);
    const int64_t skip = part.first_vector * vector_columns(layout, b.isa()) * 4;
    part.sums.finish({begin, begin + static_cast<int64_t>(part.sums.accumulators())}, k,
                     b.add(sums[p], skip));
  }
}

/// Pointers to rows of the source; what they point to ahead is fetched.
struct RowReader {
  Builder& b;
  Value stride, ahead;

  /// Adds `count` rows from `first` on to `rows`; returns the one behind them.
  Value read(Value first, int64_t count, std::vector<Value>& rows) const {
    for (const Value pointer : strided(b, first, stride, 0, count, "row")) {
      if (b.isa().has(OpCode::prefetch)) {
        b.op(OpCode::prefetch, {b.op(OpCode::iadd, {pointer, ahead})});
      }
      rows.push_back(pointer);
    }
    return b.op(OpCode::iadd, {rows.back(), stride}, {}, "source");
  }
};

/// Packs a step of k from its first row on, some columns from `first_column` on; returns the row
/// behind the step. Where the nibbles of a byte have other rows between them, near and far rows are
/// taken together.
Value pack_step(const Layout& layout, const Relayout& way, Value mask, const RowReader& reader,
                Value first, int64_t first_column, const PanelStore& store) {
  Builder& b = store.b;
  const int64_t distance = layout.order.distance;
  const bool apart = is_apart(layout);
  const int64_t near_rows = apart ? layout.order.kr : step_k(layout);
  Value near = first;
  Value far = no_value;
  if (apart) {
    const Value between = b.op(OpCode::imul, {reader.stride, b.constant(distance)});
    far = b.op(OpCode::iadd, {first, between}, {}, "far");
  }
  for (int64_t k = 0; k < (apart ? distance : near_rows); k += near_rows) {
    std::vector<Value> rows;
    near = reader.read(near, near_rows, rows);
    if (apart) far = reader.read(far, near_rows, rows);
    const auto find = [&](Coordinates at) {
      const int64_t row = at.k - k < near_rows ? at.k - k : at.k - k - distance + near_rows;
      return std::pair(rows[static_cast<size_t>(row)], int64_t{0});
    };
    relayout_tile(b, way, mask, {0, k}, find, [&](Coordinates at, Value packed) {
      store({first_column + at.n, at.k}, packed);
    });
  }
  return apart ? far : near;
}

}  // namespace

Program lower_pack_kxn(const Layout& layout, const Isa& isa, const PackOptions& options,
                       int64_t call) {
  Builder b(options.name, isa);
  const Touched touched(b, layout, call);
  const Relayout way = *way_of(layout, isa);
  const Value mask = relayout_mask(b, way);
  const Value flip = b.op(OpCode::dup, {b.arg(ArgField::flags)}, {.bits = 32}, "flip");
  const Value source = b.add(b.arg(ArgField::lhs), call * isa.vector_bytes.fixed, "source");
  std::vector<Value> inits = {source, b.arg(ArgField::dst)};
  for (const PanelPart& part : touched.parts) {
    for (const Value zero : part.sums.start()) inits.push_back(zero);
  }
  const Value panel_stride = b.arg(ArgField::rhs_stride);
  const int64_t first_column = call * byte_codes(layout) * isa.vector_bytes.fixed;
  const RowReader reader{b, b.arg(ArgField::lhs_stride), b.arg(ArgField::rhs_prefetch)};
  const auto results = b.loop("k", b.arg(ArgField::k), inits, [&](const std::vector<Value>& now) {
    std::vector<Value> carried(now.begin() + 2, now.end());
    const std::vector<Value> panels = strided(b, now[1], panel_stride, touched.first_panel,
                                              static_cast<int64_t>(touched.parts.size()), "panel");
    const PanelStore store{b, layout, touched, panels, flip, options.stream, carried};
    const Value behind = pack_step(layout, way, mask, reader, now[0], first_column, store);
    std::vector<Value> next = {
        behind, b.add(now[1], step_k(layout) / group_k(layout) * group_bytes(layout), "packed")};
    next.insert(next.end(), carried.begin(), carried.end());
    return next;
  });
  finish_sums(b, layout, touched, {results.begin() + 2, results.end()});
  return b.finish();
}

}  // namespace tw
