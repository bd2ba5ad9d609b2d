#include "lower/pack_plain_blocks.h"

#include <bit>

#include "lower/splat.h"
#include "lower/widen.h"

namespace tw {

Value load_float(Builder& b, Value at, ElementType type, const char* name) {
  return widened(b, b.op(OpCode::load, {at}, {.bytes = bits(type) / 8}), type, name);
}

PlainBlocks::PlainBlocks(Builder& b, const Layout& layout, const Source& source)
    : given{b},
      codes(b, layout, source),
      k(b.arg(ArgField::pack_k)),
      padded(padded_k(b, layout)),
      block(layout.block == 0         ? no_value
            : has_long_blocks(layout) ? b.arg(ArgField::pack_block)
                                      : b.constant(whole_block(layout))),
      b_(b),
      layout_(layout),
      source_(source) {}

Value PlainBlocks::blocks_in(Value values) const {
  return b_.op(OpCode::idiv, {values, block}, {}, "blocks");
}

void PlainBlocks::keep(Value at, Value sum, Value first_k, Value row, Value column,
                       Value scales) const {
  const ElementType type = field_of(layout_, FieldKind::scales).type;
  const int64_t bytes = bits(type) / 8;
  const Value from = block_of(source_) != 0
                         ? place_of(FieldKind::scales, column, first_k, "scale_from")
                         : beside(ArgField::pack_scales, column, first_k, "scale_from");
  Value kept = b_.op(OpCode::load, {from}, {.bytes = bytes}, "scale");
  if (field_index(layout_, FieldKind::offsets) >= 0) {
    keep_offset(plus(b_, {scales, times(b_, row, bytes)}), kept, first_k, column);
    scales = plus(b_, {scales, given.length(layout_.panel * bytes)});
  }
  const Value kept_at = plus(b_, {scales, times(b_, row, bytes)});
  if (const int64_t sign = sign_of_scales(source_); sign != 0) {
    const Value scale = b_.op(OpCode::load_scalar, {from}, {.bits = bits(type)}, "given");
    b_.op(OpCode::store_scalar, {kept_at, b_.add(scale, sign, "negated")}, {.bits = bits(type)});
    kept = b_.op(OpCode::load, {kept_at}, {.bytes = bytes}, "scale");
  }
  b_.op(OpCode::store, {kept_at, part_of(kept)});
  if (field_index(layout_, FieldKind::zero_points) >= 0) {
    keep_zero_point(plus(b_, {kept_at, given.length(layout_.panel * bytes)}), first_k, column);
  }
  if (field_index(layout_, FieldKind::minimums) >= 0) {
    const Value minimum = place_of(FieldKind::minimums, column, first_k, "minimum_from");
    b_.op(OpCode::copy_bytes,
          {plus(b_, {kept_at, given.length(layout_.panel * bytes)}), minimum, b_.constant(bytes)});
  }
  if (at == no_value) return;
  const Value real = widened(b_, kept, type);
  const Value count = b_.op(OpCode::cvt_i32_f32, {b_.op(OpCode::dup, {sum}, {.bits = 32})});
  const Value old = b_.op(OpCode::load, {at}, {}, "old");
  b_.op(OpCode::store, {at, b_.op(OpCode::fma, {count, real, old}, {}, "total")});
}

/// What the layout keeps of a scale.
Value PlainBlocks::part_of(Value scale) const {
  const Field& field = field_of(layout_, FieldKind::scales);
  if (field.factor == 1) return scale;
  const auto part = std::bit_cast<uint32_t>(1.0F / static_cast<float>(field.factor));
  const Value real =
      b_.op(OpCode::fmul, {widened(b_, scale, field.type), splat32(b_, part, "part")});
  return narrowed(b_, real, field.type, below_half(b_, field.type));
}

/// Behind the scales, of their type; without an array of them, 0.
void PlainBlocks::keep_zero_point(Value to, Value first_k, Value column) const {
  const ElementType type = field_of(layout_, FieldKind::zero_points).type;
  const Value bytes = b_.constant(bits(type) / 8);
  b_.branch(
      b_.arg(ArgField::pack_zero_points), Compare::not_equal, b_.constant(0),
      [&] {
        if (source_.zero_codes) {
          const Value steps =
              b_.op(OpCode::dup, {zero_code(column, first_k)}, {.bits = 32}, "zero_point");
          const Value zero = b_.op(OpCode::cvt_i32_f32, {steps});
          b_.op(OpCode::store, {to, narrowed(b_, zero, type, below_half(b_, type))});
          return;
        }
        const Value from = beside(ArgField::pack_zero_points, column, first_k, "zero_from");
        b_.op(OpCode::copy_bytes, {to, from, bytes});
      },
      [&] {
        b_.op(OpCode::fill_bytes, {to, b_.constant(0), bytes});
      });
}

/// Minus the zero point, of the scale's type, f32, times that; without an array of them, 0.
void PlainBlocks::keep_offset(Value to, Value scale, Value first_k, Value column) const {
  const Value none = b_.op(OpCode::zero);
  const Value zeros = b_.arg(ArgField::pack_zero_points);
  b_.branch(
      zeros, Compare::not_equal, b_.constant(0),
      [&] {
        const Value from = beside(ArgField::pack_zero_points, column, first_k, "zero_from");
        const Value zero = b_.op(OpCode::load, {from}, {}, "zero_point");
        const Value worth = b_.op(OpCode::fmul, {zero, scale});
        b_.op(OpCode::store, {to, b_.op(OpCode::fsub, {none, worth}, {}, "offset")});
      },
      [&] {
        b_.op(OpCode::store, {to, none});
      });
}

Value PlainBlocks::zero_code(Value column, Value first_k) const {
  const int64_t together = 8 / codes.width();
  const Value number = blocks_in(first_k);
  const Value column_bytes = over(b_, b_.add(blocks_in(k), together - 1), together);
  const Value from =
      plus(b_, {b_.arg(ArgField::pack_zero_points), product(b_, {column, column_bytes})});
  const Value at = plus(b_, {from, over(b_, number, together)}, "zero_from");
  const Value byte = b_.op(OpCode::load_scalar, {at}, {.bits = 8}, "zero_byte");
  const Value which = together == 1 ? no_value : remainder(given, number, together);
  return b_.add(codes.code_bits(codes.in_byte(byte, which), "zero_code"), -codes.half());
}

/// Where a column's block has its value in an array beside the weights.
Value PlainBlocks::beside(ArgField array, Value column, Value first_k, const char* name) const {
  const int64_t bytes = bits(field_of(layout_, FieldKind::scales).type) / 8;
  const Value stride = b_.arg(ArgField::pack_scale_stride);
  const Value from = plus(b_, {b_.arg(array), product(b_, {column, stride})});
  return plus(b_, {from, times(b_, blocks_in(first_k), bytes)}, name);
}

Value PlainBlocks::place_of(FieldKind kind, Value column, Value first_k, const char* name) const {
  const FieldAxes path = path_of(source_.axes, kind);
  return moved(given, b_.arg(ArgField::pack_source), path, column, first_k, name).bytes;
}

Value PlainBlocks::real_of(FieldKind kind, Value column, Value first_k) const {
  const FieldAxes* field = find_field(source_.axes, kind);
  if (field == nullptr) return no_value;
  const Value at = place_of(kind, column, first_k, "at");
  return load_float(b_, at, field->type, kind == FieldKind::scales ? "scale" : "minimum");
}

}  // namespace tw
