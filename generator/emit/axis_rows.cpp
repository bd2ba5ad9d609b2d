#include "emit/axis_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace tw {
namespace {

std::string row(const Length& length) {
  return fmt::format("{{{}, {}}}", length.fixed, length.vl + length.svl);
}

std::string row(const Axis& axis) {
  return fmt::format("{{TW_DIM_{}, {}, {}, {}}}", axis.dim == Dim::n ? "N" : "K", row(axis.extent),
                     row(axis.step), row(axis.stride));
}

/// What stands behind values of k is found from the panel's end, what has a value in every block
/// from where all codes end.
FieldAxes in_panel(const Layout& layout, const Part& panel, FieldKind kind) {
  const int64_t k = padded_k(layout, 1);
  FieldAxes field = flat(panel, kind, k);
  if (field_of(layout, kind).apart) {
    field.base = field.base - data_bytes(layout, k) * 8;
    return field;
  }
  if (flat(panel, kind, 2 * k).base != field.base) field.base = field.base - size(panel, k);
  return field;
}

/// With a decimal point each, and as long as a line may be.
std::string c_floats(const std::vector<float>& values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    text += fmt::format("{}{:#}F",
                        i == 0       ? ""
                        : i % 8 == 0 ? ",\n              "
                                     : ", ",
                        values[i]);
  }
  return text;
}

/// C++ wants all members.
constexpr const char* no_field = "{TW_TYPE_NONE, {0, 0}, NULL, 0, 1, 0, NULL, 0}";

/// Fields of a tw_axes, in its order.
constexpr FieldKind kinds[] = {
    FieldKind::data,         FieldKind::tops,          FieldKind::scales,
    FieldKind::minimums,     FieldKind::bias,          FieldKind::zero_points,
    FieldKind::scale_steps,  FieldKind::minimum_steps, FieldKind::scale_tops,
    FieldKind::minimum_tops, FieldKind::offsets};

}  // namespace

std::string type_name(ElementType type) {
  if (type == ElementType::bf16) return "TW_BF16";
  if (type == ElementType::e8m0) return "TW_E8M0";
  if (type == ElementType::e5m3) return "TW_E5M3";
  if (type == ElementType::e4m3) return "TW_E4M3";
  if (type == ElementType::e5m2) return "TW_E5M2";
  return fmt::format("TW_{}{}", is_float(type) ? "F" : "S", bits(type));
}

std::string AxisRows::table(const CodeTable* codes) {
  if (codes == nullptr) return "NULL";
  tables_.insert(codes);
  return fmt::format("&codes_{}", codes->name);
}

std::string AxisRows::list(const std::vector<Axis>& axes) {
  if (axes.empty()) return "NULL, 0";
  std::string rows;
  for (const Axis& axis : axes) rows += fmt::format("    {},\n", row(axis));
  const auto [found, is_new] = numbers_.try_emplace(rows, numbers_.size());
  return fmt::format("axes_{}, {}", found->second, axes.size());
}

std::string AxisRows::field(const FieldAxes& field, int factor) {
  const std::string axes = list(field.axes);
  return fmt::format("{{{}, {}, {}, {}, {}, {}}}", type_name(field.type), row(field.base), axes,
                     factor, field.offset, list(field.offset_axes));
}

std::string AxisRows::layout(const Layout& layout) {
  const Part panel = axes(layout);
  check(panel);
  std::string text = "    " + row(*panel.over) + ",\n";
  for (const FieldKind kind : kinds) {
    const Field* its = find_field(layout, kind);
    text += "    ";
    text += its == nullptr ? no_field : field(in_panel(layout, panel, kind), its->factor);
    text += ",\n";
  }
  return fmt::format("{{\n{}    {},\n}}", text, table(layout.table));
}

std::string AxisRows::source(const Source& source) {
  const Part& axes = source.axes;
  check(axes);
  std::string text = "{" + row(*axes.over);
  for (const FieldKind kind : kinds) {
    text += ", ";
    const FieldAxes* found = find_field(axes, kind);
    text += found == nullptr ? no_field : field(flat(axes, kind, 0), found->negated ? -1 : 1);
  }
  return fmt::format("{}, {}}}", text, table(source.table));
}

std::string AxisRows::lists() const {
  std::vector<std::string> by_number(numbers_.size());
  for (const auto& [rows, number] : numbers_) by_number[number] = rows;
  std::string text;
  for (const CodeTable* codes : tables_) {
    std::vector<float> values;
    for (const int8_t value : codes->values) values.push_back(codes->unit * value);
    text += fmt::format("static const tw_code_table codes_{} = {{\n    \"{}\", {{{}}}, {:d}}};\n",
                        codes->name, codes->name, c_floats(values), codes->given);
  }
  for (size_t i = 0; i < by_number.size(); ++i) {
    text += fmt::format("static const tw_axis axes_{}[] = {{\n{}}};\n", i, by_number[i]);
  }
  return text;
}

}  // namespace tw
