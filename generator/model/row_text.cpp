#include "model/row_text.h"

#include <fmt/format.h>

#include "model/reject.h"

namespace tw {
namespace {

[[noreturn]] void fail(const std::string& text, const std::string& what) {
  reject("{} in \"{}\"", what, text);
}

bool is_enclosed(const std::string& text, size_t open, size_t close) {
  const size_t last = open == 0 ? std::string::npos : text.find_last_not_of(' ', open - 1);
  const char before = last == std::string::npos ? '(' : text[last];
  const char after = close + 1 < text.size() ? text[close + 1] : ')';
  return (before == '(' || before == ',') && (after == ')' || after == ',');
}

/// Walks through `text`: literal(char) for what stands for itself, placeholder(Placeholder) else.
template <typename Literal, typename OnPlaceholder>
void walk(const std::string& text, Literal&& literal, OnPlaceholder&& on_placeholder) {
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      literal(c);
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == c) {
      literal(c);
      ++i;
      continue;
    }
    if (c == '}') fail(text, "'}' without '{' (write '}}' for a brace)");
    const size_t end = text.find_first_of("{}", i + 1);
    if (end == std::string::npos || text[end] == '{') {
      fail(text, "'{' without '}' (write '{{' for a brace)");
    }
    const std::string inner = text.substr(i + 1, end - i - 1);
    const size_t colon = inner.find(':');
    Placeholder found{inner.substr(0, colon),
                      colon == std::string::npos ? "" : inner.substr(colon + 1),
                      is_enclosed(text, i, end)};
    if (found.name.empty()) fail(text, "'{}' without a name");
    on_placeholder(found);
    i = end;
  }
}

}  // namespace

std::string replace_placeholders(const std::string& text,
                                 const std::function<std::string(const Placeholder&)>& value) {
  std::string result;
  walk(
      text, [&](char c) { result += c; },
      [&](const Placeholder& found) { result += value(found); });
  return result;
}

std::string format_row_text(const std::string& text, const RowTextValues& values) {
  return replace_placeholders(text, [&](const Placeholder& found) {
    const auto value = values.find(found.name);
    if (value == values.end()) {
      std::string known;
      for (const auto& [name, unused] : values) known += (known.empty() ? "" : ", ") + name;
      fail(text, fmt::format("no value for '{}' (known: {})", found.name, known));
    }
    return value->second(found.view);
  });
}

std::vector<Placeholder> placeholders(const std::string& text) {
  std::vector<Placeholder> found;
  walk(
      text, [](char) {}, [&](const Placeholder& p) { found.push_back(p); });
  return found;
}

}  // namespace tw
