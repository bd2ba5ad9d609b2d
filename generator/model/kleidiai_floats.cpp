// Floats as KleidiAI's packers write them: the values of a panel's columns, kr of k at a time,
// behind their biases, which are f16 for f16, or what a spec says. Rows of the lhs likewise, or
// they are its user's own.
#include "model/kleidiai_layouts.h"

namespace tw {

bool kleidiai_packs_floats(const Format& lhs, const Format& rhs) {
  return is_float(lhs) && rhs.element == lhs.element;
}

LayoutPair kleidiai_float_layouts(const Format& format, const Panels& panels) {
  const Field data{FieldKind::data, format.element, 1, 1, true};
  Layout left;
  left.side = Side::lhs;
  left.element = format.element;
  left.panel = panels.lhs;
  left.order.kr = panels.kr;
  left.k_multiple = panels.kr;
  left.fields = {data};
  Layout right = left;
  right.side = Side::rhs;
  right.panel = panels.rhs;
  const bool halves = format.element == ElementType::f16;
  const ElementType usual = halves ? ElementType::f16 : ElementType::f32;
  const ElementType bias = panels.bias.value_or(usual);
  right.fields = {{FieldKind::bias, bias, 1, 1, false}, data};
  return {left, right};
}

}  // namespace tw
