// What an epilogue needs of the tile's columns: their bias, and which of them exist.
#include "lower/tile.h"

namespace tw {
namespace {

/// The bias of the columns of panel `p`.
Value bias_of_panel(const Tile1& t, const std::vector<Value>& packed, int64_t p) {
  const Value own = t.b.arg(ArgField::bias);
  const Value moved = t.b.op(OpCode::iadd, {own, t.column_bytes});
  const Length columns = t.b.isa().vector_bytes * (p * t.rhs.rows);
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
  for (int64_t j = 0; j < t.vectors(); ++j) places.push_back(rhs_vector(t, panels, j));
  return places;
}

Value column_predicate(const Tile1& t, int64_t vector) {
  const Value before = t.b.op(OpCode::length, {}, {.offset = t.lanes() * vector});
  const Value left = vector == 0 ? t.n_left : t.b.op(OpCode::isub_sat, {t.n_left, before});
  return first_lanes(t, left);
}

std::vector<Value> column_predicates(const Tile1& t) {
  std::vector<Value> all;
  for (int64_t j = 0; j < t.vectors(); ++j) all.push_back(column_predicate(t, j));
  return all;
}

}  // namespace tw
