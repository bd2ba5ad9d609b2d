// The 64-bit hash of layouts, generated text and specs.
#pragma once

#include <cstdint>
#include <string_view>

namespace tw {

/// FNV-1a, 64 bits.
constexpr uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3u;
  }
  return hash;
}

}  // namespace tw
