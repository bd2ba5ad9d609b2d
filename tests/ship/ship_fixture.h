// Runs the built command, and builds the trees that it ships as their users would.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include "spec/folder.h"
#include "support/run_command.h"

namespace tw {

/// Runs in `folder`; "tilewright" at the beginning is the built command.
inline Ran run(const Folder& folder, const std::string& command) {
  const std::string tilewright = "tilewright ";
  const bool ours = command.rfind(tilewright, 0) == 0;
  return run_command(
      "cd '" + folder.path().string() + "' && unset TILEWRIGHT_ISA && " +
      (ours ? "'" TILEWRIGHT_COMMAND "' " + command.substr(tilewright.size()) : command));
}

/// Of trees whose results are looked at, not how they are made: compiled in half of the time.
inline const std::string quickly = "-DCMAKE_C_FLAGS_RELEASE=-O1 ";

/// Configures, builds, and runs its test: what the README says, with `options` for CMake.
inline Ran build(const Folder& folder, const std::string& options) {
  return run(folder, "cmake -S out -B build -DCMAKE_C_FLAGS='-Wall -Wextra -Werror' " + options +
                         " && cmake --build build -j2 && cd build && ctest --output-on-failure -V");
}

inline std::string read(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace tw
