// Packers of any source and layout, value by value: each goes where both say that it is. For
// machines whose instructions do not move lanes, and for orders to which no moves lead.
#include <algorithm>
#include <bit>

#include "lower/pack_join.h"
#include "lower/pack_place.h"
#include "lower/pack_plain_blocks.h"
#include "lower/pack_rhs.h"
#include "lower/pack_steps.h"
#include "lower/pack_tops.h"
#include "lower/source_codes.h"
#include "lower/splat.h"
#include "lower/widen.h"

namespace tw {
namespace {

/// A row of a panel, where its first values are.
struct Row {
  Value number, column;  ///< in the panel, in the operand
  Reach from, to;
  Value scale = no_value, minimum = no_value;  ///< of its codes, where they become floats
};

class PlainPacker {
 public:
  PlainPacker(Builder& b, const Layout& layout, const Source& source)
      : b_(b),
        layout_(layout),
        source_(source),
        beside_(b, layout, source),
        from_(path_of(source.axes, FieldKind::data)),
        to_(path_in_panel(layout)),
        // Whole lines of a row, and whatever shares a byte, or a scale.
        at_once_(layout.super_block != 0 ? layout.super_block
                 : layout.block != 0     ? layout.block
                 : block_of(source) != 0
                     ? block_of(source)
                     : std::max<int64_t>(32, depth_codes(layout) * layout.order.distance)),
        near_from_(path_below(from_, at_once_)),
        near_to_(path_below(to_, at_once_)) {}

  void pack(const Panel& panel) const {
    const PanelPlaces places = write_fields(b_, layout_, padded_, panel);
    const auto part = [&](const std::vector<Value>& now) {
      const Value count = here(k_, now[0], "values");
      clear(panel, places, now[0], count);
      pack_part(panel, places, now[0], count);
      return std::vector<Value>{plus(b_, {now[0], most_}, "first_k")};
    };
    const std::vector<Value> inits = {number(b_, 0, "first_k")};
    if (block_ == no_value) {
      b_.stepped_loop("k_part", padded_, at_once_, inits, part);
    } else {
      b_.loop("block", beside_.blocks_in(padded_), inits, part);
    }
  }

 private:
  [[nodiscard]] int element_bits() const { return bits(layout_.element); }
  [[nodiscard]] Value here(Value all, Value first_k, const char* name) const {
    return smaller(b_, {less(b_, {all, first_k}), most_}, name);
  }

  /// Code 0, and scales of 0, where values may be missing. Codes that share a byte are then added.
  void clear(const Panel& panel, const PanelPlaces& places, Value first_k, Value count) const {
    if (is_super()) return clear_super_block(block(places, first_k, FieldKind::data));
    const Value all = here(padded_, first_k, "places");
    const auto codes = [&] {
      Value to = places.codes;
      if (layout_.block != 0) {
        to = block(places, first_k, FieldKind::data);
        const Value scales = block(places, first_k, FieldKind::scales);
        const Value bytes = given_.length(block_field_bytes(layout_) + apart_bytes(layout_));
        b_.op(OpCode::fill_bytes, {scales, b_.constant(0), bytes});
        if (begins_with_scales()) to = plus(b_, {to, given_.length(codes_in_block())});
      } else {
        to = plus(b_, {to, codes_bytes(b_, layout_, first_k)});
      }
      b_.op(OpCode::fill_bytes,
            {to, b_.constant(empty_byte(layout_)), codes_bytes(b_, layout_, all)});
    };
    if (element_bits() < 8) return codes();
    const Value missing =
        plus(b_, {less(b_, {given_.length(layout_.panel), panel.rows}), less(b_, {all, count})},
             "missing");
    b_.branch(missing, Compare::not_equal, b_.constant(0), codes);
  }

  [[nodiscard]] bool is_super() const { return layout_.super_block != 0; }

