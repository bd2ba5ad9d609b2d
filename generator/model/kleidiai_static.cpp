// Activations that are codes already, by int8 per channel, as KleidiAI's packers write them: k
// padded to whole groups only, and the columns' biases before their codes.
#include "model/kleidiai_layouts.h"

namespace tw {

bool kleidiai_packs_static(const Format& rhs) {
  return rhs.element == ElementType::i8 && rhs.scales == Granularity::channel &&
         !rhs.has_zero_point;
}

LayoutPair kleidiai_static_layouts(const Panels& panels) {
  const Field data{FieldKind::data, ElementType::i8, 1, 1, true};
  Layout left;
  left.side = Side::lhs;
  left.element = ElementType::i8;
  left.panel = panels.lhs;
  left.order.kr = left.k_multiple = panels.kr;
  left.fields = {data};
  Layout right = left;
  right.side = Side::rhs;
  right.panel = panels.rhs;
  right.fields = {{FieldKind::bias, ElementType::i32, 1, 1, false},
                  data,
                  {FieldKind::scales, ElementType::f32, 1, 1, false}};
  return {left, right};
}

}  // namespace tw
