#include "spec/kernel_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "spec/entry_values.h"

namespace tw {
namespace {

// Keeps a slip of the keyboard from taking all memory.
constexpr int64_t most_k = 4096;
constexpr int64_t most_accumulators = 64;
constexpr size_t most_variants = 10000;

[[noreturn]] void fail_with_too_many(const YamlNode& node) {
  node.fail(fmt::format("the lists multiply to too many variants; {} are legal", most_variants));
}

/// A tile and the panels asked for, with the values' positions (null: left to us).
struct Shape {
  Tile tile;
  Panels panels;
  const YamlNode* m = nullptr;
  const YamlNode* n = nullptr;
  const YamlNode* lhs = nullptr;
  const YamlNode* rhs = nullptr;
  const YamlNode* kr = nullptr;
  const YamlNode* bias = nullptr;
  const YamlNode* layout = nullptr;
  const YamlNode* block = nullptr;
  const YamlNode* scales = nullptr;
};

/// tile: {m, n} and the panels asked for; or tile: {mr, nr, kr}, where the tile is the panel, too.
std::vector<Shape> read_sizes(const YamlNode& entry) {
  const YamlNode& tile = entry.at("tile");
  const YamlNode* panels = entry.find("panels");
  const bool is_panel =
      tile.find("mr") != nullptr || tile.find("nr") != nullptr || tile.find("kr") != nullptr;
  is_panel ? tile.expect_keys({"mr", "nr", "kr"}) : tile.expect_keys({"m", "n"});
  if (is_panel && panels != nullptr) {
    panels->fail("tile {mr, nr, kr} sets the panels too; write tile {m, n} beside 'panels'");
  }
  if (panels != nullptr) panels->expect_keys({"lhs", "rhs", "kr", "bias"});
  const auto find = [](const YamlNode* map, const char* key) {
    return map != nullptr ? map->find(key) : nullptr;
  };
  Shape common;
  common.lhs = find(panels, "lhs");
  common.rhs = find(panels, "rhs");
  common.kr = find(is_panel ? &tile : panels, "kr");
  common.bias = find(panels, "bias");
  if (common.kr != nullptr) common.panels.kr = static_cast<int>(common.kr->count_up_to(most_k));
  if (common.bias != nullptr) common.panels.bias = read_bias(*common.bias);
  std::vector<Shape> shapes;
  for (const YamlNode* m : alternatives(tile.at(is_panel ? "mr" : "m"))) {
    for (const YamlNode* n : alternatives(tile.at(is_panel ? "nr" : "n"))) {
      Shape shape = common;
      shape.m = m;
      shape.n = n;
      if (is_panel) shape.lhs = m;
      if (is_panel) shape.rhs = n;
      shape.tile = {read_tile_m(*m), read_tile_n(*n)};
      if (shape.lhs != nullptr) shape.panels.lhs = read_tile_m(*shape.lhs);
      if (shape.rhs != nullptr) shape.panels.rhs = read_tile_n(*shape.rhs);
      shapes.push_back(shape);
      if (shapes.size() > most_variants) fail_with_too_many(tile);
    }
  }
  return shapes;
}

/// `blocks: {length, scales}`, or a list of those: every shape with each of them.
std::vector<Shape> multiply_by_blocks(std::vector<Shape> shapes, const YamlNode& entry) {
  const YamlNode* all = entry.find("blocks");
  if (all == nullptr) return shapes;
  std::vector<Shape> product;
  for (const YamlNode* blocks : all->one_or_more()) {
    blocks->expect_keys({"length", "scales"});
    for (const YamlNode* length : alternatives(blocks->at("length"))) {
      for (const YamlNode* scales : alternatives(blocks->at("scales"))) {
        for (Shape shape : shapes) {
          shape.panels.block = static_cast<int>(length->count_up_to(most_k));
          shape.panels.scales = read_scales(*scales);
          shape.block = length;
          shape.scales = scales;
          product.push_back(shape);
          if (product.size() > most_variants) fail_with_too_many(*blocks);
        }
      }
    }
  }
  return product;
}

std::vector<Shape> read_shapes(const YamlNode& entry) {
  std::vector<Shape> shapes = multiply_by_blocks(read_sizes(entry), entry);
  const YamlNode* layout = entry.find("layout");
  if (layout == nullptr) return shapes;
  const LayoutStyle style = read_layout(*layout);
  for (Shape& shape : shapes) {
    shape.panels.style = style;
    shape.layout = layout;
  }
  return shapes;
}

/// Knobs with the position of each k unroll (null: the default).
struct KnobChoice {
  Knobs knobs;
  const YamlNode* unroll_k = nullptr;
  const YamlNode* prefetch = nullptr;
};

/// Multiplies `choices` by the values of one knob.
void multiply(std::vector<KnobChoice>& choices, const YamlNode* knobs, std::string_view key,
              const std::function<void(KnobChoice&, const YamlNode&)>& set) {
  const YamlNode* node = knobs != nullptr ? knobs->find(key) : nullptr;
  if (node == nullptr) return;
  std::vector<KnobChoice> product;
  const std::vector<const YamlNode*> values = alternatives(*node);
  for (const KnobChoice& choice : choices) {
    for (const YamlNode* value : values) {
      product.push_back(choice);
      set(product.back(), *value);
      if (product.size() > most_variants) fail_with_too_many(*node);
    }
  }
  choices = std::move(product);
}

std::vector<KnobChoice> read_knobs(const YamlNode& entry, const IsaLibrary& isas) {
  const YamlNode* node = entry.find("knobs");
  if (node != nullptr) {
    node->expect_keys({"unroll_k", "accumulators", "prefetch", "paired_loads", "core"});
  }
  std::vector<KnobChoice> choices(1);
  multiply(choices, node, "unroll_k", [](KnobChoice& choice, const YamlNode& value) {
    choice.knobs.unroll_k = static_cast<int>(value.count_up_to(most_k));
    choice.unroll_k = &value;
  });
  multiply(choices, node, "accumulators", [](KnobChoice& choice, const YamlNode& value) {
    choice.knobs.accumulators = static_cast<int>(value.count_up_to(most_accumulators));
  });
  multiply(choices, node, "prefetch", [](KnobChoice& choice, const YamlNode& value) {
    choice.knobs.prefetch = read_named(value, "prefetch kind", prefetches_of_weights);
    choice.prefetch = &value;
  });
  multiply(choices, node, "paired_loads", [](KnobChoice& choice, const YamlNode& value) {
    choice.knobs.paired_loads = value.boolean();
  });
  multiply(choices, node, "core", [&](KnobChoice& choice, const YamlNode& value) {
    value.choice("core", yaml_names(isas.templates_dir() / "core"));
    choice.knobs.core = value.text();
  });
  return choices;
}

/// Adds what the spec asks for piece by piece, so that a refusal stands where its cause is.
LayoutPair layouts_of(const Family& family, Technique technique, const YamlNode& technique_node,
                      const Isa& isa, const Shape& shape) {
  Panels panels;
  panels.sums = family.sums;
  // Of KleidiAI's layouts there may be some where there are none of ours.
  panels.style = shape.panels.style;
  LayoutPair layouts;
  const auto choose = [&](const YamlNode& cause) {
    layouts = cause.checked(
        [&] { return choose_layouts(*family.lhs, *family.rhs, technique, isa, panels); });
  };
  const auto add = [&](auto Panels::*part, const YamlNode* cause) {
    if (cause == nullptr) return;
    panels.*part = shape.panels.*part;
    choose(*cause);
  };
  choose(shape.layout != nullptr ? *shape.layout : technique_node);
  add(&Panels::bias, shape.bias);
  add(&Panels::block, shape.block);
  add(&Panels::scales, shape.scales);
  add(&Panels::kr, shape.kr);
  add(&Panels::lhs, shape.lhs);
  add(&Panels::rhs, shape.rhs);
  return layouts;
}

/// "1, 2, 4 or a multiple of 4": lengths that span whole panels or divide one.
std::string legal_tiles(Length panel) {
  std::vector<std::string> legal;
  constexpr int64_t widest = 16;  // more divisors than that help nobody
  for (int64_t n = widest; n >= 1; --n) {
    if (panel.divisible(n)) legal.push_back(to_string(panel.divided(n)));
  }
  return fmt::format("{} or a multiple of {}", fmt::join(legal, ", "), to_string(panel));
}

void check_tile(const YamlNode& node, Length tile, Length panel, std::string_view side) {
  if (ratio(tile, panel) >= 1 || ratio(panel, tile) >= 1) return;
  node.fail(fmt::format("tile {} {} neither spans whole {} panels of {} nor divides one; {} fit",
                        side == "lhs" ? "m" : "n", to_string(tile), side, to_string(panel),
                        legal_tiles(panel)));
}

/// Two steps of tiles, where weights become bytes first, which takes turns between two places.
int usual_multiple(const LayoutPair& layouts, Technique technique, int padded) {
  return technique == Technique::tile && bits(layouts.rhs.element) < 8 ? 2 * padded : padded;
}

void check_unroll(KnobChoice& choice, const LayoutPair& layouts, Technique technique) {
  if (layouts.rhs.block != 0) {
    const bool is_long = has_long_blocks(layouts.rhs);
    const int usual = is_long ? long_block_step : layouts.rhs.block;
    const int asked = choice.unroll_k != nullptr ? choice.knobs.unroll_k : usual;
    if (asked != usual && !(is_long && asked == plain_block)) {
      choice.unroll_k->fail(fmt::format("unroll_k {} is not possible with blocks of {}: {}{} is",
                                        asked, layouts.rhs.block, usual,
                                        is_long ? fmt::format(", or {},", plain_block) : ""));
    }
    choice.knobs.unroll_k = asked;
    return;
  }
  const bool rows = is_float(layouts.lhs.element);  // end where k does
  const int padded = std::max(layouts.lhs.k_multiple, layouts.rhs.k_multiple);
  const int multiple = rows ? static_cast<int>(first_k(layouts.rhs, 1)) : padded;
  if (choice.unroll_k != nullptr) {
    if (choice.knobs.unroll_k % multiple == 0) return;
    choice.unroll_k->fail(fmt::format("unroll_k {} is not a multiple of {}, {}",
                                      choice.knobs.unroll_k, multiple,
                                      rows ? "a group of the weights" : "to which k is padded"));
  }
  const int usual = usual_multiple(layouts, technique, multiple);
  choice.knobs.unroll_k = (choice.knobs.unroll_k + usual - 1) / usual * usual;
}

void check_prefetch(const KnobChoice& choice, Technique technique) {
  const bool loads_codes = technique == Technique::dot || technique == Technique::mmla;
  if (choice.knobs.prefetch != Prefetch::beside || loads_codes) return;
  choice.prefetch->fail(fmt::format(
      "prefetch 'beside' is for techniques dot and mmla, not {}; near and far are legal",
      name(technique)));
}

/// `codes: bytes`: the family's weights, each code of which is a byte.
Family read_codes(const YamlNode& entry, const Family& family) {
  const YamlNode* codes = entry.find("codes");
  if (codes == nullptr) return family;
  codes->choice("packing", {"bytes"});
  Family weights = family;
  weights.rhs = as_bytes(*family.rhs);
  if (weights.rhs != nullptr) return weights;
  codes->fail(fmt::format("codes of {} are not packed as bytes", family.rhs->name));
}

/// That family's packed operands, beside which other weights are to be in the same panels.
LayoutPair layouts_of_others(const Family& family, const Format& weights, Technique technique,
                             const YamlNode& technique_node, const Isa& isa, const Shape& shape) {
  Family others = family;
  others.rhs = &weights;
  return layouts_of(others, technique, technique_node, isa, shape);
}

/// What a decoder writes, or what a kernel reads of one.
Layout decoded_of(const Family& family, const Variant& variant, const LayoutPair& layouts,
                  const YamlNode& technique_node, const Shape& shape) {
  if (const Format* wide = wider_codes(family)) {
    return layouts_of_others(family, *wide, variant.technique, technique_node, *variant.isa, shape)
        .rhs;
  }
  return technique_node.checked(
      [&] { return decoded_layout(family, layouts, variant.technique, *variant.isa); });
}

/// `rows_of:` other weights, whose rows this kernel reads, too: they may keep sums that it needs
/// not. Sets the variant's.
void read_rows_of(const YamlNode& entry, const YamlNode& technique_node, const Shape& shape,
                  Variant& variant) {
  const YamlNode* node = entry.find("rows_of");
  if (node == nullptr) return;
  const Format* weights = read_format(*node);
  Layout rows = layouts_of_others(variant.family, *weights, variant.technique, technique_node,
                                  *variant.isa, shape)
                    .lhs;
  Layout without_sums = rows;
  std::erase_if(without_sums.fields, [](const Field& f) { return f.kind == FieldKind::sums; });
  if (!(without_sums == variant.lhs) || rows == variant.lhs) {
    node->fail(fmt::format("rows of {} are not those of {} with sums beside them; leave it out",
                           weights->name, variant.family.rhs->name));
  }
  variant.lhs = std::move(rows);
  variant.rows_of = weights;
}

/// `dst:` what outputs are, `accumulate:` whether they are added to what dst holds; a family each;
/// left out: as the spec says.
std::vector<Family> read_outputs(const YamlNode& entry, const Family& family,
                                 const YamlNode& isa_node, const Isa& isa) {
  std::vector<std::pair<ElementType, const YamlNode*>> types = {{family.dst, &isa_node}};
  if (const YamlNode* node = entry.find("dst")) {
    types.clear();
    for (const YamlNode* type : alternatives(*node)) types.emplace_back(read_output(*type), type);
  }
  std::vector<std::pair<bool, const YamlNode*>> sums = {{family.accumulate, &isa_node}};
  if (const YamlNode* node = entry.find("accumulate")) {
    sums.clear();
    for (const YamlNode* sum : alternatives(*node)) sums.emplace_back(sum->boolean(), sum);
  }
  std::vector<Family> families;
  for (const auto& sum : sums) {
    for (const auto& type : types) {
      const auto check = [&](bool adds, const YamlNode& cause) {
        cause.checked([&] { check_output(*family.lhs, type.first, adds, isa); });
      };
      if (!makes_codes(family)) {  // those have no outputs
        check(false, *type.second);
        check(sum.first, *sum.second);
      }
      Family& made = families.emplace_back(family);
      made.dst = type.first;
      made.accumulate = sum.first;
      made.name = family_name(made);
    }
  }
  return families;
}

void read_printers(const YamlNode& entry, const Isa& isa, Variant& variant) {
  // Compilers have no values in tiles of both sides.
  const bool can_print_c = isa.can_print_c && variant.technique != Technique::tile;
  variant.print_c = can_print_c;
  variant.print_assembly = isa.can_print_assembly;
  const YamlNode* node = entry.find("print");
  if (node == nullptr) return;
  variant.print_c = false;
  variant.print_assembly = false;
  for (const YamlNode* item : alternatives(*node)) {
    const bool is_c = item->choice("printer", {"intrinsics", "assembly"}) == 0;
    if (!(is_c ? can_print_c : isa.can_print_assembly)) {
      const bool tiles = is_c && isa.can_print_c;
      item->fail(fmt::format("{} cannot print {}{}", isa.name, item->text(),
                             tiles ? " of technique tile" : ""));
    }
    (is_c ? variant.print_c : variant.print_assembly) = true;
  }
}

void read_spills(const YamlNode& entry, Variant& variant) {
  const YamlNode* node = entry.find("spills");
  if (node == nullptr) return;
  if (!variant.print_c) node->fail("'spills' is about intrinsics, which this entry does not print");
  if (!node->is_list() && node->text() == "none") {
    variant.spills = "none";
    return;
  }
  const std::vector<const YamlNode*> named = alternatives(*node);
  std::string joined;
  for (const char* compiler : {"gcc", "clang"}) {
    const bool spills = std::any_of(named.begin(), named.end(),
                                    [&](const YamlNode* n) { return n->text() == compiler; });
    if (spills) joined += (joined.empty() ? "" : ", ") + std::string(compiler);
  }
  for (const YamlNode* name : named) {
    if (name->text() == "gcc" || name->text() == "clang") continue;
    name->fail(unknown_text("compiler", name->text(), {"gcc", "clang"}) + "; or spills: none");
  }
  variant.spills = joined;
}

}  // namespace

void read_common(const YamlNode& entry, const Isa& isa, Variant& variant) {
  variant.isa = &isa;
  read_printers(entry, isa, variant);
  read_spills(entry, variant);
  variant.where = entry.where();
  variant.tile_where = entry.at("tile").where();
}

void read_kernel(const YamlNode& entry, const Family& family, IsaLibrary& isas,
                 std::vector<Variant>& variants) {
  entry.expect_keys({"isa", "technique", "weights", "dst", "accumulate", "layout", "codes",
                     "blocks", "panels", "rows_of", "tile", "knobs", "print", "spills"});
  const YamlNode& technique_node = entry.at("technique");
  const Technique technique = read_technique(technique_node);
  const std::vector<Shape> shapes = read_shapes(entry);
  const std::vector<KnobChoice> choices = read_knobs(entry, isas);
  const Family weights = read_codes(entry, family);
  for (const YamlNode* isa_node : alternatives(entry.at("isa"))) {
    const Isa& isa = isas.get(isa_node->text(), isa_node->where());
    std::vector<Family> families = read_outputs(entry, family, *isa_node, isa);
    for (Family& each : families) each.rhs = weights.rhs;
    for (const Shape& shape : shapes) {
      const LayoutPair layouts = layouts_of(weights, technique, technique_node, isa, shape);
      check_tile(*shape.m, shape.tile.m, layouts.lhs.panel, "lhs");
      check_tile(*shape.n, shape.tile.n, layouts.rhs.panel, "rhs");
      for (KnobChoice choice : choices) {
        check_unroll(choice, layouts, technique);
        check_prefetch(choice, technique);
        Variant variant;
        variant.style = shape.panels.style;
        variant.lhs = layouts.lhs;
        variant.rhs = layouts.rhs;
        variant.tile = shape.tile;
        variant.knobs = choice.knobs;
        variant.technique = technique;
        read_common(entry, isa, variant);
        for (const Family& each : families) {
          variant.family = each;
          variant.lhs = layouts.lhs;
          if (makes_codes(each)) {
            variant.decoded = decoded_of(each, variant, layouts, technique_node, shape);
          }
          if (each.operation == Operation::decoded) {
            variant.rhs = decoded_of(each, variant, layouts, technique_node, shape);
          }
          read_rows_of(entry, technique_node, shape, variant);
          variants.push_back(variant);
        }
        if (variants.size() > most_variants) fail_with_too_many(entry);
      }
    }
  }
}

}  // namespace tw
