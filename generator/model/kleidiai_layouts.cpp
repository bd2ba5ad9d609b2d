#include "model/kleidiai_layouts.h"

namespace tw {
namespace {

/// KleidiAI's int8 lie as ours do. Its int4: both nibbles signed, 16 values of k apart. As high
/// nibbles, the low ones after a shift, they multiply 16 times too much, which its sums and scales
/// of channels allow for, those of blocks do not.
constexpr int kleidiai_distance = 16;
constexpr int kleidiai_factor = 16;

/// Floats, or activations and int8 per channel that are codes already: what is multiplied as it is.
/// k is padded to whole groups only, and the columns' biases stand before their values.
LayoutPair values_alone(ElementType element, const Panels& panels, ElementType bias) {
  const Field data{FieldKind::data, element, 1, 1, true};
  Layout left;
  left.side = Side::lhs;
  left.element = element;
  left.panel = panels.lhs;
  left.order.kr = left.k_multiple = panels.kr;
  left.fields = {data};
  Layout right = left;
  right.side = Side::rhs;
  right.panel = panels.rhs;
  right.fields = {{FieldKind::bias, bias, 1, 1, false}, data};
  return {left, right};
}

/// What it keeps beside the codes of columns with one scale, and of blocks with a scale each. With
/// activations in blocks, which have no zero points, blocks begin with the scales, and that is all.
std::vector<Field> kleidiai_fields(const Format& lhs, const Format& rhs) {
  const Field data{FieldKind::data, rhs.element, 1, 1, true};
  const Field bias{FieldKind::bias, ElementType::f32, 1, 1, false};
  const ElementType scales = kleidiai_scales(lhs, rhs);
  if (lhs.scales == Granularity::block) {
    return {{FieldKind::scales, scales, 1, 1, true}, data};
  }
  if (rhs.scales == Granularity::block) {
    return {data,
            {FieldKind::scales, scales, 1, 1, true},
            {FieldKind::sums, ElementType::f32, 1, 1, false},
            bias};
  }
  const int factor = rhs.element == ElementType::i4 ? kleidiai_factor : 1;
  return {data,
          {FieldKind::sums, ElementType::i32, factor, 1, false},
          {FieldKind::scales, ElementType::f32, factor, 1, false},
          bias};
}

Layout kleidiai_lhs(const Format& lhs, const Panels& panels, int block) {
  Layout layout;
  layout.side = Side::lhs;
  layout.element = lhs.element;
  layout.panel = panels.lhs;
  layout.order.kr = panels.kr;
  layout.rounding = Rounding::away;
  const Field data{FieldKind::data, ElementType::i8, 1, 1, true};
  if (lhs.scales == Granularity::block) {
    layout.block = block;
    layout.fields = {{FieldKind::scales, ElementType::f16, 1, 1, true}, data};
    return layout;
  }
  layout.edge = Edge::last;
  layout.fields = {data,
                   {FieldKind::zero_points, ElementType::i32, 1, 1, false},
                   {FieldKind::scales, ElementType::f32, 1, 1, false}};
  return layout;
}

}  // namespace

bool kleidiai_packs(const Format& lhs, const Format& rhs) {
  if (multiplies_as_halves(lhs, rhs)) return true;
  if (is_float(lhs)) return rhs.element == lhs.element;
  if (is_static(lhs)) {
    return rhs.element == ElementType::i8 && rhs.scales == Granularity::channel &&
           !rhs.has_zero_point;
  }
  const bool in_blocks = lhs.scales == Granularity::block;
  const bool symmetric = (!rhs.has_zero_point || in_blocks) && !rhs.has_minimums;
  const bool alone = rhs.top_bits == 0 && rhs.super_block == 0 && rhs.table == nullptr;
  if (takes_table(rhs)) return lhs.quantized_on_the_fly && lhs.scales != Granularity::block;
  const bool nibbles = rhs.element == ElementType::i4;
  const bool blocks = rhs.scales == Granularity::block;
  const bool bytes = rhs.element == ElementType::i8 && !blocks;
  const bool fits = in_blocks ? nibbles && blocks : nibbles || bytes;
  return lhs.quantized_on_the_fly && fits && symmetric && alone;
}

ElementType kleidiai_scales(const Format& lhs, const Format& rhs) {
  if (rhs.has_zero_point) return ElementType::f32;
  const bool halves = lhs.scales == Granularity::block || is_float(lhs);
  return halves ? ElementType::f16 : ElementType::bf16;
}

LayoutPair kleidiai_layouts(const Format& lhs, const Format& rhs, const Panels& panels, int block) {
  if (is_float(lhs)) {
    const bool halves = rhs.element == ElementType::f16;
    const ElementType usual = halves ? ElementType::f16 : ElementType::f32;
    return values_alone(rhs.element, panels, panels.bias.value_or(usual));
  }
  if (is_static(lhs)) {
    LayoutPair layouts = values_alone(ElementType::i8, panels, ElementType::i32);
    layouts.rhs.fields.push_back({FieldKind::scales, ElementType::f32, 1, 1, false});
    return layouts;
  }
  Layout right;
  right.side = Side::rhs;
  right.element = rhs.element;
  right.panel = panels.rhs;
  right.order.kr = panels.kr;
  if (rhs.element == ElementType::i4) {
    right.order = {panels.kr, NibblePair::depth, false, false, kleidiai_distance};
  }
  right.edge = Edge::last;
  // Four codes of a column in a byte, as many values of k apart as stay together.
  if (takes_table(rhs)) {
    right.table = rhs.table;
    right.order = {panels.kr, NibblePair::depth, true, true, panels.kr};
    right.edge = Edge::zeros;
  }
  right.block = block;
  right.fields = kleidiai_fields(lhs, rhs);
  return {kleidiai_lhs(lhs, panels, block), right};
}

/// Those for a table are unsigned.
static void set_signs(DataOrder& order) {
  order.low_unsigned = order.high_unsigned = order.pair == NibblePair::next;
}

/// By what scales are divided, if not the sums of codes are.
static int scale_factor(const Layout& layout) {
  return layout.order.pair == NibblePair::depth ? kleidiai_factor : 1;
}

/// Nibbles of products are as far apart as those take.
static void set_scales_apart(LayoutPair& layouts) {
  for (Layout* layout : {&layouts.lhs, &layouts.rhs}) {
    if (layout->block == 0) continue;
    const ElementType data = layout->side == Side::lhs ? ElementType::i8 : layout->element;
    Field scales{FieldKind::scales, ElementType::f16, scale_factor(*layout), 1, true};
    scales.apart = true;
    layout->fields = {{FieldKind::data, data, 1, 1, true}, scales};
  }
  DataOrder& order = layouts.rhs.order;
  set_signs(order);
  if (order.pair == NibblePair::depth) order.distance = order.kr;
}

/// What code 0 is worth is added times what a row's codes of a block are worth. What stands where
/// there are no columns is ours.
static void set_offsets(LayoutPair& layouts) {
  const auto of_block = [](FieldKind kind, int factor) {
    return Field{kind, ElementType::f32, factor, 1, true};
  };
  layouts.lhs.rounding = Rounding::even;
  layouts.rhs.edge = Edge::zeros;
  layouts.lhs.fields = {{FieldKind::data, ElementType::i8, 1, 1, true},
                        of_block(FieldKind::sums, 1),
                        of_block(FieldKind::scales, 1)};
  layouts.rhs.fields = {{FieldKind::data, layouts.rhs.element, 1, 1, true},
                        of_block(FieldKind::offsets, 1),
                        of_block(FieldKind::scales, scale_factor(layouts.rhs)),
                        {FieldKind::bias, ElementType::f32, 1, 1, false}};
  set_signs(layouts.rhs.order);
}

void set_block_fields(const Format& lhs, const Format& rhs, LayoutPair& layouts) {
  if (lhs.scales != Granularity::block && !multiplies_as_halves(lhs, rhs)) return;
  if (rhs.has_zero_point) return set_offsets(layouts);
  if (layouts.rhs.panel.svl != 0) set_scales_apart(layouts);
}

}  // namespace tw
