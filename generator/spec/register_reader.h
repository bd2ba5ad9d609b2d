// `registers:` of an instruction table.
#pragma once

#include <string>
#include <vector>

#include "model/isa.h"
#include "spec/yaml_reader.h"

namespace tw {

/// "zmm{0..31}" as zmm0, zmm1, ... zmm31; "{15..8}" counts down; other text as it is.
std::vector<std::string> expand_range(const YamlNode& text);

/// Names and ranges of them, none twice.
std::vector<std::string> read_names(const YamlNode& node);

/// One register file. `vector_bytes`: of the ISA, what widths default to.
RegisterFile read_register_file(const std::string& name, const YamlNode& node, Length vector_bytes);

}  // namespace tw
