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
