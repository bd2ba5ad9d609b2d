// RHS from rows of k values (n x k): every panel column is a row of nibbles, bytes or floats in
// memory.
#include <algorithm>
#include <bit>

#include "lower/pack_convert.h"
#include "lower/pack_rhs.h"

namespace tw {
namespace {

/// The way from rows of k values, of the layout's type; whole vectors are loaded where a tile of
/// them has room.
std::optional<Relayout> rows_way(const Layout& layout, const Source& source, const Isa& isa) {
  const bool codes = is_plain_panel(layout) && CodeSums::possible(layout, isa);
  if (!is_float(layout.element) && (!codes || !isa.has(OpCode::xor_))) return std::nullopt;
  const Source& rows = converts(source, layout) ? rows_of(layout.element) : source;
  for (int64_t run = isa.vector_bytes.fixed; run >= 16; run /= 2) {
    auto way = find_relayout(layout, rows, isa, run);
    if (way && layout.panel.fixed % (way->tile.n + 1) == 0) return way;
  }
  return std::nullopt;
}

/// Packs whole steps of all rows of a panel.
class RowsPacker {
 public:
  RowsPacker(Builder& b, const Layout& layout, const Source& source)
      : b_(b),
        layout_(layout),
        flip_(flip_bits(b, layout, source)),
        way_(rows_way(layout, source, b.isa()).value()),
        masks_(relayout_masks(b, way_)) {
    if (flip_ != no_value) weights_.emplace(b, layout);
  }

  [[nodiscard]] int64_t step_k() const {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(way_.tile.k) + 1));
  }
  [[nodiscard]] int64_t step_bytes() const { return step_k() * bits(layout_.element) / 8; }
  [[nodiscard]] int64_t panel_bytes() const { return layout_.panel.fixed * step_bytes(); }

  void pack(const PackRun& run, bool stream) const {
    const bool by_column = layout_.order.pair == NibblePair::column;
    const bool in_vectors = !by_column && !is_apart(layout_) && layout_.order.kr == 4;
    if (in_vectors || !weights_) {
      pack_vectors(run, stream);
    } else {
      pack_panel(run, stream);
    }
  }

 private:
  /// One step of the columns that `rows` point to.
  void pack_step(const std::vector<Value>& rows, const TakePacked& take) const {
    const auto find = [&](Coordinates at) {
      return std::pair(rows[static_cast<size_t>(at.n)], at.k * bits(layout_.element) / 8);
    };
    relayout(b_, way_, masks_, {static_cast<int64_t>(rows.size()), step_k()}, find, take);
  }
  [[nodiscard]] std::vector<Value> next(const std::vector<Value>& now) const {
    return {b_.add(now[0], step_bytes(), "from"), b_.add(now[1], panel_bytes(), "to"),
            b_.add(now[2], panel_bytes(), "ahead")};
  }

  /// A loop over the panel's rows, those of one vector at a time, within the one over k. Sums are
  /// taken from memory and back: one load and store in so many.
  void pack_vectors(const PackRun& run, bool stream) const {
    const int64_t rows_at_once = way_.tile.n + 1;
    std::optional<CodeSums> sums;
    if (weights_) sums.emplace(b_, layout_, *weights_, 1);
    const std::vector<Value> cursors = {run.source, run.packed, run.ahead};
    b_.loop("k", run.steps, cursors, [&](const std::vector<Value>& now) {
      fetch_rows(b_, now[2], panel_bytes());
      std::vector<Value> inits = {now[0], now[1]};
      if (sums) inits.push_back(run.sums);
      const Value count = b_.constant(layout_.panel.fixed / rows_at_once);
      b_.loop("rows", count, inits, [&](const std::vector<Value>& at) {
        const std::vector<Value> columns = strided(b_, at[0], run.stride, 0, rows_at_once, "row");
        std::vector<Value> carried = sums ? sums->start() : std::vector<Value>{};
        pack_step(columns, [&](Coordinates first, Value packed) {
          const int64_t offset = packed_offset(layout_, first);
          if (sums)
            return PackedStore{b_, &*sums, flip_, stream}(at[1], offset, 0, packed, carried);
          b_.op(stream ? OpCode::store_stream : OpCode::store, {at[1], packed}, {.offset = offset});
        });
        std::vector<Value> next = {plus(b_, {columns.back(), run.stride}, "rows"),
                                   b_.add(at[1], packed_offset(layout_, {rows_at_once, 0}), "to")};
        if (sums) {
          sums->finish(carried, b_.constant(step_k()), at[2]);
          next.push_back(b_.add(at[2], b_.isa().vector_bytes, "sums"));
        }
        return next;
      });
      return next(now);
    });
  }

