#include "spill/compile.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
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

namespace {

/// A file that includes all of theirs, and its object, for as long as this lives.
class OneObject {
 public:
  explicit OneObject(const std::vector<Function>& functions) : _source(name() + ".c") {
    std::ofstream out(_source);
    for (const Function& function : functions) out << "#include \"" << function.file << "\"\n";
  }
  OneObject(const OneObject&) = delete;
  OneObject& operator=(const OneObject&) = delete;
  ~OneObject() {
    std::error_code ignored;
    std::filesystem::remove(_source, ignored);
    std::filesystem::remove(object(), ignored);
  }
  [[nodiscard]] const std::string& source() const { return _source; }
  [[nodiscard]] std::string object() const { return _source + ".o"; }

 private:
  static std::string name() {
    static std::atomic<int> made = 0;
    return (std::filesystem::temp_directory_path() /
            ("tilewright_spill_" + std::to_string(getpid()) + "_" + std::to_string(made++)))
        .string();
  }
  std::string _source;
};

Examined examined(const std::map<std::string, std::vector<Instruction>>& code,
                  const std::string& name) {
  const auto at = code.find(name);
  if (at == code.end()) return {};
  if (code.contains(name + ".cold")) return {{}, "a part of it lies elsewhere (.cold)"};
  try {
    return {examine(at->second), ""};
  } catch (const std::runtime_error& error) {
    return {{}, error.what()};
  }
}

}  // namespace

std::vector<Examined> compile_and_examine(const Compiler& compiler, const std::string& flags,
                                          const std::vector<Function>& functions) {
  const OneObject all(functions);
  const std::string command = compiler.command + " " + flags +
                              " -I '" TILEWRIGHT_SOURCE_DIR "/runtime/include' -c '" +
                              all.source() + "' -o '" + all.object() + "'";
  const Ran ran = run_command(command);
  if (ran.status != 0) return {functions.size(), {{}, command + "\n" + ran.output}};
  const auto code = disassemble(TILEWRIGHT_OBJDUMP, all.object());
  std::vector<Examined> found;
  found.reserve(functions.size());
  for (const Function& function : functions) found.push_back(examined(code, function.name));
  return found;
}

}  // namespace tw::spill
