#include "pipeline/generated_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "emit/assembly_printer.h"
#include "emit/c_file.h"
#include "emit/c_printer.h"
#include "emit/explain.h"
#include "emit/packer.h"
#include "emit/parallel.h"
#include "emit/registry.h"
#include "model/hash.h"
#include "pipeline/client_library.h"
#include "pipeline/kernel_names.h"
#include "pipeline/matrix.h"
#include "pipeline/pipeline.h"
#include "spec/core_reader.h"
#include "spec/spec_reader.h"

namespace tw {
namespace {

/// A layout with its id and, below, what lies in a panel.
std::vector<std::string> describe(const std::string& prefix, const Layout& layout) {
  std::string fields;
  for (const Field& field : layout.fields) {
    if (field.kind == FieldKind::data) {
      const Length per_row = layout.panel * bits(layout.element);
      fields += fmt::format("| {} x k bits of codes ", to_string(per_row));
      continue;
    }
    fields +=
        fmt::format("| {} {} x {}{} ", to_string(layout.panel * field.repeat), name(field.type),
                    name(field.kind), layout.block != 0 && field.per_block ? " a block" : "");
  }
  return {fmt::format("{}{} ({:016x})", prefix, canonical(layout), id(layout)),
          fmt::format("{}{}|", std::string(prefix.size() + 4, ' '), fields)};
}

std::string registers_text(const Variant& variant, const Pressure& pressure) {
  if (pressure.available == 0) return "";
  return fmt::format("tile {} x {}: {}", to_string(variant.tile.m), to_string(variant.tile.n),
                     sum(pressure, variant.isa->name));
}

class TreeMaker {
 public:
  explicit TreeMaker(const TreeOptions& options)
      : options_(options),
        isas_(options.templates_dir),
        rules_(read_c_file_rules(options.templates_dir)),
        dialect_(read_dialect(options.templates_dir)),
        elf_(only(dialect_, "elf")) {}

  GeneratedTree make(const std::vector<SpecInput>& specs) {
    registry_.cores = read_known_cores(options_.templates_dir);
    for (const SpecInput& spec : specs) add_spec(spec);
    add_packers();
    add_lists();
    if (!options_.names.file.empty()) add_client_library();
    tree_.kernels = static_cast<int>(registry_.kernels.size());
    tree_.packers = static_cast<int>(registry_.packers.size());
    for (const KernelEntry& entry : registry_.kernels) {
      tree_.hashes[entry.name] = entry.content_hash;
    }
    if (!options_.headers_dir.empty()) add_headers();
    return std::move(tree_);
  }

 private:
  [[nodiscard]] bool wanted(const std::string& row) const {
    return options_.only.empty() || options_.only.count(row) > 0;
  }

  [[nodiscard]] bool wanted(const Variant& variant) const {
    const std::vector<std::string> rows = row_names(variant);
    return std::any_of(rows.begin(), rows.end(),
                       [&](const std::string& row) { return wanted(row); });
  }

  /// One kernel of a variant: its row and its file.
  struct Kernel {
    KernelEntry entry;
    TreeFile file;
  };
  using Kernels = std::vector<Kernel>;

  void add_spec(const SpecInput& spec) {
    const SpecFile origin{spec.name, fnv1a(read_text(spec.file))};
    std::vector<const Variant*> its;
    for (Variant& variant : read_spec(spec.file, isas_)) {
      if (!wanted(variant)) continue;
      family_files_[variant.family.name].insert(spec_files_.size());
      its.push_back(&variants_.emplace_back(std::move(variant)));
    }
    if (its.empty()) return;
    spec_files_.push_back(origin);
    std::vector<std::string> earlier;  // where the same kernel stands, if it does
    for (const Variant* variant : its) {
      const auto [known, is_new] =
          places_.emplace(intrinsics_name(*variant), to_string(variant->where));
      earlier.push_back(is_new ? "" : known->second);
    }
    const std::vector<std::vector<size_t>> shares = sharing_code(its);
    std::vector<Kernels> made(its.size());
    for_each_in_parallel(shares.size(), [&](size_t share) {
      std::optional<Compiled> compiled;
      for (const size_t i : shares[share]) {
        if (!earlier[i].empty()) {
          throw SpecError(its[i]->where, fmt::format("kernel {} stands at {} already",
                                                     intrinsics_name(*its[i]), earlier[i]));
        }
        made[i] = make_kernels_or_fail(*its[i], origin, compiled);
      }
    });
    for (Kernels& kernels : made) {
      for (Kernel& kernel : kernels) add(std::move(kernel));
    }
  }

