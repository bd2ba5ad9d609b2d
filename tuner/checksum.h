// The checksum of a record's line and the hash of identities.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tw::tuner {

/// CRC32C (Castagnoli): finds every error of up to three bits and every burst of up to 32 in a
/// line.
constexpr uint32_t crc32c(std::string_view text) {
  constexpr auto table = [] {
    std::array<uint32_t, 256> entries{};
    for (uint32_t i = 0; i < entries.size(); ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) {
        value = (value & 1U) != 0 ? value >> 1 ^ 0x82f63b78U : value >> 1;
      }
      entries[i] = value;
    }
    return entries;
  }();
  uint32_t crc = ~0U;
  for (const char c : text) {
    crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xffU];
  }
  return ~crc;
}

/// FNV-1a, 64 bits.
constexpr uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

}  // namespace tw::tuner
