// The C functions of an lhs packer that write the fields of layouts with blocks.
#include <fmt/format.h>

#include "emit/packer_fields.h"

namespace tw {
namespace {

bool in_block(const Field& field) {
  return field.per_block || field.kind == FieldKind::data;
}

/// From the start of a block, or from its panel's end of blocks, as C.
std::string offset(const Layout& layout, FieldKind kind) {
  const Length at = field_offset(layout, static_cast<size_t>(field_index(layout, kind)), 0);
  if (layout.panel.is_fixed()) return std::to_string(at.fixed);
  return at == Length{} ? "0" : fmt::format("{} * panel", ratio(at, layout.panel));
}

std::string value(const Field& field) {
  switch (field.kind) {
    case FieldKind::sums:
      return field.base == 0 ? fmt::format("sum * {}", field.factor)
                             : fmt::format("sum * {} + {}", field.factor, field.base);
    case FieldKind::zero_points:
      return "-how->zero_point";
    default:
      return "tw_bits_of_f32(how->scale)";
  }
}

std::string stores(const Layout& layout, bool of_blocks) {
  std::string text;
  for (const Field& each : layout.fields) {
    if (each.kind == FieldKind::data || in_block(each) != of_blocks) continue;
    for (int i = 0; i < each.repeat; ++i) {
      const std::string at = each.repeat == 1 ? "r" : fmt::format("({} * r + {})", each.repeat, i);
      text += fmt::format("  tw_store_i32(to + {} + {} * 4, {});\n", offset(layout, each.kind), at,
                          value(each));
    }
  }
  return text;
}

}  // namespace

bool has_row_fields(const Layout& layout) {
  for (const Field& each : layout.fields) {
    if (!in_block(each)) return true;
  }
  return false;
}

std::string lhs_block_fields_text(const Layout& layout) {
  const bool fixed = layout.panel.is_fixed();
  const std::string to = fixed ? "uint8_t *to, size_t r" : "uint8_t *to, size_t panel, size_t r";
  std::string text = fmt::format(
      "// Of row r, whose codes add up to `sum`.\n"
      "static void write_block_fields({}, int32_t sum,\n"
      "                               const quantization *how) {{\n",
      to);
  const std::string block = stores(layout, true);
  if (block.find("how") == std::string::npos) text += "  (void)how;\n";
  if (field_index(layout, FieldKind::sums) < 0) text += "  (void)sum;\n";
  text += block + "}\n";
  if (!has_row_fields(layout)) return text;
  return text +
         "\nstatic void write_row_fields(uint8_t *to, size_t r, const quantization *how) {\n" +
         stores(layout, false) + "}\n";
}

}  // namespace tw