  /// Variants that differ in nothing but the length of long blocks, which code reads from its
  /// arguments: by their numbers, in the order of the first of each.
  static std::vector<std::vector<size_t>> sharing_code(
      const std::vector<const Variant*>& variants) {
    std::map<std::pair<std::string, bool>, size_t> numbers;
    std::vector<std::vector<size_t>> shares;
    for (size_t i = 0; i < variants.size(); ++i) {
      const auto code = std::pair(variants[i]->code_name(), prints_assembly(*variants[i]));
      const auto [number, is_new] = numbers.emplace(code, shares.size());
      if (is_new) shares.emplace_back();
      shares[number->second].push_back(i);
    }
    return shares;
  }

  /// Of rows that share their code, the first one brings the file.
  void add(Kernel kernel) {
    if (codes_.insert(kernel.entry.symbol).second) tree_.files.push_back(std::move(kernel.file));
    registry_.kernels.push_back(std::move(kernel.entry));
  }

  /// Threads share the models that they have read.
  const CoreModel& core(const Variant& variant) {
    const std::lock_guard lock(guards_cores_);
    const std::string& wanted = core_name(variant);
    const auto found = cores_.find(wanted);
    if (found != cores_.end()) return found->second;
    return cores_.emplace(wanted, read_core(options_.templates_dir, wanted)).first->second;
  }

  /// `compiled`: the code, made here if it is none yet.
  Kernels make_kernels_or_fail(const Variant& variant, const SpecFile& origin,
                               std::optional<Compiled>& compiled) {
    try {
      if (!compiled) compiled = compile(variant, core(variant));
      return make_kernels(variant, *compiled, origin);
    } catch (const SpecError&) {
      throw;
    } catch (const std::runtime_error& error) {  // the table lacks something
      throw SpecError(variant.isa->where, error.what());
    }
  }

  /// On each of the known cores.
  [[nodiscard]] std::vector<double> rates_of(const Variant& variant, const Program& program) const {
    std::vector<double> rates;
    rates.reserve(registry_.cores.size());
    for (const CoreModel& core : registry_.cores) {
      rates.push_back(explain(program, core, block_trips(variant)).macs_per_cycle);
    }
    return rates;
  }

  /// The kernels of one variant: one per printer.
  Kernels make_kernels(const Variant& variant, const Compiled& compiled, const SpecFile& origin) {
    const CoreModel& model = core(variant);
    KernelEntry entry;
    entry.variant = &variant;
    entry.spec = fmt::format("{}:{}:{}", origin.name, variant.where.line, variant.where.column);
    entry.vector_registers = compiled.pressure.most;
    entry.core = model.name;
    entry.in_order = model.in_order;
    if (const Program* program = instructions(compiled)) {
      const Explanation cost = explain(*program, model, block_trips(variant));
      entry.macs_per_instruction = cost.macs_per_instruction * cost.times;
      entry.macs_per_cycle = cost.macs_per_cycle;
      entry.times = cost.times;
      if (variant.isa->architecture == "x86_64") entry.rates = rates_of(variant, *program);
    }
    const std::string head_text = file_head(options_.origin, {origin}, about_kernel(compiled));
    Kernels kernels;
    // Assembly first: equals go to the earlier row, and its speed does not hang on a compiler.
    if (compiled.allocated && wanted(assembly_name(variant))) {
      kernels.push_back(assembly(entry, compiled, head_text));
    }
    if (prints_intrinsics(variant) && wanted(intrinsics_name(variant))) {
      kernels.push_back(intrinsics(entry, compiled, head_text));
    }
    return kernels;
  }

  [[nodiscard]] Kernel intrinsics(KernelEntry entry, const Compiled& compiled,
                                  const std::string& head_text) const {
    const Isa& isa = *entry.variant->isa;
    entry.printer = "intrinsics";
    entry.spills = entry.variant->spills;
    entry.name = intrinsics_name(*entry.variant);
    entry.symbol = intrinsics_symbol(*entry.variant);
    entry.guard = c_guard(rules_, isa);
    const std::string function = print_c_function(compiled.ordered, entry.symbol);
    const std::string text =
        c_file(rules_, isa, kernel_function(rules_, isa, function), entry.symbol);
    entry.content_hash = fnv1a(text);
    return {entry, {entry.symbol + ".c", head_text + "\n" + text}};
  }

  [[nodiscard]] Kernel assembly(KernelEntry entry, const Compiled& compiled,
                                const std::string& head_text) const {
    entry.printer = "assembly";
    entry.name = assembly_name(*entry.variant);
    entry.symbol = assembly_symbol(*entry.variant);
    // What other systems need around the same instructions makes no other kernel of it.
    entry.content_hash = fnv1a(print_assembly(*compiled.allocated, entry.symbol, elf_, ""));
    entry.guard = assembly_guard(dialect_, entry.variant->isa->architecture);
    return {entry,
            {entry.symbol + ".S",
             print_assembly(*compiled.allocated, entry.symbol, dialect_, head_text)}};
  }

