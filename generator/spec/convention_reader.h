// Reads calling conventions: templates/abi/*.yaml.
#pragma once

#include <filesystem>

#include "model/convention.h"
#include "spec/yaml_reader.h"

namespace tw {

/// The convention that `name` names, with what it extends. Throws SpecError.
Convention read_convention(const std::filesystem::path& templates_dir, const YamlNode& name);

}  // namespace tw
