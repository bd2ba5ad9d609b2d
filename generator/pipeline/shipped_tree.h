// A folder that stands alone: some kernels, the packers of their layouts, the runtime, a test, and
// what builds them.
#pragma once

#include "pipeline/generated_tree.h"

namespace tw {

/// A kernel by its registry row, and the reader's answer to why it is there.
struct ChosenKernel {
  std::string name;
  std::string why;
  /// Its weights are decoded first: what does that, and what multiplies by those, ships, too.
  bool decodes = false;
};

struct ShipSources {
  std::filesystem::path templates;
  std::filesystem::path headers;  ///< contains tilewright/kernel.h
  std::filesystem::path runtime;  ///< its C files
  std::filesystem::path license;
};

struct ShippedTree {
  std::vector<TreeFile> files;
  int kernels = 0;
  int packers = 0;
  std::vector<std::string> remarks;  ///< what its users should know
};

/// The chosen kernels and, so that every CPU runs, the portable ones for the same weights.
/// `choices` is the text of choices.c but for its head: the settings of these kernels. Throws
/// SpecError, TreeError, and std::runtime_error for a name that no spec makes.
ShippedTree ship_tree(const std::vector<SpecInput>& specs, const ShipSources& sources,
                      const Origin& origin, const std::vector<ChosenKernel>& chosen,
                      const std::string& choices);

/// Throws TreeError unless the folder is empty, missing, or holds what earlier runs wrote.
void check_only_ours(const std::filesystem::path& root, const std::vector<TreeFile>& files);

}  // namespace tw
