// Floats as KleidiAI's packers write them: k by k the values of a panel's columns, behind their
// biases, which are of the same type. Rows of the lhs are its user's own.
#include "model/kleidiai_layouts.h"

namespace tw {

bool kleidiai_packs_floats(const Format& lhs, const Format& rhs) {
  const bool known = lhs.element == ElementType::f32 || lhs.element == ElementType::f16;
  return known && rhs.element == lhs.element;
}

LayoutPair kleidiai_float_layouts(const Format& format, const Panels& panels) {
  const Field data{FieldKind::data, format.element, 1, 1, true};
  Layout left;
  left.side = Side::lhs;
  left.element = format.element;
  left.order.kr = panels.kr;
  left.k_multiple = 1;
  left.fields = {data};
  Layout right = left;
  right.side = Side::rhs;
  right.panel = panels.rhs;
  right.fields = {{FieldKind::bias, format.element, 1, 1, false}, data};
  return {left, right};
}

}  // namespace tw
