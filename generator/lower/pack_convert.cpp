#include "lower/pack_convert.h"

#include <optional>

#include "lower/pack_walk.h"
#include "lower/quantize.h"
#include "lower/widen.h"

namespace tw {
namespace {

ElementType type_of(const Source& source) {
  return field_axes(source.axes, FieldKind::data).type;
}

}  // namespace

bool RowConverter::possible(const Layout& layout, const Source& source, const Isa& isa) {
  if (!is_float(layout.element) || !is_float(type_of(source)) || rows_are_k(source)) return false;
  const bool makes =
      layout.element == ElementType::f32 ||
      isa.has(layout.element == ElementType::f16 ? OpCode::cvt_f32_f16 : OpCode::high_half);
  return makes && isa.has(OpCode::store, 0, lanes_bytes(isa, layout.element)) &&
         can_widen(isa, type_of(source));
}

int64_t RowConverter::tail_bytes(const Isa& isa) {
  return 4 * range_step(isa);
}

RowConverter::RowConverter(Builder& b, const Layout& layout, const Source& source, Value tail)
    : b_(b),
      from_(type_of(source)),
      to_(layout.element),
      tail_(tail),
      below_half_(below_half(b, to_)) {}

Value RowConverter::source_bytes(Value values) const {
  return b_.op(OpCode::imul, {values, b_.constant(bits(from_) / 8)});
}

void RowConverter::convert(Value to, Value from, Value values) const {
  const int64_t step = range_step(b_.isa());
  const Length bytes = lanes_bytes(b_.isa(), to_);
  const Steps floats = float_steps(b_, {from, from_}, values, step, tail_);
  const int64_t converted = step * bits(to_) / 8;
  const Value whole = times(b_, over(b_, values, step), converted);
  const Steps others{to, plus(b_, {to, whole}, "behind"), converted};
  for_steps(b_, values, step, {floats, others}, {}, [&](const std::vector<Value>& now) {
    int64_t i = 0;
    for (const Value x : load_floats(b_, now[0], step / b_.isa().lanes32(), from_)) {
      b_.op(OpCode::store, {now[1], narrowed(b_, x, to_, below_half_)}, {.offset = bytes * i++});
    }
    return std::vector<Value>{};
  });
}

bool is_row(const Layout& layout) {
  return is_float(layout.element) && layout.panel == Length{1} && layout.fields.size() == 1;
}

/// What does not fill a step is converted beside the panel, which may end there.
static void convert_row(Builder& b, const RowConverter& converter, Value to, Value from,
                        int64_t element, Value beside) {
  const Value k = b.arg(ArgField::pack_k);
  const int64_t step = range_step(b.isa());
  const Value whole = times(b, over(b, k, step), step, "whole");
  const Value rest = b.op(OpCode::isub, {k, whole}, {}, "rest");
  converter.convert(to, from, whole);
  converter.convert(beside, plus(b, {from, converter.source_bytes(whole)}), rest);
  const Value behind = plus(b, {to, times(b, whole, element)}, "behind");
  b.op(OpCode::copy_bytes, {behind, beside, times(b, rest, element)});
}

void lower_pack_float_rows(Builder& b, const Layout& layout, const Source& source) {
  const int64_t element = bits(layout.element) / 8;
  const Value bytes = times(b, b.arg(ArgField::pack_k), element, "bytes");
  const Value all = times(b, padded_k(b, layout), element);
  const Value padding = b.op(OpCode::isub, {all, bytes}, {}, "padding");
  const Value stride = b.arg(ArgField::pack_source_stride);
  std::optional<RowConverter> converter;
  Value memory = no_value;
  if (converts(source, layout)) {
    const int64_t step = range_step(b.isa()) * element;
    memory = b.scratch(step + RowConverter::tail_bytes(b.isa()));
    converter.emplace(b, layout, source, b.add(memory, step, "tail"));
  }
  for_panels(b, layout, [&](const Panel& panel) {
    const Value from =
        plus(b, {b.arg(ArgField::pack_source), product(b, {panel.row, stride})}, "from");
    if (converter) {
      convert_row(b, *converter, panel.to, from, element, memory);
    } else {
      b.op(OpCode::copy_bytes, {panel.to, from, bytes});
    }
    b.op(OpCode::fill_bytes, {plus(b, {panel.to, bytes}), b.constant(0), padding});
  });
}

}  // namespace tw
