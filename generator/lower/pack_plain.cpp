// Packers of any source and layout, value by value: each goes where both say that it is. For
// machines whose instructions do not move lanes, and for panels as wide as vectors.
#include <algorithm>

#include "lower/pack_rhs.h"
#include "lower/widen.h"

namespace tw {
namespace {

/// The digits of a value's address, in bits; of a layout, of one in a panel.
struct Path {
  std::vector<Axis> axes;
  Length base;
};

Path path_of(const Part& root, FieldKind kind) {
  FieldAxes field = flat(root, kind, 0);
  if (root.over->argument) field.axes.insert(field.axes.begin(), *root.over);
  return {field.axes, field.base};
}

/// Without the digits that values of k below `end` do not have.
Path path_below(Path path, int64_t end) {
  std::erase_if(path.axes, [&](const Axis& axis) {
    return axis.dim == Dim::k && axis.step.at({1, 1}) >= end;
  });
  return path;
}

/// Only with the digit of k that has no end.
Path path_far(Path path) {
  std::erase_if(path.axes,
                [&](const Axis& axis) { return axis.dim == Dim::k && axis.extent != rest; });
  return path;
}

/// What one coordinate adds to an address.
struct Place {
  Value bytes = no_value;  ///< none: 0
  Value high = no_value;   ///< 1 in the high nibble of a byte, 0 in the low one; none: not said
};

/// What addresses depend on, as the caller says it: read once.
struct Given {
  Builder& b;
  Value stride = b.arg(ArgField::pack_source_stride);
  Value segments = segments_of(b, "segments");  ///< of the vectors that panels are as wide as

  [[nodiscard]] Value length(Length length) const {
    if (length.is_fixed()) return b.constant(length.fixed);
    return times(b, segments, length.vl + length.svl);
  }
};

Value remainder(const Given& given, Value x, Length of) {
  Builder& b = given.b;
  if (of.is_fixed() && (of.fixed & (of.fixed - 1)) == 0) {
    return b.op(OpCode::iand_imm, {x}, {.imm = of.fixed - 1});
  }
  const Value divisor = given.length(of);
  return b.op(OpCode::isub, {x, product(b, {b.op(OpCode::idiv, {x, divisor}), divisor})});
}

/// coordinate / step % extent; the coarsest digit goes as far as the coordinate does.
Value digit(const Given& given, const Axis& axis, bool is_coarsest, Value coordinate) {
  const bool single = axis.step == Length{1};
  const Value steps =
      single ? coordinate : given.b.op(OpCode::idiv, {coordinate, given.length(axis.step)});
  return is_coarsest ? steps : remainder(given, steps, axis.extent);
}

Place place(const Given& given, const Path& path, Dim dim, Value coordinate) {
  Builder& b = given.b;
  Length coarsest = 0;
  for (const Axis& axis : path.axes) {
    if (axis.dim == dim && axis.step.at({3, 3}) > coarsest.at({3, 3})) coarsest = axis.step;
  }
  Place place;
  const auto add = [&](Value more) {
    place.bytes = place.bytes == no_value ? more : plus(b, {place.bytes, more});
  };
  for (const Axis& axis : path.axes) {
    if (axis.dim != dim) continue;
    const Value steps = digit(given, axis, axis.step == coarsest, coordinate);
    if (axis.argument) {
      add(product(b, {steps, given.stride}));
    } else if (axis.stride.divisible(8)) {
      add(product(b, {steps, given.length(axis.stride.divided(8))}));
    } else if (axis.extent == Length{2}) {
      const bool backwards = axis.stride.fixed < 0;
      place.high = backwards ? b.op(OpCode::isub, {b.constant(1), steps}) : steps;
    } else {
      add(over(b, steps, 2));
      place.high = remainder(given, steps, 2);
    }
  }
  return place;
}

/// A row of a panel, where its first values are.
struct Row {
  Value number, column;  ///< in the panel, in the operand
  Place from, to;
  Value scale = no_value, minimum = no_value;  ///< of its codes, where they become floats
};

class PlainPacker {
 public:
  PlainPacker(Builder& b, const Layout& layout, const Source& source)
      : b_(b),
        layout_(layout),
        source_(source),
        given_{b},
        from_(path_of(source.axes, FieldKind::data)),
        to_(path_of(axes(layout), FieldKind::data)),
        bias_(source_offset(b, layout, source)),
        k_(b.arg(ArgField::pack_k)),
        padded_(padded_k(b, layout)),
        // Whole lines of a row, and whatever shares a byte, or a scale.
        at_once_(layout.block != 0       ? layout.block
                 : block_of(source) != 0 ? block_of(source)
                                         : std::max(32, 2 * layout.order.distance)),
        near_from_(path_below(from_, at_once_)),
        near_to_(path_below(to_, at_once_)) {}

