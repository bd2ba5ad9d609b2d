#include "model/kleidiai_layouts.h"

namespace tw {
namespace {

/// KleidiAI's int8 lie as ours do. Its int4: both nibbles signed, 16 values of k apart. As high
/// nibbles, the low ones after a shift, they multiply 16 times too much, which its sums and scales
/// allow for.
constexpr int kleidiai_distance = 16;
constexpr int kleidiai_factor = 16;

/// What KleidiAI keeps beside the codes of columns with one scale, and of blocks with a scale each,
/// whose codes are not allowed for there.
std::vector<Field> kleidiai_fields(const Format& rhs) {
  const bool blocks = rhs.scales == Granularity::block;
  const Field data{FieldKind::data, rhs.element, 1, 1, true};
  const Field bias{FieldKind::bias, ElementType::f32, 1, 1, false};
  if (blocks) {
    return {data,
            {FieldKind::scales, ElementType::bf16, 1, 1, true},
            {FieldKind::sums, ElementType::f32, 1, 1, false},
            bias};
  }
  const int factor = rhs.element == ElementType::i4 ? kleidiai_factor : 1;
  return {data,
          {FieldKind::sums, ElementType::i32, factor, 1, false},
          {FieldKind::scales, ElementType::f32, factor, 1, false},
          bias};
}

}  // namespace

bool kleidiai_packs(const Format& lhs, const Format& rhs) {
  if (is_float(lhs)) return kleidiai_packs_floats(lhs, rhs);
  const bool symmetric = !rhs.has_zero_point && !rhs.has_minimums;
  const bool alone = rhs.top_bits == 0 && rhs.super_block == 0 && rhs.table == nullptr;
  const bool nibbles = rhs.element == ElementType::i4;
  const bool bytes = rhs.element == ElementType::i8 && rhs.scales == Granularity::channel;
  return lhs.has_zero_point && !is_static(lhs) && (nibbles || bytes) && symmetric && alone;
}

LayoutPair kleidiai_layouts(const Format& lhs, const Format& rhs, const Panels& panels, int block) {
  if (is_float(lhs)) return kleidiai_float_layouts(rhs, panels);
  Layout left;
  left.side = Side::lhs;
  left.element = lhs.element;
  left.panel = panels.lhs;
  left.order.kr = panels.kr;
  left.edge = Edge::last;
  left.rounding = Rounding::away;
  left.fields = {{FieldKind::data, ElementType::i8, 1, 1, true},
                 {FieldKind::zero_points, ElementType::i32, 1, 1, false},
                 {FieldKind::scales, ElementType::f32, 1, 1, false}};
  Layout right;
  right.side = Side::rhs;
  right.element = rhs.element;
  right.panel = panels.rhs;
  right.order.kr = panels.kr;
  if (rhs.element == ElementType::i4) {
    right.order = {panels.kr, NibblePair::depth, false, false, kleidiai_distance};
  }
  right.edge = Edge::last;
  right.block = block;
  right.fields = kleidiai_fields(rhs);
  return {left, right};
}

}  // namespace tw
