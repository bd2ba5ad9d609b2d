#include <fmt/format.h>

#include <algorithm>

#include "command/commands.h"
#include "command/places.h"
#include "pipeline/kernel_names.h"
#include "pipeline/matrix.h"

namespace tw {
namespace {

std::string printers(const Variant& variant) {
  std::string text;
  if (prints_intrinsics(variant)) {
    text = "intrinsics";
    if (variant.spills != "none") text += fmt::format(" (spills: {})", variant.spills);
  }
  if (prints_assembly(variant)) {
    text += text.empty() ? "assembly" : ", assembly";
  }
  return text;
}

}  // namespace

int run_list(const ListOptions& options) {
  const Places places = find_places(options.templates);
  IsaLibrary isas(places.templates);
  const std::vector<Variant> variants = read_variants(spec_inputs(options.specs, places), isas);
  if (options.matrix) {
    std::vector<const Variant*> all;
    for (const Variant& variant : variants) all.push_back(&variant);
    fmt::print("{}", print_matrix(all, make_packers(variants, places.templates.string())));
    return 0;
  }
  size_t names = 0;
  size_t printed = 0;
  for (const Variant& variant : variants) {
    names = std::max(names, intrinsics_name(variant).size());
    printed = std::max(printed, printers(variant).size());
  }
  for (const Variant& variant : variants) {
    fmt::print("{:<{}}  {:<12}  {:>2} x {:<3}  {:<{}}  {}\n", intrinsics_name(variant), names,
               variant.isa->name, to_string(variant.tile.m), to_string(variant.tile.n),
               printers(variant), printed, to_string(variant.where));
  }
  return 0;
}

}  // namespace tw
