// What tests of packers' inner loops run them with.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "ir/interpreter.h"
#include "lower/pack.h"
#include "spec/isa_reader.h"

namespace tw::test {

inline uint64_t& field(Arguments& arguments, ArgField which) {
  return arguments.field[static_cast<size_t>(which)];
}

inline const Isa& isa(const std::string& name) {
  static IsaLibrary library(std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates");
  return library.get(name);
}

inline std::vector<uint8_t> bytes_of(const void* from, size_t count) {
  std::vector<uint8_t> out(count);
  if (count != 0) std::memcpy(out.data(), from, count);
  return out;
}

/// Lanes of 32 bits at `address` + `offset`.
template <typename T>
std::vector<T> lanes(const Memory& memory, uint64_t address, size_t offset, size_t count) {
  std::vector<T> out(count);
  memory.read(address + offset, out.data(), count * sizeof(T));
  return out;
}

}  // namespace tw::test
