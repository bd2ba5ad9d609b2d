#include "spec/register_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "spec/number.h"

namespace tw {
namespace {

Length default_bytes(Kind kind, Length vector_bytes) {
  switch (kind) {
    case Kind::scalar:
      return 8;
    case Kind::vector:
      return vector_bytes;
    case Kind::predicate:
      return vector_bytes.divisible(8) ? vector_bytes.divided(8) : Length{};
    case Kind::tile:
      break;
  }
  return {};
}

/// Of a tile: rows, or bytes of a row.
Length read_extent(const YamlNode& node, int64_t multiple) {
  constexpr int64_t most = 256;
  const Length length = node.length();
  for (const int64_t part : {length.fixed, length.vl, length.svl}) {
    if (part >= 0 && part <= most && part % multiple == 0 && length != Length{}) continue;
    node.fail(fmt::format("'{}' of a tile must be a multiple of {} from {} to {}, or of vl",
                          node.key(), multiple, multiple, most));
  }
  return length;
}

/// The number in a register's name, which is what the hardware counts by; its index if none.
int hardware_number(const std::string& name, int index) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto begin = std::find_if(name.begin(), name.end(), digit);
  const auto end = std::find_if_not(begin, name.end(), digit);
  int64_t value = 0;
  return parse_integer({begin, end}, value) && value < most_registers ? static_cast<int>(value)
                                                                      : index;
}

}  // namespace

std::vector<std::string> expand_range(const YamlNode& node) {
  const std::string& text = node.text();
  const size_t open = text.find('{');
  if (open == std::string::npos) return {text};
  const size_t dots = text.find("..", open);
  const size_t close = text.find('}', open);
  int64_t first = 0;
  int64_t last = 0;
  constexpr size_t longest = 100;  // what stands around the numbers is repeated
  if (dots == std::string::npos || close == std::string::npos || dots > close ||
      !parse_integer({text.data() + open + 1, dots - open - 1}, first) ||
      !parse_integer({text.data() + dots + 2, close - dots - 2}, last) || first < 0 || last < 0 ||
      first >= most_registers || last >= most_registers || text.size() > longest) {
    node.fail(fmt::format("'{}' is not a range of names such as \"v{{0..31}}\"", text));
  }
  std::vector<std::string> names;
  const int64_t step = first <= last ? 1 : -1;
  for (int64_t i = first; i != last + step; i += step) {
    names.push_back(fmt::format("{}{}{}", text.substr(0, open), i, text.substr(close + 1)));
  }
  return names;
}

std::vector<std::string> read_names(const YamlNode& node) {
  std::vector<std::string> names;
  for (const YamlNode* item : node.one_or_more()) {
    for (std::string& name : expand_range(*item)) {
      if (std::find(names.begin(), names.end(), name) != names.end()) {
        item->fail(fmt::format("register '{}' stands twice in '{}'", name, node.key()));
      }
      if (names.size() == most_registers) {
        item->fail(fmt::format("'{}' has more than {} registers", node.key(), most_registers));
      }
      names.push_back(std::move(name));
    }
  }
  return names;
}

RegisterFile read_register_file(const std::string& name, const YamlNode& node,
                                Length vector_bytes) {
  RegisterFile file;
  file.name = name;
  file.kind = read_named(node.at("kind"), "kind",
                         std::array{Kind::scalar, Kind::vector, Kind::predicate, Kind::tile});
  if (file.kind == Kind::tile) {
    node.expect_keys({"kind", "rows", "bytes", "views"});
    file.rows = read_extent(node.at("rows"), 1);
    file.bytes = read_extent(node.at("bytes"), 4);
  } else {
    node.expect_keys({"kind", "bytes", "views"});
    const YamlNode* bytes = node.find("bytes");
    file.bytes = bytes != nullptr ? bytes->length() : default_bytes(file.kind, vector_bytes);
  }
  const YamlNode& views = node.at("views");
  for (const YamlNode::Entry& view : views.entries()) {
    file.views.emplace_back(view.key, read_names(view.value));
    const size_t count = file.views.back().second.size();
    if (count != file.views.front().second.size()) {
      view.value.fail(fmt::format("view '{}' has {} registers, view '{}' has {}", view.key, count,
                                  file.views.front().first, file.views.front().second.size()));
    }
  }
  if (file.views.empty()) views.fail("'views' names no registers");
  const std::vector<std::string>& names = file.views.front().second;
  for (size_t i = 0; i < names.size(); ++i) {
    file.consecutive.push_back(hardware_number(names[i], static_cast<int>(i)));
  }
  return file;
}

}  // namespace tw
