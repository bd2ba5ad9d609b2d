#include "spec/workload_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "model/reject.h"
#include "model/variant.h"
#include "spec/entry_values.h"
#include "spec/yaml_reader.h"

namespace tw {
namespace {

constexpr std::string_view default_family = "matmul_clamp_f32_qai8dxp_qsi4cxp";

/// What a family multiplies with.
struct KnownFamily {
  std::string name;
  const Format* weights;
};

std::vector<KnownFamily> known_families() {
  std::vector<KnownFamily> all;
  for (const Format& lhs : formats()) {
    for (const Format& rhs : formats()) {
      if (!can_multiply(lhs, rhs) || is_static(lhs) || takes_table(rhs))
        continue;                           // outputs are f32
      if (!rhs.bytes_of.empty()) continue;  // of another one's families
      Family family;
      family.lhs = &lhs;
      family.rhs = &rhs;
      all.push_back({family_name(family), &rhs});
    }
  }
  return all;
}

KnownFamily find_family(std::string_view wanted, const YamlNode& node) {
  std::vector<std::string> names;
  for (const KnownFamily& known : known_families()) {
    if (known.name == wanted) return known;
    names.push_back(known.name);
  }
  node.fail(unknown_text("family name", wanted, names));
}

KnownFamily read_family(const YamlNode& holder, const KnownFamily& otherwise) {
  const YamlNode* node = holder.find("family");
  return node != nullptr ? find_family(node->text(), *node) : otherwise;
}

/// Super-blocks are what the registry, and a plan, know as blocks.
void check_length(const Format& weights, int64_t block, ElementType type) {
  if (weights.super_block == 0) return check_block(weights, block, type);
  if (block != weights.super_block) {
    reject("blocks of {} are not possible: those of {} are of {}", block, weights.name,
           weights.super_block);
  }
  check_block(weights, weights.block, type);
}

/// Blocks as specs have them: the format's, with its scales, unless the file says otherwise.
void read_blocks(const YamlNode& node, const Format& weights, Matmul& matmul) {
  int64_t block = weights.super_block != 0 ? weights.super_block : weights.block;
  ElementType type = weights.scale_type;
  const YamlNode* length = node.find("block");
  const YamlNode* scales = node.find("scales");
  for (const YamlNode* given : {length, scales}) {
    if (given != nullptr && weights.scales != Granularity::block) {
      given->fail(fmt::format("weights of family {} have no blocks: leave '{}' away", matmul.family,
                              given->key()));
    }
  }
  if (length != nullptr) block = length->positive();
  if (scales != nullptr) type = read_scales(*scales);
  if (block == 0) return;
  const YamlNode& cause = length != nullptr ? *length : scales != nullptr ? *scales : node;
  cause.checked([&] { check_length(weights, block, type); });
  if (matmul.k % block != 0) {
    node.at("k").fail(
        fmt::format("'k' is {}: multiples of the block, {}, are legal", matmul.k, block));
  }
  matmul.block = static_cast<int>(block);
  matmul.scales = name(type);
}

Matmul read_matmul(const YamlNode& node, const KnownFamily& family_of_all) {
  node.expect_keys({"name", "family", "n", "k", "count", "block", "scales", "regime"});
  const KnownFamily family = read_family(node, family_of_all);
  Matmul matmul;
  matmul.name = node.at("name").text();
  matmul.family = family.name;
  matmul.n = node.at("n").positive();
  matmul.k = node.at("k").positive();
  if (const YamlNode* count = node.find("count")) matmul.count = count->positive();
  if (const YamlNode* regime = node.find("regime")) {
    matmul.regime = read_named(*regime, "regime", std::array{Regime::streamed, Regime::hot});
  }
  read_blocks(node, *family.weights, matmul);
  return matmul;
}

/// A number, or {m, calls}.
Rows read_row_count(const YamlNode& node) {
  if (!node.is_map()) return {node.positive(), 1};
  node.expect_keys({"m", "calls"});
  return {node.at("m").positive(), node.at("calls").positive()};
}

}  // namespace

std::string_view name(Regime regime) {
  return regime == Regime::hot ? "hot" : "streamed";
}

Workload read_workload(const std::filesystem::path& file) {
  const YamlNode root = read_yaml(file);
  root.expect_keys({"workload", "about", "family", "matmuls", "m"});
  Workload workload;
  workload.name = root.at("workload").text();
  if (const YamlNode* about = root.find("about")) workload.about = about->text();
  const KnownFamily family = read_family(root, find_family(default_family, root));
  for (const YamlNode& item : root.at("matmuls").items()) {
    Matmul matmul = read_matmul(item, family);
    const bool twice = std::any_of(workload.matmuls.begin(), workload.matmuls.end(),
                                   [&](const Matmul& other) { return other.name == matmul.name; });
    if (twice) item.fail(fmt::format("matmul '{}' twice", matmul.name));
    workload.matmuls.push_back(std::move(matmul));
  }
  for (const YamlNode* item : root.at("m").one_or_more()) {
    const Rows rows = read_row_count(*item);
    const bool twice = std::any_of(workload.rows.begin(), workload.rows.end(),
                                   [&](const Rows& other) { return other.m == rows.m; });
    if (twice) item->fail(fmt::format("m {} twice", rows.m));
    workload.rows.push_back(rows);
  }
  return workload;
}

}  // namespace tw
