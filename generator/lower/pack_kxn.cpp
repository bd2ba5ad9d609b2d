// RHS from rows of n values (k x n): every source row holds the codes of all columns for one k.
// A vector of columns is packed at a time.
#include <algorithm>
#include <numeric>
#include <optional>

#include "lower/pack_rhs.h"

namespace tw {
namespace {

constexpr int64_t line_bytes = 64;

/// Values of k that one step takes: what lies between nibbles must be at hand.
int64_t step_k(const Layout& layout) {
  return is_apart(layout) ? 2 * layout.order.distance : group_k(layout);
}

std::optional<Relayout> columns_way(const Layout& layout, const Source& source, const Isa& isa) {
  return find_relayout(layout, source, isa, isa.vector_bytes.fixed);
}

/// The packed vectors of one panel that a call makes: the panel may go on in the next call.
struct PanelPart {
  int64_t first_vector;
  int64_t vectors;
  size_t first_sum;  ///< of its accumulators
  CodeSums sums;
};

/// The panels that some vectors of columns touch.
struct Touched {
  int64_t first_panel;
  std::vector<PanelPart> parts;

  Touched(Builder& b, const Layout& layout, const std::optional<SumWeights>& weights,
          int64_t first_vector, int64_t vectors) {
    const int64_t panel = layout.panel.fixed;
    const int64_t values = values_in(layout, b.isa().vector_bytes.fixed);
    const int64_t begin = first_vector * values;
    const int64_t end = begin + vectors * values;
    first_panel = begin / panel;
    size_t first_sum = 0;
    for (int64_t p = first_panel; p * panel < end; ++p) {
      const int64_t from = std::max(begin - p * panel, int64_t{0});
      const int64_t to = std::min(end - p * panel, panel);
      const int64_t columns = vector_columns(layout, b.isa());
      const int64_t packed = (to - from) / columns;
      parts.push_back({from / columns, packed, first_sum, {b, layout, weights, packed}});
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
  std::span<Value> carried;  ///< accumulators of all parts, one after the other

  void operator()(Coordinates at, Value codes) const {
    const int64_t panel = layout.panel.fixed;
    const auto index = static_cast<size_t>(at.n / panel - touched.first_panel);
    const PanelPart& part = touched.parts[index];
    const int64_t offset = packed_offset(layout, {at.n % panel, at.k});
    const size_t vector =
        vector_of(layout, b.isa(), offset) - static_cast<size_t>(part.first_vector);
    PackedStore{b, part.sums, flip, stream}(panels[index], offset, vector, codes,
                                            carried.subspan(part.first_sum));
  }
};

/// Adds every part's sums to its panel's.
void finish_sums(Builder& b, const Layout& layout, const Touched& touched, const PackRun& run,
                 std::span<const Value> carried) {
  const Value k = times(b, run.steps, step_k(layout));
  const std::vector<Value> sums = strided(b, run.sums, run.panel_stride, touched.first_panel,
                                          static_cast<int64_t>(touched.parts.size()), "sums");
  for (size_t p = 0; p < touched.parts.size(); ++p) {
    const PanelPart& part = touched.parts[p];
    const int64_t skip = part.first_vector * vector_columns(layout, b.isa()) * 4;
    part.sums.finish(carried.subspan(part.first_sum), k, b.add(sums[p], skip));
  }
}

/// Pointers to rows of the source; what they point to ahead is fetched.
struct RowReader {
  Builder& b;
  Value stride, ahead;
  int64_t bytes;  ///< of each row

  /// Adds `count` rows from `first` on to `rows`; returns the one behind them.
  Value read(Value first, int64_t count, std::vector<Value>& rows) const {
    for (const Value pointer : strided(b, first, stride, 0, count, "row")) {
      if (b.isa().has(OpCode::prefetch)) {
        const Value fetched = b.op(OpCode::iadd, {pointer, ahead});
        for (int64_t line = 0; line < bytes; line += line_bytes) {
          b.op(OpCode::prefetch, {fetched}, {.offset = line});
        }
      }
      rows.push_back(pointer);
    }
    return b.op(OpCode::iadd, {rows.back(), stride}, {}, "source");
  }
};

/// Packs a step of k from its first row on, `vectors` of columns from `first_column` on; returns
/// the row behind the step. Where the nibbles of a byte have other rows between them, near and far
/// rows are taken together.
Value pack_step(const Layout& layout, const Relayout& way, const Masks& masks,
                const RowReader& reader, Value first, int64_t first_column, int64_t vectors,
                const PanelStore& store) {
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
    for (int64_t v = 0; v < vectors; ++v) {
      const int64_t bytes = b.isa().vector_bytes.fixed;
      const auto find = [&](Coordinates at) {
        const int64_t row = at.k - k < near_rows ? at.k - k : at.k - k - distance + near_rows;
        return std::pair(rows[static_cast<size_t>(row)], v * bytes);
      };
      relayout_tile(b, way, masks, {0, k}, find, [&](Coordinates at, Value packed) {
        store({first_column + v * values_in(layout, bytes) + at.n, at.k}, packed);
      });
    }
  }
  return apart ? far : near;
}

/// Packs runs of whole panels, a vector of columns at a time; all of them where values only move
/// from rows to panels, so that whole lines are read.
class ColumnsPacker {
 public:
  ColumnsPacker(Builder& b, const Layout& layout, const Source& source)
      : b_(b),
        layout_(layout),
        flip_(flip_bits(b, layout, source)),
        way_(columns_way(layout, source, b.isa()).value()),
        masks_(relayout_masks(b, way_)),
        weights_(sum_weights(b, layout)) {}

