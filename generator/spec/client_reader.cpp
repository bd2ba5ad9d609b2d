#include "spec/client_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "model/depthwise.h"
#include "model/sources.h"
#include "spec/entry_values.h"
#include "spec/yaml_reader.h"

namespace tw {
namespace {

using Variants = std::vector<const Variant*>;

/// What makes the C function's name, kai_run_... and so on.
std::string read_c_name(const YamlNode& node, std::set<std::string>& taken) {
  const std::string& name = node.text();
  const auto fits = [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '_'; };
  if (!std::all_of(name.begin(), name.end(), fits)) {
    node.fail(fmt::format("'{}' is no name of a micro-kernel: a-z, 0-9 and _ are legal", name));
  }
  if (!taken.insert(name).second) node.fail(fmt::format("'{}' stands twice in this file", name));
  return name;
}

/// Those of the family that read KleidiAI's operands.
Variants of_family(const YamlNode& node, const Variants& variants) {
  Variants found;
  std::set<std::string> families;
  for (const Variant* variant : variants) {
    if (variant->style != LayoutStyle::kleidiai) continue;
    if (variant->family.name == node.text()) found.push_back(variant);
    families.insert(variant->family.name);
  }
  node.choice("family of kernels with layout kleidiai", {families.begin(), families.end()});
  return found;
}

std::string describe_kernel(const Variant& variant) {
  const std::string& core = variant.knobs.core;
  const bool unusual = !bias_suffix(variant.rhs).empty();
  return fmt::format(
      "{{isa: {}{}, panels: {{lhs: {}, rhs: {}, kr: {}{}}}, tile: {{m: {}, n: {}}}}}",
      variant.isa->name, core.empty() ? "" : ", core: " + core, to_string(variant.lhs.panel),
      to_string(variant.rhs.panel), variant.rhs.order.kr, unusual ? ", bias: f16" : "",
      to_string(variant.tile.m), to_string(variant.tile.n));
}

/// What bias_suffix() says of layouts with that `bias`.
std::string read_bias_suffix(const YamlNode& node) {
  const YamlNode* const bias = node.find("bias");
  return bias == nullptr ? "" : fmt::format("_bias_{}", name(read_bias(*bias)));
}

[[noreturn]] void fail_without_kernel(const YamlNode& node, const Variants& family) {
  std::set<std::string> known;
  for (const Variant* variant : family) known.insert(describe_kernel(*variant));
  node.fail(fmt::format("no such kernel of {} with layout kleidiai; there are:\n  {}",
                        family.front()->family.name, fmt::join(known, "\n  ")));
}

/// `key`: whose tile they have.
Variants find_with_tile(const YamlNode& node, const Variants& family, const std::string& key) {
  const YamlNode& panels = node.at("panels");
  panels.expect_keys({"lhs", "rhs", "kr", "bias"});
  const YamlNode& tile = node.at(key);
  tile.expect_keys({"m", "n"});
  const Length lhs = read_tile_m(panels.at("lhs"));
  const Length rhs = read_tile_n(panels.at("rhs"));
  const int64_t kr = panels.at("kr").positive();
  const Tile wanted = {read_tile_m(tile.at("m")), read_tile_n(tile.at("n"))};
  const std::string& isa = node.at("isa").text();
  const YamlNode* const core = node.find("core");
  const std::string bias = read_bias_suffix(panels);
  Variants found;
  for (const Variant* variant : family) {
    if (variant->isa->name == isa && variant->lhs.panel == lhs && variant->rhs.panel == rhs &&
        variant->rhs.order.kr == kr && bias_suffix(variant->rhs) == bias &&
        variant->tile.m == wanted.m && variant->tile.n == wanted.n &&
        variant->knobs.core == (core == nullptr ? "" : core->text())) {
      found.push_back(variant);
    }
  }
  if (found.empty()) fail_without_kernel(node, family);
  return found;
}

/// Those of long blocks may have a tile of their own.
Variants find_kernels(const YamlNode& node, const Variants& family, const std::string& key) {
  Variants found = find_with_tile(node, family, key);
  if (key == "tile" && node.find("long") != nullptr) {
    for (const Variant* kernel : find_with_tile(node, family, "long")) {
      if (has_long_blocks(kernel->rhs)) found.push_back(kernel);
    }
  }
  for (const Variant* kernel : found) {
    if (!has_long_blocks(kernel->rhs) || kernel->knobs.unroll_k == plain_block) continue;
    node.fail(fmt::format(
        "of long blocks only kernels with unroll_k {0} serve all multiples of {0}", plain_block));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Variant* a, const Variant* b) { return a->rhs.block < b->rhs.block; });
  return found;
}

/// `kr`: what callers are told, where that is not sr times our kernels'. `matmul`: what all of its
/// family have.
ClientMatmul read_matmul(const YamlNode& node, const Variants& family, const YamlNode* kr,
                         ClientMatmul matmul, std::set<std::string>& taken) {
  node.expect_keys({"name", "step", "isa", "core", "panels", "tile", "long", "rest", "single"});
  matmul.name = read_c_name(node.at("name"), taken);
  const YamlNode& step = node.at("step");
  step.expect_keys({"m", "n"});
  matmul.m_step = read_tile_m(step.at("m"));
  matmul.n_step = read_tile_n(step.at("n"));
  matmul.kernels = find_kernels(node, family, "tile");
  matmul.kr = kr != nullptr ? kr->positive() : matmul.kernels.front()->rhs.order.kr * matmul.sr;
  const Variant& kernel = *matmul.kernels.front();
  const bool indirect = kernel.family.operation == Operation::indirect;
  if (is_unpacked(kernel.lhs) && matmul.in_chunks != indirect) {
    node.at("name").fail(indirect ? "rows that pointers tell come in chunks: 'k: chunks'"
                                  : "rows that are not packed do not come in chunks");
  }
  if (indirect && kernel.tile.m != matmul.m_step) {
    step.at("m").fail(fmt::format("pointers stand together by tiles: m {}, as in the kernel's",
                                  to_string(kernel.tile.m)));
  }
  const auto for_last_rows = [&](const char* key) {
    const YamlNode* const its = node.find(key);
    if (its == nullptr) return Variants();
    Variants found = find_kernels(node, family, key);
    if (found.size() != matmul.kernels.size()) {
      its->fail("other lengths of blocks than the kernels for whole tiles have");
    }
    return found;
  };
  matmul.rest = for_last_rows("rest");
  matmul.single = for_last_rows("single");
  if (matmul.single.empty()) return matmul;
  const YamlNode& single = node.at("single");
  if (matmul.rest.empty() || is_unpacked(kernel.lhs)) {
    single.fail("one last row is told apart from a 'rest' of rows that are packed");
  }
  if (matmul.single.front()->tile.m != Length{1}) single.at("m").fail("of one row m is 1");
  return matmul;
}

/// What is as usual where the key is missing, else has that one value.
bool read_flag(const YamlNode& node, const char* key, const char* value) {
  const YamlNode* const given = node.find(key);
  if (given == nullptr) return false;
  if (given->text() != value) given->fail(fmt::format("{} is '{}', or left out", key, value));
  return true;
}

void read_matmuls(const YamlNode& node, const Variants& variants, std::set<std::string>& taken,
                  ClientNames& names) {
  node.expect_keys({"family", "theirs", "struct", "folder", "k", "kr", "sr", "kernels"});
  const Variants family = of_family(node.at("family"), variants);
  const auto text = [&](const char* key, const std::string& otherwise) {
    const YamlNode* const given = node.find(key);
    return given == nullptr ? otherwise : given->text();
  };
  ClientMatmul matmul;
  matmul.family = text("theirs", node.at("family").text());
  matmul.pointers = text("struct", matmul.family);
  matmul.folder = text("folder", matmul.family);
  matmul.in_chunks = read_flag(node, "k", "chunks");
  matmul.sr = node.at("sr").positive();
  for (const YamlNode& kernel : node.at("kernels").items()) {
    names.matmuls.push_back(read_matmul(kernel, family, node.find("kr"), matmul, taken));
  }
}

/// Depthwise convolutions, by kernels that make lines; what calls them knows windows of one height.
void read_depthwise(const YamlNode& node, const Variants& variants, std::set<std::string>& taken,
                    ClientNames& names) {
  node.expect_keys({"family", "theirs", "folder", "kernels"});
  const Variants family = of_family(node.at("family"), variants);
  for (const YamlNode& entry : node.at("kernels").items()) {
    entry.expect_keys({"name", "isa", "taps", "rows"});
    ClientDepthwise depthwise;
    depthwise.name = read_c_name(entry.at("name"), taken);
    depthwise.family = node.at("theirs").text();
    depthwise.folder = node.at("folder").text();
    if (const YamlNode* const rows = entry.find("rows")) depthwise.rows = rows->positive();
    const auto fits = [&](const Variant* variant) {
      const Window& window = variant->window;
      return variant->isa->name == entry.at("isa").text() && makes_lines(*variant) &&
             window.height == 3 &&
             fmt::format("{}x{}", window.height, window.width) == entry.at("taps").text();
    };
    const auto found = std::find_if(family.begin(), family.end(), fits);
    if (found == family.end()) {
      entry.fail(fmt::format(
          "no kernel of {} with layout kleidiai for {} makes lines by taps {}, which "
          "are 3 high",
          family.front()->family.name, entry.at("isa").text(), entry.at("taps").text()));
    }
    depthwise.kernel = *found;
    names.depthwise.push_back(depthwise);
  }
}

const Format& read_packed_format(const YamlNode& node, Side side, const Variants& variants) {
  std::set<std::string> known;
  for (const Variant* variant : variants) {
    if (variant->style != LayoutStyle::kleidiai) continue;
    known.emplace((side == Side::lhs ? variant->family.lhs : variant->family.rhs)->name);
  }
  node.choice("format that is packed as KleidiAI does", {known.begin(), known.end()});
  return *find_format(node.text());
}

/// Weights come in rows, whose scales are elsewhere, or which are blocks that begin with those.
const Source& read_row_source(const YamlNode& node) {
  std::set<std::string> known;
  for (const Source& source : sources()) {
    if (source.zero_codes) continue;
    if (source.name == node.text()) return source;
    known.emplace(source.name);
  }
  node.fail(unknown_text("source of weights", node.text(), {known.begin(), known.end()}));
}

Rounding read_ties(const YamlNode& node) {
  constexpr Rounding roundings[] = {Rounding::away, Rounding::even};
  return roundings[node.choice("rounding of ties", {"away", "even"})];
}

/// Packers of floats are for one shape of panels.
void read_panels(const YamlNode& node, const Variants& variants, ClientPacker& packer) {
  const bool lhs = packer.side == Side::lhs;
  if (lhs) {
    node.expect_keys({"name", "lhs", "from", "panel", "of", "rows", "k"});
  } else {
    node.expect_keys({"name", "rhs", "with", "from", "panel", "bias", "edge", "of", "tail", "k"});
  }
  packer.panel = lhs ? read_tile_m(node.at("panel")) : read_tile_n(node.at("panel"));
  packer.bias = read_bias_suffix(node);
  std::set<std::string> known;
  for (const Variant* variant : variants) {
    const Format* const format = lhs ? variant->family.lhs : variant->family.rhs;
    const Layout& layout = lhs ? variant->lhs : variant->rhs;
    const bool reads = variant->style == LayoutStyle::kleidiai && !is_unpacked(layout);
    const bool fits = format == packer.format && bias_suffix(layout) == packer.bias;
    if (reads && fits) known.insert(to_string(layout.panel));
  }
  if (known.count(to_string(packer.panel)) == 0) {
    node.at("panel").fail(
        fmt::format("no kernel with layout kleidiai reads {} in panels of {}: "
                    "of {} they do",
                    packer.format->name, to_string(packer.panel), fmt::join(known, ", ")));
  }
  packer.repeats = read_flag(node, "edge", "repeats");
  packer.first_again = read_flag(node, "tail", "first");
  packer.first_row = read_flag(node, "rows", "first");
  const YamlNode* const k = node.find("k");
  packer.of_taps = !lhs && k != nullptr && k->text() == "taps";
  packer.in_chunks = !packer.of_taps && read_flag(node, "k", "chunks");
  const YamlNode* const of = node.find("of");
  if (of != nullptr) packer.of = read_source(*of, false);
  if (of != nullptr && packer.format->element != ElementType::bf16) {
    of->fail("only bf16 is rounded by plain C");
  }
  if (packer.first_again && of == nullptr) {
    node.at("tail").fail("only weights that are rounded have such a tail");
  }
}

ClientPacker read_packer(const YamlNode& node, const Variants& variants,
                         std::set<std::string>& taken) {
  ClientPacker packer;
  packer.side = node.find("lhs") != nullptr ? Side::lhs : Side::rhs;
  packer.name = read_c_name(node.at("name"), taken);
  const YamlNode& format = node.at(packer.side == Side::lhs ? "lhs" : "rhs");
  packer.format = &read_packed_format(format, packer.side, variants);
  const bool any_shape = packer.side == Side::lhs && node.find("with") != nullptr;
  if (any_shape && is_float(*packer.format)) {
    node.expect_keys({"name", "lhs", "with", "from"});
    if (node.at("from").text() != name(ElementType::f32)) {
      node.at("from").fail("floats in panels of any shape are rounded from f32");
    }
  } else if (is_float(*packer.format) || node.find("panel") != nullptr) {
    read_panels(node, variants, packer);
  } else if (packer.side == Side::lhs) {
    node.expect_keys({"name", "lhs", "from", "ties", "scales", "sums"});
    packer.apart = read_flag(node, "scales", "apart");
    packer.real_sums = read_flag(node, "sums", "real");
    if (const YamlNode* ties = node.find("ties")) packer.rounding = read_ties(*ties);
  } else {
    node.expect_keys(
        {"name", "rhs", "with", "from", "nibbles", "first", "scales", "params", "alias"});
    packer.high_first = read_flag(node, "first", "high");
    packer.apart = read_flag(node, "scales", "apart");
    packer.sequential = read_flag(node, "nibbles", "sequential");
    packer.params = node.at("params").text();
    if (const YamlNode* alias = node.find("alias")) packer.alias = alias->text();
  }
  packer.source = node.at("from").text();
  packer.where = node.at("from").where();
  if (const YamlNode* with = node.find("with")) {
    const Side other = packer.side == Side::lhs ? Side::rhs : Side::lhs;
    packer.with = &read_packed_format(*with, other, variants);
  }
  if (packer.side == Side::lhs) return packer;
  const Source& rows = read_row_source(node.at("from"));
  packer.rows_of_n = rows_are_k(rows);
  packer.rows_of_blocks = block_of(rows) != 0;
  return packer;
}

}  // namespace

ClientNames read_client_names(const std::filesystem::path& file, const Variants& variants) {
  const YamlNode root = read_yaml(file);
  root.expect_keys({"version", "matmuls", "depthwise", "packers", "struct_packers"});
  ClientNames names;
  names.version = root.at("version").text();
  std::set<std::string> taken;
  for (const YamlNode& node : root.at("matmuls").items()) {
    read_matmuls(node, variants, taken, names);
  }
  if (const YamlNode* const depthwise = root.find("depthwise")) {
    for (const YamlNode& node : depthwise->items()) read_depthwise(node, variants, taken, names);
  }
  for (const YamlNode& node : root.at("packers").items()) {
    names.packers.push_back(read_packer(node, variants, taken));
  }
  if (const YamlNode* const packers = root.find("struct_packers")) {
    for (const YamlNode& node : packers->items()) {
      node.expect_keys({"name", "from", "panel", "by"});
      names.struct_packers.push_back({read_c_name(node.at("name"), taken), node.at("by").text(),
                                      rows_are_k(read_row_source(node.at("from"))),
                                      read_tile_n(node.at("panel"))});
    }
  }
  return names;
}

}  // namespace tw
