#include <fmt/format.h>

#include <algorithm>

#include "command/commands.h"
#include "command/places.h"
#include "spec/spec_reader.h"

namespace tw {
namespace {

std::string printers(const Variant& variant) {
  std::string text;
  if (variant.print_c && variant.isa->can_print_c) text = "intrinsics";
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
  size_t width = 0;
  for (const Variant& variant : variants) width = std::max(width, variant.name().size() + 3);
  for (const Variant& variant : variants) {
    fmt::print("{:<{}}  {:<11}  {:>2} x {:<3}  {:<22}  {}\n", "tw_" + variant.name(), width,
               variant.isa->name, variant.tile.m, to_string(variant.tile.n), printers(variant),
               to_string(variant.where));
  }
  return 0;
}

}  // namespace tw
