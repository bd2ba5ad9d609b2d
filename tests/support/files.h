// Whole files, and which one memory is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace tw::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// The file whose pages are at this address; empty: of none.
inline std::string file_at(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto at = reinterpret_cast<uintptr_t>(address);
    const size_t dash = line.find('-');
    if (at < std::stoull(line, nullptr, 16) ||
        at >= std::stoull(line.substr(dash + 1), nullptr, 16))
      continue;
    const size_t path = line.find('/');
    return path == std::string::npos ? "" : line.substr(path);
  }
  return "";
}

}  // namespace tw::test
