// Whole numbers as people write them: "12", "-3", "0x0f".
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace tw {

/// False when `text` is not exactly one whole number that fits 64 bits.
inline bool parse_integer(std::string_view text, int64_t& value) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  uint64_t magnitude = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, magnitude, hex ? 16 : 10);
  if (error != std::errc{} || rest != end || text.empty() || magnitude > INT64_MAX) return false;
  value = negative ? -static_cast<int64_t>(magnitude) : static_cast<int64_t>(magnitude);
  return true;
}

}  // namespace tw
