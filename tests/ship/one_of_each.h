// A small choice of kernels that has all that a build can stumble over.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/generated_tree.h"
#include "pipeline/kernel_names.h"
#include "spec/isa_reader.h"

namespace tw {

inline std::vector<SpecInput> shipped_specs() {
  const std::filesystem::path specs = std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "specs";
  std::vector<SpecInput> inputs;
  for (const std::string& name : yaml_names(specs))
    inputs.push_back({specs / (name + ".yaml"), name});
  return inputs;
}

/// Of each of these kernels, as records of the specs as they are now would have it.
inline std::map<std::string, uint64_t> content_hashes(const std::set<std::string>& kernels) {
  const std::filesystem::path templates =
      std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates";
  return generate_tree(shipped_specs(), {templates, {"1", "test"}, {}, kernels}).hashes;
}

/// On each of the ISAs: the rows of one tile for each pair of operands, and for each type of
/// output, added to what is there or not.
inline std::vector<std::string> one_of_each(const std::set<std::string>& isas) {
  IsaLibrary library(std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates");
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<std::string> names;
  for (const Variant& variant : read_variants(shipped_specs(), library)) {
    if (isas.count(variant.isa->name) == 0) continue;
    const Family& family = variant.family;
    std::string operands(family.operation == Operation::depthwise ? "depthwise " : "");
    if (family.operation == Operation::decode) operands = "decoded ";
    if (family.operation == Operation::attention) {
      operands = "stage " + std::to_string(static_cast<int>(variant.stage)) + " of attention ";
    }
    operands += std::string(family.lhs->name) + " " + std::string(family.rhs->name);
    const bool new_operands = seen.emplace(operands, variant.isa->name).second;
    const std::string output = std::string(name(family.dst)) + (family.accumulate ? " added" : "");
    const bool new_output = seen.emplace(output, variant.isa->name).second;
    if (!new_operands && !new_output) continue;
    for (const std::string& row : row_names(variant)) names.push_back(row);
  }
  return names;
}

}  // namespace tw