  [[nodiscard]] int64_t vector_bytes() const { return b_.isa().vector_bytes.fixed; }
  /// Vectors until panels are whole.
  [[nodiscard]] int64_t vectors() const {
    const int64_t panel = layout_.panel.fixed;
    const int64_t bytes = all_at_once() ? std::max(vector_bytes(), line_bytes) : vector_bytes();
    return panel / std::gcd(panel, values_in(layout_, bytes)) * bytes / vector_bytes();
  }

  void pack(const PackRun& run, bool stream) const {
    const int64_t at_once = all_at_once() ? vectors() : 1;
    for (int64_t i = 0; i < vectors(); i += at_once) pack(run, stream, i, at_once);
  }

 private:
  [[nodiscard]] bool all_at_once() const { return way_.steps.empty(); }

  void pack(const PackRun& run, bool stream, int64_t number, int64_t count) const {
    const Touched touched(b_, layout_, weights_, number, count);
    std::vector<Value> inits = {b_.add(run.source, number * vector_bytes(), "from"), run.packed};
    for (const PanelPart& part : touched.parts) {
      for (const Value zero : part.sums.start()) inits.push_back(zero);
    }
    const int64_t first_column = number * values_in(layout_, vector_bytes());
    const RowReader reader{b_, run.stride, run.ahead, count * vector_bytes()};
    const auto results = b_.loop("k", run.steps, inits, [&](const std::vector<Value>& now) {
      std::vector<Value> carried(now.begin() + 2, now.end());
      const std::vector<Value> panels =
          strided(b_, now[1], run.panel_stride, touched.first_panel,
                  static_cast<int64_t>(touched.parts.size()), "panel");
      const PanelStore store{b_, layout_, touched, panels, flip_, stream, carried};
      const Value behind =
          pack_step(layout_, way_, masks_, reader, now[0], first_column, count, store);
      const int64_t step_bytes = step_k(layout_) / group_k(layout_) * group_bytes(layout_);
      std::vector<Value> next = {behind, b_.add(now[1], step_bytes, "to")};
      next.insert(next.end(), carried.begin(), carried.end());
      return next;
    });
    if (weights_) finish_sums(b_, layout_, touched, run, std::span(results).subspan(2));
  }