  /// All rows of the panel in one step, whose sums are carried through the loop.
  void pack_panel(const PackRun& run, bool stream) const {
    const int64_t vectors = layout_.panel.fixed / vector_columns(layout_, b_.isa());
    const CodeSums sums(b_, layout_, *weights_, vectors);
    const PackedStore store{b_, &sums, flip_, stream};
    std::vector<Value> inits = {run.source, run.packed, run.ahead};
    const auto cursors = static_cast<int64_t>(inits.size());
    for (const Value zero : sums.start()) inits.push_back(zero);
    const auto results = b_.loop("k", run.steps, inits, [&](const std::vector<Value>& now) {
      fetch_rows(b_, now[2], panel_bytes());
      std::vector<Value> carried(now.begin() + cursors, now.end());
      const std::vector<Value> columns =
          strided(b_, now[0], run.stride, 0, layout_.panel.fixed, "row");
      pack_step(columns, [&](Coordinates first, Value packed) {
        const int64_t offset = packed_offset(layout_, first);
        store(now[1], offset, vector_of(layout_, b_.isa(), offset), packed, carried);
      });
      std::vector<Value> after = next(now);
      after.insert(after.end(), carried.begin(), carried.end());
      return after;
    });
    const Value k = times(b_, run.steps, step_k());
    sums.finish({results.begin() + cursors, results.end()}, k, run.sums);
  }

  Builder& b_;
  const Layout& layout_;
  Value flip_;
  Relayout way_;
  Masks masks_;
  std::optional<SumWeights> weights_;
};

constexpr int64_t copied_bytes = 256;  // of a row: calls that copy fewer take longer than the copy

/// A panel: whole steps of all its rows are packed from where they are, others, some at a time,
/// from a copy that has code 0 (or the last row again) where there is nothing; if a part of a step
/// is among them, to a copy, of which the panel takes what it has room for. Floats of another type
/// become the panel's as they are copied.
class PanelPacker {
 public:
  PanelPacker(Builder& b, const Layout& layout, const Source& source)
      : b_(b),
        layout_(layout),
        rows_(b, layout, source),
        nothing_(no_codes(b, layout, source)),
        stride_(b.arg(ArgField::pack_source_stride)),
        k_(b.arg(ArgField::pack_k)),
        padded_(padded_k(b, layout)),
        panel_(b.constant(layout.panel.fixed)),
        step_(rows_.step_k()),
        at_once_(std::max<int64_t>(copied_bytes / rows_.step_bytes(), 1)) {
    const int64_t bytes = at_once_ * rows_.panel_bytes();
    const bool other = converts(source, layout);
    copy_ = b.scratch(2 * bytes + (other ? RowConverter::tail_bytes(b.isa()) : 0));
    packed_copy_ = b.add(copy_, bytes, "packed_copy");
    if (other) converter_.emplace(b, layout, source, b.add(packed_copy_, bytes, "tail"));
  }

