#include "tuner/target.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "tuner/program_file.h"
#include "tuner/remote_target.h"
#include "tuner/shell.h"
#include "tuner/target_advice.h"
#include "tuner/target_lines.h"
#include "tuner/temporary_folder.h"

namespace tw::tuner {
namespace {

/// Why this machine refuses to run `program`.
TargetError cannot_run(const std::string& program, const std::system_error& error) {
  const std::string system = system_of_program(program);
  const std::string why =
      fmt::format("this machine cannot run {}: {}", program, std::strerror(error.code().value()));
  if (error.code().value() == ENOEXEC && !system.empty()) {
    return {fmt::format(
        "{}; it is for {}: --exec runs it through an emulator, --ssh and --adb on such a device",
        why, system)};
  }
  if (error.code().value() == EACCES) {
    return {fmt::format("{}; is it executable (`chmod +x`), and on no disk mounted noexec?", why)};
  }
  return {why + "; name tilewright_tuner with --program"};
}

Exit run_here(const Target& target, const std::string& program, const std::string& job,
              const Line& on_line) {
  const auto take = [&](const std::string& line) { sort_line(line, on_line); };
  const bool wrapped = target.kind == Target::Kind::exec;
  const Words words = wrapped ? shell_words(target.address, {program, job}) : Words{program, job};
  try {
    return run_and_read(words, "", take, show_error);
  } catch (const std::system_error& error) {
    if (wrapped || std::string(error.what()).rfind(program, 0) != 0) throw;
    throw cannot_run(program, error);
  }
}

}  // namespace

std::string to_text(const Target& target) {
  switch (target.kind) {
    case Target::Kind::local:
      return "this machine";
    case Target::Kind::exec:
      return target.address;
    case Target::Kind::ssh:
      return "ssh " + target.address;
    case Target::Kind::adb:
      return target.address.empty() ? "adb" : "adb " + target.address;
  }
  return "";
}

void run_on_target(const Target& target, const std::string& program, const std::string& job,
                   const std::function<void(const std::string&)>& on_line) {
  // A bare name would be looked up in PATH.
  const std::string path = program.find('/') == std::string::npos ? "./" + program : program;
  system_of_program(path);  // there it is
  try {
    const SignalsHeldBack until_cleaned_up;
    const TemporaryFolder folder;
    const std::string file = folder.write("job.json", job);
    if (target.kind == Target::Kind::ssh || target.kind == Target::Kind::adb) {
      run_remote(target, path, file, on_line);
      return;
    }
    const Exit ended = run_here(target, path, file, on_line);
    if (ended.status != 0) throw target_error(target, ended, "");
  } catch (const Interrupted& interrupted) {
    throw TargetError{
        fmt::format("{}: interrupted by {}", to_text(target), signal_name(interrupted.signal))};
  }
}

}  // namespace tw::tuner