  Builder& b_;
  const Layout& layout_;
  Value flip_;
  Relayout way_;
  Masks masks_;
  std::optional<SumWeights> weights_;
};

constexpr int64_t rows_in_flight = 128;
constexpr int64_t prefetched = 4 * 64;  // bytes ahead in every source row

/// Whole steps of runs of whole panels are packed from where they are, other steps from a copy that
/// has code 0 where there is nothing, and to a copy.
class RunPacker {
 public:
  RunPacker(Builder& b, const Layout& layout, const Source& source)
      : b_(b),
        layout_(layout),
        columns_(b, layout, source),
        sums_(!is_float(layout.element)),
        nothing_(no_codes(b, layout, source)),
        stride_(b.arg(ArgField::pack_source_stride)),
        packed_stride_(b.arg(ArgField::pack_packed_stride)),
        k_(b.arg(ArgField::pack_k)),
        padded_(padded_k(b, layout)),
        step_(step_k(layout)),
        run_bytes_(columns_.vectors() * columns_.vector_bytes()),
        run_panels_(values_in(layout, run_bytes_) / layout.panel.fixed),
        step_bytes_(layout.panel.fixed * step_ * bits(layout.element) / 8),
        copy_(b.scratch(step_ * run_bytes_ + run_panels_ * panel_copy())),
        packed_copy_(b.add(copy_, step_ * run_bytes_, "packed_copy")) {}

  void pack() const {
    for_panels(b_, layout_, [&](const Panel& panel) { write_fields(b_, layout_, padded_, panel); });
    // Blocks of rows, so that neighboring source lines follow each other soon.
    b_.stepped_loop("k_block", padded_, rows_in_flight, {number(b_, 0, "first_k")},
                    [&](const std::vector<Value>& now) {
                      const Value following = b_.add(now[0], rows_in_flight, "following");
                      const Value end = smaller(b_, {following, padded_}, "k_end");
                      for_panels(
                          b_, layout_, [&](const Panel& run) { pack_run_of(run, now[0], end); },
                          run_panels_);
                      return std::vector<Value>{following};
                    });
  }

 private:
  /// Of one panel and its sums.
  [[nodiscard]] int64_t panel_copy() const {
    return step_bytes_ + (sums_ ? 4 * layout_.panel.fixed : 0);
  }

  void pack_run_of(const Panel& columns, Value first_k, Value end) const {
    const Value zero = b_.constant(0);
    const Value missing = less(b_, {b_.constant(run_panels_ * layout_.panel.fixed), columns.left});
    const Value here = less(b_, {smaller(b_, {k_, end}), first_k});
    const Value steps = choose(b_, {missing, zero, over(b_, here, step_)}, "whole_steps");
    const PanelPlaces places = panel_places(b_, layout_, padded_, columns.to);
    for_runs(b_, first_k, steps, step_, end, [&](Value k, Value copied) {
      const auto if_copied = [&](Value yes, Value no, const char* name) {
        return choose(b_, {copied, yes, no}, name);
      };
      const Value row = plus(b_, {b_.arg(ArgField::pack_source), product(b_, {k, stride_})});
      const Value source = plus(b_, {row, row_bytes(b_, layout_, columns.row)}, "source");
      const Value to = plus(b_, {places.codes, codes_bytes(b_, layout_, k)}, "packed");
      b_.branch(copied, Compare::not_equal, zero, [&] { copy(source, columns.rows, k); });
      PackRun run;
      run.source = if_copied(copy_, source, "from");
      run.stride = if_copied(b_.constant(run_bytes_), stride_, "stride");
      run.steps = if_copied(b_.constant(1), steps, "steps");
      run.ahead = if_copied(zero, b_.constant(prefetched), "ahead");
      run.packed = if_copied(packed_copy_, to, "to");
      if (sums_) run.sums = if_copied(b_.add(packed_copy_, step_bytes_), places.sums, "sums");
      run.panel_stride = if_copied(b_.constant(panel_copy()), packed_stride_, "panel_stride");
      pack_run(b_, run, can_stream(b_.isa()), copied,
               [&](const PackRun& it, bool stream) { columns_.pack(it, stream); });
      b_.branch(copied, Compare::not_equal, zero,
                [&] { take_copy(columns.rows, to, run.sums, places.sums); });
    });
  }

