#include "emit/c_text.h"

#include <cctype>
#include <set>

namespace tw {
namespace {

constexpr size_t kLine = 100;

const std::set<std::string>& reserved_words() {
  static const std::set<std::string> words = {
      "alignas",  "alignof",  "and",      "asm",      "auto",    "bool",     "break",   "case",
      "char",     "class",    "const",    "continue", "default", "delete",   "do",      "double",
      "else",     "enum",     "extern",   "false",    "float",   "for",      "goto",    "if",
      "inline",   "int",      "long",     "new",      "not",     "or",       "private", "public",
      "register", "restrict", "return",   "short",    "signed",  "sizeof",   "static",  "struct",
      "switch",   "template", "this",     "true",     "typedef", "typename", "union",   "unsigned",
      "using",    "void",     "volatile", "while",    "xor",     "args",     "size_t",  "memcpy",
      "memset"};
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

std::string upper(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    c = std::isalnum(byte) != 0 ? static_cast<char>(std::toupper(byte)) : '_';
  }
  return text;
}

std::string c_scalar_type(CScalar type) {
  constexpr const char* types[] = {"size_t", "uint64_t", "const uint8_t*", "uint8_t*"};
  return types[static_cast<size_t>(type)];
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

}  // namespace tw
