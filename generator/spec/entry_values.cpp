#include "spec/entry_values.h"

#include <fmt/format.h>

#include <array>
#include <set>

namespace tw {
namespace {

// Far above what any register file holds; keeps a slip of the keyboard from taking all memory.
constexpr int64_t most_rows = 256;
constexpr int64_t most_columns = 4096;

Length length_up_to(const YamlNode& node, int64_t most) {
  const Length value = node.length();
  const auto in_range = [&](int64_t n) { return n >= 0 && n <= most; };
  if (value == Length{} || !in_range(value.fixed) || !in_range(value.vl) || !in_range(value.svl)) {
    node.fail(fmt::format("'{}' must be from 1 to {}", node.key(), most));
  }
  return value;
}

/// One of these.
ElementType read_type(const YamlNode& node, std::string_view what,
                      const std::vector<ElementType>& types,
                      std::string_view (*name_of)(ElementType)) {
  std::vector<std::string> names;
  for (const ElementType known : types) names.emplace_back(name_of(known));
  return types[node.choice(what, names)];
}

}  // namespace

const Format* read_format(const YamlNode& node) {
  std::vector<std::string> names;
  for (const Format& known : formats()) names.emplace_back(known.name);
  return &formats()[node.choice("format", names)];
}

LayoutStyle read_layout(const YamlNode& node) {
  return read_named(node, "layout", std::array{LayoutStyle::own, LayoutStyle::kleidiai});
}

Length read_tile_m(const YamlNode& node) {
  return length_up_to(node, most_rows);
}

Length read_tile_n(const YamlNode& node) {
  return length_up_to(node, most_columns);
}

std::vector<Tile> read_tiles(const YamlNode& node) {
  node.expect_keys({"m", "n"});
  std::vector<Tile> tiles;
  for (const YamlNode* m : alternatives(node.at("m"))) {
    for (const YamlNode* n : alternatives(node.at("n"))) {
      tiles.push_back({read_tile_m(*m), read_tile_n(*n)});
    }
  }
  return tiles;
}

std::vector<const YamlNode*> alternatives(const YamlNode& node) {
  std::vector<const YamlNode*> values = node.one_or_more();
  std::set<std::string> seen;
  for (const YamlNode* value : values) {
    if (!seen.insert(value->text()).second) {
      value->fail(fmt::format("'{}' stands twice in the list", value->text()));
    }
  }
  return values;
}

ElementType read_output(const YamlNode& node) {
  return read_type(
      node, "dst",
      {ElementType::f16, ElementType::bf16, ElementType::f32, ElementType::i8, ElementType::i32},
      output_name);
}

ElementType read_decoded(const YamlNode& node) {
  return read_type(node, "dst", {ElementType::bf16, ElementType::f32, ElementType::i8},
                   source_name);
}

ElementType read_source(const YamlNode& node, bool codes) {
  std::vector<ElementType> types = {ElementType::f16, ElementType::bf16, ElementType::f32};
  if (codes) types.push_back(ElementType::i8);
  return read_type(node, "source", types, source_name);
}

ElementType read_sums(const YamlNode& node) {
  return read_type(node, "sum type", {ElementType::f16, ElementType::f32}, output_name);
}

ElementType read_bias(const YamlNode& node) {
  return read_type(node, "bias type", {ElementType::f16, ElementType::f32}, output_name);
}

ElementType read_scales(const YamlNode& node) {
  return read_type(node, "scale type",
                   {ElementType::f16, ElementType::bf16, ElementType::f32, ElementType::e8m0},
                   output_name);
}

}  // namespace tw
