#include "model/layout.h"

#include <fmt/format.h>
#include <algorithm>
#include <stdexcept>

#include "model/hash.h"

namespace tw {
namespace {

std::string_view name(NibblePair pair) {
  switch (pair) {
    case NibblePair::none:
      return "none";
    case NibblePair::depth:
      return "depth";
    case NibblePair::column:
      return "column";
    case NibblePair::next:
      return "next";
  }
  return "?";
}

bool in_block(const Layout& layout, const Field& field) {
  return field.kind == FieldKind::data || (layout.block != 0 && field.per_block);
}

int64_t round_up(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

/// Values of k that one repetition of the per-block fields covers.
int64_t span(const Layout& layout, int64_t padded) {
  return layout.block != 0 ? layout.block : padded;
}

}  // namespace

bool operator==(const Layout& a, const Layout& b) {
  return canonical(a) == canonical(b);
}

std::string_view name(FieldKind kind) {
  switch (kind) {
    case FieldKind::data:
      return "data";
    case FieldKind::sums:
      return "sums";
    case FieldKind::zero_points:
      return "zeros";
    case FieldKind::scales:
      return "scales";
    case FieldKind::bias:
      return "bias";
  }
  return "?";
}

std::string canonical(const Layout& layout) {
  std::string fields;
  for (const Field& field : layout.fields) {
    if (!fields.empty()) fields += '|';
    fields += name(field.kind);
    if (field.kind != FieldKind::data) fields += fmt::format(":{}", name(field.type));
    if (field.kind == FieldKind::sums) fields += fmt::format("*{}", field.factor);
    if (field.base != 0) fields += fmt::format("+{}", field.base);
    if (field.kind == FieldKind::scales && field.factor != 1) {
      fields += fmt::format("/{}", field.factor);
    }
    if (field.repeat != 1) fields += fmt::format("x{}", field.repeat);
    if (layout.block != 0 && in_block(layout, field)) fields += "/b";
  }
  const DataOrder& order = layout.order;
  std::string pairing;
  if (order.pair != NibblePair::none) {
    const bool apart = order.pair == NibblePair::depth && order.distance != order.kr;
    pairing = fmt::format(" pair={}{} {}{}", name(order.pair),
                          apart ? std::to_string(order.distance) : "",
                          order.low_unsigned ? 'u' : 's', order.high_unsigned ? 'u' : 's');
  } else if (order.low_unsigned) {
    pairing = " u";
  }
  if (order.even_first) pairing += " even-first";
  std::string rules = layout.block != 0 ? fmt::format(" b{}", layout.block) : "";
  if (layout.edge == Edge::last) rules += " edge=last";
  if (layout.rounding == Rounding::away) rules += " round=away";
  return fmt::format("{} {} {}{} kr{}{} k%{}{} [{}]", layout.side == Side::lhs ? "lhs" : "rhs",
                     name(layout.element), layout.side == Side::lhs ? 'm' : 'n',
                     to_string(layout.panel), order.kr, pairing, layout.k_multiple, rules, fields);
}

std::string block_suffix(const Layout& layout, const Format& format) {
  if (layout.block == 0) return "";
  std::string text;
  if (layout.block != format.block) text += fmt::format("_b{}", layout.block);
  for (const Field& field : layout.fields) {
    const bool unusual = layout.side == Side::rhs && field.kind == FieldKind::scales &&
                         field.type != ElementType::f16;
    if (unusual) text += fmt::format("_{}", name(field.type));
  }
  return text;
}

bool is_unpacked(const Layout& layout) {
  return layout.side == Side::lhs && bits(layout.element) == 32 && layout.panel == Length{1};
}

uint64_t id(const Layout& layout) {
  return fnv1a(canonical(layout));
}

int64_t group_of(const DataOrder& order, int64_t k) {
  if (order.pair != NibblePair::depth) return k / order.kr;
  const int64_t distance = order.distance;
  return k / (2 * distance) * (distance / order.kr) + k % distance / order.kr;
}

int64_t first_k(const DataOrder& order, int64_t group) {
  if (order.pair != NibblePair::depth) return group * order.kr;
  const int64_t groups = order.distance / order.kr;
  return group / groups * 2 * order.distance + group % groups * order.kr;
}

int64_t exact_k(const Layout& layout) {
  const bool integers = layout.element == ElementType::i4 || layout.element == ElementType::i8;
  if (layout.side != Side::rhs || layout.block != 0 || !integers) return 0;
  constexpr int64_t most = 0x7fffffff;
  const int index = field_index(layout, FieldKind::sums);
  const int64_t factor = index < 0 ? 1 : layout.fields[static_cast<size_t>(index)].factor;
  const int64_t code = int64_t{1} << (bits(layout.element) - 1);
  return std::min(most / (128 * 128), most / (255 * code * factor));
}

int64_t padded_k(const Layout& layout, int64_t k) {
  const int64_t padded = round_up(k, layout.k_multiple);
  return layout.block != 0 ? round_up(padded, layout.block) : padded;
}

Length data_bytes(const Layout& layout, int64_t padded) {
  return (layout.panel * (padded * bits(layout.element))).divided(8);
}

Length field_bytes(const Layout& layout, const Field& field, int64_t padded) {
  if (field.kind == FieldKind::data) return data_bytes(layout, span(layout, padded));
  return layout.panel * (bits(field.type) / 8 * field.repeat);
}

Length block_bytes(const Layout& layout) {
  Length sum = 0;
  for (const Field& field : layout.fields) {
    if (in_block(layout, field)) sum += field_bytes(layout, field, layout.block);
  }
  return sum;
}

Length panel_bytes(const Layout& layout, int64_t k) {
  const int64_t padded = padded_k(layout, k);
  const int64_t blocks = layout.block != 0 ? padded / layout.block : 1;
  Length sum = 0;
  for (const Field& field : layout.fields) {
    sum += field_bytes(layout, field, padded) * (in_block(layout, field) ? blocks : 1);
  }
  return sum;
}

Length field_offset(const Layout& layout, size_t index, int64_t k, int64_t b) {
  const int64_t padded = padded_k(layout, k);
  const int64_t blocks = layout.block != 0 ? padded / layout.block : 1;
  const bool wanted_in_block = in_block(layout, layout.fields[index]);
  Length offset = 0;
  for (size_t i = 0; i < index; ++i) {
    const Field& field = layout.fields[i];
    const bool inside = in_block(layout, field);
    const bool whole_blocks = inside && !wanted_in_block;
    offset += field_bytes(layout, field, padded) * (whole_blocks ? blocks : 1);
  }
  if (!wanted_in_block) {
    // Block fields are repeated together: those listed after this field stand after it only if
    // no block field stands before it, which layouts guarantee by keeping them adjacent.
    return offset;
  }
  return layout.block != 0 ? offset + block_bytes(layout) * b : offset;
}

int field_index(const Layout& layout, FieldKind kind) {
  for (size_t i = 0; i < layout.fields.size(); ++i) {
    if (layout.fields[i].kind == kind) return static_cast<int>(i);
  }
  return -1;
}

const Field& field_of(const Layout& layout, FieldKind kind) {
  const int index = field_index(layout, kind);
  if (index < 0) throw std::invalid_argument("layout lacks a field: " + canonical(layout));
  return layout.fields[static_cast<size_t>(index)];
}

int64_t byte_codes(const Layout& layout) {
  return 8 / bits(layout.element);
}

CodePlace code_place(const Layout& layout, int64_t k_total, int64_t row, int64_t k,
                     VectorLength vl) {
  const DataOrder& order = layout.order;
  const int64_t kr = order.kr;
  const int64_t panel = layout.panel.at(vl);
  const int64_t block = layout.block != 0 ? k / layout.block : 0;
  const int64_t in_span = layout.block != 0 ? k % layout.block : k;
  const auto data = static_cast<size_t>(field_index(layout, FieldKind::data));
  CodePlace place;
  place.byte = field_offset(layout, data, k_total, block).at(vl);
  switch (order.pair) {
    case NibblePair::none: {
      const int64_t in_group =
          order.even_first ? in_span % kr / 2 + in_span % 2 * (kr / 2) : in_span % kr;
      place.byte += ((in_span / kr * panel + row) * kr + in_group) * (bits(layout.element) / 8);
      place.offset = order.low_unsigned ? 128 : 0;
      return place;
    }
    case NibblePair::depth:
      place.byte += (group_of(order, in_span) * panel + row) * kr + in_span % kr;
      place.shift = in_span % (2 * order.distance) < order.distance ? 0 : 4;
      break;
    case NibblePair::column: {
      const Length& wide = layout.panel;
      const int64_t segments = wide.vl != 0 ? vl.vl : wide.svl != 0 ? vl.svl : 1;
      const int64_t columns = 16 / kr;          // of a segment
      const int64_t half = segments * columns;  // columns of one vector's high nibbles
      const int64_t vector = row / (2 * half);
      const int64_t in_half = row % half;
      place.byte +=
          in_span / kr * (panel * kr / 2) + vector * segments * 16 + in_half * kr + in_span % kr;
      place.shift = row / half % 2 == 0 ? 4 : 0;
      break;
    }
    case NibblePair::next:
      place.byte += ((in_span / kr * panel + row) * kr + in_span % kr) / 2;
      place.shift = in_span % 2 == 0 ? 0 : 4;
      break;
  }
  place.offset = (place.shift == 0 ? order.low_unsigned : order.high_unsigned) ? 8 : 0;
  return place;
}

}  // namespace tw
