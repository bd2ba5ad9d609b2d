// What techniques share: loading packed codes, and undoing what multiplying them raw brought in.
#include <fmt/format.h>

#include "lower/splat.h"
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

void Decoder::prepare(const Tile1& t) {
  if (!nibbles_) return;
  mask_ = splat32(t.b, signed_ ? 0xf0f0f0f0U : 0x0f0f0f0fU, "mask", Role::mask);
}

std::vector<Value> Decoder::operator()(const Tile1& t, Value raw, int64_t vector) const {
  if (!nibbles_) return {raw};
  return signed_ ? high_nibbles(t, raw, vector) : low_nibbles(t, raw, vector);
}

/// Both codes as high nibbles: signed bytes without an instruction that extends signs.
std::vector<Value> Decoder::high_nibbles(const Tile1& t, Value raw, int64_t vector) const {
  const std::string name = std::to_string(vector);
  const Value low = t.b.op(OpCode::shl, {raw}, {.bits = 8, .imm = 4}, "lo_" + name, Role::operand);
  const Value high = t.b.op(OpCode::and_, {raw, mask_}, {}, "hi_" + name, Role::operand);
  return {low, high};
}

std::vector<Value> Decoder::low_nibbles(const Tile1& t, Value raw, int64_t vector) const {
  const Value low =
      t.b.op(OpCode::and_, {raw, mask_}, {}, fmt::format("lo_{}", vector), Role::operand);
  const std::string name = fmt::format("hi_{}", vector);
  if (t.b.isa().has(OpCode::shr, 8)) {
    const Value high = t.b.op(OpCode::shr, {raw}, {.bits = 8, .imm = 4}, name, Role::operand);
    return {low, high};
  }
  const int bits = t.b.isa().has(OpCode::shr, 16) ? 16 : 32;
  const Value shifted = t.b.op(OpCode::shr, {raw}, {.bits = bits, .imm = 4}, name, Role::operand);
  const Value high = t.b.op(OpCode::and_, {shifted, mask_}, {}, name, Role::operand);
  return {low, high};
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