  /// One step of the rows and columns that exist.
  void copy(Value source, Value columns, Value k) const {
    b_.op(OpCode::fill_bytes, {copy_, nothing_, b_.constant(step_ * run_bytes_)});
    b_.op(OpCode::fill_bytes,
          {packed_copy_, b_.constant(0), b_.constant(run_panels_ * panel_copy())});
    const Value rows = smaller(b_, {less(b_, {k_, k}), b_.constant(step_)}, "copied");
    b_.loop("copy", rows, {source, copy_}, [&](const std::vector<Value>& now) {
      if (layout_.edge == Edge::last) {
        copy_and_repeat(now[1], now[0], columns);
      } else {
        copy_codes(b_, layout_, now[1], now[0], columns, nothing_, run_bytes_);
      }
      return std::vector<Value>{plus(b_, {now[0], stride_}), b_.add(now[1], run_bytes_, "to")};
    });
  }

  /// The last byte of columns again and again, be its second nibble a column or not.
  void copy_and_repeat(Value to, Value from, Value columns) const {
    const Value last = row_bytes(b_, layout_, less(b_, {columns, b_.constant(1)}));
    const Value byte =
        b_.op(OpCode::load_scalar, {plus(b_, {from, last}, "last")}, {.bits = 8}, "byte");
    b_.op(OpCode::copy_bytes, {to, from, last});
    const Value rest = b_.op(OpCode::isub, {b_.constant(run_bytes_), last});
    b_.op(OpCode::fill_bytes, {plus(b_, {to, last}), byte, rest});
  }

  /// The panels that exist take their codes from the copy, and add its sums.
  void take_copy(Value columns, Value to, Value copied_sums, Value sums) const {
    std::vector<Value> inits = {packed_copy_, to};
    if (sums_) inits.insert(inits.end(), {copied_sums, sums});
    b_.stepped_loop("panel", columns, layout_.panel, inits, [&](const std::vector<Value>& now) {
      b_.op(OpCode::copy_bytes, {now[1], now[0], b_.constant(step_bytes_)});
      std::vector<Value> next = {b_.add(now[0], panel_copy()), plus(b_, {now[1], packed_stride_})};
      if (sums_) {
        add_sums(now[2], now[3]);
        next.push_back(b_.add(now[2], panel_copy()));
        next.push_back(plus(b_, {now[3], packed_stride_}));
      }
      return next;
    });
  }

  /// Of one panel.
  void add_sums(Value from, Value to) const {
    b_.loop("sum", b_.constant(layout_.panel.fixed), {from, to}, [&](const std::vector<Value>& at) {
      const Value more = b_.op(OpCode::load_scalar, {at[0]}, {.bits = 32}, "more");
      const Value sum = b_.op(OpCode::load_scalar, {at[1]}, {.bits = 32}, "sum");
      b_.op(OpCode::store_scalar, {at[1], plus(b_, {sum, more})}, {.bits = 32});
      return std::vector<Value>{b_.add(at[0], 4), b_.add(at[1], 4)};
    });
  }

  Builder& b_;
  const Layout& layout_;
  ColumnsPacker columns_;
  bool sums_;  ///< floats have none
  Value nothing_, stride_, packed_stride_, k_, padded_;
  int64_t step_, run_bytes_, run_panels_;
  int64_t step_bytes_;  ///< of a packed panel
  Value copy_, packed_copy_;
};

}  // namespace

bool can_pack_kxn(const Layout& layout, const Source& source, const Isa& isa) {
  const bool codes = is_plain_panel(layout) && CodeSums::possible(layout, isa);
  const bool floats = is_float(layout.element) && layout.panel.is_fixed();
  return (floats || (codes && isa.has(OpCode::xor_))) && columns_way(layout, source, isa) &&
         layout.panel.fixed % vector_columns(layout, isa) == 0;
}

void lower_pack_kxn(Builder& b, const Layout& layout, const Source& source) {
  RunPacker(b, layout, source).pack();
  if (can_stream(b.isa())) b.op(OpCode::store_fence);
}

}  // namespace tw
