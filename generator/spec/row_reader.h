// One row of an instruction table: read, completed from its meaning, and checked.
#pragma once

#include <initializer_list>
#include <string_view>

#include "model/isa.h"
#include "spec/yaml_reader.h"

namespace tw {

/// `isa` has its register files and C types already. The name is the one given, or a default that
/// need not be unique yet (`has_own_name` tells).
struct ReadRow {
  Row row;
  bool has_own_name = false;
};
ReadRow read_row(const YamlNode& node, const Isa& isa);

/// Throws SpecError at `node` unless each placeholder of `text` is one of `names`.
void check_names(const YamlNode& node, const std::string& text,
                 const std::vector<std::string>& names);

}  // namespace tw
