// Specs -> every file that is generated from them, in memory. Nothing is written here: when one
// variant of one spec is wrong, there is no tree.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "emit/file_head.h"
#include "emit/write_tree.h"
#include "model/variant.h"
#include "spec/isa_reader.h"

namespace tw {

struct SpecInput {
  std::filesystem::path file;
  std::string name;  ///< as generated files name it, independent of where it lies
};

/// Every variant of every spec, as written. Throws SpecError.
std::vector<Variant> read_variants(const std::vector<SpecInput>& specs, IsaLibrary& isas);

struct TreeOptions {
  std::filesystem::path templates_dir;
  Origin origin;
  /// Folder of the headers (tilewright/kernel.h) to copy, so that the files need nothing else;
  /// empty: leave them out.
  std::filesystem::path headers_dir;
  /// Names of registry rows: these kernels, and the packers of their layouts; empty: all.
  std::set<std::string> only = {};
  /// Names of another library to make functions for (pipeline/client_library.h); no file: none.
  SpecInput names = {};
};

struct GeneratedTree {
  std::vector<TreeFile> files;
  int kernels = 0;
  int packers = 0;
  std::map<std::string, uint64_t> hashes;  ///< of the kernels' printed sources, by row
};

/// Kernels and packers, a file each; registry.c, tilewright/generated.h, KERNELS.md; of all kernels
/// MATRIX.md; kleidiai/, where names are asked for.
/// Throws SpecError for what is wrong in a spec, TreeError for a file that cannot be read.
GeneratedTree generate_tree(const std::vector<SpecInput>& specs, const TreeOptions& options);

}  // namespace tw
