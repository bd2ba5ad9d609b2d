// Compiling a generated C file and looking at its hot loops.
#pragma once

#include <optional>
#include <string>
#include <vector>

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

/// A function of a generated file.
struct Function {
  std::string file;
  std::string name;
};

/// What was found of one function; nothing when its file has no content for the compiler's target.
struct Examined {
  std::optional<HotLoops> loops;
  std::string error;  ///< of the compiler, or what examine() throws; empty when there is none
};

/// The hot loops of each of `functions`, whose files are compiled with `flags`, all in one go.
std::vector<Examined> compile_and_examine(const Compiler& compiler, const std::string& flags,
                                          const std::vector<Function>& functions);

}  // namespace tw::spill
