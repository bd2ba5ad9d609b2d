#include "emit/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "emit/axis_rows.h"
#include "emit/c_text.h"
#include "lower/lower.h"
#include "model/sources.h"

namespace tw {
namespace {

std::string feature_macro(const std::string& feature) {
  return "TW_FEATURE_" + upper(feature);
}

std::string feature_mask(const std::vector<std::string>& features) {
  std::string text;
  for (const std::string& feature : features) {
    text += (text.empty() ? "" : " | ") + feature_macro(feature);
  }
  return text.empty() ? "0" : text;
}

/// A layout's part in the runtime's size formula: bytes per row beside the codes.
int64_t row_bytes(const Layout& layout, bool per_block) {
  int64_t bytes = 0;
  for (const Field& field : layout.fields) {
    const bool in_block = field.per_block && layout.block != 0;
    const bool counts = (in_block || is_step(field.kind)) == per_block;
    if (field.kind == FieldKind::data || !counts) continue;
    const int64_t blocks =
        in_block && layout.super_block != 0 ? layout.super_block / layout.block : 1;
    const int64_t values = field.kind == FieldKind::tops ? layout.block : field.repeat;
    bytes += blocks * values * bits(field.type) / 8;
  }
  return bytes;
}

/// A field of an lhs layout, whose packer takes its numbers as arguments; zeros without one.
Field lhs_field(const Layout& layout, FieldKind kind) {
  const Field* field = layout.side == Side::lhs ? find_field(layout, kind) : nullptr;
  Field none;
  none.repeat = none.factor = 0;
  return field == nullptr ? none : *field;
}

/// Numbers of layouts and guards, as the rows name them.
class Names {
 public:
  explicit Names(const Registry& registry) {
    for (const Layout* layout : layouts_of(registry)) layouts_.push_back(id(*layout));
    for (const KernelEntry& kernel : registry.kernels) add_guard(kernel.guard);
    for (const PackerEntry& packer : registry.packers) add_guard(packer.guard);
  }
  [[nodiscard]] size_t layout(const Layout& wanted) const {
    return static_cast<size_t>(std::find(layouts_.begin(), layouts_.end(), id(wanted)) -
                               layouts_.begin());
  }
  /// The function, or null where it is not built.
  [[nodiscard]] std::string run(const std::string& guard, const std::string& symbol) const {
    if (guard.empty()) return symbol;
    const auto found = std::find(guards_.begin(), guards_.end(), guard);
    return fmt::format("BUILT_{}({})", found - guards_.begin(), symbol);
  }
  [[nodiscard]] const std::vector<std::string>& guards() const { return guards_; }

