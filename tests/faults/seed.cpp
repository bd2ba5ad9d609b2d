#include "faults/seed.h"

#include <fmt/format.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <regex>
#include <stdexcept>

#include "support/run_command.h"

namespace tw::test {
namespace {

namespace fs = std::filesystem;

constexpr int seconds = 100;  // a test that hangs has not caught anything

void write_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  if (!(out << text << std::flush)) throw std::runtime_error("cannot write " + path.string());
}

std::string run_or_throw(const std::string& what, const std::string& command) {
  const Ran ran = run_command(command);
  if (ran.status != 0) throw std::runtime_error(what + " failed: " + command + "\n" + ran.output);
  return ran.output;
}

Ran run_tests(const BuildTree& build, const fs::path& program, const CatchingTest& test) {
  return run_command(
      fmt::format("ulimit -c 0; timeout {} {} {} --gtest_filter='{}' "
                  "--gtest_fail_fast; exit $?",
                  seconds, build.emulator(test.cpu), program.string(), test.filter));
}

/// The name behind the first or last `mark` of GoogleTest's output; empty: none.
std::string test_name(const std::string& output, const std::string& mark, bool last) {
  const size_t at = last ? output.rfind(mark) : output.find(mark);
  if (at == std::string::npos) return {};
  const size_t begin = at + mark.size();
  return output.substr(begin, output.find_first_of(" ,\n", begin) - begin);
}

/// The test that failed or was killed; empty: none was.
std::string caught_by(const Ran& ran) {
  const std::string failed = test_name(ran.output, "[  FAILED  ] ", false);
  if (ran.status == 1 && !failed.empty()) return failed;
  constexpr int by_signal = 128;  // as shells and emulators report it
  const std::string running = test_name(ran.output, "[ RUN      ] ", true);
  if (ran.status <= by_signal || running.empty()) return {};
  return fmt::format("{} ({})", running, strsignal(ran.status - by_signal));
}

/// The program `target`, with `source` compiled in the place of `own`.
fs::path make_program(BuildTree& build, const std::string& target, const fs::path& own,
                      const fs::path& source, const fs::path& work) {
  const fs::path object = work / (source.filename().string() + ".o");
  const fs::path program = work / target;
  run_or_throw("compiling the fault", build.compile(target, own, source, object));
  run_or_throw("linking the fault", build.link(target, own, object, program));
  return program;
}

/// The first spec that a generated file says it is from, as an option; nothing: it says none.
std::string spec_option(const fs::path& made) {
  const std::string text = read_text(made);
  std::smatch match;
  if (!std::regex_search(text, match, std::regex(R"(from +(specs/\S+\.yaml))"))) return {};
  return fmt::format(" --spec '{}'", (root / match[1].str()).string());
}

/// A generated file without the lines that tell from which spec and by which command.
std::string code_of(const fs::path& made) {
  return std::regex_replace(read_text(made), std::regex("\n[/* ]+(from|again) [^\n]*"), "");
}

/// What the generator makes of `fault.makes` with `faulty` in the place of its file `own`.
fs::path generate(Builds& builds, const Fault& fault, const fs::path& own, const fs::path& faulty,
                  const std::string& made, const fs::path& work) {
  fs::path command = builds.host.program("tilewright_command");
  std::string options = spec_option(root / made);
  if (const fs::path file = fs::relative(own, root); file.begin()->string() == "templates") {
    fs::copy(root / "templates", work / "templates", fs::copy_options::recursive);
    fs::copy(faulty, work / file, fs::copy_options::overwrite_existing);
    options += " --templates " + (work / "templates").string();
  } else {
    command = make_program(builds.host, "tilewright_command", own, faulty, work);
  }
  run_or_throw("generating " + fault.makes, fmt::format("{} generate --out {}{}", command.string(),
                                                        (work / "made").string(), options));
  return work / "made" / fs::path(made).filename();
}

}  // namespace

std::string check_passes(Builds& builds, const CatchingTest& test) {
  BuildTree& build = builds.of(test.build);
  const Ran ran = run_tests(build, build.program(test.program), test);
  const std::string passed = test_name(ran.output, "[  PASSED  ] ", true);
  if (ran.status == 0 && !passed.empty() && passed != "0") return {};
  return fmt::format("{} {} {} does not pass without a fault:\n{}", test.build, test.program,
                     test.filter, ran.output);
}

Verdict seed(Builds& builds, const Fault& fault, const fs::path& work) {
  fs::remove_all(work);
  const fs::path file = find_file(root, fault.file);
  fs::path own = root / file;
  fs::path source = work / file.filename();
  write_text(source, plant(fault, read_text(own)));
  if (!fault.through.empty()) {  // includes of the copy look beside it first
    const fs::path folder = file.parent_path();
    const bool is_generators = *folder.begin() == "generator";  // which leave that out
    write_text(work / (is_generators ? folder.filename() : folder) / file.filename(),
               read_text(source));
    own = root / fault.through;
    source = work / own.filename();
    write_text(source, read_text(own));
  }
  if (!fault.makes.empty()) {
    const std::string made = find_file(root, fault.makes);
    source = generate(builds, fault, own, source, made, work);
    own = root / made;
    if (code_of(source) == code_of(own)) return {false, made + " is the same without it\n"};
  }
  std::string last;
  for (const CatchingTest& test : fault.tests) {
    BuildTree& build = builds.of(test.build);
    const fs::path program = make_program(build, test.program, own, source, work);
    const Ran ran = run_tests(build, program, test);
    const std::string by = caught_by(ran);
    if (!by.empty()) return {true, fmt::format("{}: {}", test.program, by)};
    last = fmt::format("{} {}: status {}\n{}", test.program, test.filter, ran.status, ran.output);
  }
  return {false, last};
}

}  // namespace tw::test