  void pack(const Panel& panel) const {
    const PanelPlaces places = write_fields(b_, layout_, padded_, panel);
    b_.stepped_loop("k_part", padded_, at_once_, {number(b_, 0, "first_k")},
                    [&](const std::vector<Value>& now) {
                      const Value count = here(k_, now[0], "values");
                      clear(panel, places, now[0], count);
                      pack_part(panel, places, now[0], count);
                      return std::vector<Value>{b_.add(now[0], at_once_, "first_k")};
                    });
  }

 private:
  [[nodiscard]] int element_bits() const { return bits(layout_.element); }
  [[nodiscard]] Value here(Value all, Value first_k, const char* name) const {
    return smaller(b_, {less(b_, {all, first_k}), b_.constant(at_once_)}, name);
  }

  /// Code 0, and scales of 0, where values may be missing. Nibbles are then added.
  void clear(const Panel& panel, const PanelPlaces& places, Value first_k, Value count) const {
    const Value all = here(padded_, first_k, "places");
    const auto codes = [&] {
      Value to = places.codes;
      if (layout_.block != 0) {
        to = block(places, first_k, FieldKind::data);
        const Value scales = block(places, first_k, FieldKind::scales);
        const int64_t bytes = bits(field_of(layout_, FieldKind::scales).type) / 8;
        b_.op(OpCode::fill_bytes, {scales, b_.constant(0), given_.length(layout_.panel * bytes)});
      } else {
        to = plus(b_, {to, codes_bytes(b_, layout_, first_k)});
      }
      b_.op(OpCode::fill_bytes,
            {to, b_.constant(offset_bits(layout_)), codes_bytes(b_, layout_, all)});
    };
    if (element_bits() < 8) return codes();
    const Value missing =
        plus(b_, {less(b_, {given_.length(layout_.panel), panel.rows}), less(b_, {all, count})},
             "missing");
    b_.branch(missing, Compare::not_equal, b_.constant(0), codes);
  }

  /// Where a field of a block is.
  [[nodiscard]] Value block(const PanelPlaces& places, Value first_k, FieldKind kind) const {
    const Value blocks = over(b_, first_k, layout_.block);
    const Value at =
        plus(b_, {places.codes, product(b_, {blocks, given_.length(block_bytes(layout_))})});
    const auto index = static_cast<size_t>(field_index(layout_, kind));
    const Length offset = field_offset(layout_, index, 0);
    return offset == Length{} ? at : plus(b_, {at, given_.length(offset)});
  }

