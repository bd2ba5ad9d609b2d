// RHS from rows of k values (n x k): every panel column is a row of nibbles, bytes or floats in
// memory.
#include <algorithm>
#include <bit>

#include "lower/pack_convert.h"
#include "lower/pack_rhs.h"
#include "lower/pack_strips.h"

namespace tw {
namespace {

/// The way from rows of k values, of the layout's type; whole vectors are loaded where a tile of
/// them has room.
std::optional<Relayout> rows_way(const Layout& layout, const Source& source, const Isa& isa) {
  if (!has_strips(layout)) return std::nullopt;
  const Layout strip = strip_of(layout);
  const bool codes = is_plain_panel(strip) && CodeSums::possible(strip, isa);
  if (!holds_floats(layout.element) && (!codes || !isa.has(OpCode::xor_))) return std::nullopt;
  const Source& rows = converts(source, layout) ? rows_of(layout.element) : source;
  for (int64_t run = isa.vector_bytes.fixed; run >= 16; run /= 2) {
    auto way = find_relayout(strip, rows, isa, run);
    if (way && strip.panel.fixed % (way->tile.n + 1) == 0) return way;
  }
  return std::nullopt;
}

/// Packs whole steps of all rows of a panel, strip by strip.
class RowsPacker {
 public:
  RowsPacker(Builder& b, const Layout& layout, const Source& source)
      : b_(b),
        strips_(b, layout),
        layout_(strips_.layout()),
        flip_(flip_bits(b, layout, source)),
        way_(rows_way(layout, source, b.isa()).value()),
        masks_(relayout_masks(b, way_)),
        weights_(sum_weights(b, layout_)) {}
  Strips& strips() { return strips_; }

  [[nodiscard]] int64_t step_k() const {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(way_.tile.k) + 1));
  }
  [[nodiscard]] int64_t step_bytes() const { return step_k() * bits(layout_.element) / 8; }

  /// Rows that PackRun::units counts.
  [[nodiscard]] int64_t unit_rows() const {
    return in_vectors() ? rows_at_once() : layout_.panel.fixed;
  }

  void pack(const PackRun& run, bool stream) const {
    if (in_vectors()) return pack_vectors(run, stream);
    if (strips_.is_panel()) return pack_panel(run, stream);
    const Value rows = times(b_, run.stride, strips_.rows(), "strip");
    const Value fetched = times(b_, run.stride, layout_.panel.fixed, "fetched");
    const std::vector<Value> inits = {run.source, run.packed, run.ahead, run.sums};
    b_.loop("strip", run.units, inits, [&](const std::vector<Value>& now) {
      PackRun strip = run;
      strip.source = now[0];
      strip.packed = now[1];
      strip.ahead = now[2];
      strips_.with_sums(now[3], [&](Value sums) {
        strip.sums = sums;
        pack_panel(strip, stream && !strips_.are_split());
      });
      return std::vector<Value>{
          plus(b_, {now[0], rows}, "rows"), b_.add(now[1], strips_.bytes(), "to"),
          plus(b_, {now[2], fetched}, "ahead"), b_.add(now[3], 4 * strips_.rows(), "sums")};
    });
  }

 private:
  /// Whether sums of the codes in a vector, if there are any, are those of whole columns, one a
  /// lane.
  [[nodiscard]] bool in_vectors() const {
    const NibblePair pair = layout_.order.pair;
    const bool by_bytes = pair == NibblePair::none || pair == NibblePair::depth;
    return !weights_ || (by_bytes && !is_apart(layout_) && layout_.order.kr == 4);
  }
  [[nodiscard]] int64_t rows_at_once() const { return way_.tile.n + 1; }

  /// Of a step of a strip.
  [[nodiscard]] int64_t panel_bytes() const { return layout_.panel.fixed * step_bytes(); }
  [[nodiscard]] int64_t step_groups() const { return step_k() / group_k(layout_); }

  /// One step of the columns that `rows` point to.
  void pack_step(const std::vector<Value>& rows, const TakePacked& take) const {
    const auto find = [&](Coordinates at) {
      return std::pair(rows[static_cast<size_t>(at.n)], at.k * bits(layout_.element) / 8);
    };
    relayout(b_, way_, masks_, {static_cast<int64_t>(rows.size()), step_k()}, find, take);
  }
  /// Cursors of source, codes and what is fetched, a step on.
  [[nodiscard]] std::vector<Value> next(const std::vector<Value>& now, Value ahead) const {
    return {b_.add(now[0], step_bytes(), "from"), strips_.behind(now[1], step_groups(), "to"),
            ahead};
  }

