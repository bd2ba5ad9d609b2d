#include "spill/compile.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "support/run_command.h"

namespace tw::spill {

Compiler read_compiler(const std::string& text) {
  Compiler compiler;
  const size_t equals = text.find('=');
  compiler.name = text.substr(0, equals);
  compiler.command = text.substr(equals + 1);
  const Ran ran = run_command(compiler.command + " -dumpmachine");
  if (ran.status != 0) throw std::runtime_error(compiler.command + ": " + ran.output);
  compiler.target = ran.output.substr(0, ran.output.find('-'));
  return compiler;
}

std::vector<Compiler> compilers() {
  std::vector<Compiler> found;
  std::istringstream all(TILEWRIGHT_SPILL_COMPILERS);
  for (std::string one; std::getline(all, one, '|');) found.push_back(read_compiler(one));
  return found;
}

std::optional<HotLoops> compile_and_examine(const Compiler& compiler, const std::string& flags,
                                            const std::string& file, const std::string& function) {
  static std::atomic<int> made = 0;
  const std::filesystem::path object =
      std::filesystem::temp_directory_path() /
      ("tilewright_spill_" + std::to_string(getpid()) + "_" + std::to_string(made++) + ".o");
  const std::string command = compiler.command + " " + flags +
                              " -I '" TILEWRIGHT_SOURCE_DIR "/runtime/include' -c '" + file +
                              "' -o '" + object.string() + "'";
  const Ran ran = run_command(command);
  if (ran.status != 0) throw std::runtime_error(command + "\n" + ran.output);
  const std::vector<Instruction> code = disassemble(TILEWRIGHT_OBJDUMP, object.string(), function);
  std::filesystem::remove(object);
  if (code.empty()) return std::nullopt;
  return examine(code);
}

}  // namespace tw::spill
