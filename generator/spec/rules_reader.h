// `assembly:` of an instruction table: control flow and frames.
#pragma once

#include "model/isa.h"
#include "spec/yaml_reader.h"

namespace tw {

/// Reads `head` and `rules` over what `isa` has inherited; its register files are known.
void read_assembly_section(const YamlNode& node, Isa& isa);

}  // namespace tw