  /// A loop over the panel's rows, those of one vector at a time, within the one over k. Sums are
  /// taken from memory and back: one load and store in so many.
  void pack_vectors(const PackRun& run, bool stream) const {
    const CodeSums sums(b_, layout_, weights_, 1);
    const bool fixed = strips_.is_panel();
    const Value count = fixed ? b_.constant(layout_.panel.fixed / rows_at_once()) : run.units;
    const std::vector<Value> cursors = {run.source, run.packed, run.ahead};
    b_.loop("k", run.steps, cursors, [&](const std::vector<Value>& now) {
      if (fixed) fetch_rows(b_, now[2], panel_bytes());
      std::vector<Value> inits = {now[0], now[1]};
      if (weights_) inits.push_back(run.sums);
      if (!fixed) inits.push_back(now[2]);
      const std::vector<Value> last =
          b_.loop("rows", count, inits, [&](const std::vector<Value>& at) {
            std::vector<Value> behind = pack_rows(at, run.stride, stream, sums);
            if (!fixed) {
              const int64_t bytes = rows_at_once() * step_bytes();
              fetch_rows(b_, at.back(), bytes);
              behind.push_back(b_.add(at.back(), bytes, "ahead"));
            }
            return behind;
          });
      return next(now, fixed ? b_.add(now[2], panel_bytes(), "ahead") : last.back());
    });
  }

  /// A step of the rows of a vector; returns where the next ones, their codes and sums are.
  [[nodiscard]] std::vector<Value> pack_rows(const std::vector<Value>& at, Value stride,
                                             bool stream, const CodeSums& sums) const {
    const std::vector<Value> columns = strided(b_, at[0], stride, 0, rows_at_once(), "row");
    const PackedStore store{b_, sums, flip_, stream};
    std::vector<Value> carried = sums.start();
    const std::vector<Value> groups = strips_.groups(at[1], step_groups());
    pack_step(columns, [&](Coordinates first, Value packed) {
      const auto [to, offset] = strips_.place(groups, packed_offset(layout_, first));
      store(to, offset, 0, packed, carried);
    });
    const int64_t bytes = group_bytes(layout_) / layout_.panel.fixed * rows_at_once();
    std::vector<Value> next = {plus(b_, {columns.back(), stride}, "rows"),
                               b_.add(at[1], bytes, "to")};
    if (weights_) {
      sums.finish(carried, b_.constant(step_k()), at[2]);
      next.push_back(b_.add(at[2], b_.isa().vector_bytes, "sums"));
    }
    return next;
  }

  /// All rows of the panel in one step, whose sums are carried through the loop.
  void pack_panel(const PackRun& run, bool stream) const {
    const int64_t vectors = layout_.panel.fixed / vector_columns(layout_, b_.isa());
    const CodeSums sums(b_, layout_, weights_, vectors);
    const PackedStore store{b_, sums, flip_, stream};
    std::vector<Value> inits = {run.source, run.packed, run.ahead};
    const size_t cursors = inits.size();
    const Value between = strips_.between(run.stride);
    for (const Value zero : sums.start()) inits.push_back(zero);
    const auto results = b_.loop("k", run.steps, inits, [&](const std::vector<Value>& now) {
      fetch_rows(b_, now[2], panel_bytes());
      std::vector<Value> carried(now.begin() + int64_t(cursors), now.end());
      const std::vector<Value> columns = strips_.rows(now[0], run.stride, between);
      const std::vector<Value> groups = strips_.groups(now[1], step_groups());
      pack_step(columns, [&](Coordinates first, Value packed) {
        const int64_t all = packed_offset(layout_, first);
        const auto [to, offset] = strips_.place(groups, all);
        store(to, offset, vector_of(layout_, b_.isa(), all), packed, carried);
      });
      std::vector<Value> after = next(now, b_.add(now[2], panel_bytes(), "ahead"));
      after.insert(after.end(), carried.begin(), carried.end());
      return after;
    });
    const Value k = times(b_, run.steps, step_k());
    sums.finish(std::span(results).subspan(cursors), k, run.sums);
  }

  Builder& b_;
  Strips strips_;
  const Layout& layout_;  ///< a strip's
  Value flip_;
  Relayout way_;
  Masks masks_;
  std::optional<SumWeights> weights_;
};

