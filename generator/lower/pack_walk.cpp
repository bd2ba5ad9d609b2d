#include "lower/pack_walk.h"

#include <bit>

#include "lower/splat.h"

namespace tw {

Value length(Builder& b, Length length, const std::string& name) {
  if (length.is_fixed()) return b.constant(length.fixed);
  const Value scalable = times(b, segments_of(b), length.vl + length.svl, name);
  return length.fixed == 0 ? scalable : b.add(scalable, length.fixed, name);
}

Value behind(Builder& b, Value at, Length bytes, const std::string& name) {
  if (bytes.is_fixed()) return b.add(at, bytes.fixed, name);
  return plus(b, {at, length(b, bytes)}, name);
}

int64_t most_rows(const Layout& layout) {
  constexpr int64_t most_segments = 16;  // no vector is longer than 256 bytes
  return layout.panel.fixed + (layout.panel.vl + layout.panel.svl) * most_segments;
}

Value rounded_up(Builder& b, Value x, int64_t multiple, const std::string& name) {
  if (multiple == 1) return x;
  return times(b, over(b, b.add(x, multiple - 1), multiple, "multiples"), multiple, name);
}

Value padded_k(Builder& b, const Layout& layout) {
  return rounded_up(b, b.arg(ArgField::pack_k), layout.k_multiple, "padded");
}

Value row_bytes(Builder& b, const Layout& layout, Value values) {
  const int64_t element = bits(layout.element);
  return element < 8 ? over(b, values, 8 / element) : times(b, values, element / 8);
}

Value codes_bytes(Builder& b, const Layout& layout, Value values) {
  const int64_t element = bits(layout.element);
  const Length together = layout.panel * element;
  if (together.is_fixed() && together.divisible(8)) return times(b, values, together.fixed / 8);
  if (together.divisible(8)) return product(b, {values, length(b, together.divided(8))});
  const Value all = product(b, {values, length(b, together)});
  return b.op(OpCode::ishr, {all}, {.imm = 3});
}

void for_panels(Builder& b, const Layout& layout, const std::function<void(const Panel&)>& body,
                int64_t at_once) {
  const Value begin = b.arg(ArgField::pack_row_begin);
  const Value end =
      smaller(b, {b.arg(ArgField::pack_row_end), b.arg(ArgField::pack_rows)}, "row_end");
  const Value rows = less(b, {end, begin}, "rows_left");
  const Value panel = length(b, layout.panel, "panel");
  const Value stride = b.arg(ArgField::pack_packed_stride);
  const Value first = b.op(OpCode::idiv, {begin, panel}, {}, "first_panel");
  const Value to = plus(b, {b.arg(ArgField::pack_packed), product(b, {first, stride})}, "packed");
  const Value step = at_once == 1 ? panel : length(b, layout.panel * at_once, "panels");
  const Builder::Body write = [&](const std::vector<Value>& now) {
    const Value left = b.op(OpCode::isub, {end, now[0]}, {}, "left");
    body({now[0], left, smaller(b, {left, step}, "rows"), now[1]});
    return std::vector<Value>{plus(b, {now[0], step}),
                              plus(b, {now[1], times(b, stride, at_once)})};
  };
  const std::vector<Value> inits = {b.op(OpCode::icopy, {begin}, {}, "row"), to};
  if (layout.panel.is_fixed()) {
    b.stepped_loop("panel", rows, layout.panel * at_once, inits, write);
  } else {
    const Value last = b.op(OpCode::isub, {plus(b, {rows, panel}), b.constant(1)});
    b.loop("panel", b.op(OpCode::idiv, {last, panel}, {}, "panels"), inits, write);
  }
}

namespace {

Value field_bytes(Builder& b, const Layout& layout, const Field& field) {
  return length(b, (layout.panel * bits(field.type)).divided(8));
}

/// Bytes of all blocks of so many values of k.
Value blocks_bytes(Builder& b, const Layout& layout, Value k) {
  if (layout.super_block != 0) {
    return product(b, {over(b, k, layout.super_block), length(b, super_block_bytes(layout))});
  }
  if (!has_long_blocks(layout)) {
    return product(b, {over(b, k, layout.block), length(b, block_bytes(layout))});
  }
  const Value blocks = b.op(OpCode::idiv, {k, b.arg(ArgField::pack_block)}, {}, "blocks");
  return plus(
      b, {codes_bytes(b, layout, k), product(b, {blocks, length(b, block_field_bytes(layout))})});
}

/// Calls f(field, its place) for all in memory order.
template <typename F>
void for_fields(Builder& b, const Layout& layout, Value padded, Value to, F&& f) {
  const bool blocks = layout.block != 0;
  const auto is_repeated = [&](const Field& field) {
    return field.kind == FieldKind::data || is_step(field.kind) || (blocks && field.per_block);
  };
  Value at = to;
  for (const Field& field : layout.fields) {
    if (field.kind == FieldKind::data || !is_repeated(field)) f(field, at);
    if (&field == &layout.fields.back()) break;
    const Field& following = *(&field + 1);
    const std::string next(name(following.kind));
    if (!is_repeated(field)) {
      at = plus(b, {at, field_bytes(b, layout, field)}, next);
    } else if (!is_repeated(following)) {
      const Value bytes = blocks ? blocks_bytes(b, layout, padded) : codes_bytes(b, layout, padded);
      at = plus(b, {at, bytes}, next);
    }
  }
}

/// The last column's value again, for those that do not exist.
void repeat_last(Builder& b, Value behind, Value missing) {
  const Value last = b.op(OpCode::load_scalar, {behind}, {.bits = 32, .offset = -4}, "last");
  b.loop("repeat", missing, {behind}, [&](const std::vector<Value>& at) {
    b.op(OpCode::store_scalar, {at[0], last}, {.bits = 32});
    return std::vector<Value>{b.add(at[0], 4)};
  });
}

/// Floats kept are a part of those given.
void divide(Builder& b, const Layout& layout, const Field& field, Value at) {
  const auto part = std::bit_cast<uint32_t>(1.0F / static_cast<float>(field.factor));
  const Value factor = splat32(b, part, "part");
  const int64_t bytes = b.isa().vector_bytes.fixed;
  const auto divide_vector = [&](Value first, int64_t offset) {
    const Value value = b.op(OpCode::load, {first}, {.offset = offset});
    b.op(OpCode::store, {first, b.op(OpCode::fmul, {value, factor})}, {.offset = offset});
  };
  if (!layout.panel.is_fixed()) {
    const Value count = over(b, field_bytes(b, layout, field), bytes, "vectors");
    b.loop("divide", count, {at}, [&](const std::vector<Value>& now) {
      divide_vector(now[0], 0);
      return std::vector<Value>{b.add(now[0], bytes)};
    });
    return;
  }
  for (int64_t i = 0; i < layout.panel.fixed * 4; i += bytes) divide_vector(at, i);
}

/// The caller's array of such a field.
ArgField argument(FieldKind kind) {
  if (kind == FieldKind::zero_points) return ArgField::pack_zero_points;
  return kind == FieldKind::bias ? ArgField::pack_bias : ArgField::pack_scales;
}

/// One float a column from an array of the caller's, if there is one.
void write_floats(Builder& b, const Layout& layout, const Field& field, const Panel& panel,
                  Value at) {
  const Value from = b.arg(argument(field.kind));
  const Value all = field_bytes(b, layout, field);
  const int64_t size = bits(field.type) / 8;
  const auto given = [&] {
    const Value bytes = times(b, panel.rows, size, "given_bytes");
    b.op(OpCode::copy_bytes, {at, plus(b, {from, times(b, panel.row, size)}), bytes});
    const Value missing = b.op(OpCode::isub, {all, bytes});
    if (layout.edge == Edge::last) {
      const Value behind = plus(b, {at, bytes}, "behind");
      repeat_last(b, behind, over(b, missing, 4));
    } else {
      b.op(OpCode::fill_bytes, {plus(b, {at, bytes}), b.constant(0), missing});
    }
    if (field.factor != 1) divide(b, layout, field, at);
  };
  b.branch(from, Compare::not_equal, b.constant(0), given, [&] {
    b.op(OpCode::fill_bytes, {at, b.constant(0), all});
  });
}

bool is_nibbles(const Layout& layout) {
  return layout.element == ElementType::i4;
}

int offset_of(const Source& source) {
  return field_axes(source.axes, FieldKind::data).offset;
}

/// The caller says what is added to codes.
bool is_given(const Layout& layout, const Source& source) {
  return is_nibbles(layout) && offset_of(source) == 0;
}

/// What the caller says.
Value told_offset(Builder& b) {
  const Value flag = b.op(OpCode::iand_imm, {b.arg(ArgField::pack_flags)}, {.imm = 1});
  return times(b, flag, 8, "given_offset");
}

}  // namespace

PanelPlaces panel_places(Builder& b, const Layout& layout, Value padded, Value to) {
  PanelPlaces places;
  for_fields(b, layout, padded, to, [&](const Field& field, Value at) {
    if (field.kind == FieldKind::data) places.codes = at;
    if (&field == summed_field(layout)) places.sums = at;
    if (field.kind == FieldKind::scales) places.scales = at;
  });
  return places;
}

PanelPlaces write_fields(Builder& b, const Layout& layout, Value padded, const Panel& panel) {
  PanelPlaces places;
  for_fields(b, layout, padded, panel.to, [&](const Field& field, Value at) {
    if (field.kind == FieldKind::data) {
      places.codes = at;
    } else if (&field == summed_field(layout)) {
      places.sums = at;
      b.op(OpCode::fill_bytes, {at, b.constant(0), field_bytes(b, layout, field)});
    } else {
      write_floats(b, layout, field, panel, at);
    }
  });
  return places;
}

Value given_offset(Builder& b, const Layout& layout, const Source& source) {
  return is_given(layout, source) ? told_offset(b) : b.constant(offset_of(source));
}

int64_t in_every_code(const Layout& layout, int64_t number) {
  int64_t byte = 0;
  for (int at = 0; at < 8; at += bits(layout.element)) byte |= number << at;
  return byte;
}

Value no_codes(Builder& b, const Layout& layout, const Source& source) {
  if (top_bits(layout) != 0) return b.constant(empty_byte(layout));
  if (!is_given(layout, source)) return b.constant(in_every_code(layout, offset_of(source)));
  return times(b, told_offset(b), 0x11, "no_codes");
}

Value flip_bits(Builder& b, const Layout& layout, const Source& source) {
  if (bits(layout.element) > 8) return no_value;
  const auto everywhere = [&](int64_t byte) { return b.constant(byte * 0x01010101); };
  const int64_t wanted = offset_bits(layout);
  Value flip = everywhere(wanted ^ in_every_code(layout, offset_of(source)));
  if (is_given(layout, source)) {
    flip = choose(b, {told_offset(b), everywhere(wanted ^ 0x88), flip}, "bits");
  }
  return b.op(OpCode::dup, {flip}, {.bits = 32}, "flip");
}

void copy_codes(Builder& b, const Layout& layout, Value to, Value from, Value codes, Value nothing,
                int64_t most_bytes) {
  const int64_t each = bits(layout.element) < 8 ? byte_codes(layout) : 1;
  if (each == 1) {
    b.op(OpCode::copy_bytes, {to, from, row_bytes(b, layout, codes)}, {.imm = most_bytes});
    return;
  }
  b.op(OpCode::copy_bytes, {to, from, over(b, b.add(codes, each - 1), each)}, {.imm = most_bytes});
  const Value rest = b.op(OpCode::iand_imm, {codes}, {.imm = each - 1}, each == 2 ? "odd" : "rest");
  const auto keep = [&](int64_t count) {
    const int64_t kept = (int64_t{1} << (count * bits(layout.element))) - 1;
    const Value at = plus(b, {to, over(b, codes, each)}, "last");
    const Value byte = b.op(OpCode::load_scalar, {at}, {.bits = 8}, "byte");
    const Value low = b.op(OpCode::iand_imm, {byte}, {.imm = kept});
    const Value high = b.op(OpCode::iand_imm, {nothing}, {.imm = 0xff & ~kept});
    b.op(OpCode::store_scalar, {at, plus(b, {low, high})}, {.bits = 8});
  };
  // Of two codes in a byte one is there, or none.
  const bool is_flag = each == 2;
  for (int64_t count = 1; count < each; ++count) {
    b.branch(rest, is_flag ? Compare::not_equal : Compare::equal, b.constant(is_flag ? 0 : count),
             [&] { keep(count); });
  }
}

}  // namespace tw
