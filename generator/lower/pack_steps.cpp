#include "lower/pack_steps.h"

#include <utility>

#include "lower/pack_walk.h"

namespace tw {
namespace {

constexpr int64_t at_once = 4;  ///< blocks whose numbers are packed together

/// Whether those of some blocks lie a byte apart.
bool are_neighbors(const Source& source, const Layout& layout, FieldKind kind) {
  if (find_field(source.axes, kind) == nullptr) return true;
  for (int64_t k = 0; k + layout.block < layout.super_block; k += layout.block) {
    const bool next = (k / layout.block + 1) % at_once != 0;
    const int64_t distance =
        source_bit(source, kind, k + layout.block) - source_bit(source, kind, k);
    if (next && distance != 8) return false;
  }
  return true;
}

/// Of `count` blocks from that of k on, a byte each.
Value load_bits(Builder& b, const Source& source, Value from, FieldKind kind, int64_t k,
                int64_t count) {
  const int64_t bit = source_bit(source, kind, k);
  const int64_t mask = (int64_t{1} << bits(field_axes(source.axes, kind).type)) - 1;
  Value bytes = b.op(OpCode::load_scalar, {from},
                     {.bits = static_cast<int>(8 * count), .offset = bit / 8}, "bytes");
  if (bit % 8 != 0) bytes = b.op(OpCode::ishr, {bytes}, {.imm = bit % 8});
  if (mask == 0xff) return bytes;
  return b.op(OpCode::iand_imm, {bytes}, {.imm = count == 1 ? mask : mask * 0x01010101});
}

/// An f16 of the lowest byte's bits, e5m3.
Value half_of_byte(Builder& b, Value number) {
  const Value byte = b.op(OpCode::iand_imm, {number}, {.imm = 0xff});
  return b.op(OpCode::ishl, {byte}, {.imm = 7}, "half");
}

/// Their numbers, whose upper bits may stand elsewhere.
Value load_numbers(Builder& b, const Source& source, Value from, FieldKind kind, FieldKind tops,
                   int64_t k, int64_t count) {
  const Value low = load_bits(b, source, from, kind, k, count);
  if (find_field(source.axes, tops) == nullptr) return low;
  const Value top = load_bits(b, source, from, tops, k, count);
  const int shift = bits(field_axes(source.axes, kind).type);
  return plus(b, {low, b.op(OpCode::ishl, {top}, {.imm = shift})}, "numbers");
}

}  // namespace

void put_super_block_numbers(Builder& b, const Layout& layout, const Source& source, Value from,
                             Value to, Value row) {
  // `row_at`: the super-block, and behind it as many bytes as the values of rows before have.
  const auto put = [&](Value row_at, FieldKind kind, int64_t k, Value number) {
    Length offset = field_offset(layout, kind);
    if (!is_step(kind)) offset = offset + block_bytes(layout) * (k / layout.block);
    const int width = bits(field_of(layout, kind).type);
    if (offset.is_fixed()) {
      b.op(OpCode::store_scalar, {row_at, number}, {.bits = width, .offset = offset});
    } else {
      const Value at = plus(b, {row_at, length(b, offset)});
      b.op(OpCode::store_scalar, {at, number}, {.bits = width});
    }
  };
  const Value at_steps = plus(b, {to, times(b, row, 2)}, "steps");
  for (const FieldKind kind : {FieldKind::scale_steps, FieldKind::minimum_steps}) {
    if (field_index(layout, kind) < 0) continue;
    const int64_t offset = source_bit(source, kind, 0) / 8;
    const Value step = b.op(OpCode::load_scalar, {from}, {.bits = 16, .offset = offset}, "step");
    put(at_steps, kind, 0, step);
  }
  const bool are_bytes = bits(field_of(layout, FieldKind::scales).type) == 8;
  const Value at_numbers = plus(b, {to, are_bytes ? row : times(b, row, 2)}, "numbers");
  for (int64_t first = 0; first < layout.super_block; first += at_once * layout.block) {
    for (const auto& [kind, tops] : {std::pair{FieldKind::scales, FieldKind::scale_tops},
                                     {FieldKind::minimums, FieldKind::minimum_tops}}) {
      if (field_index(layout, kind) < 0) continue;
      const bool together =
          are_neighbors(source, layout, kind) && are_neighbors(source, layout, tops);
      const int64_t count = together ? at_once : 1;
      const int offset = field_axes(source.axes, kind).offset;
      Value numbers = no_value;
      for (int64_t i = 0; i < at_once; ++i) {
        const int64_t k = first + i * layout.block;
        if (i % count == 0) numbers = load_numbers(b, source, from, kind, tops, k, count);
        Value number = numbers;
        if (i % count != 0) number = b.op(OpCode::ishr, {numbers}, {.imm = 8 * (i % count)});
        if (offset != 0) number = b.add(number, -offset);
        if (!are_bytes) number = half_of_byte(b, number);
        put(at_numbers, kind, k, number);
      }
    }
  }
}

}  // namespace tw
