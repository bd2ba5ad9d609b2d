// The text of instruction rows and assembly rules: "vaddps {d}, {a:z}, {b}" with named arguments.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tw {

/// What stands for a name in a row's text: the text for a view ("z"); an empty view asks for the
/// default one.
using RowTextValues = std::map<std::string, std::function<std::string(std::string_view view)>>;

/// Replaces {name} and {name:view}; {{ and }} are braces. Throws std::invalid_argument for a name
/// that `values` lacks and for braces that do not match.
std::string format_row_text(const std::string& text, const RowTextValues& values);

/// A {name} or {name:view} of a row's text.
struct Placeholder {
  std::string name;
  std::string view;       ///< empty: the default
  bool enclosed = false;  ///< alone between parentheses and commas, or the whole text
};

/// Replaces each placeholder by what `value` says; {{ and }} are braces.
std::string replace_placeholders(const std::string& text,
                                 const std::function<std::string(const Placeholder&)>& value);

/// The placeholders of a text in order. Throws std::invalid_argument for braces that do not match.
std::vector<Placeholder> placeholders(const std::string& text);

}  // namespace tw
