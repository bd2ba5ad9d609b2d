#include "spec/spec_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "model/sources.h"
#include "spec/attention_reader.h"
#include "spec/depthwise_reader.h"
#include "spec/entry_values.h"
#include "spec/kernel_reader.h"

namespace tw {
namespace {

bool stands_in(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What some of the spec's weights come from.
std::vector<std::string> known_sources(const YamlNode& root) {
  std::vector<std::string> known;
  for (const YamlNode* node : root.at("rhs").at("format").one_or_more()) {
    for (const std::string& name : source_names(*read_format(*node))) {
      if (!stands_in(known, name)) known.push_back(name);
    }
  }
  return known;
}

/// `from:`, the packers to generate: of weights by names of sources, of which formats have some ...
std::vector<std::string> read_weights(const YamlNode& root, const Format& format) {
  const std::vector<std::string> known = known_sources(root), its = source_names(format);
  std::vector<std::string> sources;
  for (const YamlNode* item : alternatives(root.at("rhs").at("from"))) {
    item->choice("source", known);
    if (stands_in(its, item->text())) sources.push_back(item->text());
  }
  return sources;
}
/// ... and of activations, by what their values are: floats, or where rows have a zero point and
/// nothing has blocks, codes.
std::vector<ElementType> read_activations(const YamlNode& from, const Family& family) {
  std::vector<ElementType> types;
  const bool codes =
      family.lhs->scales == Granularity::row && family.rhs->scales != Granularity::block;
  for (const YamlNode* item : alternatives(from)) types.push_back(read_source(*item, codes));
  return types;
}

/// `sums:`, what products of floats are added up in.
void read_sums_of(const YamlNode& node, Family& family) {
  family.sums = read_sums(node);
  const ElementType types[] = {family.lhs->element, family.rhs->element};
  if (family.sums == ElementType::f32 ||
      std::all_of(types, types + 2, [](ElementType type) { return type == ElementType::f16; })) {
    return;
  }
  node.fail(fmt::format("sums of f16 are not possible with {} and {}: with f16 and f16 they are",
                        family.lhs->name, family.rhs->name));
}

Family read_family(const YamlNode& root, const YamlNode& name_node, const YamlNode& weights) {
  Family family;
  family.name = name_node.text();
  const bool depthwise = family.name.starts_with("dwconv_");
  const bool attention = family.name.starts_with("attention_");
  if (depthwise) family.operation = Operation::depthwise;
  if (attention) family.operation = Operation::attention;
  if (family.name.starts_with("imatmul_")) family.operation = Operation::indirect;
  const bool part = family.name.starts_with("matmul_part_");
  const bool decoded = family.name.starts_with("matmul_decoded_");
  const bool parts = part || decoded;  // of products whose operands others pack
  if (parts) family.operation = part ? Operation::part : Operation::decoded;
  const bool decodes = family.name.starts_with("decode_");
  if (decodes) family.operation = Operation::decode;
  const YamlNode& lhs = root.at("lhs");
  const YamlNode& rhs = root.at("rhs");
  family.lhs = read_format(lhs.at("format"));
  family.rhs = read_format(weights);
  // Sums of codes are of values that no generated packer is told.
  const bool packs_weights = !attention && !decodes && !parts && !takes_table(*family.rhs);
  packs_weights ? rhs.expect_keys({"format", "from"}) : rhs.expect_keys({"format"});
  const bool alone = depthwise || attention || decodes || parts || is_static(*family.lhs);
  alone ? lhs.expect_keys({"format"}) : lhs.expect_keys({"format", "from"});
  const bool as_they_are = !family.lhs->quantized_on_the_fly && lhs.find("from") == nullptr;
  if (!depthwise && !attention && !decodes && !parts) {  // whose rows nothing packs
    family.lhs_from =
        as_they_are ? std::vector{family.lhs->element} : read_activations(lhs.at("from"), family);
  }
  if (packs_weights) family.rhs_from = read_weights(root, *family.rhs);
  family.dst = decodes ? read_decoded(root.at("dst")) : read_output(root.at("dst"));
  if (const YamlNode* node = root.find("accumulate")) family.accumulate = node->boolean();
  if (const YamlNode* node = root.find("sums")) read_sums_of(*node, family);

  const std::string expected = family_name(family);
  if (family.name != expected) {
    name_node.fail(fmt::format("family '{}' disagrees with its formats, which make '{}'",
                               family.name, expected));
  }
  return family;
}

/// Those that share their tiles: one for each format of weights.
std::vector<Family> read_families(const YamlNode& root) {
  const std::vector<const YamlNode*> names = alternatives(root.at("family"));
  const YamlNode& format = root.at("rhs").at("format");
  const std::vector<const YamlNode*> weights = alternatives(format);
  if (names.size() != weights.size()) {
    format.fail(fmt::format("{} formats are not possible with {} families: as many are",
                            weights.size(), names.size()));
  }
  std::vector<Family> families;
  for (size_t i = 0; i < names.size(); ++i) {
    families.push_back(read_family(root, *names[i], *weights[i]));
  }
  return families;
}

/// `weights:` of which formats the entry is, where it is not of all that the spec has.
bool is_of(const YamlNode& entry, const YamlNode& root, const Family& family) {
  const YamlNode* node = entry.find("weights");
  if (node == nullptr) return true;
  std::vector<std::string> known;
  for (const YamlNode* format : root.at("rhs").at("format").one_or_more()) {
    known.push_back(format->text());
  }
  bool found = false;
  for (const YamlNode* format : alternatives(*node)) {
    found |= known[format->choice("format", known)] == family.rhs->name;
  }
  return found;
}

/// A family's variants. Those of other outputs stand behind its own, together.
std::vector<Variant> variants_of(const YamlNode& root, const Family& family, IsaLibrary& isas) {
  std::vector<Variant> variants;
  const auto read = family.operation == Operation::depthwise   ? read_depthwise_kernel
                    : family.operation == Operation::attention ? read_attention_kernel
                                                               : read_kernel;
  for (const YamlNode& entry : root.at("kernels").items()) {
    if (is_of(entry, root, family)) read(entry, family, isas, variants);
  }
  std::stable_sort(variants.begin(), variants.end(), [&](const Variant& a, const Variant& b) {
    const auto place = [&](const Family& of) {
      return std::make_pair(of.accumulate != family.accumulate,
                            of.dst == family.dst ? -1 : static_cast<int>(of.dst));
    };
    return place(a.family) < place(b.family);
  });
  return variants;
}

void check_unique(const std::vector<Variant>& variants) {
  std::map<std::string, Where> first;
  for (const Variant& variant : variants) {
    const auto [entry, is_new] = first.emplace(variant.name(), variant.tile_where);
    if (!is_new) {
      throw SpecError(variant.tile_where,
                      fmt::format("duplicate kernel {}; first at {}:{}", variant.name(),
                                  entry->second.line, entry->second.column));
    }
  }
}

/// Each source fits the layout of some kernel.
void check_sources(const YamlNode& root, const std::vector<Variant>& variants) {
  const auto fits = [&](const std::string& name) {
    return std::any_of(variants.begin(), variants.end(), [&](const Variant& variant) {
      return find_source(name, variant.rhs) != nullptr;
    });
  };
  std::string legal;
  for (const std::string& name : known_sources(root)) {
    if (fits(name)) legal += (legal.empty() ? "" : ", ") + name;
  }
  for (const YamlNode* item : root.at("rhs").at("from").one_or_more()) {
    if (fits(item->text())) continue;
    item->fail(
        fmt::format("no kernel's layout can be packed from '{}'; sources that one can be "
                    "packed from: {}",
                    item->text(), legal));
  }
}

}  // namespace

std::vector<Variant> read_spec(const std::filesystem::path& file, IsaLibrary& isas) {
  const YamlNode root = read_yaml(file);
  root.expect_keys({"family", "lhs", "rhs", "dst", "accumulate", "sums", "kernels"});
  const std::vector<Family> families = read_families(root);
  std::vector<Variant> variants;
  for (const Family& family : families) {
    for (Variant& variant : variants_of(root, family, isas)) {
      variants.push_back(std::move(variant));
    }
  }
  check_unique(variants);
  if (!families.front().rhs_from.empty() && !variants.empty()) check_sources(root, variants);
  return variants;
}

}  // namespace tw