  void pack(const Panel& panel) const {
    const PanelPlaces places = write_fields(b_, layout_, padded_, panel);
    const PackRows source = rows_of_panel(b_, panel, stride_);
    const Value zero = b_.constant(0);
    // While a panel is packed, the next one's rows are fetched as the contiguous bytes they are.
    const Value next =
        choose(b_, {less(b_, {panel.left, panel_}), product(b_, {panel_, stride_}), zero});
    const Value missing = less(b_, {panel_, panel.left});
    const Value steps =
        converter_ ? zero : choose(b_, {missing, zero, over(b_, k_, step_)}, "whole_steps");
    const auto pack_from = [&](Value k, Value copied) {
      const auto if_copied = [&](Value yes, Value no, const char* name) {
        return choose(b_, {copied, yes, no}, name);
      };
      const Value to = plus(b_, {places.codes, codes_bytes(b_, layout_, k)}, "packed");
      const Value left =
          smaller(b_, {b_.op(OpCode::isub, {padded_, k}), b_.constant(step_ * at_once_)}, "values");
      const Value copied_steps = over(b_, b_.add(left, step_ - 1), step_, "copied_steps");
      const Value copied_row = times(b_, copied_steps, rows_.step_bytes(), "copied_row");
      const PackRows rows = rows_or_copies(b_, source, copied, {copy_, copied_row},
                                           [&] { copy(source.first, panel.rows, k, copied_row); });
      PackRun run;
      run.source = rows.first;
      run.stride = rows.stride;
      run.steps = if_copied(copied_steps, steps, "steps");
      run.ahead = plus(b_, {run.source, if_copied(zero, next, "distance")}, "ahead");
      const Value part = b_.op(OpCode::iand_imm, {left}, {.imm = step_ - 1}, "part");
      const Value by_copy = choose(b_, {part, copied, zero}, "by_copy");
      run.packed = choose(b_, {by_copy, packed_copy_, to}, "to");
      run.sums = places.sums;
      pack_run(b_, run, can_stream(b_.isa()) && !converter_, copied,
               [&](const PackRun& it, bool stream) { rows_.pack(it, stream); });
      b_.branch(by_copy, Compare::not_equal, zero, [&] {
        b_.op(OpCode::copy_bytes, {to, packed_copy_, codes_bytes(b_, layout_, left)});
      });
    };
    for_runs(b_, zero, steps, step_, padded_, pack_from, at_once_);
  }

 private:
  /// Steps of the rows that exist, so many bytes of each.
  void copy(Value source, Value rows, Value k, Value row) const {
    const Value values = smaller(b_, {less(b_, {k_, k}), b_.constant(step_ * at_once_)}, "values");
    b_.op(OpCode::fill_bytes, {copy_, nothing_, product(b_, {panel_, row})});
    const Value before = converter_ ? converter_->source_bytes(k) : row_bytes(b_, layout_, k);
    const Value first = plus(b_, {source, before}, "first");
    for_rows(b_, layout_, "copy", rows, {first, copy_}, [&](const std::vector<Value>& now) {
      if (converter_) {
        converter_->convert(now[1], now[0], values);
      } else {
        copy_codes(b_, layout_, now[1], now[0], values, nothing_);
      }
      return std::vector<Value>{plus(b_, {now[0], stride_}), plus(b_, {now[1], row}, "to")};
    });
  }

  Builder& b_;
  const Layout& layout_;
  RowsPacker rows_;
  Value nothing_, stride_, k_, padded_, panel_;
  int64_t step_;
  int64_t at_once_;  ///< steps that are copied
  Value copy_, packed_copy_;
  std::optional<RowConverter> converter_;
};

}  // namespace

bool can_pack_nxk(const Layout& layout, const Source& source, const Isa& isa) {
  return rows_way(layout, source, isa).has_value();
}

void lower_pack_nxk(Builder& b, const Layout& layout, const Source& source) {
  const PanelPacker packer(b, layout, source);
  for_panels(b, layout, [&](const Panel& panel) { packer.pack(panel); });
  if (can_stream(b.isa())) b.op(OpCode::store_fence);
}

}  // namespace tw
