// The fields of an lhs packer, as C. How often a value is repeated and what a sum is multiplied by
// are the packer's arguments, so that one packer serves all layouts that differ in no more.
#include <fmt/format.h>

#include "emit/packer_fields.h"

namespace tw {
namespace {

bool in_block(const Layout& layout, const Field& field) {
  return field.kind == FieldKind::data || (layout.block != 0 && field.per_block);
}

/// How often a value stands there, as C: an argument, or once.
std::string copies(const Layout& layout, const Field& field) {
  if (field.kind == FieldKind::sums) return "args->sum_copies";
  return in_block(layout, field) ? "args->scale_copies" : "1";
}

/// One row's value, as 32 bits, from `sum` and `how`.
std::string value(const Field& field, const std::string& sum, const std::string& how) {
  switch (field.kind) {
    case FieldKind::sums:
      return fmt::format("kept_sum(args, {})", sum);
    case FieldKind::zero_points:
      return fmt::format("-{}zero_point", how);
    default:
      return fmt::format("tw_bits_of_f32({}scale)", how);
  }
}

}  // namespace

int64_t fixed_lhs_fields(const Layout& layout) {
  int64_t count = 0;
  for (const Field& each : layout.fields) {
    if (!in_block(layout, each) && each.kind != FieldKind::sums) ++count;
  }
  return count;
}

std::string lhs_fields_text(const Layout& layout) {
  std::string text;
  const bool has_sums = field_index(layout, FieldKind::sums) >= 0;
  if (!has_sums) text += "  (void)args;\n  (void)sums;\n";
  for (const Field& each : layout.fields) {
    if (each.kind == FieldKind::data) continue;
    const bool sums = each.kind == FieldKind::sums;
    text +=
        fmt::format("  for (size_t r = 0; r < {}; ++r) tw_store_i32(at + 4 * r, {});\n",
                    sums ? "rows * args->sum_copies" : "rows", value(each, "sums[r]", "how[r]."));
    text += fmt::format("  at += 4 * panel{};\n", sums ? " * args->sum_copies" : "");
  }
  return text.substr(0, text.rfind("  at +="));
}

std::string lhs_places_text(const Layout& layout) {
  std::string text;
  for (const Field& each : layout.fields) {
    if (!in_block(layout, each)) continue;
    text += fmt::format("  at.{} = at.bytes;\n", name(each.kind));
    text += each.kind == FieldKind::data
                ? "  at.bytes += at.panel * CODE_BYTES * args->block;\n"
                : fmt::format("  at.bytes += at.panel * 4 * {};\n", copies(layout, each));
  }
  return text;
}

std::string lhs_block_fields_text(const Layout& layout) {
  std::string text;
  for (const Field& each : layout.fields) {
    if (each.kind == FieldKind::data || !in_block(layout, each)) continue;
    const char* const count = each.kind == FieldKind::sums ? "sum_copies" : "scale_copies";
    text += fmt::format("    store_copies(to + at.{} + 4 * {} * r, {}, {});\n", name(each.kind),
                        count, value(each, "chunk->sums[i]", "how[i]."), count);
  }
  return text;
}

std::string lhs_row_fields_text(const Layout& layout) {
  std::string text;
  int64_t before = 0;
  for (const Field& each : layout.fields) {
    if (in_block(layout, each)) continue;
    text += fmt::format("  tw_store_i32(behind + 4 * ({} * at->panel + r), {});\n", before++,
                        value(each, "", "how->"));
  }
  return text.empty() ? text : "  uint8_t *const behind = to + blocks * at->bytes;\n" + text;
}

}  // namespace tw