  void clear_super_block(Value at) const {
    b_.op(OpCode::fill_bytes, {at, b_.constant(0), given_.length(super_block_bytes(layout_))});
    const Value codes = given_.length(data_bytes(layout_, layout_.block));
    for (int64_t block = 0; block < layout_.super_block / layout_.block; ++block) {
      const Length offset = steps_bytes(layout_) + block_bytes(layout_) * block;
      const Value to =
          offset.is_fixed() ? b_.add(at, offset) : plus(b_, {at, given_.length(offset)});
      b_.op(OpCode::fill_bytes, {to, b_.constant(empty_byte(layout_)), codes});
    }
  }

  /// Where a field of a block is, or a super-block.
  [[nodiscard]] Value block(const PanelPlaces& places, Value first_k, FieldKind kind) const {
    if (is_super()) {
      const Value bytes = given_.length(super_block_bytes(layout_));
      return plus(b_, {places.codes, product(b_, {beside_.blocks_in(first_k), bytes})});
    }
    if (has_fields_apart(layout_) && kind != FieldKind::data) {
      const Value behind = plus(b_, {places.codes, codes_bytes(b_, layout_, padded_)}, "behind");
      return plus(
          b_,
          {behind, product(b_, {beside_.blocks_in(first_k), given_.length(apart_bytes(layout_))})});
    }
    const Value fields =
        product(b_, {beside_.blocks_in(first_k), given_.length(block_field_bytes(layout_))});
    const Value at =
        plus(b_, {places.codes, plus(b_, {codes_bytes(b_, layout_, first_k), fields})});
    if (kind == FieldKind::data || begins_with_scales()) return at;
    return plus(b_, {at, codes_bytes(b_, layout_, block_)});
  }

  /// Codes stand behind them then, else in front of all that a block has.
  [[nodiscard]] bool begins_with_scales() const {
    return layout_.block != 0 && !is_super() && codes_in_block() != Length{};
  }
  [[nodiscard]] Length codes_in_block() const { return field_offset(layout_, FieldKind::data); }

  /// Some values of k of all rows that exist.
  void pack_part(const Panel& panel, const PanelPlaces& places, Value first_k, Value count) const {
    b_.loop("row", panel.rows, {number(b_, 0, "row")}, [&](const std::vector<Value>& at) {
      const auto row = [&](Value number) {
        const Value column = plus(b_, {panel.row, number}, "column");
        Row its{number, column,
                moved(given_, b_.arg(ArgField::pack_source), from_, column, first_k, "from"),
                block_ == no_value ? moved(given_, places.codes, to_, number, first_k, "to")
                                   : moved(given_, block(places, first_k, FieldKind::data),
                                           near_to_, number, first_k, "to")};
        if (converts(source_, layout_)) {
          its.scale = beside_.real_of(FieldKind::scales, column, first_k);
          its.minimum = beside_.real_of(FieldKind::minimums, column, first_k);
        }
        return its;
      };
      const auto finish = [&](const Row& its, Value sum) {
        if (top_bits(layout_) != 0) move_tops(places, its, first_k);
        if (sum != no_value) keep_sum(places, its, first_k, sum);
      };
      const auto alone = [&] {
        const Row one = row(at[0]);
        if (converts(source_, layout_)) return convert(one, count);
        if (joins_codes(source_, layout_)) return join_row(one, places, first_k);
        finish(one, move_row(one, places, count));
      };
      const Axis& nibble = to_.axes.back();
      if (element_bits() >= 8 || nibble.dim != Dim::n) {
        alone();
      } else {
        const Value other = plus(b_, {at[0], given_.length(nibble.step)}, "other");
        const auto both = [&] {
          const Row rows[] = {row(at[0]), row(other)};
          const std::vector<Value> sums = move_two_rows(rows, nibble.stride.fixed < 0, count);
          for (size_t i = 0; i < 2; ++i) finish(rows[i], sums[i + 1]);
        };
        b_.branch(digit(given_, nibble, false, at[0]), Compare::equal, b_.constant(0),
                  [&] { b_.branch(other, Compare::below, panel.rows, both, alone); });
      }
      return std::vector<Value>{b_.add(at[0], 1, "row")};
    });
  }

