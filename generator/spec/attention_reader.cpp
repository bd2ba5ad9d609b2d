#include "spec/attention_reader.h"

#include "model/attention.h"
#include "spec/entry_values.h"
#include "spec/kernel_reader.h"

namespace tw {
namespace {

Stage read_stage(const YamlNode& node) {
  constexpr Stage stages[] = {Stage::scores, Stage::weights, Stage::values};
  return stages[node.choice("stage", {"scores", "weights", "values"})];
}

}  // namespace

void read_attention_kernel(const YamlNode& entry, const Family& family, IsaLibrary& isas,
                           std::vector<Variant>& variants) {
  entry.expect_keys({"isa", "stage", "tile", "print", "spills"});
  const Stage stage = read_stage(entry.at("stage"));
  const std::vector<Tile> tiles = read_tiles(entry.at("tile"));
  for (const YamlNode* isa_node : alternatives(entry.at("isa"))) {
    const Isa& isa = isas.get(isa_node->text(), isa_node->where());
    const LayoutPair layouts = isa_node->checked([&] { return attention_layouts(family, isa); });
    for (const Tile& tile : tiles) {
      Variant variant;
      variant.family = family;
      variant.stage = stage;
      variant.lhs = layouts.lhs;
      variant.rhs = layouts.rhs;
      variant.tile = tile;
      variant.technique = Technique::fma;
      read_common(entry, isa, variant);
      variants.push_back(variant);
    }
  }
}

}  // namespace tw