  /// Some values of k of all rows that exist.
  void pack_part(const Panel& panel, const PanelPlaces& places, Value first_k, Value count) const {
    b_.loop("row", panel.rows, {number(b_, 0, "row")}, [&](const std::vector<Value>& at) {
      const auto row = [&](Value number) {
        const Value column = plus(b_, {panel.row, number}, "column");
        Row its{number, column,
                moved(b_.arg(ArgField::pack_source), from_, column, first_k, "from"),
                moved(places.codes, to_, number, first_k, "to")};
        if (converts(source_, layout_)) {
          its.scale = of_block(FieldKind::scales, column, first_k);
          its.minimum = of_block(FieldKind::minimums, column, first_k);
        }
        return its;
      };
      const auto finish = [&](const Row& its, Value sum) {
        if (sum != no_value) keep_sum(places, its, first_k, sum);
      };
      const auto alone = [&] {
        const Row one = row(at[0]);
        if (converts(source_, layout_)) return convert(one, count);
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

  /// All values of a row. Returns their sum, if there are sums.
  [[nodiscard]] Value move_row(const Row& row, const PanelPlaces& places, Value count) const {
    Value sum = places.sums != no_value ? number(b_, 0, "sum") : no_value;
    if (element_bits() < 8 && to_.axes.back().dim == Dim::k) {
      const Value pairs = move_pairs(row.from, row.to, count, sum);
      move_values(row.from, row.to, pairs, b_.op(OpCode::isub, {count, pairs}), sum);
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
      b_.op(OpCode::store_scalar, {at(rows[0].to, near_to_, now[0]).bytes, byte}, {.bits = 8});
      return std::vector<Value>{b_.add(now[0], 1, "k"),
                                plus(b_, {now[1], b_.add(codes[0], -half())}, "sum"),
                                plus(b_, {now[2], b_.add(codes[1], -half())}, "other_sum")};
    });
  }

  void keep_sum(const PanelPlaces& places, const Row& row, Value first_k, Value sum) const {
    const Value at = plus(b_, {places.sums, times(b_, row.number, 4)}, "at");
    if (layout_.block == 0) return add_sum(at, sum);
    const Value scales = block(places, first_k, FieldKind::scales);
    scale(at, sum, first_k, row.number, row.column, scales);
  }

  [[nodiscard]] Place moved(Value start, const Path& path, Value n, Value k,
                            const char* name) const {
    Place at = place(given_, path, Dim::n, n);
    const Value first = b_.add(start, path.base.divided(8));
    at.bytes = at.bytes == no_value ? first : plus(b_, {first, at.bytes});
    const Value more = place(given_, path_far(path), Dim::k, k).bytes;
    if (more != no_value) at.bytes = plus(b_, {at.bytes, more}, name);
    return at;
  }

  [[nodiscard]] ElementType source_type() const {
    return field_axes(source_.axes, FieldKind::data).type;
  }
  [[nodiscard]] int64_t half() const { return int64_t{1} << (bits(source_type()) - 1); }
  [[nodiscard]] Value code_bits(Value x, const char* name) const {
    return b_.op(OpCode::iand_imm, {x}, {.imm = 2 * half() - 1}, name);
  }

  /// A value; a code as an unsigned number, which is half() more.
  [[nodiscard]] Value read(const Place& row, Value k) const {
    const Place from = at(row, near_from_, k);
    const int width = std::max(bits(source_type()), 8);
    const Value byte = b_.op(OpCode::load_scalar, {from.bytes}, {.bits = width}, "value");
    if (is_float(source_type())) return byte;
    if (from.high == no_value) return code_bits(plus(b_, {byte, bias_}), "code");
    const Value high = b_.op(OpCode::ishr, {byte}, {.imm = 4});
    const Value given = choose(b_, {from.high, high, code_bits(byte, "")}, "given");
    return code_bits(plus(b_, {given, bias_}), "code");
  }

  /// What the layout keeps of it, in the high or low half of a byte.
  [[nodiscard]] Value stored(Value code, bool high) const {
    const bool is_unsigned = high ? layout_.order.high_unsigned : layout_.order.low_unsigned;
    return is_unsigned ? code : code_bits(b_.add(code, half()), "stored");
  }

  /// One by one from `first` on.
  void move_values(const Place& from, const Place& to_row, Value first, Value count,
                   Value& sum) const {
    std::vector<Value> inits = {first};
    if (sum != no_value) inits.push_back(sum);
    const auto results = b_.loop("value", count, inits, [&](const std::vector<Value>& now) {
      const Value value = read(from, now[0]);
      const Place to = at(to_row, near_to_, now[0]);
      if (to.high != no_value) {
        add_nibble(to, value);
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
  void add_nibble(const Place& to, Value code) const {
    const auto more = [&](bool high) {
      const bool is_unsigned = high ? layout_.order.high_unsigned : layout_.order.low_unsigned;
      return is_unsigned ? b_.add(code, -half()) : stored(code, high);
    };
    const Value high = b_.op(OpCode::ishl, {more(true)}, {.imm = 4});
    const Value old = b_.op(OpCode::load_scalar, {to.bytes}, {.bits = 8}, "old");
    const Value byte = plus(b_, {old, choose(b_, {to.high, high, more(false)})});
    b_.op(OpCode::store_scalar, {to.bytes, byte}, {.bits = 8});
  }

  /// Both codes of a byte at once, of all whole groups of bytes that are neighbors. Returns how
  /// many values those are.
  [[nodiscard]] Value move_pairs(const Place& from, const Place& to, Value count,
                                 Value& sum) const {
    const int64_t distance = to_.axes.back().step.fixed;
    const Value pairs = times(b_, over(b_, count, 2 * distance), distance, "pairs");
    const auto results = b_.loop("pair", pairs, {number(b_, 0, "pair"), sum}, [&](const auto& now) {
      const Value group = times(b_, over(b_, now[0], distance), 2 * distance);
      const Value k = plus(b_, {group, remainder(given_, now[0], distance)}, "k");
      const Value low = read(from, k);
      const Value high = read(from, b_.add(k, distance, "far"));
      const Value byte = plus(
          b_, {stored(low, false), b_.op(OpCode::ishl, {stored(high, true)}, {.imm = 4})}, "byte");
      b_.op(OpCode::store_scalar, {at(to, near_to_, k).bytes, byte}, {.bits = 8});
      const Value codes = b_.add(plus(b_, {low, high}), -2 * half());
      return std::vector<Value>{b_.add(now[0], 1, "pair"), plus(b_, {now[1], codes}, "sum")};
    });
    sum = results[1];
    return times(b_, pairs, 2, "k");
  }

  [[nodiscard]] Place at(const Place& row, const Path& path, Value k) const {
    Place at = place(given_, path, Dim::k, k);
    at.bytes = at.bytes == no_value ? row.bytes : plus(b_, {row.bytes, at.bytes});
    if (at.high == no_value) at.high = row.high;
    return at;
  }

  void add_sum(Value at, Value sum) const {
    const Value old = b_.op(OpCode::load_scalar, {at}, {.bits = 32}, "old");
    const Value more = times(b_, sum, field_of(layout_, FieldKind::sums).factor);
    b_.op(OpCode::store_scalar, {at, plus(b_, {old, more})}, {.bits = 32});
  }

  /// Copies a block's scale, adds scale * sum.
  void scale(Value at, Value sum, Value first_k, Value row, Value column, Value scales) const {
    const ElementType type = field_of(layout_, FieldKind::scales).type;
    const int64_t bytes = bits(type) / 8;
    Value from = no_value;
    if (block_of(source_) != 0) {
      from = block_field(FieldKind::scales, column, first_k, "scale_from");
    } else {
      const Value stride = b_.arg(ArgField::pack_scale_stride);
      from = plus(b_, {b_.arg(ArgField::pack_scales), product(b_, {column, stride})});
      from = plus(b_, {from, times(b_, over(b_, first_k, layout_.block), bytes)}, "scale_from");
    }
    const Value kept = b_.op(OpCode::load, {from}, {.bytes = bytes}, "scale");
    b_.op(OpCode::store, {plus(b_, {scales, times(b_, row, bytes)}), kept});
    const Value real = widened(b_, kept, type);
    const Value codes = b_.op(OpCode::cvt_i32_f32, {b_.op(OpCode::dup, {sum}, {.bits = 32})});
    const Value old = b_.op(OpCode::load, {at}, {}, "old");
    b_.op(OpCode::store, {at, b_.op(OpCode::fma, {codes, real, old}, {}, "total")});
  }

  /// Where a field of a source's block is.
  [[nodiscard]] Value block_field(FieldKind kind, Value column, Value first_k,
                                  const char* name) const {
    const Path path = path_of(source_.axes, kind);
    return moved(b_.arg(ArgField::pack_source), path, column, first_k, name).bytes;
  }

  [[nodiscard]] Value load_float(Value at, ElementType type, const char* name) const {
    return widened(b_, b_.op(OpCode::load, {at}, {.bytes = bits(type) / 8}), type, name);
  }

  /// A field of a source's block as f32; none: it has no such field.
  [[nodiscard]] Value of_block(FieldKind kind, Value column, Value first_k) const {
    const FieldAxes* field = find_field(source_.axes, kind);
    if (field == nullptr) return no_value;
    const Value at = block_field(kind, column, first_k, "at");
    return load_float(at, field->type, kind == FieldKind::scales ? "scale" : "minimum");
  }

  /// What the row's value of k is, as f32.
  [[nodiscard]] Value real(const Row& row, Value k) const {
    if (is_float(source_type())) {
      return load_float(at(row.from, near_from_, k).bytes, source_type(), "real");
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
    b_.loop("value", count, {number(b_, 0, "k")}, [&](const std::vector<Value>& now) {
      Value value = real(row, now[0]);
      if (layout_.element == ElementType::f16) value = b_.op(OpCode::cvt_f32_f16, {value});
      b_.op(OpCode::store, {at(row.to, near_to_, now[0]).bytes, value});
      return std::vector<Value>{b_.add(now[0], 1, "k")};
    });
  }

  /// What makes a code of the source an unsigned number, in as many bits.
  static Value source_offset(Builder& b, const Layout& layout, const Source& source) {
    const FieldAxes& codes = field_axes(source.axes, FieldKind::data);
    if (is_float(codes.type)) return no_value;
    const Value half = b.constant(int64_t{1} << (bits(codes.type) - 1));
    return b.op(OpCode::isub, {half, given_offset(b, layout, source)}, {}, "offset");
  }

  Builder& b_;
  const Layout& layout_;
  const Source& source_;
  Given given_;
  Path from_, to_;
  Value bias_, k_, padded_;
  int64_t at_once_;
  Path near_from_, near_to_;  ///< of values of k that are packed at once
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
    b.loop("k", b.arg(ArgField::pack_k), {first, panel.to}, [&](const std::vector<Value>& at) {
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
  if (floats_as_they_are && rows_are_k(source)) return copy_rows(b, layout);
  const PlainPacker packer(b, layout, source);
  for_panels(b, layout, [&](const Panel& panel) { packer.pack(panel); });
}

}  // namespace tw