  /// All values of a row. Returns their sum, unless they are floats.
  [[nodiscard]] Value move_row(const Row& row, const PanelPlaces& places, Value count) const {
    const bool sums = places.sums != no_value || layout_.block != 0;
    Value sum = sums ? number(b_, 0, "sum") : no_value;
    if (element_bits() < 8 && to_.axes.back().dim == Dim::k) {
      const Value whole = move_bytes(row.from, row.to, count, sum);
      move_values(row.from, row.to, whole, b_.op(OpCode::isub, {count, whole}), sum);
    } else {
      move_values(row.from, row.to, number(b_, 0, "k"), count, sum);
    }
    return sum;
  }

  /// Codes of rows that share bytes. Returns k and their sums.
  [[nodiscard]] std::vector<Value> move_two_rows(const Row (&rows)[2], bool first_is_high,
                                                 Value count) const {
    const std::vector<Value> inits = {number(b_, 0, "k"), number(b_, 0, "sum"),
                                      number(b_, 0, "other_sum")};
    return b_.loop("pair", count, inits, [&](const std::vector<Value>& now) {
      const Value codes[] = {read(rows[0].from, now[0]), read(rows[1].from, now[0])};
      const Value high = stored(codes[first_is_high ? 0 : 1], true);
      const Value low = stored(codes[first_is_high ? 1 : 0], false);
      const Value byte = plus(b_, {low, b_.op(OpCode::ishl, {high}, {.imm = 4})}, "byte");
      b_.op(OpCode::store_scalar, {at_k(given_, rows[0].to, near_to_, now[0]).bytes, byte},
            {.bits = 8});
      return std::vector<Value>{b_.add(now[0], 1, "k"),
                                plus(b_, {now[1], b_.add(codes[0], -half())}, "sum"),
                                plus(b_, {now[2], b_.add(codes[1], -half())}, "other_sum")};
    });
  }

  /// A super-block of codes, which are put together here.
  void join_row(const Row& row, const PanelPlaces& places, Value first_k) const {
    const Value from = super_block_of(row, first_k);
    CodeJoiner(b_, layout_, source_).each(from, [&](Value k, Value byte) {
      b_.op(OpCode::store_scalar, {at_k(given_, row.to, near_to_, k).bytes, byte}, {.bits = 8});
    });
    keep_numbers(row, places, first_k);
  }

  /// Where a super-block begins in the source.
  [[nodiscard]] Value super_block_of(const Row& row, Value first_k) const {
    FieldAxes start = path_of(source_.axes, FieldKind::data);
    start.base = 0;
    return moved(given_, b_.arg(ArgField::pack_source), start, row.column, first_k, "numbers_from")
        .bytes;
  }

  void keep_numbers(const Row& row, const PanelPlaces& places, Value first_k) const {
    const Value from = super_block_of(row, first_k);
    const Value to = block(places, first_k, FieldKind::data);
    put_super_block_numbers(b_, layout_, source_, from, to, row.number);
  }

  void move_tops(const PanelPlaces& places, const Row& row, Value first_k) const {
    const Length behind = path_of(axes(layout_), FieldKind::tops).base.divided(8);
    const Value from = beside_.place_of(FieldKind::tops, row.column, first_k, "tops_from");
    const Value to =
        plus(b_, {block(places, first_k, FieldKind::data), given_.length(behind)}, "tops_to");
    put_tops(given_, layout_, source_, from, to, row.number, at_once_);
  }

  void keep_sum(const PanelPlaces& places, const Row& row, Value first_k, Value sum) const {
    if (is_super()) return keep_numbers(row, places, first_k);
    Value at = no_value;
    if (places.sums != no_value) at = plus(b_, {places.sums, times(b_, row.number, 4)}, "at");
    if (layout_.block == 0) return add_sum(at, sum);
    Value scales = block(places, first_k, FieldKind::scales);
    if (top_bits(layout_) != 0) {
      const Length tops = (layout_.panel * (layout_.block * top_bits(layout_))).divided(8);
      scales = plus(b_, {scales, given_.length(tops)}, "scales");
    }
    beside_.keep(at, sum, first_k, row.number, row.column, scales);
  }

  [[nodiscard]] int64_t half() const { return codes_.half(); }
  [[nodiscard]] Value read(const Reach& row, Value k) const {
    return codes_.load(at_k(given_, row, near_from_, k));
  }

