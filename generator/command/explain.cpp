#include <fmt/format.h>

#include <algorithm>

#include "command/commands.h"
#include "command/places.h"
#include "emit/explain.h"
#include "pipeline/kernel_names.h"
#include "pipeline/pipeline.h"
#include "spec/core_reader.h"

namespace tw {
namespace {

/// The printer's suffix is not a part of the variant's name.
std::string without_suffix(const std::string& name) {
  const std::string suffix = "_asm";
  const bool has = name.size() > suffix.size() &&
                   name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
  return has ? name.substr(0, name.size() - suffix.size()) : name;
}

std::string list_of(const std::vector<std::string>& names, size_t most) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < most; ++i) text += "\n  " + names[i];
  if (names.size() > most) text += fmt::format("\n  and {} more", names.size() - most);
  return text;
}

/// The variant of that name, or the only one whose name has it as a part.
const Variant& find_kernel(const std::vector<Variant>& variants, const std::string& asked) {
  const std::string wanted = without_suffix(asked);
  std::vector<std::string> all;
  std::vector<std::string> found;
  const Variant* last = nullptr;
  for (const Variant& variant : variants) {
    all.push_back(intrinsics_name(variant));
    if (all.back() == wanted || variant.name() == wanted) return variant;
    if (all.back().find(wanted) == std::string::npos) continue;
    found.push_back(all.back());
    last = &variant;
  }
  if (found.size() == 1) return *last;
  if (found.size() > 1) {
    throw std::runtime_error(fmt::format("{} kernels have '{}' in their names:{}", found.size(),
                                         asked, list_of(found, 12)));
  }
  throw std::runtime_error(
      fmt::format("no kernel '{}' (`tilewright list` shows all); the nearest names are:{}", asked,
                  list_of(nearest_kernels(wanted, all, 3), 3)));
}

}  // namespace

int run_explain(const ExplainOptions& options) {
  const Places places = find_places(options.templates);
  IsaLibrary isas(places.templates);
  const std::vector<Variant> variants = read_variants(spec_inputs(options.specs, places), isas);
  const Variant& variant = find_kernel(variants, options.kernel);
  const CoreModel core =
      read_core(places.templates, options.core.empty() ? core_name(variant) : options.core);
  const Compiled compiled = compile(variant, core);
  fmt::print("{}\n  {}\n  lhs {}\n  rhs {}\n", intrinsics_name(variant), to_string(variant.where),
             canonical(variant.lhs), canonical(variant.rhs));
  if (compiled.pressure.available > 0) {
    fmt::print("  {}\n", sum(compiled.pressure, variant.isa->name));
  }
  const Program* program = instructions(compiled);
  if (program == nullptr) {
    fmt::print("  {} has no assembly: a compiler chooses its instructions\n", variant.isa->name);
    return 0;
  }
  fmt::print("{}", to_text(explain(*program, core, block_trips(variant))));
  return 0;
}

}  // namespace tw
