// Keys of tables whose values are lines with named arguments.
#pragma once

#include <string>
#include <vector>

#include "spec/yaml_reader.h"

namespace tw {

/// Each reads the value under `key`, if there is one; `names` are those that a text may use.
void read_lines(const YamlNode& map, std::string_view key, const std::vector<std::string>& names,
                std::vector<std::string>& lines);
void read_line(const YamlNode& map, std::string_view key, const std::vector<std::string>& names,
               std::string& line);
/// A number from 0 to 4096.
void read_count(const YamlNode& map, std::string_view key, int& count);

}  // namespace tw