  /// What the layout keeps of it, in the high or low half of a byte.
  [[nodiscard]] Value stored(Value code, bool high) const {
    const bool is_unsigned = high ? layout_.order.high_unsigned : layout_.order.low_unsigned;
    return is_unsigned ? code : codes_.code_bits(b_.add(code, half()), "stored");
  }

  /// One by one from `first` on.
  void move_values(const Reach& from, const Reach& to_row, Value first, Value count,
                   Value& sum) const {
    std::vector<Value> inits = {first};
    if (sum != no_value) inits.push_back(sum);
    const auto results = b_.loop("value", count, inits, [&](const std::vector<Value>& now) {
      const Value value = read(from, now[0]);
      const Reach to = at_k(given_, to_row, near_to_, now[0]);
      if (to.code != no_value) {
        add_code(to, value);
      } else if (is_float(layout_.element)) {
        b_.op(OpCode::store_scalar, {to.bytes, value}, {.bits = element_bits()});
      } else {
        b_.op(OpCode::store_scalar, {to.bytes, stored(value, false)}, {.bits = 8});
      }
      std::vector<Value> next = {b_.add(now[0], 1, "k")};
      if (sum != no_value) next.push_back(plus(b_, {now[1], b_.add(value, -half())}, "sum"));
      return next;
    });
    if (sum != no_value) sum = results[1];
  }

  /// To what stands for code 0.
  void add_code(const Reach& to, Value code) const {
    const int64_t count = byte_codes(layout_);
    const auto more = [&](int64_t number) {
      const bool high = number + 1 == count;
      const bool is_unsigned = high ? layout_.order.high_unsigned : layout_.order.low_unsigned;
      const Value low = is_unsigned ? b_.add(code, -half()) : stored(code, high);
      return number == 0 ? low : b_.op(OpCode::ishl, {low}, {.imm = number * element_bits()});
    };
    const Value upper = codes_.chosen(to.code, count / 2, count / 2, more);
    const Value old = b_.op(OpCode::load_scalar, {to.bytes}, {.bits = 8}, "old");
    const Value bit = codes_.number_bit(to.code, count / 2, count);
    const Value lower = codes_.chosen(to.code, 0, count / 2, more);
    const Value byte = plus(b_, {old, choose(b_, {bit, upper, lower})});
    b_.op(OpCode::store_scalar, {to.bytes, byte}, {.bits = 8});
  }

  /// All codes of a byte at once, of all whole groups of bytes that are neighbors. Returns how many
  /// values those are.
  [[nodiscard]] Value move_bytes(const Reach& from, const Reach& to, Value count,
                                 Value& sum) const {
    const int64_t distance = to_.axes.back().step.fixed;
    const int64_t together = byte_codes(layout_);
    const Value pairs = times(b_, over(b_, count, together * distance), distance, "pairs");
    const auto results = b_.loop("pair", pairs, {number(b_, 0, "pair"), sum}, [&](const auto& now) {
      const Value group = times(b_, over(b_, now[0], distance), together * distance);
      const Value k = plus(b_, {group, remainder(given_, now[0], distance)}, "k");
      std::vector<Value> codes = {read(from, k)};
      for (int64_t i = 1; i < together; ++i) {
        codes.push_back(read(from, b_.add(k, i * distance, "far")));
      }
      Value byte = stored(codes.front(), false);
      Value total = codes.front();
      for (int64_t i = 1; i < together; ++i) {
        const Value high = stored(codes[static_cast<size_t>(i)], i + 1 == together);
        const Value moved = b_.op(OpCode::ishl, {high}, {.imm = i * element_bits()});
        byte = plus(b_, {byte, moved}, "byte");
      }
      b_.op(OpCode::store_scalar, {at_k(given_, to, near_to_, k).bytes, byte}, {.bits = 8});
      for (int64_t i = 1; i < together; ++i)
        total = plus(b_, {total, codes[static_cast<size_t>(i)]});
      total = b_.add(total, -together * half());
      return std::vector<Value>{b_.add(now[0], 1, "pair"), plus(b_, {now[1], total}, "sum")};
    });
    sum = results[1];
    return times(b_, pairs, together, "k");
  }

