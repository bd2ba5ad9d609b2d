#include "spec/rule_lines.h"

#include <fmt/format.h>

#include "spec/row_reader.h"

namespace tw {

void read_lines(const YamlNode& map, std::string_view key, const std::vector<std::string>& names,
                std::vector<std::string>& lines) {
  const YamlNode* node = map.find(key);
  if (node == nullptr) return;
  lines = node->texts();
  for (const std::string& line : lines) check_names(*node, line, names);
}

void read_line(const YamlNode& map, std::string_view key, const std::vector<std::string>& names,
               std::string& line) {
  const YamlNode* node = map.find(key);
  if (node == nullptr) return;
  line = node->text();
  check_names(*node, line, names);
}

void read_count(const YamlNode& map, std::string_view key, int& count) {
  const YamlNode* node = map.find(key);
  if (node == nullptr) return;
  const int64_t value = node->integer();
  if (value < 0 || value > 4096) node->fail(fmt::format("'{}' must be from 0 to 4096", key));
  count = static_cast<int>(value);
}

}  // namespace tw
