#include "emit/c_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <stdexcept>

#include "model/row_text.h"

namespace tw {
namespace {

// Around a loose expression, with what it is first.
constexpr char kOpen = '\1';
constexpr char kClose = '\2';
constexpr char kPrimary = '\3';
constexpr char kOther = '\4';
constexpr size_t kLine = 100;
/// Operators that bind less than a product.
constexpr const char* kLooser[] = {" + ", " - ",  " ? ",  " < ", " > ",
                                   " & ", " << ", " >> ", " == "};

const std::set<std::string>& reserved_words() {
  static const std::set<std::string> words = {
      "alignas",  "alignof",  "and",      "asm",      "auto",    "bool",     "break",   "case",
      "char",     "class",    "const",    "continue", "default", "delete",   "do",      "double",
      "else",     "enum",     "extern",   "false",    "float",   "for",      "goto",    "if",
      "inline",   "int",      "long",     "new",      "not",     "or",       "private", "public",
      "register", "restrict", "return",   "short",    "signed",  "sizeof",   "static",  "struct",
      "switch",   "template", "this",     "true",     "typedef", "typename", "union",   "unsigned",
      "using",    "void",     "volatile", "while",    "xor",     "args",     "size_t",  "memcpy"};
  return words;
}

}  // namespace

std::string c_identifier(const std::string& hint) {
  std::string text;
  for (char c : hint) {
    text += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) text = "v" + text;
  if (reserved_words().count(text) > 0) text += "_";
  return text;
}

std::string c_scalar_type(CScalar type) {
  switch (type) {
    case CScalar::size:
      return "size_t";
    case CScalar::bits64:
      return "uint64_t";
    case CScalar::const_pointer:
      return "const uint8_t*";
    case CScalar::pointer:
      return "uint8_t*";
  }
  return "size_t";
}

std::string compound_assignment(const std::string& name, const std::string& expression) {
  for (const char* sign : {"+", "-"}) {
    const std::string start = name + " " + sign + " ";
    if (expression.compare(0, start.size(), start) != 0) continue;
    const std::string rest = expression.substr(start.size());
    // The rest must be one operand or a product: a - b - c is not a -= b - c.
    const bool one = std::none_of(std::begin(kLooser), std::end(kLooser), [&](const char* op) {
      return rest.find(op) != std::string::npos;
    });
    if (one) return fmt::format("{} {}= {}", name, sign, rest);
  }
  return name + " = " + expression;
}

std::string wrap_c_line(const std::string& content, int depth) {
  std::string indent(static_cast<size_t>(2 * depth), ' ');
  const std::string further(static_cast<size_t>(2 * depth + 4), ' ');
  std::string rest = content;
  std::string text;
  // After "=" if the value then fits, else after the last comma that fits.
  const size_t equals = rest.find(" = ");
  if (indent.size() + rest.size() > kLine && equals != std::string::npos &&
      further.size() + rest.size() - equals - 3 <= kLine) {
    return indent + rest.substr(0, equals + 2) + "\n" + further + rest.substr(equals + 3) + "\n";
  }
  while (indent.size() + rest.size() > kLine) {
    size_t cut = rest.rfind(", ", kLine - indent.size() - 1);
    cut = cut == std::string::npos ? rest.rfind(' ', kLine - indent.size()) : cut + 1;
    if (cut == std::string::npos || cut == 0) break;
    text += indent + rest.substr(0, cut) + "\n";
    rest = rest.substr(cut + 1);
    indent = further;
  }
  return text + indent + rest + "\n";
}

std::string c_cast(const Isa& isa, const std::string& text, const std::string& from,
                   const std::string& to) {
  if (from == to || from.empty() || to.empty()) return text;
  const auto from_type = isa.c_types.find(from);
  const auto to_type = isa.c_types.find(to);
  if (from_type != isa.c_types.end() && to_type != isa.c_types.end() &&
      from_type->second == to_type->second) {
    return text;
  }
  auto pattern = isa.c_casts.find(from + ">" + to);
  if (pattern == isa.c_casts.end()) pattern = isa.c_casts.find("*");
  if (pattern == isa.c_casts.end()) {
    throw std::runtime_error(
        fmt::format("{}: c: casts: needs \"{}>{}\"", to_string(isa.where), from, to));
  }
  return format_row_text(pattern->second, {{"x", [&](std::string_view) { return text; }},
                                           {"from", [&](std::string_view) { return from; }},
                                           {"to", [&](std::string_view) { return to; }}});
}

std::string loose(const Expression& expression) {
  const char kind = expression.binding == Binding::primary ? kPrimary : kOther;
  return kOpen + (kind + expression.text) + kClose;
}

std::string settle_loose(const std::string& text) {
  std::string settled;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != kOpen) {
      settled += text[i];
      continue;
    }
    const size_t end = text.find(kClose, i);
    const std::string inner = text.substr(i + 2, end - i - 2);
    const char next = end + 1 < text.size() ? text[end + 1] : ')';
    const size_t before = settled.find_last_not_of(' ');
    const char last = before == std::string::npos ? '(' : settled[before];
    if (text[i + 1] == kPrimary) {
      // (int32_t)(x) needs no parentheses: take back the opening one and skip the closing one.
      const bool cast = last == '(' && next == ')' && before > 0 && settled[before - 1] == ')';
      if (cast) settled.erase(before);
      settled += inner;
      i = end + (cast ? 1 : 0);
      continue;
    }
    const bool enclosed = (last == '(' || last == ',') && (next == ')' || next == ',');
    settled += enclosed ? inner : "(" + inner + ")";
    i = end;
  }
  return settled;
}

}  // namespace tw