 private:
  void add_guard(const std::string& guard) {
    if (guard.empty() || std::find(guards_.begin(), guards_.end(), guard) != guards_.end()) return;
    guards_.push_back(guard);
  }
  std::vector<uint64_t> layouts_;
  std::vector<std::string> guards_;
};

std::string scales_macro(const Layout& layout) {
  if (layout.side == Side::rhs && layout.block != 0) {
    const Field& scale = field_of(layout, float_scale(layout));
    return "TW_SCALES_" + upper(std::string(name(scale.type)));
  }
  return "TW_SCALES_UNSET";
}

/// Packed activations are not unpacked.
std::string print_axes(const Layout& layout, size_t number, AxisRows& axes) {
  if (layout.side == Side::lhs) return "";
  return fmt::format("static const tw_axes layout_{}_axes = {};\n", number, axes.layout(layout));
}

std::string print_layout(const Layout& layout, size_t number) {
  const Field sums = lhs_field(layout, FieldKind::sums);
  return fmt::format(
      "static const tw_layout layout_{} = {{\n"
      "    .id = UINT64_C(0x{:016x}),\n"
      "    .text = \"{}\",\n"
      "    .panel = {},\n"
      "    .panel_scalable = {},\n"
      "    .k_multiple = {},\n"
      "    .block = {},\n"
      "    .data_bits = {},\n"
      "    .per_row_bytes = {},\n"
      "    .per_row_block_bytes = {},\n"
      "    .exact_k = {},\n"
      "    .scales = {},\n"
      "    .block_scales = {},\n"
      "    .streaming = {},\n"
      "    .sum_factor = {},\n"
      "    .sum_base = {},\n"
      "    .sum_copies = {},\n"
      "    .scale_copies = {},\n"
      "    .axes = {},\n"
      "    .type = {},\n"
      "    .scales_apart = {},\n"
      "}};\n",
      number, id(layout), canonical(layout), layout.panel.fixed, layout.panel.vl + layout.panel.svl,
      layout.k_multiple, whole_block(layout), bits(layout.element), row_bytes(layout, false),
      row_bytes(layout, true), exact_k(layout), field_index(layout, FieldKind::scales) >= 0 ? 1 : 0,
      scales_macro(layout), layout.panel.svl != 0 ? 1 : 0, sums.factor, sums.base, sums.repeat,
      lhs_field(layout, FieldKind::scales).repeat,
      layout.side == Side::lhs ? "NULL" : fmt::format("&layout_{}_axes", number),
      layout.element == ElementType::i16 ? "TW_TYPE_NONE" : type_name(layout.element),
      has_fields_apart(layout) ? 1 : 0);
}

std::string print_sources(AxisRows& axes) {
  std::string rows;
  for (const Source& source : sources()) {
    rows += fmt::format("    {{\"{}\", TW_{}, {}, {}, {}}},\n", source.name,
                        upper(std::string(source.name)), block_of(source), block_bytes(source),
                        axes.source(source));
  }
  return rows;
}

/// One row of zeros: C11 has no empty braces, and C++ warns of members that {0} leaves out.
constexpr const char* no_rows =
    "#ifdef __cplusplus\n"
    "    {},\n"
    "#else\n"
    "    {0},\n"
    "#endif\n";

/// An array that may be empty, which C does not know: then it has one row that nobody counts.
std::string print_array(const std::string& type, const std::string& array, const std::string& rows,
                        size_t count) {
  return fmt::format("const {0} {1}s[] = {{\n{2}}};\nconst size_t {1}_count = {3};\n", type, array,
                     rows.empty() ? no_rows : rows, count);
}

std::string print_kernel(const KernelEntry& kernel, const Names& names) {
  const Variant& v = *kernel.variant;
  return fmt::format(
      "    {{\n"
      "        .name = \"{}\",\n"
      "        .family = \"{}\",\n"
      "        .isa = \"{}\",\n"
      "        .printer = \"{}\",\n"
      "        .technique = \"{}\",\n"
      "        .spec = \"{}\",\n"
      "        .run = {},\n"
      "        .features = {},\n"
      "        .lhs = &layout_{},\n"
      "        .rhs = &layout_{},\n"
      "        .tile_m = {},\n"
      "        .tile_n = {},\n"
      "        .tile_n_scalable = {},\n"
      "        .unroll_k = {},\n"
      "        .accumulators = {},\n"
      "        .vector_registers = {},\n"
      "        .macs_per_cycle = {:.1f},\n"
      "        .content_hash = UINT64_C(0x{:016x}),\n"
      "        .spills = \"{}\",\n"
      "        .core = \"{}\",\n"
      "        .in_order = {},\n"
      "        .tile_m_scalable = {},\n"
      "        .prefetches_panels = {},\n"
      "        .dst = {},\n"
      "        .accumulate = {},\n"
      "        .symbol = \"{}\",\n"
      "        .decoded_panel = {},\n"
      "        .decoded = {},\n"
      "    }},\n",
      kernel.name, v.family.name, v.isa->name, kernel.printer, name(v.technique), kernel.spec,
      names.run(kernel.guard, kernel.symbol), feature_mask(v.isa->features), names.layout(v.lhs),
      names.layout(v.rhs), v.tile.m.fixed, v.tile.n.fixed, v.tile.n.vl + v.tile.n.svl,
      v.knobs.unroll_k, v.knobs.accumulators, kernel.vector_registers, kernel.macs_per_cycle,
      kernel.content_hash, kernel.spills, kernel.core, kernel.in_order ? 1 : 0,
      v.tile.m.vl + v.tile.m.svl, v.knobs.prefetch == Prefetch::far ? 1 : 0,
      type_name(v.family.dst), v.family.accumulate ? 1 : 0, kernel.symbol, decoded_panel(v).fixed,
      makes_codes(v.family) ? fmt::format("&layout_{}", names.layout(v.decoded)) : "NULL");
}

std::string window_members(const Variant& v) {
  return fmt::format(
      "        .height = {},\n"
      "        .width = {},\n"
      "        .stride = {},\n",
      v.window.height, v.window.width, v.window.stride);
}

std::string stage_members(const Variant& v) {
  const char* stage = v.stage == Stage::scores    ? "SCORES"
                      : v.stage == Stage::weights ? "WEIGHTS"
                                                  : "VALUES";
  return fmt::format("        .stage = TW_ATTENTION_{},\n", stage);
}

/// Of one operation: the rows' type, the array's name, and what rows have beside a kernel.
struct KernelRows {
  Operation operation;
  const char* type;
  const char* array;
  std::string (*members)(const Variant& variant) = nullptr;
};

constexpr KernelRows kernel_rows[] = {
    {Operation::matmul, "tw_kernel", "tw_generated_kernel"},
    {Operation::depthwise, "tw_depthwise_kernel", "tw_generated_depthwise_kernel", window_members},
    {Operation::attention, "tw_attention_kernel", "tw_generated_attention_kernel", stage_members},
    {Operation::decode, "tw_kernel", "tw_generated_decoder"},
    {Operation::part, "tw_kernel", "tw_generated_part"},
};

/// Whose rows it stands with.
Operation rows_of(const KernelEntry& kernel) {
  const Operation its = kernel.variant->family.operation;
  return its == Operation::decoded ? Operation::part : its;
}

std::string print_kernels(const Registry& registry, const Names& names, const KernelRows& its) {
  std::string rows;
  size_t count = 0;
  for (const KernelEntry& kernel : registry.kernels) {
    if (rows_of(kernel) != its.operation) continue;
    // Plans pack weights of depthwise convolutions themselves, as our own kernels like them.
    const bool theirs = kernel.variant->style == LayoutStyle::kleidiai;
    if (theirs && its.operation == Operation::depthwise) continue;
    const std::string row = print_kernel(kernel, names);
    rows += its.members == nullptr ? row
                                   : fmt::format("    {{\n{}        .kernel =\n{}    }},\n",
                                                 its.members(*kernel.variant), row);
    ++count;
  }
  return print_array(its.type, its.array, rows, count);
}

/// A packer's name, and what it is told of the layout where it serves several.
std::string packer_row_name(const PackerEntry& packer) {
  std::string text = packer.source->symbol;
  if (packer.source->layouts.size() == 1) return text;
  const Layout& layout = *packer.layout;
  if (layout.block != 0) text += fmt::format("_b{}", layout.block);
  if (layout.side == Side::rhs) return text;
  for (const Field& field : layout.fields) {
    if (field.kind != FieldKind::sums && field.repeat == 1) continue;
    text += fmt::format("_{}", name(field.kind));
    if (field.kind == FieldKind::sums) {  // mostly what is taken back
      text += fmt::format("{}{}", field.factor > 0 ? "_plus" : "", std::abs(field.factor));
    }
    if (field.repeat != 1) text += fmt::format("x{}", field.repeat);
  }
  return text;
}

std::string print_packer(const PackerEntry& packer, const Names& names) {
  const PackerSource& source = *packer.source;
  return fmt::format(
      "    {{\n"
      "        .name = \"{}\",\n"
      "        .operand = \"{}\",\n"
      "        .source = \"{}\",\n"
      "        .isa = \"{}\",\n"
      "        .run = {},\n"
      "        .features = {},\n"
      "        .layout = &layout_{},\n"
      "        .content_hash = UINT64_C(0x{:016x}),\n"
      "        .vectorized = {},\n"
      "    }},\n",
      packer_row_name(packer), source.operand, source.source, source.isa->name,
      names.run(packer.guard, source.symbol), feature_mask(source.isa->features),
      names.layout(*packer.layout), packer.content_hash, source.vectorized ? 1 : 0);
}

/// What a core does with each product of matrices, and behind them with each part, in the rows'
/// order.
std::string print_rates(const Registry& registry, size_t core) {
  std::string rates;
  for (const Operation its : {Operation::matmul, Operation::part}) {
    for (const KernelEntry& kernel : registry.kernels) {
      if (rows_of(kernel) != its) continue;
      rates += fmt::format("{:.4g},", core < kernel.rates.size() ? kernel.rates[core] : 0.0);
    }
  }
  if (rates.empty()) rates = "0,";
  std::string text = fmt::format("static const float rates_{}[] = {{  /* {} */\n", core,
                                 registry.cores[core].name);
  for (size_t at = 0; at < rates.size();) {
    const size_t end = rates.size() - at > 96 ? rates.rfind(',', at + 95) : rates.size() - 1;
    text += fmt::format("    {}\n", rates.substr(at, end + 1 - at));
    at = end + 1;
  }
  return text + "};\n";
}

std::string print_cores(const Registry& registry) {
  std::string text, rows;
  for (size_t i = 0; i < registry.cores.size(); ++i) {
    const CoreModel& core = registry.cores[i];
    text += print_rates(registry, i);
    rows += fmt::format("    {{\"{}\", \"{}\", {}, {}, {}, {}, {}, rates_{}}},\n", core.name,
                        core.cpus.maker, core.cpus.family, feature_mask(core.cpus.features),
                        core.l2_bytes, core.stream_prefetch, core.row_panels, i);
  }
  return text + print_array("tw_core", "tw_generated_core", rows, registry.cores.size());
}

/// Features that an older runtime has no bit for are never present.
std::string print_features(const Registry& registry) {
  std::set<std::string> macros;
  for (const KernelEntry& kernel : registry.kernels) {
    for (const std::string& f : kernel.variant->isa->features) macros.insert(feature_macro(f));
  }
  for (const CoreModel& core : registry.cores) {
    for (const std::string& f : core.cpus.features) macros.insert(feature_macro(f));
  }
  std::string text;
  for (const std::string& macro : macros) {
    text += fmt::format("#ifndef {0}\n#define {0} TW_FEATURE_UNKNOWN\n#endif\n", macro);
  }
  return text;
}

/// "BUILT_0(f)" is f where the condition holds and null elsewhere.
std::string print_guards(const std::vector<std::string>& guards) {
  std::string text;
  for (size_t i = 0; i < guards.size(); ++i) {
    text += fmt::format(
        "#if {1}\n#define BUILT_{0}(function) function\n#else\n"
        "#define BUILT_{0}(function) NULL\n#endif\n",
        i, guards[i]);
  }
  return text;
}

std::string ratio_text(double value) {
  return value > 0 ? fmt::format("{:.1f}", value) : "-";
}

/// A bar would end a cell of a Markdown table.
std::string in_table(const std::string& text) {
  std::string escaped;
  for (char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

std::string tile_text(const Variant& v) {
  return fmt::format("{} x {}", to_string(v.tile.m), to_string(v.tile.n));
}

}  // namespace

std::vector<const Layout*> layouts_of(const Registry& registry) {
  std::vector<const Layout*> found;
  std::set<uint64_t> ids;
  auto add = [&](const Layout& layout) {
    if (ids.insert(id(layout)).second) found.push_back(&layout);
  };
  for (const KernelEntry& kernel : registry.kernels) {
    add(kernel.variant->lhs);
    add(kernel.variant->rhs);
    if (makes_codes(kernel.variant->family)) add(kernel.variant->decoded);
  }
  for (const PackerEntry& packer : registry.packers) add(*packer.layout);
  return found;
}

std::string print_registry(const Registry& registry) {
  const Names names(registry);
  std::string text =
      "#include \"tilewright/registry.h\"\n\n#include \"tilewright/generated.h\"\n\n";
  text += print_features(registry);
  text += "\n/* A function where its file has any content, else null. */\n";
  text += print_guards(names.guards()) + "\n";
  AxisRows axes;
  std::string layouts;
  size_t number = 0;
  for (const Layout* layout : layouts_of(registry)) {
    layouts += print_axes(*layout, number, axes);
    layouts += print_layout(*layout, number++) + "\n";
  }
  const std::string source_rows = print_sources(axes);
  text += axes.lists() + "\n" + layouts;
  for (const KernelRows& its : kernel_rows) text += print_kernels(registry, names, its) + "\n";
  std::string rows;
  for (const PackerEntry& packer : registry.packers) rows += print_packer(packer, names);
  text += print_array("tw_packer", "tw_generated_packer", rows, registry.packers.size()) + "\n";
  text += print_array("tw_source", "tw_generated_source", source_rows, sources().size()) + "\n";
  text += print_cores(registry);
  return text;
}

std::string print_declarations(const Registry& registry, const std::string& kernel_header) {
  std::string text = fmt::format(
      "#ifndef TILEWRIGHT_GENERATED_H\n#define TILEWRIGHT_GENERATED_H\n\n"
      "#include \"{}\"\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
      "/* Kernels. Those of another architecture are declared, but not defined. */\n",
      kernel_header);
  std::set<std::string> declared;
  for (const KernelEntry& kernel : registry.kernels) {
    if (!declared.insert(kernel.symbol).second) continue;
    text += fmt::format("void {}(const tw_args *args);\n", kernel.symbol);
  }
  text += "\n/* Packers. */\n";
  const PackerSource* last = nullptr;  // rows of one packer stand together
  for (const PackerEntry& packer : registry.packers) {
    if (packer.source == last) continue;
    last = packer.source;
    text += fmt::format("void {}(const tw_pack_args *args);\n", last->symbol);
  }
  return text + "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

std::string print_kernel_table(const Registry& registry) {
  const Names names(registry);
  std::string text =
      "# Generated kernels\n\n"
      "MACs per instruction: of the loop over k, its control included. MACs per cycle: predicted "
      "for the core that it is scheduled for. Where a kernel serves any vector length, both are "
      "for that core's (SME: 512 bits). Kernels of blocks of 64 and more share a function and a "
      "file, `..._blocks...`. Spills: compilers that keep vectors of the hot loop on the stack.\n\n"
      "| kernel | ISA | printer | technique | tile | lhs | rhs | registers | MACs/instruction | "
      "MACs/cycle | core | spills |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const KernelEntry& kernel : registry.kernels) {
    const Variant& v = *kernel.variant;
    text += fmt::format(
        "| `{}` | {} | {} | {} | {} | L{} | L{} | {} | {} | {} | {} | {} |\n", kernel.name,
        v.isa->name, kernel.printer, name(v.technique), tile_text(v), names.layout(v.lhs),
        names.layout(v.rhs), kernel.vector_registers, ratio_text(kernel.macs_per_instruction),
        ratio_text(kernel.macs_per_cycle * kernel.times), kernel.core, kernel.spills);
  }
  text +=
      "\n## Packers\n\nPlain C: loops that take value by value.\n\n| packer | ISA | operand | from "
      "| layout |\n|---|---|---|---|---|\n";
  for (const PackerEntry& packer : registry.packers) {
    const PackerSource& source = *packer.source;
    text += fmt::format("| `{}` | {}{} | {} | {} | L{} |\n", source.symbol, source.isa->name,
                        source.vectorized ? "" : ", plain C", source.operand, source.source,
                        names.layout(*packer.layout));
  }
  text += "\n## Layouts\n\n| | id | layout | bytes of a panel with k = 1024 |\n|---|---|---|---|\n";
  size_t number = 0;
  for (const Layout* layout : layouts_of(registry)) {
    text += fmt::format("| L{} | `{:016x}` | `{}` | {} |\n", number++, id(*layout),
                        in_table(canonical(*layout)), to_string(panel_bytes(*layout, 1024)));
  }
  return text;
}

}  // namespace tw
