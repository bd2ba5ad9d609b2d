// A panel of codes of 4 bits, with a scale for each column, as the panel of int8 of the same
// columns:
//   dst[k / kr][column][k % kr] = code
// and behind those what stands behind the codes of 4 bits, byte for byte. Kernels for int8 then
// make of it what others make of the codes of 4 bits, bit for bit: sums are exact.

#include "lower/lower.h"
#include "lower/splat.h"
#include "lower/weights.h"
#include "model/reject.h"

namespace tw {
namespace {

/// The layout of the same codes in a byte each.
Layout in_bytes(Layout codes) {
  codes.element = codes.fields.front().type = ElementType::i8;
  codes.order = {.kr = codes.order.kr};
  return codes;
}

}  // namespace

/// Of int4 with a scale for each column.
static void check_nibbles(const Variant& v) {
  const DataOrder& order = v.rhs.order;
  const bool nibbles = v.rhs.element == ElementType::i4 && v.rhs.block == 0 &&
                       order.pair == NibblePair::column && order.low_unsigned &&
                       !order.high_unsigned && v.rhs.fields.front().kind == FieldKind::data;
  if (!nibbles || !(in_bytes(v.rhs) == v.decoded)) {
    reject(
        "panels of {} are decoded to s8 where they are pairs of columns of 4 bits, a scale each, "
        "and panels of int8 lie as they do",
        v.family.rhs->name);
  }
}

void check_codes(const Variant& v) {
  v.rhs.block == 0 ? check_nibbles(v) : check_fields(v);
  if (v.tile.m != Length{1} || v.tile.n != v.rhs.panel) {
    reject("tile {}x{} does not fit decode: a panel, 1x{}, does", to_string(v.tile.m),
           to_string(v.tile.n), to_string(v.rhs.panel));
  }
  const bool whole = v.rhs.block != 0 || v.knobs.unroll_k == v.rhs.k_multiple;
  const bool far = v.knobs.prefetch == Prefetch::far || v.knobs.prefetch == Prefetch::beside;
  if (whole && !far) return;
  reject(
      "unroll_k {} and prefetch '{}' are not possible: {} is, to which k is padded, and near or "
      "none",
      v.knobs.unroll_k, name(v.knobs.prefetch), v.rhs.k_multiple);
}

void decode_to_codes(const Tile1& t, Value to) {
  Builder& b = t.b;
  const Layout& codes = t.v.rhs;
  const Length vector = b.isa().vector_bytes;
  const int64_t step = codes.k_multiple, kr = codes.order.kr;
  const int64_t vectors = ratio(codes.panel * kr, vector) / 2;  // of codes, in a group
  const Value mask = splat32(b, 0x0f0f0f0fU, "mask", Role::mask);
  const Value lowest = splat32(b, 0xf8f8f8f8U, "lowest", Role::mask);
  const Value count = b.op(OpCode::idiv, {t.padded, b.constant(step)}, {}, "k_steps");
  const auto body = [&](const auto& /*lhs*/, const auto& rhs, std::vector<Value> at, int64_t g) {
    for (int64_t j = 0; j < vectors; ++j) {
      const Value raw = load_codes(t, rhs, j, g * kr);
      const Length first = vector * (2 * (g * vectors + j));
      // A byte's codes are of the columns of two vectors of int8; the low one is kept as code + 8.
      const Value high = b.op(OpCode::sar, {raw}, {.bits = 8, .imm = 4}, "high", Role::operand);
      b.op(OpCode::store, {at.front(), high}, {.offset = first});
      const Value stored = b.op(OpCode::and_, {raw, mask}, {}, "low", Role::operand);
      const Value low = b.op(OpCode::add, {stored, lowest}, {.bits = 8}, "low", Role::operand);
      b.op(OpCode::store, {at.front(), low}, {.offset = first + vector});
    }
    if ((g + 1) * kr == step)
      at.front() = b.add(at.front(), vector * (2 * step / kr * vectors), "to");
    return at;
  };
  const KState end = k_loop(t, {count, step, step / kr, true}, {{}, t.rhs.base, {to}}, body);
  const int64_t fields = ratio(panel_bytes(codes, 0), vector);
  for (int64_t i = 0; i < fields; ++i) {
    const Value column =
        b.op(OpCode::load, {end.rhs.front()}, {.offset = vector * i}, "column", Role::operand);
    b.op(OpCode::store, {end.carried.front(), column}, {.offset = vector * i});
  }
}

}  // namespace tw