  static std::vector<std::string> about_kernel(const Compiled& compiled) {
    const Variant& variant = *compiled.variant;
    std::vector<std::string> about = {
        fmt::format("{}: {}, {}", variant.family.name, variant.isa->name, name(variant.technique))};
    for (const std::string& line : describe("", variant.lhs)) about.push_back(line);
    for (const std::string& line : describe("", variant.rhs)) about.push_back(line);
    if (has_long_blocks(variant.rhs)) {
      about.push_back(fmt::format("or blocks of any other multiple of {}", long_block_step));
    }
    const std::string registers = registers_text(variant, compiled.pressure);
    if (!registers.empty()) about.push_back(registers);
    return about;
  }

  void add_packers() {
    packers_ = make_packers({variants_.begin(), variants_.end()}, options_.templates_dir.string());
    for (const PackerSource& packer : packers_) {
      for (const Layout& layout : packer.layouts) {
        registry_.packers.push_back(
            {&packer, &layout, c_guard(rules_, *packer.isa), fnv1a(packer.text)});
      }
      std::vector<std::string> about = {fmt::format("packs the {} from {}: {}{}", packer.operand,
                                                    packer.source, packer.isa->name,
                                                    packer.vectorized ? "" : ", plain C")};
      for (const Layout& layout : packer.layouts) {
        for (const std::string& line : describe("into ", layout)) about.push_back(line);
      }
      tree_.files.push_back(
          {packer.symbol + ".c",
           file_head(options_.origin, files_of(packer), about) + "\n" + packer.text});
    }
  }

  [[nodiscard]] std::vector<SpecFile> files_of(const PackerSource& packer) const {
    std::set<size_t> its;
    for (const std::string& family : packer.families) {
      its.insert(family_files_.at(family).begin(), family_files_.at(family).end());
    }
    std::vector<SpecFile> files;
    for (const size_t i : its) files.push_back(spec_files_[i]);
    return files;
  }

  void add_lists() {
    tree_.files.push_back({"registry.c", head({"The registry of the kernels and packers here."}) +
                                             "\n" + print_registry(registry_)});
    // Beside its own copy of kernel.h it must not need an include path.
    const char* kernel_header = options_.headers_dir.empty() ? "tilewright/kernel.h" : "kernel.h";
    tree_.files.push_back(
        {"tilewright/generated.h", head({"Declarations of the kernels and packers here."}) + "\n" +
                                       print_declarations(registry_, kernel_header)});
    add_document("KERNELS.md", print_kernel_table(registry_));
    if (!options_.only.empty()) return;  // of some kernels a matrix gives wrong reasons
    std::vector<const Variant*> variants;
    for (const Variant& variant : variants_) variants.push_back(&variant);
    add_document("MATRIX.md", print_matrix(variants, packers_));
  }

  void add_client_library() {
    std::vector<const Variant*> variants;
    for (const Variant& variant : variants_) variants.push_back(&variant);
    const ClientInputs inputs = {
        options_.names.file, options_.names.name, variants, packers_, rules_, options_.origin};
    for (TreeFile& file : make_client_library(inputs)) tree_.files.push_back(std::move(file));
  }

  void add_headers() {
    for (const char* header : {"tilewright/kernel.h", "tilewright/registry.h"}) {
      tree_.files.push_back({header, read_text(options_.headers_dir / header)});
    }
    add_document("README.md", read_text(options_.templates_dir / "file" / "own_readme.md"));
  }

  void add_document(const std::string& name, const std::string& text) {
    tree_.files.push_back(
        {name, "<!--" + file_head(options_.origin, spec_files_, {}, "") + "-->\n" + text});
  }

  [[nodiscard]] std::string head(const std::vector<std::string>& about) const {
    return file_head(options_.origin, spec_files_, about);
  }

  const TreeOptions& options_;
  IsaLibrary isas_;
  CFileRules rules_;
  Dialect dialect_, elf_;
  std::mutex guards_cores_;
  std::map<std::string, CoreModel> cores_;
  std::map<std::string, std::string> places_;  ///< kernel -> where it stands
  std::set<std::string> codes_;                ///< of kernels, by symbol
  std::deque<Variant> variants_;               ///< the registry points into it
  std::vector<PackerSource> packers_;
  std::vector<SpecFile> spec_files_;
  std::map<std::string, std::set<size_t>> family_files_;  ///< family -> its spec files
  Registry registry_;
  GeneratedTree tree_;
};

}  // namespace

std::vector<Variant> read_variants(const std::vector<SpecInput>& specs, IsaLibrary& isas) {
  std::vector<Variant> variants;
  for (const SpecInput& spec : specs) {
    for (Variant& variant : read_spec(spec.file, isas)) variants.push_back(std::move(variant));
  }
  return variants;
}

GeneratedTree generate_tree(const std::vector<SpecInput>& specs, const TreeOptions& options) {
  return TreeMaker(options).make(specs);
}

}  // namespace tw
