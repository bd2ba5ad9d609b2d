// What techniques share: loading packed codes, and undoing what multiplying them raw brought in.
#include <fmt/format.h>

#include "lower/tile.h"

namespace tw {

Value load_codes(const Tile1& t, const std::vector<Value>& rhs, int64_t vector, int64_t k,
                 int64_t vectors_in_panel) {
  const Value cursor = rhs[static_cast<size_t>(vector / vectors_in_panel)];
  const Length offset =
      code_offset(*t.rhs.layout, 0, k) + t.b.isa().vector_bytes * (vector % vectors_in_panel);
  return t.b.op(OpCode::load, {cursor}, {.offset = offset}, fmt::format("raw_{}", vector),
                Role::operand);
}

Nibbles load_depth_pair(const Tile1& t, const std::vector<Value>& rhs, int64_t vector, int64_t k,
                        Value mask) {
  Builder& b = t.b;
  const Value raw = load_codes(t, rhs, vector, k, t.rhs.rows);
  Nibbles out;
  out.low = b.op(OpCode::and_, {raw, mask}, {}, fmt::format("lo_{}", vector), Role::operand);
  const std::string name = fmt::format("hi_{}", vector);
  if (b.isa().has(OpCode::shr, 8)) {
    out.high = b.op(OpCode::shr, {raw}, {.bits = 8, .imm = 4}, name, Role::operand);
    return out;
  }
  const int bits = b.isa().has(OpCode::shr, 16) ? 16 : 32;
  const Value shifted = b.op(OpCode::shr, {raw}, {.bits = bits, .imm = 4}, name, Role::operand);
  out.high = b.op(OpCode::and_, {shifted, mask}, {}, name, Role::operand);
  return out;
}

Value load_activation(const Tile1& t, const std::vector<Value>& lhs, int64_t row, int64_t k,
                      int bits) {
  const Value cursor = lhs[static_cast<size_t>(row / t.lhs.rows)];
  return t.b.op(OpCode::load_dup, {cursor},
                {.bits = bits, .offset = code_offset(*t.lhs.layout, row % t.lhs.rows, k)},
                fmt::format("a_{}", row), Role::operand);
}

Value load_start(const Tile1& t, const Place& sum, const std::string& name) {
  return t.b.op(OpCode::load_dup, {sum.pointer}, {.bits = 32, .offset = sum.offset}, name,
                Role::accumulator);
}

std::vector<Value> add_sets(const Tile1& t, std::vector<Value> all, size_t sets) {
  for (size_t half = sets / 2; half >= 1; half /= 2) {
    const size_t count = all.size() / 2;
    std::vector<Value> sum;
    for (size_t i = 0; i < count; ++i) {
      sum.push_back(t.b.op(OpCode::add, {all[i], all[i + count]}, {.bits = 32},
                           fmt::format("sum_{}", i), Role::accumulator));
    }
    all = std::move(sum);
  }
  return all;
}

Value high_sum(const Tile1& t, Value high, Value low) {
  const Value times16 = t.b.op(OpCode::sub, {high, low}, {.bits = 32}, "high", Role::accumulator);
  return t.b.op(OpCode::sar, {times16}, {.bits = 32, .imm = 4}, "high", Role::accumulator);
}

}  // namespace tw