  void add_sum(Value at, Value sum) const {
    const Value old = b_.op(OpCode::load_scalar, {at}, {.bits = 32}, "old");
    const Value more = times(b_, sum, summed_field(layout_)->factor);
    b_.op(OpCode::store_scalar, {at, plus(b_, {old, more})}, {.bits = 32});
  }

  /// What the row's value of k is, as f32.
  [[nodiscard]] Value real(const Row& row, Value k) const {
    if (is_float(codes_.type())) {
      return load_float(b_, at_k(given_, row.from, near_from_, k).bytes, codes_.type(), "real");
    }
    const bool from_lowest = row.minimum != no_value;
    const Value raw = read(row.from, k);
    const Value code = from_lowest ? raw : b_.add(raw, -half(), "code");
    const Value steps = b_.op(OpCode::cvt_i32_f32, {b_.op(OpCode::dup, {code}, {.bits = 32})});
    const Value scaled = b_.op(OpCode::fmul, {steps, row.scale}, {}, "real");
    return from_lowest ? b_.op(OpCode::fadd, {scaled, row.minimum}, {}, "real") : scaled;
  }

  /// Values that become floats of the layout's type, one by one.
  void convert(const Row& row, Value count) const {
    const Value half = below_half(b_, layout_.element);
    b_.loop("value", count, {number(b_, 0, "k")}, [&](const std::vector<Value>& now) {
      const Value value = narrowed(b_, real(row, now[0]), layout_.element, half);
      b_.op(OpCode::store, {at_k(given_, row.to, near_to_, now[0]).bytes, value});
      return std::vector<Value>{b_.add(now[0], 1, "k")};
    });
  }

  Builder& b_;
  const Layout& layout_;
  const Source& source_;
  PlainBlocks beside_;
  const Given& given_ = beside_.given;
  const SourceCodes& codes_ = beside_.codes;
  const Value k_ = beside_.k, padded_ = beside_.padded, block_ = beside_.block;
  FieldAxes from_, to_;
  int64_t at_once_;
  FieldAxes near_from_, near_to_;  ///< of values of k that are packed at once
  Value most_ = block_ == no_value ? b_.constant(at_once_) : block_;  ///< values at once
};

/// Rows of the source are rows of panels: floats from k x n.
void copy_rows(Builder& b, const Layout& layout) {
  const Value element = b.constant(bits(layout.element) / 8);
  const Value all = length(b, layout.panel * (bits(layout.element) / 8), "panel_bytes");
  const Value padded = padded_k(b, layout);
  for_panels(b, layout, [&](const Panel& panel) {
    const Value first =
        plus(b, {b.arg(ArgField::pack_source), product(b, {panel.row, element})}, "source");
    const Value bytes = product(b, {panel.rows, element}, "row_bytes");
    const Value to = panel_places(b, layout, padded, panel.to).codes;
    b.loop("k", b.arg(ArgField::pack_k), {first, to}, [&](const std::vector<Value>& at) {
      b.branch(
          bytes, Compare::equal, all,
          [&] {
            b.op(OpCode::copy_bytes, {at[1], at[0], all});
          },
          [&] {
            b.op(OpCode::copy_bytes, {at[1], at[0], bytes});
            const Value missing = b.op(OpCode::isub, {all, bytes});
            b.op(OpCode::fill_bytes, {plus(b, {at[1], bytes}), b.constant(0), missing});
          });
      const Value stride = b.arg(ArgField::pack_source_stride);
      return std::vector<Value>{plus(b, {at[0], stride}), plus(b, {at[1], all})};
    });
    write_fields(b, layout, padded, panel);
  });
}

}  // namespace

void lower_pack_plain(Builder& b, const Layout& layout, const Source& source) {
  const bool floats_as_they_are = is_float(layout.element) && !converts(source, layout);
  if (floats_as_they_are && layout.order.kr == 1 && rows_are_k(source)) return copy_rows(b, layout);
  const PlainPacker packer(b, layout, source);
  for_panels(b, layout, [&](const Panel& panel) { packer.pack(panel); });
}

}  // namespace tw
