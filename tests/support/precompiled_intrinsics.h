// Compiles intrinsics.h for compilers that tests run.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

#include "support/run_command.h"

namespace tw {

/// The option that brings it to `compiler`, a command with all its flags, which compiles it
/// into `folder`.
inline std::string precompiled_intrinsics(const std::string& compiler,
                                          const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const std::string header = (folder / "intrinsics.h").string();
  std::filesystem::copy_file(TILEWRIGHT_SOURCE_DIR "/tests/support/intrinsics.h", header,
                             std::filesystem::copy_options::overwrite_existing);
  const bool cpp = compiler.find("-x c++") != std::string::npos;
  const std::string command = compiler + " -c -x " + (cpp ? "c++" : "c") + "-header '" + header +
                              "' -o '" + header + ".gch'";
  const Ran ran = run_command(command);
  if (ran.status != 0) throw std::runtime_error(command + "\n" + ran.output);
  return " -include '" + header + "'";
}

/// Files for other architectures have no use for it, and are compiled sooner without.
inline bool uses_intrinsics(const std::string& compiler, const std::string& text) {
  const bool arm =
      compiler.find("aarch64") != std::string::npos || compiler.find("arm64") != std::string::npos;
  return text.find(arm ? "<arm_neon.h>" : "<immintrin.h>") != std::string::npos;
}

}  // namespace tw
