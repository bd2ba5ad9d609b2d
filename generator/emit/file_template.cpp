#include "emit/file_template.h"

#include <fmt/format.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace tw {
namespace {

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(fmt::format("{}: cannot be read", file.string()));
  return {std::istreambuf_iterator<char>(in), {}};
}

bool is_name(const std::string& text) {
  for (const unsigned char c : text) {
    if (std::isupper(c) == 0 && std::isdigit(c) == 0 && c != '_') return false;
  }
  return !text.empty();
}

}  // namespace

std::string fill_template(const std::filesystem::path& file,
                          const std::map<std::string, std::string>& values) {
  std::string text = read(file);
  for (size_t begin = text.find('@'); begin != std::string::npos; begin = text.find('@', begin)) {
    const size_t end = text.find('@', begin + 1);
    const std::string name =
        end == std::string::npos ? "" : text.substr(begin + 1, end - begin - 1);
    if (!is_name(name)) {
      ++begin;
      continue;
    }
    const auto value = values.find(name);
    if (value == values.end()) {
      throw std::runtime_error(fmt::format("{}: nothing fills in @{}@", file.string(), name));
    }
    text.replace(begin, end - begin + 1, value->second);
  }
  return text;
}

}  // namespace tw
