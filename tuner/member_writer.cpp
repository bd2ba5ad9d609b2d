#include "tuner/member_writer.h"

#include <fmt/format.h>

namespace tw::tuner {

std::string hex_text(uint64_t value) {
  return fmt::format("{:#x}", value);
}

std::string label_text(const std::string& text) {
  std::string label = nlohmann::json::parse(compact(nlohmann::json(text))).get<std::string>();
  for (char& c : label) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  if (label.size() <= kLongestText) return label;
  size_t end = kLongestText;
  while ((static_cast<unsigned char>(label[end]) & 0xc0U) == 0x80U) --end;  // inside a character
  return label.substr(0, end);
}

}  // namespace tw::tuner
