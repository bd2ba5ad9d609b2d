#include <fmt/format.h>

#include <algorithm>

#include "command/commands.h"
#include "command/places.h"
#include "emit/explain.h"
#include "pipeline/pipeline.h"
#include "spec/core_reader.h"
#include "spec/spec_reader.h"

namespace tw {
namespace {

std::string symbol(const Variant& variant) {
  return "tw_" + variant.name();
}

/// The printer's suffix is not a part of the variant's name.
std::string without_suffix(const std::string& name) {
  const std::string suffix = "_asm";
  const bool has = name.size() > suffix.size() &&
                   name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
  return has ? name.substr(0, name.size() - suffix.size()) : name;
}

/// How many of `name`'s pairs of neighbouring letters `other` has too: names of kernels are long
/// and alike, so parts count, not places.
int likeness(const std::string& name, const std::string& other) {
  int shared = 0;
  for (size_t i = 0; i + 3 <= name.size(); ++i) {
    if (other.find(name.substr(i, 3)) != std::string::npos) ++shared;
  }
  return shared;
}

std::string list_of(const std::vector<const Variant*>& variants, size_t most) {
  std::string text;
  for (size_t i = 0; i < variants.size() && i < most; ++i) text += "\n  " + symbol(*variants[i]);
  if (variants.size() > most) text += fmt::format("\n  and {} more", variants.size() - most);
  return text;
}

/// The variant of that name, or the only one whose name has it as a part.
const Variant& find_kernel(const std::vector<Variant>& variants, const std::string& asked) {
  const std::string wanted = without_suffix(asked);
  std::vector<const Variant*> all;
  std::vector<const Variant*> found;
  for (const Variant& variant : variants) {
    const std::string name = symbol(variant);
    if (name == wanted || variant.name() == wanted) return variant;
    if (name.find(wanted) != std::string::npos) found.push_back(&variant);
    all.push_back(&variant);
  }
  if (found.size() == 1) return *found[0];
  if (found.size() > 1) {
    throw std::runtime_error(fmt::format("{} kernels have '{}' in their names:{}", found.size(),
                                         asked, list_of(found, 12)));
  }
  std::stable_sort(all.begin(), all.end(), [&](const Variant* a, const Variant* b) {
    return likeness(wanted, symbol(*a)) > likeness(wanted, symbol(*b));
  });
  all.resize(std::min<size_t>(all.size(), 3));
  throw std::runtime_error(
      fmt::format("no kernel '{}' (`tilewright list` shows all); the nearest names are:{}", asked,
                  list_of(all, 3)));
}

}  // namespace

int run_explain(const ExplainOptions& options) {
  const Places places = find_places(options.templates);
  IsaLibrary isas(places.templates);
  std::vector<Variant> variants;
  for (const SpecInput& spec : spec_inputs(options.specs, places)) {
    for (Variant& variant : read_spec(spec.file, isas)) variants.push_back(std::move(variant));
  }
  const Variant& variant = find_kernel(variants, options.kernel);
  const CoreModel core =
      read_core(places.templates, options.core.empty() ? core_name(variant) : options.core);
  const Compiled compiled = compile(variant, core);
  fmt::print("{}\n  {}\n  lhs {}\n  rhs {}\n", symbol(variant), to_string(variant.where),
             canonical(variant.lhs), canonical(variant.rhs));
  if (compiled.pressure.available > 0) {
    fmt::print("  {}\n", sum(compiled.pressure, variant.isa->name));
  }
  const Program* program = instructions(compiled);
  if (program == nullptr) {
    fmt::print("  {} has no assembly: a compiler chooses its instructions\n", variant.isa->name);
    return 0;
  }
  fmt::print("{}", to_text(explain(*program, core)));
  return 0;
}

}  // namespace tw