constexpr int64_t copied_bytes = 256;  // of a row: calls that copy fewer take longer than the copy
constexpr int64_t copied_of_all = 16384;  // of the most rows that vectors may ask for: of the stack

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
        panel_(length(b, layout.panel)),
        step_(rows_.step_k()),
        at_once_(steps_at_once(layout, rows_.step_bytes())) {
    const int64_t bytes = at_once_ * most_rows(layout) * rows_.step_bytes();
    const bool other = converts(source, layout);
    const int64_t tail = other ? RowConverter::tail_bytes(b.isa()) : 0;
    copy_ = b.scratch(2 * bytes + tail + rows_.strips().scratch_bytes());
    packed_copy_ = b.add(copy_, bytes, "packed_copy");
    if (other) converter_.emplace(b, layout, source, b.add(packed_copy_, bytes, "tail"));
    rows_.strips().use(b.add(packed_copy_, bytes + tail, "strip_sums"));
  }

  void pack(const Panel& panel) const {
    const PanelPlaces places = write_fields(b_, layout_, padded_, panel);
    const PackRows source = rows_of_panel(b_, panel, stride_);
    const Value zero = b_.constant(0);
    // While a panel is packed, the next one's rows are fetched as the contiguous bytes they are.
    const Value next =
        choose(b_, {less(b_, {panel.left, panel_}), product(b_, {panel_, stride_}), zero});
    const Value missing = missing_rows(panel);
    const Value taken = units(panel.rows);
    const Value room = leaves_out() ? times(b_, taken, rows_.unit_rows(), "room") : panel_;
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
      const PackRows rows = rows_or_copies(b_, source, copied, {copy_, copied_row}, [&] {
        copy(source.first, panel.rows, k, copied_row, room);
      });
      PackRun run;
      run.source = rows.first;
      run.stride = rows.stride;
      run.steps = if_copied(copied_steps, steps, "steps");
      run.ahead = plus(b_, {run.source, if_copied(zero, next, "distance")}, "ahead");
      const Value part = b_.op(OpCode::iand_imm, {left}, {.imm = step_ - 1}, "part");
      const Value by_copy = choose(b_, {part, copied, zero}, "by_copy");
      run.packed = choose(b_, {by_copy, packed_copy_, to}, "to");
      run.sums = places.sums;
      run.units = taken;
      clear(panel.rows, run.packed, run.steps);
      pack_run(b_, run, can_stream(b_.isa()) && !converter_, copied,
               [&](const PackRun& it, bool stream) { rows_.pack(it, stream); });
      b_.branch(by_copy, Compare::not_equal, zero, [&] {
        b_.op(OpCode::copy_bytes, {to, packed_copy_, codes_bytes(b_, layout_, left)});
      });
    };
    for_runs(b_, zero, steps, step_, padded_, pack_from, at_once_);
  }

 private:
  /// Of a panel as wide as vectors, if it has floats, rows that do not exist are left out as far as
  /// no vector has others, too.
  [[nodiscard]] bool leaves_out() const {
    return !layout_.panel.is_fixed() && is_float(layout_.element);
  }
  /// Not 0 where rows of the panel, or of its last vectors, are missing.
  [[nodiscard]] Value missing_rows(const Panel& panel) const {
    if (!leaves_out()) return less(b_, {panel_, panel.left});
    const int64_t unit = rows_.unit_rows();
    const Value whole = times(b_, over(b_, panel.rows, unit), unit, "whole");
    return b_.op(OpCode::isub, {panel.rows, whole}, {}, "missing");
  }
  /// How many are packed; of a panel of fixed size: none.
  [[nodiscard]] Value units(Value rows) const {
    if (layout_.panel.is_fixed()) return no_value;
    const int64_t unit = rows_.unit_rows();
    if (leaves_out()) return over(b_, b_.add(rows, unit - 1), unit, "units");
    return times(b_, segments_of(b_), strip_of(layout_).panel.fixed / unit, "units");
  }
  /// Zeros for those left out, and the others.
  void clear(Value rows, Value packed, Value steps) const {
    if (!leaves_out()) return;
    b_.branch(rows, Compare::not_equal, panel_, [&] {
      const Value bytes = codes_bytes(b_, layout_, times(b_, steps, step_));
      b_.op(OpCode::fill_bytes, {packed, b_.constant(0), bytes});
    });
  }

  static int64_t steps_at_once(const Layout& layout, int64_t step_bytes) {
    const int64_t row = layout.panel.is_fixed()
                            ? copied_bytes
                            : std::min(copied_bytes, copied_of_all / most_rows(layout));
    return std::max<int64_t>(row / step_bytes, 1);
  }

  /// Steps of the rows that exist, so many bytes of each, to `room` rows.
  void copy(Value source, Value rows, Value k, Value row, Value room) const {
    const Value values = smaller(b_, {less(b_, {k_, k}), b_.constant(step_ * at_once_)}, "values");
    b_.op(OpCode::fill_bytes, {copy_, nothing_, product(b_, {room, row})});
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
