#include <fmt/format.h>

#include <algorithm>

#include "command/commands.h"
#include "command/places.h"
#include "spec/spec_reader.h"

namespace tw {
namespace {

std::string printers(const Variant& variant) {
  std::string text;
  if (variant.print_c && variant.isa->can_print_c) {
    text = "intrinsics";
    if (variant.spills != "none") text += fmt::format(" (spills: {})", variant.spills);
  }
  if (variant.print_assembly && variant.isa->can_print_assembly) {
    text += text.empty() ? "assembly" : ", assembly";
  }
  return text;
}

}  // namespace

int run_list(const ListOptions& options) {
  const Places places = find_places(options.templates);
  IsaLibrary isas(places.templates);
  std::vector<Variant> variants;
  for (const SpecInput& spec : spec_inputs(options.specs, places)) {
    for (Variant& variant : read_spec(spec.file, isas)) variants.push_back(std::move(variant));
  }
  size_t names = 0;
  size_t printed = 0;
  for (const Variant& variant : variants) {
    names = std::max(names, variant.name().size() + 3);
    printed = std::max(printed, printers(variant).size());
  }
  for (const Variant& variant : variants) {
    fmt::print("{:<{}}  {:<12}  {:>2} x {:<3}  {:<{}}  {}\n", "tw_" + variant.name(), names,
               variant.isa->name, to_string(variant.tile.m), to_string(variant.tile.n),
               printers(variant), printed, to_string(variant.where));
  }
  return 0;
}

}  // namespace tw
