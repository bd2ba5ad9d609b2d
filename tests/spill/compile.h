// Compiling a generated C file and looking at its hot loops.
#pragma once

#include <optional>
#include <string>

#include "spill/hot_loops.h"

namespace tw::spill {

struct Compiler {
  std::string name;     ///< "gcc", "clang": what specs call it
  std::string command;  ///< "clang-19 --target=aarch64-linux-gnu"
  std::string target;   ///< "aarch64"
};

/// From "gcc=aarch64-linux-gnu-gcc-12"; the target is what the compiler says.
Compiler read_compiler(const std::string& text);

/// Those that the build found, tests/spill/CMakeLists.txt.
std::vector<Compiler> compilers();

/// The hot loops of `function` in `file`, compiled with `flags`; nothing when the file has no
/// content for the compiler's target. Throws std::runtime_error when it does not compile, and what
/// examine() throws.
std::optional<HotLoops> compile_and_examine(const Compiler& compiler, const std::string& flags,
                                            const std::string& file, const std::string& function);

}  // namespace tw::spill
