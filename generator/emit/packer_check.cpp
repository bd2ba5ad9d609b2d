#include "emit/packer_check.h"

#include <fmt/format.h>

#include <stdexcept>

namespace tw {
namespace {

void expect(const Layout& layout, bool holds, const std::string& legal) {
  if (holds) return;
  throw std::runtime_error(fmt::format("no packer for layout '{}': {}", canonical(layout), legal));
}

void check_block_fields(const Layout& layout) {
  const bool fixed = layout.panel.is_fixed();
  const DataOrder& order = layout.order;
  const bool lhs = layout.side == Side::lhs;
  const bool plain = order.pair == NibblePair::none && !order.low_unsigned && !order.high_unsigned;
  // Numbers of super-blocks are put where they belong one by one.
  const bool ends = layout.edge == Edge::zeros || (!lhs && layout.super_block == 0);
  expect(layout, ends && (fixed || !lhs || plain),
         "panels of blocks end in zeros, on the rhs also in the last column again, and rows of "
         "those as wide as vectors hold signed bytes");
  for (const Field& each : layout.fields) {
    const bool is_data = each.kind == FieldKind::data;
    if (lhs) {
      const bool half_scale =
          each.kind == FieldKind::scales && each.type == ElementType::f16 && each.repeat == 1;
      const ElementType wanted =
          each.kind == FieldKind::scales ? ElementType::f32 : ElementType::i32;
      const bool real_sum = each.kind == FieldKind::sums && each.type == ElementType::f32 &&
                            each.per_block && each.repeat == 1;
      expect(layout, is_data || each.type == wanted || half_scale || real_sum,
             "sums and zero points are i32, scales f32, or f16 once each, and sums of blocks f32 "
             "once each");
      expect(layout, fixed || is_data || each.per_block,
             "rows of panels as wide as vectors have no fields behind their blocks");
      continue;
    }
    if (is_step(each.kind)) continue;
    const bool in_block = is_data || each.kind == FieldKind::scales ||
                          each.kind == FieldKind::zero_points || each.kind == FieldKind::minimums ||
                          each.kind == FieldKind::tops || each.kind == FieldKind::offsets;
    const bool whole = each.factor == 1 || each.kind == FieldKind::scales;
    expect(
        layout, each.per_block == in_block && each.repeat == 1 && whole,
        "columns have scales, zero points, offsets and minimums in each block, and sums and bias "
        "behind the blocks");
  }
}

/// Codes come in groups, with their sums behind them.
void check_data(const Layout& layout) {
  const bool rhs = layout.side == Side::rhs;
  const Field* data = find_field(layout, FieldKind::data);
  const bool no_sums = field_index(layout, FieldKind::minimums) >= 0 || layout.super_block != 0 ||
                       field_index(layout, FieldKind::tops) >= 0 || layout.table != nullptr ||
                       field_index(layout, FieldKind::offsets) >= 0 ||
                       layout.fields.back().kind == FieldKind::data || has_fields_apart(layout) ||
                       is_byte_float(layout.element);
  const Field* sums = summed_field(layout);
  const bool one_by_one = !layout.panel.is_fixed();
  // Groups of the lhs are copied, as few as there are.
  expect(layout, layout.k_multiple % ((rhs && !one_by_one ? 4 : 1) * layout.order.kr) == 0,
         "k must be padded to a multiple of 4 kr, that of the lhs and of panels as wide as vectors "
         "to one of kr");
  expect(layout, data != nullptr && (!rhs || no_sums || one_by_one || sums > data),
         "a panel needs data, and on the rhs sums, minimums, offsets, tops or scales apart behind "
         "it, or "
         "nothing");
}

/// Floats have no more than the bias beside them.
void check_floats(const Layout& layout) {
  const size_t others = field_index(layout, FieldKind::bias) >= 0 ? 1 : 0;
  expect(layout,
         field_index(layout, FieldKind::data) >= 0 && layout.fields.size() == 1 + others &&
             layout.k_multiple % layout.order.kr == 0 && layout.edge == Edge::zeros,
         "k of floats is padded to whole groups, and only a bias stands beside them");
}

}  // namespace

void check_packable(const Layout& layout) {
  if (is_float(layout.element)) return check_floats(layout);
  const bool rhs = layout.side == Side::rhs;
  const NibblePair pair = layout.order.pair;
  const bool known = rhs || layout.element == ElementType::i8;
  expect(
      layout,
      layout.panel.is_fixed() || (layout.panel.fixed == 0 && known && layout.edge == Edge::zeros &&
                                  (rhs || layout.fields.front().kind == FieldKind::data)),
      "a panel is of a fixed size, or of a multiple of a vector length: of bytes, or columns of "
      "codes that share bytes, of the lhs codes first, and zeros for what does not exist");
  expect(layout, pair != NibblePair::next || !layout.panel.is_fixed(),
         "nibbles one after the other need panels as wide as vectors");
  check_data(layout);
  if (layout.block != 0) return check_block_fields(layout);
  for (const Field& each : layout.fields) {
    const bool has_sums =
        field_index(layout, FieldKind::sums) >= 0 || is_byte_float(layout.element);
    const bool is_float = each.kind == FieldKind::scales ||
                          (each.kind == FieldKind::bias && has_sums) ||
                          (each.kind == FieldKind::zero_points && rhs);
    const ElementType wanted = is_float ? ElementType::f32 : ElementType::i32;
    expect(layout, each.kind == FieldKind::data || each.type == wanted,
           "sums, zero points of rows and a bias without sums are i32, scales, zero points of "
           "columns and another bias f32");
    expect(layout, !rhs || each.repeat == 1, "rhs fields stand once");
    expect(layout, rhs || each.kind != FieldKind::bias, "an lhs has no bias");
    expect(layout, each.kind != FieldKind::scales || each.factor == 1 || rhs,
           "only the rhs keeps a part of its scales");
    expect(layout, rhs || each.kind != FieldKind::sums || layout.edge == Edge::zeros,
           "an lhs with sums ends in zeros, which add nothing");
  }
}

}  // namespace tw
