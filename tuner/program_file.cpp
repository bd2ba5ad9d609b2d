#include "tuner/program_file.h"

#include <elf.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "tuner/target.h"

namespace tw::tuner {

std::string system_of_program(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  const bool whole = file && file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!whole && !file.eof()) {
    throw TargetError{
        fmt::format("{}: {}; it should be tilewright_tuner, built for the device: CMake option "
                    "TILEWRIGHT_TUNER builds it, --program names it",
                    path, std::strerror(errno))};
  }
  if (!whole || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return "";
  if (header.e_machine == EM_X86_64) return "Linux x86_64";
  if (header.e_machine == EM_AARCH64) return "Linux aarch64";
  return "";
}

std::string how_to_build_for(const std::string& system) {
  if (system == "Linux aarch64") {
    return "`cmake --preset arm64 && cmake --build build/arm64 --target tilewright_tuner` makes "
           "one (after the preset host): --program build/arm64/tuner/program/tilewright_tuner";
  }
  if (system == "Linux x86_64") {
    return "`cmake --preset host && cmake --build build/host --target tilewright_tuner` makes "
           "one: --program build/host/tuner/program/tilewright_tuner";
  }
  return "there are programs for Linux on 64-bit Arm and x86 only";
}

}  // namespace tw::tuner
