#include "faults/build_tree.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "faults/fault.h"
#include "support/run_command.h"

namespace tw::test {
namespace {

namespace fs = std::filesystem;

std::string cached(const fs::path& folder, const std::string& name) {
  std::ifstream cache(folder / "CMakeCache.txt");
  for (std::string line; std::getline(cache, line);) {
    if (line.rfind(name + ":", 0) == 0) return line.substr(line.find('=') + 1);
  }
  return {};
}

/// The word behind `option` in a command.
std::string word_after(const std::string& command, const std::string& option) {
  const size_t at = command.find(option);
  if (at == std::string::npos) throw std::runtime_error("no" + option + "in: " + command);
  const size_t begin = at + option.size();
  return command.substr(begin, command.find(' ', begin) - begin);
}

void replace(std::string& command, const std::string& from, const std::string& to) {
  const size_t at = command.find(from);
  if (at == std::string::npos) throw std::runtime_error("no '" + from + "' in: " + command);
  command.replace(at, from.size(), to);
}

/// Files that a source of CMake's includes to compile them in one go.
std::vector<std::string> parts_of(const std::string& source) {
  std::vector<std::string> parts;
  if (source.find("/Unity/unity_") == std::string::npos) return parts;
  std::istringstream lines(read_text(source));
  const std::string include = "#include \"";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(include)) {
      parts.push_back(line.substr(include.size(), line.rfind('"') - include.size()));
    }
  }
  return parts;
}

}  // namespace

BuildTree::BuildTree(const fs::path& folder)
    : folder_(fs::absolute(folder)),
      qemu_(cached(folder_, "TILEWRIGHT_QEMU")),
      cpu_(cached(folder_, "TILEWRIGHT_QEMU_CPU")) {}

std::string BuildTree::emulator(const std::string& cpu) const {
  return qemu_.empty() ? "" : fmt::format("{} -cpu {}", qemu_, cpu.empty() ? cpu_ : cpu);
}

const BuildTree::Target& BuildTree::commands(const std::string& target) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [at, is_new] = targets_.try_emplace(target);
  if (!is_new) return at->second;
  const Ran ran =
      run_command(fmt::format("ninja -C '{}' -t commands {}", folder_.string(), target));
  if (ran.status != 0) throw std::runtime_error(ran.output);
  std::istringstream lines(ran.output);
  const std::string source_mark = " -c ";
  for (std::string line; std::getline(lines, line);) {
    if (const size_t mark = line.rfind(source_mark); mark != std::string::npos) {
      const std::string source = line.substr(mark + source_mark.size());
      at->second.compile[source] = line;
      for (const std::string& part : parts_of(source)) at->second.part_of[part] = source;
    } else if (line.rfind(": && ", 0) == 0) {
      at->second.link = line.substr(5, line.find(" && ", 5) - 5);  // the last: the program
    }
  }
  return at->second;
}

std::string BuildTree::compiled_for(const std::string& target, const fs::path& own) {
  const Target& its = commands(target);
  if (its.compile.count(own.string()) != 0) return own.string();
  const auto at = its.part_of.find(own.string());
  if (at == its.part_of.end()) {
    throw std::runtime_error(target + " is not made from " + own.string());
  }
  return at->second;
}

fs::path BuildTree::program(const std::string& target) {
  return folder_ / word_after(commands(target).link, " -o ");
}

std::string BuildTree::compile(const std::string& target, const fs::path& own,
                               const fs::path& source, const fs::path& object) {
  const std::string compiled = compiled_for(target, own);
  fs::path input = source;
  if (compiled != own.string()) {
    input = object.string() + "_with_others" + fs::path(compiled).extension().string();
    std::string text = read_text(compiled);
    replace(text, '"' + own.string() + '"', '"' + source.string() + '"');
    std::ofstream(input) << text;
  }
  std::string command = commands(target).compile.at(compiled);
  replace(command, " -MF " + word_after(command, " -MF "), " -MF " + object.string() + ".d");
  replace(command, " -o " + word_after(command, " -o "), " -o " + object.string());
  replace(command, " -c " + compiled,
          fmt::format(" -iquote {} -iquote {} -c {}", source.parent_path().string(),
                      own.parent_path().string(), input.string()));
  // Compiling the generator's sources takes longer than running them once.
  if (own.extension() == ".cpp") command += " -O1";
  return fmt::format("cd '{}' && {}", folder_.string(), command);
}

std::string BuildTree::link(const std::string& target, const fs::path& own, const fs::path& object,
                            const fs::path& program) {
  const Target& its = commands(target);
  std::string command = its.link;
  const std::string old = " " + word_after(its.compile.at(compiled_for(target, own)), " -o ");
  const std::string output = " -o " + word_after(command, " -o ");
  // Stands on the command line itself, or in a library: what defines the same names and comes
  // before the library keeps the library's object out.
  if (command.find(old + " ") != std::string::npos) {
    replace(command, old + " ", " ");
  }
  replace(command, output, fmt::format(" {} -o {}", object.string(), program.string()));
  return fmt::format("cd '{}' && {}", folder_.string(), command);
}

}  // namespace tw::test
