// The library under another one's names: from integrations/kleidiai/names.yaml and the kernels and
// packers that there are, its headers and sources.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "emit/c_file.h"
#include "emit/file_head.h"
#include "emit/packer.h"
#include "emit/write_tree.h"
#include "model/variant.h"

namespace tw {

struct ClientInputs {
  std::filesystem::path file;
  std::string name;  ///< of that file, as heads have it
  const std::vector<const Variant*>& variants;
  const std::vector<PackerSource>& packers;  ///< theirs
  const CFileRules& rules;
  Origin origin;
};

/// Files in "kleidiai/". Throws SpecError.
std::vector<TreeFile> make_client_library(const ClientInputs& inputs);

}  // namespace tw
