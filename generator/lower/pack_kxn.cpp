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
  size_t first_sum;  ///< of its accumulators
  CodeSums sums;
};

/// Some vectors of columns, and the panels that they touch.
struct Columns {
  int64_t first, vectors;
  int64_t first_panel = 0;
  std::vector<PanelPart> parts;

  [[nodiscard]] int64_t panels() const { return static_cast<int64_t>(parts.size()); }
};

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
    for (int64_t i = 0; i < vectors(); i += at_once) pack(run, stream, columns(i, at_once));
  }

 private:
  [[nodiscard]] bool all_at_once() const { return way_.steps.empty(); }

  [[nodiscard]] Columns columns(int64_t first, int64_t vectors) const {
    const int64_t panel = layout_.panel.fixed;
    const int64_t begin = first * values_in(layout_, vector_bytes());
    const int64_t end = begin + vectors * values_in(layout_, vector_bytes());
    const int64_t in_vector = vector_columns(layout_, b_.isa());
    Columns all{first, vectors, begin / panel, {}};
    size_t first_sum = 0;
    for (int64_t p = all.first_panel; p * panel < end; ++p) {
      const int64_t from = std::max(begin - p * panel, int64_t{0});
      const int64_t to = std::min(end - p * panel, panel);
      all.parts.push_back(
          {from / in_vector, first_sum, {b_, layout_, weights_, (to - from) / in_vector}});
      first_sum += all.parts.back().sums.accumulators();
    }
    return all;
  }

  void pack(const PackRun& run, bool stream, const Columns& columns) const {
    const int64_t skip = columns.first * vector_bytes();
    std::vector<Value> inits = {b_.add(run.source, skip, "from"), run.packed};
    for (const PanelPart& part : columns.parts) {
      for (const Value zero : part.sums.start()) inits.push_back(zero);
    }
    const auto results = b_.loop("k", run.steps, inits, [&](const std::vector<Value>& now) {
      std::vector<Value> carried(now.begin() + 2, now.end());
      const std::vector<Value> panels =
          strided(b_, now[1], run.panel_stride, columns.first_panel, columns.panels(), "panel");
      // Of packed columns, to the panel that they belong to.
      const TakePacked store = [&](Coordinates at, Value codes) {
        const auto index = static_cast<size_t>(at.n / layout_.panel.fixed - columns.first_panel);
        const PanelPart& part = columns.parts[index];
        const int64_t offset = packed_offset(layout_, {at.n % layout_.panel.fixed, at.k});
        const size_t vector =
            vector_of(layout_, b_.isa(), offset) - static_cast<size_t>(part.first_vector);
        PackedStore{b_, part.sums, flip_, stream}(panels[index], offset, vector, codes,
                                                  std::span(carried).subspan(part.first_sum));
      };
      const int64_t step_bytes = step_k(layout_) / group_k(layout_) * group_bytes(layout_);
      std::vector<Value> next = {pack_step(run, now[0], columns, store),
                                 b_.add(now[1], step_bytes, "to")};
      next.insert(next.end(), carried.begin(), carried.end());
      return next;
    });
    if (weights_) finish_sums(columns, run, std::span(results).subspan(2));
  }

  /// Packs a step of k from its first row on; returns the row behind the step. Where the nibbles of
  /// a byte have other rows between them, near and far rows are taken together.
  Value pack_step(const PackRun& run, Value first, const Columns& columns,
                  const TakePacked& store) const {
    const int64_t distance = layout_.order.distance;
    const bool apart = is_apart(layout_);
    const int64_t near_rows = apart ? layout_.order.kr : step_k(layout_);
    Value near = first;
    Value far = no_value;
    if (apart) {
      const Value between = b_.op(OpCode::imul, {run.stride, b_.constant(distance)});
      far = b_.op(OpCode::iadd, {first, between}, {}, "far");
    }
    for (int64_t k = 0; k < (apart ? distance : near_rows); k += near_rows) {
      std::vector<Value> rows;
      near = add_rows(run, near, near_rows, columns.vectors, rows);
      if (apart) far = add_rows(run, far, near_rows, columns.vectors, rows);
      for (int64_t v = 0; v < columns.vectors; ++v) {
        const int64_t first_column = (columns.first + v) * values_in(layout_, vector_bytes());
        const auto find = [&](Coordinates at) {
          const int64_t row = at.k - k < near_rows ? at.k - k : at.k - k - distance + near_rows;
          return std::pair(rows[static_cast<size_t>(row)], v * vector_bytes());
        };
        relayout_tile(b_, way_, masks_, {0, k}, find, [&](Coordinates at, Value packed) {
          store({first_column + at.n, at.k}, packed);
        });
      }
    }
    return apart ? far : near;
  }

  /// Adds `count` rows of the source from `first` on to `rows`, and fetches so many vectors ahead
  /// of each; returns the row behind them.
  Value add_rows(const PackRun& run, Value first, int64_t count, int64_t vectors,
                 std::vector<Value>& rows) const {
    for (const Value row : strided(b_, first, run.stride, 0, count, "row")) {
      const Value ahead = b_.op(OpCode::iadd, {row, run.ahead});
      const bool fetches = b_.isa().has(OpCode::prefetch);
      for (int64_t line = 0; fetches && line < vectors * vector_bytes(); line += line_bytes) {
        b_.op(OpCode::prefetch, {ahead}, {.offset = line});
      }
      rows.push_back(row);
    }
    return b_.op(OpCode::iadd, {rows.back(), run.stride}, {}, "source");
  }

  /// Adds every part's sums to its panel's.
  void finish_sums(const Columns& columns, const PackRun& run,
                   std::span<const Value> carried) const {
    const Value k = times(b_, run.steps, step_k(layout_));
    const std::vector<Value> sums =
        strided(b_, run.sums, run.panel_stride, columns.first_panel, columns.panels(), "sums");
    for (size_t p = 0; p < sums.size(); ++p) {
      const PanelPart& part = columns.parts[p];
      const int64_t skip = part.first_vector * vector_columns(layout_, b_.isa()) * 4;
      part.sums.finish(carried.subspan(part.first_sum), k, b_.add(sums[p], skip));
    }
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
        sums_(summed_field(layout) != nullptr),
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
  const bool floats = holds_floats(layout.element) && layout.panel.is_fixed();
  return (floats || (codes && isa.has(OpCode::xor_))) && columns_way(layout, source, isa) &&
         layout.panel.fixed % vector_columns(layout, isa) == 0;
}

void lower_pack_kxn(Builder& b, const Layout& layout, const Source& source) {
  RunPacker(b, layout, source).pack();
  if (can_stream(b.isa())) b.op(OpCode::store_fence);
}

}  // namespace tw
