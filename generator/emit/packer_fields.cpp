#include "emit/packer_fields.h"

#include <fmt/format.h>

#include <stdexcept>

namespace tw {
namespace {

std::string data_bytes_text(const Layout& layout) {
  return fmt::format(
      "static size_t data_bytes(size_t padded) {{ return padded / K_MULTIPLE * {}; }}\n",
      data_bytes(layout, layout.k_multiple).fixed);
}

void expect(const Layout& layout, bool holds, const std::string& legal) {
  if (holds) return;
  throw std::runtime_error(fmt::format("no packer for layout '{}': {}", canonical(layout), legal));
}

void check_blocks(const Layout& layout) {
  const bool fixed = layout.panel.is_fixed();
  const DataOrder& order = layout.order;
  const bool lhs = layout.side == Side::lhs;
  const NibblePair pair = lhs ? NibblePair::none : NibblePair::next;
  const bool plain = order.pair == pair && !order.low_unsigned && !order.high_unsigned;
  expect(layout, layout.edge == Edge::zeros && (fixed || plain),
         "panels of blocks end in zeros, and those as wide as vectors hold signed codes, nibbles "
         "one after the other");
  for (const Field& each : layout.fields) {
    const bool is_data = each.kind == FieldKind::data;
    if (lhs) {
      const ElementType wanted =
          each.kind == FieldKind::scales ? ElementType::f32 : ElementType::i32;
      expect(layout, is_data || each.type == wanted, "sums and zero points are i32, scales f32");
      expect(layout, fixed || is_data || each.per_block,
             "rows of panels as wide as vectors have no fields behind their blocks");
      continue;
    }
    const bool in_block = is_data || each.kind == FieldKind::scales;
    expect(layout, each.per_block == in_block && each.repeat == 1 && each.factor == 1,
           "columns have scales in each block, and sums and bias behind the blocks");
  }
}

}  // namespace

std::string write_floats_text(const Layout& layout) {
  if (layout.edge == Edge::zeros) {
    return "// One float a column from `from` (null: zeros); 0 for columns that do not exist. "
           "Bytes, "
           "because\n"
           "// nothing need be aligned.\n"
           "static void write_floats(uint8_t *to, const void *from, size_t row, size_t columns) {\n"
           "  memset(to, 0, PANEL * sizeof(float));\n"
           "  if (from == 0) return;\n"
           "  memcpy(to, (const uint8_t *)from + row * sizeof(float), columns * sizeof(float));\n"
           "}\n\n";
  }
  return "// One float a column from `from` (null: zeros), times `part`; the last one again for\n"
         "// columns that do not exist. Bytes, because nothing need be aligned.\n"
         "static void write_floats(uint8_t *to, const void *from, size_t row, size_t columns,\n"
         "                         float part) {\n"
         "  for (size_t c = 0; c < PANEL; ++c) {\n"
         "    const size_t at = (row + smaller(c, columns - 1)) * sizeof(float);\n"
         "    float value = 0;\n"
         "    if (from != 0) memcpy(&value, (const uint8_t *)from + at, sizeof value);\n"
         "    value *= part;\n"
         "    memcpy(to + c * sizeof(float), &value, sizeof value);\n"
         "  }\n"
         "}\n\n";
}

/// Codes come in groups, with their sums behind them.
void check_data(const Layout& layout) {
  const bool rhs = layout.side == Side::rhs;
  const int data = field_index(layout, FieldKind::data);
  const int sums = field_index(layout, FieldKind::sums);
  expect(layout, layout.k_multiple % (4 * layout.order.kr) == 0,
         "k must be padded to a multiple of 4 kr");
  expect(layout, data >= 0 && (!rhs || sums > data),
         "a panel needs data, and on the rhs sums behind it");
}

/// Floats stand one by one, with no more than the bias behind them.
void check_floats(const Layout& layout) {
  const size_t fields = layout.fields.size();
  expect(layout,
         layout.fields.front().kind == FieldKind::data && layout.order.kr == 1 &&
             layout.k_multiple == 1 && layout.edge == Edge::zeros &&
             (fields == 1 || (fields == 2 && layout.fields.back().kind == FieldKind::bias)),
         "floats stand one by one, k is not padded, and only a bias stands behind them");
}

void check_packable(const Layout& layout) {
  if (layout.element == ElementType::f32 || layout.element == ElementType::f16) {
    return check_floats(layout);
  }
  const bool rhs = layout.side == Side::rhs;
  const NibblePair pair = layout.order.pair;
  const bool known = rhs ? pair == NibblePair::column || pair == NibblePair::next
                         : layout.element == ElementType::i8;
  expect(
      layout,
      layout.panel.is_fixed() || (layout.panel.fixed == 0 && known && layout.edge == Edge::zeros &&
                                  layout.fields.front().kind == FieldKind::data),
      "a panel is of a fixed size, or of a multiple of a vector length: rows of bytes, or "
      "columns of nibbles in pairs, codes first and zeros for what does not exist");
  expect(layout, pair != NibblePair::next || !layout.panel.is_fixed(),
         "nibbles one after the other need panels as wide as vectors");
  check_data(layout);
  if (layout.block != 0) return check_blocks(layout);
  for (const Field& each : layout.fields) {
    const bool is_float = each.kind == FieldKind::scales || each.kind == FieldKind::bias;
    const ElementType wanted = is_float ? ElementType::f32 : ElementType::i32;
    expect(layout, each.kind == FieldKind::data || each.type == wanted,
           "sums and zero points are i32, scales and bias f32");
    expect(layout, !rhs || (each.repeat == 1 && each.kind != FieldKind::zero_points),
           "rhs fields stand once, without zero points");
    expect(layout, rhs || each.kind != FieldKind::bias, "an lhs has no bias");
    expect(layout,
           each.kind != FieldKind::scales || each.factor == 1 || (rhs && layout.edge == Edge::last),
           "only the rhs, and one that ends in its last column again, keeps a part of its scales");
    expect(layout, rhs || each.kind != FieldKind::sums || layout.edge == Edge::zeros,
           "an lhs with sums ends in zeros, which add nothing");
  }
}

std::string field_offset_text(const Layout& layout, FieldKind kind) {
  const auto index = static_cast<size_t>(field_index(layout, kind));
  const int64_t with_data = field_offset(layout, index, layout.k_multiple).fixed;
  const bool behind = index > static_cast<size_t>(field_index(layout, FieldKind::data));
  if (!behind) return std::to_string(with_data);
  const int64_t rest = with_data - data_bytes(layout, layout.k_multiple).fixed;
  return rest == 0 ? "data_bytes(padded)" : fmt::format("data_bytes(padded) + {}", rest);
}

std::string scalable_fields_text(const Layout& layout) {
  std::string text;
  for (const Field& each : layout.fields) {
    if (each.kind == FieldKind::data) continue;
    if (each.kind == FieldKind::sums) {
      text += "  uint8_t *const sums = at;\n  memset(sums, 0, panel * sizeof(int32_t));\n";
    } else {
      text += fmt::format("  write_floats(at, args->{}, row, columns, panel);\n",
                          each.kind == FieldKind::scales ? "scales" : "bias");
    }
    text += "  at += panel * sizeof(float);\n";
  }
  return text;
}

std::string rhs_fields_text(const Layout& layout) {
  const bool has_bias = field_index(layout, FieldKind::bias) >= 0;
  const bool has_sums = field_index(layout, FieldKind::sums) >= 0;
  std::string text = data_bytes_text(layout);
  if (has_sums) {
    text += fmt::format("static size_t sums_offset(size_t padded) {{ return {}; }}\n",
                        field_offset_text(layout, FieldKind::sums));
  }
  text += '\n';
  if (has_bias || field_index(layout, FieldKind::scales) >= 0) text += write_floats_text(layout);
  text += fmt::format("// All fields but the {}.\n", has_sums ? "codes; sums begin at 0" : "data") +
          "static void write_fields(const tw_pack_args *args, uint8_t *panel, size_t padded,\n"
          "                         size_t row, size_t columns) {\n";
  if (has_sums) text += "  memset(panel + sums_offset(padded), 0, PANEL * sizeof(int32_t));\n";
  for (const Field& each : layout.fields) {
    if (each.kind != FieldKind::scales && each.kind != FieldKind::bias) continue;
    const std::string part = each.factor == 1 ? "1.0f" : fmt::format("1.0f / {}", each.factor);
    text += fmt::format("  write_floats(panel + {}, args->{}, row, columns{});\n",
                        field_offset_text(layout, each.kind),
                        each.kind == FieldKind::scales ? "scales" : "bias",
                        layout.edge == Edge::last ? ", " + part : "");
  }
  text += "}\n";
  if (!has_sums) return text;
  text +=
      "\n"
      "static void add_sums(uint8_t *panel, size_t padded, const int32_t *sums) {\n"
      "  for (size_t c = 0; c < PANEL; ++c) {\n"
      "    uint8_t *const at = panel + sums_offset(padded) + c * sizeof(int32_t);\n"
      "    tw_store_i32(at, tw_load_i32(at) + sums[c]);\n"
      "  }\n"
      "}\n";
  return text;
}

}  // namespace tw
