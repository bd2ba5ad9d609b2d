#include "pipeline/kernel_names.h"

#include <algorithm>

namespace tw {
namespace {

/// How many of `name`'s triples of neighbouring letters `other` has too: names of kernels are long
/// and alike, so parts count, not places.
int likeness(const std::string& name, const std::string& other) {
  int shared = 0;
  for (size_t i = 0; i + 3 <= name.size(); ++i) {
    if (other.find(name.substr(i, 3)) != std::string::npos) ++shared;
  }
  return shared;
}

}  // namespace

std::string intrinsics_name(const Variant& variant) {
  return "tw_" + variant.name();
}

std::string assembly_name(const Variant& variant) {
  return intrinsics_name(variant) + "_asm";
}

std::string intrinsics_symbol(const Variant& variant) {
  return "tw_" + variant.code_name();
}

std::string assembly_symbol(const Variant& variant) {
  return intrinsics_symbol(variant) + "_asm";
}

bool prints_intrinsics(const Variant& variant) {
  return variant.print_c && variant.isa->can_print_c;
}

bool prints_assembly(const Variant& variant) {
  return variant.print_assembly && variant.isa->can_print_assembly;
}

std::vector<std::string> row_names(const Variant& variant) {
  std::vector<std::string> names;
  if (prints_assembly(variant)) names.push_back(assembly_name(variant));
  if (prints_intrinsics(variant)) names.push_back(intrinsics_name(variant));
  return names;
}

std::vector<std::string> nearest_kernels(const std::string& wanted, std::vector<std::string> names,
                                         size_t most) {
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return likeness(wanted, a) > likeness(wanted, b);
  });
  names.resize(std::min(names.size(), most));
  return names;
}

}  // namespace tw
