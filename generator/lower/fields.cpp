// Addresses inside packed panels, all derived from the Layouts.
#include <fmt/format.h>

#include "lower/tile.h"
#include "model/reject.h"

namespace tw {
namespace {

int64_t row_bytes(const Layout& layout, FieldKind kind) {
  const Field& field = field_of(layout, kind);
  return bits(field.type) / 8 * field.repeat;
}

/// Bytes from one row's codes to the next one's, within a group of kr.
int64_t code_pitch(const Layout& layout) {
  const NibblePair pair = layout.order.pair;
  const bool shared = pair == NibblePair::column || pair == NibblePair::next;
  return shared ? layout.order.kr / byte_codes(layout)
                : layout.order.kr * ((bits(layout.element) + 7) / 8);
}

Value times(Builder& b, Value value, Length factor) {
  if (factor == Length{1}) return value;
  return b.op(OpCode::imul, {value, b.op(OpCode::length, {}, {.offset = factor})});
}

/// Bytes of all codes (with blocks: of all blocks) of a panel.
Value all_codes(const Tile1& t, const Layout& layout) {
  if (layout.block == 0) return code_bytes(t, layout, padded_k(t, layout));
  if (has_long_blocks(layout)) {
    const Value codes = code_bytes(t, layout, t.padded);
    return t.b.op(OpCode::iadd, {codes, times(t.b, t.blocks, block_field_bytes(layout))});
  }
  if (layout.super_block != 0) return times(t.b, count_super_blocks(t), super_block_bytes(layout));
  return times(t.b, count_blocks(t, ""), block_bytes(layout));
}

}  // namespace

Value padded_k(const Tile1& t, const Layout& layout) {
  const int64_t multiple = layout.k_multiple;
  if (multiple == t.v.lhs.k_multiple) return t.padded;
  const Value k = multiple < t.v.lhs.k_multiple ? t.b.arg(ArgField::k) : t.padded;
  return t.b.op(OpCode::iand_imm, {t.b.add(k, multiple - 1)}, {.imm = -multiple}, "padded");
}

Length codes_in_block(const Layout& layout) {
  return field_offset(layout, FieldKind::data) - steps_bytes(layout);
}

Value code_bytes(const Tile1& t, const Layout& layout, Value k) {
  const Length per_k = layout.panel * bits(layout.element);
  // Lengths of vectors are told in halves of a segment.
  const bool is_told = per_k.divisible(per_k.is_fixed() ? 8 : 16);
  if (is_told) return times(t.b, k, per_k.divided(8));
  return t.b.op(OpCode::ishr, {times(t.b, k, per_k)}, {.imm = 3});
}

std::vector<Value> field_pointers(const Tile1& t, const Panels1D& side, FieldKind kind) {
  const Layout& layout = *side.layout;
  // At k = 0 the codes take no room: what is left is the distance from their end.
  const Length at = field_offset(layout, kind);
  const int index = field_index(layout, kind);
  const bool is_before = layout.block == 0 && index < field_index(layout, FieldKind::data);
  Value skip =
      is_before ? t.b.op(OpCode::length, {}, {.offset = at}) : t.b.add(all_codes(t, layout), at);
  if (side.sub != no_value) {
    skip = t.b.op(OpCode::iadd, {skip, times(t.b, side.sub, row_bytes(layout, kind))});
  }
  std::vector<Value> pointers;
  for (const Value base : side.base) {
    pointers.push_back(t.b.op(OpCode::iadd, {base, skip}, {}, "field", Role::address));
  }
  return pointers;
}

std::vector<Value> code_pointers(const Tile1& t, const Panels1D& side) {
  if (side.sub == no_value) return side.base;
  // A lane of four values is loaded with the lanes behind it.
  const Layout& layout = *side.layout;
  const bool more = layout.fields.size() > 2 || has_long_blocks(layout) || layout.order.kr < 8;
  if (layout.block != 0 && &side == &t.lhs && more) {
    reject(
        "with blocks a tile has the rows of whole panels, but where short ones have scales only "
        "and kr is 8");
  }
  const Value skip = times(t.b, side.sub, code_pitch(*side.layout));
  return {t.b.op(OpCode::iadd, {side.base.front(), skip}, {}, "codes", Role::address)};
}

std::vector<Value> block_cursors(const Tile1& t, const Panels1D& side) {
  std::vector<Value> all = code_pointers(t, side);
  if (!has_fields_apart(*side.layout)) return all;
  const std::vector<Value> fields = field_pointers(t, side, side.layout->fields.back().kind);
  all.insert(all.end(), fields.begin(), fields.end());
  return all;
}

std::vector<Value> code_cursors(const Layout& layout, std::vector<Value> cursors) {
  if (has_fields_apart(layout)) cursors.resize(cursors.size() / 2);
  return cursors;
}

std::vector<Value> field_cursors(const Layout& layout, std::vector<Value> cursors) {
  if (!has_fields_apart(layout)) return cursors;
  return {cursors.begin() + static_cast<std::ptrdiff_t>(cursors.size() / 2), cursors.end()};
}

Value beyond_codes(const Tile1& t, const Panels1D& side, FieldKind kind) {
  const Layout& layout = *side.layout;
  if (has_fields_apart(layout)) return no_value;
  const int64_t beyond = row_bytes(layout, kind) - code_pitch(layout);
  if (side.sub == no_value || beyond == 0) return no_value;
  return t.b.op(OpCode::imul, {side.sub, t.b.constant(beyond)}, {}, "beyond", Role::address);
}

Length code_offset(const Layout& layout, int64_t row, int64_t k) {
  const Length first = has_long_blocks(layout) ? Length(0) : codes_in_block(layout);
  return first +
         (layout.panel * (bits(layout.element) * layout.order.kr * depth_codes(layout)))
                 .divided(8) *
             group_of(layout, k) +
         Length{row * code_pitch(layout)};
}

Length step_bytes(const Layout& layout, int64_t k) {
  const bool whole = layout.block != 0 && !has_long_blocks(layout);
  return whole ? block_bytes(layout) * (k / layout.block) : data_bytes(layout, k);
}

Place lhs_row(const Tile1& t, const std::vector<Value>& pointers, int64_t row, FieldKind kind) {
  const int64_t panel = row / t.lhs.rows;
  return {pointers[static_cast<size_t>(panel)], row % t.lhs.rows * row_bytes(*t.lhs.layout, kind)};
}

Place rhs_vector(const Tile1& t, const std::vector<Value>& pointers, int64_t vector) {
  const int64_t panel = vector / t.rhs.rows;
  return {pointers[static_cast<size_t>(panel)], t.b.isa().vector_bytes * (vector % t.rhs.rows)};
}

std::vector<Value> clamped_pointers(Builder& b, Value first, Value step, Value left, Length unit,
                                    int64_t count, const std::string& hint) {
  std::vector<Value> pointers = {first};
  for (int64_t i = 1; i < count; ++i) {
    const Value limit = b.op(OpCode::length, {}, {.offset = unit * i});
    const Value beyond = b.op(OpCode::isub_sat, {left, limit});
    const Value next = b.op(OpCode::iadd, {pointers.back(), step});
    pointers.push_back(b.op(OpCode::if_null, {beyond, pointers.back(), next}, {},
                            fmt::format("{}_{}", hint, i), Role::address));
  }
  return pointers;
}

Value load_dup32(const Tile1& t, const Place& at, const std::string& name) {
  return t.b.op(OpCode::load_dup, {at.pointer}, {.bits = 32, .offset = at.offset}, name,
                Role::operand);
}

std::vector<Value> load_columns(const Tile1& t, const std::vector<Value>& pointers,
                                const std::string& name) {
  std::vector<Value> vectors;
  for (int64_t j = 0; j < t.vectors(); ++j) {
    const Place at = rhs_vector(t, pointers, j);
    vectors.push_back(t.b.op(OpCode::load, {at.pointer}, {.offset = at.offset},
                             fmt::format("{}_{}", name, j), Role::operand));
  }
  return vectors;
}

void check_segments(const Isa& isa) {
  const Length bytes = isa.vector_bytes;
  if (bytes.fixed % 16 == 0 && bytes.vl % 16 == 0 && bytes.svl % 16 == 0) return;
  reject(
      "{} multiplies by segments of 128 bits, of which its vectors of {} bytes have no whole "
      "number",
      isa.name, to_string(bytes));
}

Value load_segment(const Tile1& t, const Place& at, const std::string& name, Role role) {
  if (t.b.isa().vector_bytes == Length{16}) {
    return t.b.op(OpCode::load, {at.pointer}, {.offset = at.offset}, name, role);
  }
  check_segments(t.b.isa());
  return t.b.op(OpCode::load_dup, {at.pointer}, {.bits = 128, .offset = at.offset}, name, role);
}

}  // namespace tw
