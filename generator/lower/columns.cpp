// What an epilogue needs of the tile's columns: their bias, which of them exist, and vectors of
// these lane by lane.
#include <bit>

#include "lower/output.h"
#include "lower/widen.h"

namespace tw {
namespace {

ElementType bias_type(const Tile1& t) {
  return field_of(*t.rhs.layout, FieldKind::bias).type;
}

/// Of the biases of a vector of columns.
Length bias_bytes(const Tile1& t) {
  return lanes_bytes(t.b.isa(), bias_type(t));
}

Value as_bias(const Tile1& t, Value value) {
  return widened(t.b, value, bias_type(t), "bias", Role::operand);
}

/// The bias of the columns of panel `p`.
Value bias_of_panel(const Tile1& t, const std::vector<Value>& packed, int64_t p) {
  const Value own = t.b.arg(ArgField::bias);
  const bool halves = bits(bias_type(t)) == 16;
  const Value before = halves ? t.b.op(OpCode::ishr, {t.column_bytes}, {.imm = 1}) : t.column_bytes;
  const Value moved = t.b.op(OpCode::iadd, {own, before});
  const Length columns = bias_bytes(t) * (p * t.rhs.rows);
  return t.b.op(OpCode::if_null, {own, packed[static_cast<size_t>(p)], t.b.add(moved, columns)}, {},
                "bias", Role::address);
}

Value first_lanes(const Tile1& t, Value count) {
  if (t.b.isa().has(OpCode::pred_first, 32)) {
    return t.b.op(OpCode::pred_first, {count}, {.bits = 32}, "columns", Role::mask);
  }
  const Value most = t.b.op(OpCode::length, {}, {.offset = t.lanes()});
  const Value lanes = t.b.op(OpCode::imin, {count, most});
  const Value flags = t.b.op(OpCode::low_bits, {t.b.constant(-1), lanes});
  return t.b.op(OpCode::pred_bits, {flags}, {.bits = 32}, "columns", Role::mask);
}

}  // namespace

std::vector<Place> bias_places(const Tile1& t, const std::vector<Value>& packed) {
  std::vector<Value> panels;
  for (int64_t p = 0; p < static_cast<int64_t>(packed.size()); ++p) {
    panels.push_back(bias_of_panel(t, packed, p));
  }
  std::vector<Place> places;
  for (int64_t j = 0; j < t.vectors(); ++j) {
    const auto panel = static_cast<size_t>(j / t.rhs.rows);
    places.push_back({panels[panel], bias_bytes(t) * (j % t.rhs.rows)});
  }
  return places;
}

Value load_bias(const Tile1& t, const Place& at) {
  return as_bias(t, t.b.op(OpCode::load, {at.pointer},
                           {.offset = at.offset, .bytes = bias_bytes(t)}, "bias", Role::operand));
}

Value load_bias(const Tile1& t, const Place& at, Value columns) {
  return as_bias(
      t, t.b.op(OpCode::load_pred, {columns, at.pointer},
                {.bits = bits(bias_type(t)), .offset = at.offset, .bytes = bias_bytes(t)}, "bias",
                Role::operand));
}

Value load_bias_lanes(const Tile1& t, const std::vector<Place>& places, Value last,
                      int64_t vector) {
  const Place& at = places[static_cast<size_t>(vector)];
  const Value first = places.front().pointer;
  return as_bias(t, load_lanes(t, last, first, at, vector, bits(bias_type(t)), "bias"));
}

Value column_predicate(const Tile1& t, int64_t vector) {
  const Value before = t.b.op(OpCode::length, {}, {.offset = t.lanes() * vector});
  const Value left = vector == 0 ? t.n_left : t.b.op(OpCode::isub_sat, {t.n_left, before});
  return first_lanes(t, left);
}

namespace {

Value load_lane(Builder& b, Value vector, Value pointer, int64_t lane, int bits, Length bytes,
                const std::string& name) {
  if (b.isa().has(OpCode::load_lane, bits, bytes)) {
    return b.op(OpCode::load_lane, {vector, pointer}, {.bits = bits, .imm = lane, .bytes = bytes},
                name, Role::operand);
  }
  const Value one = b.op(OpCode::load_dup, {pointer}, {.bits = bits}, "one", Role::operand);
  return b.op(OpCode::blend, {vector, one}, {.bits = bits, .imm = int64_t{1} << lane}, name,
              Role::operand);
}

}  // namespace

Value load_lanes(const Tile1& t, Value last, Value row, const Place& at, int64_t vector, int bits,
                 const std::string& name) {
  Builder& b = t.b;
  const int64_t lanes = t.lanes().fixed;
  const Length bytes = (b.isa().vector_bytes * bits).divided(32);
  const Value before = b.constant(vector * lanes);
  const Value room = b.op(OpCode::isub_sat, {last, before});
  // A vector wholly beyond the edge reads the row's first column instead.
  const Value first = b.op(OpCode::if_null, {b.op(OpCode::isub_sat, {t.n_left, before}), row,
                                             b.add(at.pointer, at.offset)});
  Value all = b.op(OpCode::load_dup, {first}, {.bits = bits, .bytes = bytes}, name, Role::operand);
  for (int64_t lane = 1; lane < lanes; ++lane) {
    const Value at_most = b.op(OpCode::imin, {room, b.constant(lane)});
    const int shift = std::countr_zero(static_cast<unsigned>(bits / 8));
    const Value skip = b.op(OpCode::ishl, {at_most}, {.imm = shift});
    all = load_lane(b, all, b.op(OpCode::iadd, {first, skip}), lane, bits, bytes, name);
  }
  return all;
}

std::vector<Value> column_predicates(const Tile1& t) {
  std::vector<Value> all;
  for (int64_t j = 0; j < t.vectors(); ++j) all.push_back(column_predicate(t, j));
  return all;
}

}  // namespace tw
