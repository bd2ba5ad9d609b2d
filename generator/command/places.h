// Where the command finds its templates, specs and headers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/generated_tree.h"

namespace tw {

struct Places {
  std::filesystem::path templates;
  std::filesystem::path specs;
  std::filesystem::path headers;  ///< contains tilewright/kernel.h
  std::filesystem::path sources;  ///< the runtime's
  std::filesystem::path license;
  std::filesystem::path generated;  ///< empty when installed: there is no tree to keep up ...
  std::filesystem::path names;      ///< ... nor what KleidiAI's names stand for
};

/// Those of the source tree that the command was built from, if it is still there, else the
/// installed ones. `templates`, when not empty, replaces the templates. Throws std::runtime_error
/// naming what was not found.
Places find_places(const std::string& templates);

/// Where records lie that ship, likewise; whether it is there or not.
std::filesystem::path records_folder();

/// `path` as a person here would write it: relative where that is shorter.
std::string shown(const std::filesystem::path& path);

/// Specs that were asked for, or all shipped ones.
std::vector<SpecInput> spec_inputs(const std::vector<std::string>& asked, const Places& places);

}  // namespace tw
