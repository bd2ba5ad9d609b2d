#include "model/layout.h"

#include <fmt/format.h>
#include <algorithm>

#include "model/axes.h"
#include "model/hash.h"
#include "model/reject.h"

namespace tw {
namespace {

// In the order of their enumerators.
constexpr std::string_view pair_names[] = {"none", "depth", "column", "next"};
constexpr std::string_view kind_names[] = {
    "data",    "tops", "sums",        "zeros",         "scales",     "minimums",
    "offsets", "bias", "scale_steps", "minimum_steps", "scale_tops", "minimum_tops"};
static_assert(std::size(kind_names) == static_cast<size_t>(FieldKind::minimum_tops) + 1);

bool in_block(const Layout& layout, const Field& field) {
  return layout.block != 0 && (field.kind == FieldKind::data || field.per_block);
}

/// The part of it that is over steps of so many values of k.
const Part* part_over(const Part& part, int k) {
  for (const Part::Member& member : part.members) {
    const auto* inner = std::get_if<Part>(&member);
    if (inner == nullptr) continue;
    if (inner->over->dim == Dim::k && inner->over->step == Length{k}) return inner;
    if (const Part* found = part_over(*inner, k)) return found;
  }
  return nullptr;
}

/// Bytes of one repetition of that part; 0: there is none.
Length bytes_over(const Layout& layout, int k) {
  const Part panel = axes(layout);
  const Part* part = part_over(panel, k);
  return part == nullptr ? Length(0) : size(*part, 0).divided(8);
}

int64_t round_up(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

}  // namespace

bool operator==(const Layout& a, const Layout& b) {
  // Most pairs differ in one of these, all of which the text says: it is made for few.
  return a.side == b.side && a.element == b.element && a.panel == b.panel && a.block == b.block &&
         a.order.kr == b.order.kr && a.k_multiple == b.k_multiple &&
         a.fields.size() == b.fields.size() && canonical(a) == canonical(b);
}

std::string_view name(FieldKind kind) {
  return kind_names[static_cast<size_t>(kind)];
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
    if (in_block(layout, field)) fields += field.apart ? "/B" : "/b";
    if (is_step(field.kind)) fields += "/s";
  }
  const DataOrder& order = layout.order;
  std::string pairing;
  if (order.pair != NibblePair::none) {
    const bool apart = order.pair == NibblePair::depth && order.distance != order.kr;
    pairing = fmt::format(" pair={}{} {}{}", pair_names[static_cast<size_t>(order.pair)],
                          apart ? std::to_string(order.distance) : "",
                          order.low_unsigned ? 'u' : 's', order.high_unsigned ? 'u' : 's');
  } else if (order.low_unsigned) {
    pairing = " u";
  }
  if (order.even_first) pairing += " even-first";
  std::string values = layout.table != nullptr ? fmt::format("={}", layout.table->name) : "";
  if (order.raised != 0) values += fmt::format("+{}", order.raised);
  std::string rules = layout.block != 0 ? fmt::format(" b{}", layout.block) : "";
  if (layout.super_block != 0) rules += fmt::format("of{}", layout.super_block);
  if (layout.edge == Edge::last) rules += " edge=last";
  if (layout.rounding == Rounding::away) rules += " round=away";
  return fmt::format("{} {}{} {}{} kr{}{} k%{}{} [{}]", layout.side == Side::lhs ? "lhs" : "rhs",
                     name(layout.element), values, layout.side == Side::lhs ? 'm' : 'n',
                     to_string(layout.panel), order.kr, pairing, layout.k_multiple, rules, fields);
}

std::string block_suffix(const Layout& layout, const Format& format, BlockLength length) {
  if (layout.block == 0) return "";
  std::string text;
  if (length == BlockLength::any_long && has_long_blocks(layout)) {
    text += "_blocks";
  } else if (layout.block != format.block) {
    text += fmt::format("_b{}", layout.block);
  }
  for (const Field& field : layout.fields) {
    const bool unusual = layout.side == Side::rhs && field.kind == float_scale(layout) &&
                         field.type != format.scale_type;
    if (unusual) text += fmt::format("_{}", name(field.type));
  }
  return text;
}

bool has_long_blocks(const Layout& layout) {
  return layout.block > plain_block;
}

std::string bias_suffix(const Layout& layout) {
  if (!is_float(layout.element) || field_index(layout, FieldKind::bias) < 0) return "";
  const ElementType type = field_of(layout, FieldKind::bias).type;
  const bool usual = type == ElementType::f32 || type == layout.element;
  return usual ? "" : fmt::format("_bias_{}", name(type));
}

bool is_unpacked(const Layout& layout) {
  return layout.side == Side::lhs && layout.panel == Length{1} && layout.k_multiple == 1;
}

uint64_t id(const Layout& layout) {
  return fnv1a(canonical(layout));
}

int64_t group_of(const Layout& layout, int64_t k) {
  const DataOrder& order = layout.order;
  if (order.pair != NibblePair::depth) return k / order.kr;
  const int64_t distance = order.distance;
  return k / (byte_codes(layout) * distance) * (distance / order.kr) + k % distance / order.kr;
}

int64_t first_k(const Layout& layout, int64_t group) {
  const DataOrder& order = layout.order;
  if (order.pair != NibblePair::depth) return group * order.kr;
  const int64_t groups = order.distance / order.kr;
  return group / groups * byte_codes(layout) * order.distance + group % groups * order.kr;
}

int64_t exact_k(const Layout& layout) {
  const bool integers = bits(layout.element) <= 8;
  if (layout.side != Side::rhs || layout.block != 0 || !integers) return 0;
  constexpr int64_t most = 0x7fffffff;
  const Field* sums = find_field(layout, FieldKind::sums);
  const int64_t factor = sums == nullptr ? 1 : sums->factor;
  const int64_t half = int64_t{1} << (bits(layout.element) - 1);
  const bool has_zeros = field_index(layout, FieldKind::zero_points) >= 0;
  const int64_t code = has_zeros ? 2 * half - 1 : half;  // less a zero point
  return std::min(most / (128 * 128), most / (255 * code * factor));
}

int64_t padded_k(const Layout& layout, int64_t k) {
  const int64_t padded = round_up(k, layout.k_multiple);
  const int whole = whole_block(layout);
  return whole != 0 ? round_up(padded, whole) : padded;
}

Length data_bytes(const Layout& layout, int64_t padded) {
  return (layout.panel * (padded * bits(layout.element))).divided(8);
}

Length block_bytes(const Layout& layout) {
  return bytes_over(layout, layout.block);
}

Length super_block_bytes(const Layout& layout) {
  return bytes_over(layout, layout.super_block);
}

Length steps_bytes(const Layout& layout) {
  if (layout.super_block == 0) return 0;
  return super_block_bytes(layout) - block_bytes(layout) * (layout.super_block / layout.block);
}

int whole_block(const Layout& layout) {
  return layout.super_block != 0 ? layout.super_block : layout.block;
}

bool has_steps(const Layout& layout) {
  return field_index(layout, FieldKind::scale_steps) >= 0;
}

FieldKind float_scale(const Layout& layout) {
  return has_steps(layout) ? FieldKind::scale_steps : FieldKind::scales;
}

bool is_step(FieldKind kind) {
  return kind == FieldKind::scale_steps || kind == FieldKind::minimum_steps;
}

Length block_field_bytes(const Layout& layout) {
  return block_bytes(layout) - data_bytes(layout, layout.block);
}

Length apart_bytes(const Layout& layout) {
  Length bytes = 0;
  for (const Field& field : layout.fields) {
    if (field.apart) bytes += (layout.panel * (bits(field.type) * field.repeat)).divided(8);
  }
  return bytes;
}

bool has_fields_apart(const Layout& layout) {
  return !layout.fields.empty() && layout.fields.back().apart;
}

Length panel_bytes(const Layout& layout, int64_t k) {
  return size(axes(layout), padded_k(layout, k)).divided(8);
}

Length field_offset(const Layout& layout, FieldKind kind) {
  return start(axes(layout), kind, 0).divided(8);
}

int field_index(const Layout& layout, FieldKind kind) {
  for (size_t i = 0; i < layout.fields.size(); ++i) {
    if (layout.fields[i].kind == kind) return static_cast<int>(i);
  }
  return -1;
}

const Field* find_field(const Layout& layout, FieldKind kind) {
  const int index = field_index(layout, kind);
  return index < 0 ? nullptr : &layout.fields[static_cast<size_t>(index)];
}

const Field* summed_field(const Layout& layout) {
  const Field* sums = find_field(layout, FieldKind::sums);
  const Field* bias = find_field(layout, FieldKind::bias);
  const bool whole = bias != nullptr && bias->type == ElementType::i32;
  return sums == nullptr && whole ? bias : sums;
}

bool has_real_sums(const Layout& lhs) {
  const Field* sums = find_field(lhs, FieldKind::sums);
  return sums != nullptr && sums->type == ElementType::f32;
}

int64_t repeat_of(const Layout& layout, FieldKind kind) {
  const Field* field = find_field(layout, kind);
  return field == nullptr ? 0 : field->repeat;
}

const Field& field_of(const Layout& layout, FieldKind kind) {
  const Field* field = find_field(layout, kind);
  if (field == nullptr) reject("layout lacks a field: {}", canonical(layout));
  return *field;
}

int64_t offset_bits(const Layout& layout) {
  const DataOrder& order = layout.order;
  if (order.pair == NibblePair::none) return order.low_unsigned ? 0x80 : 0;
  int64_t all = 0;
  for (int at = bits(layout.element); at <= 8; at += bits(layout.element)) {
    const bool is_unsigned = at == 8 ? order.high_unsigned : order.low_unsigned;
    if (is_unsigned) all |= int64_t{1} << (at - 1);
  }
  return all;
}

int64_t empty_byte(const Layout& layout) {
  return top_bits(layout) != 0 ? 0 : offset_bits(layout);
}

int top_bits(const Layout& layout) {
  const Field* tops = find_field(layout, FieldKind::tops);
  return tops == nullptr ? 0 : bits(tops->type);
}

TopOrder top_order(const Layout& layout) {
  const int64_t codes = 8 / top_bits(layout);
  const int64_t groups = std::min<int64_t>(codes, layout.block / layout.order.kr);
  return {groups, codes / groups};
}

int64_t byte_codes(const Layout& layout) {
  return 8 / bits(layout.element);
}

int64_t depth_codes(const Layout& layout) {
  return layout.order.pair == NibblePair::depth ? byte_codes(layout) : 1;
}

}  // namespace tw
