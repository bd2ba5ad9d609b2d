#include "tuner/target.h"

#include <fmt/format.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
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

/// A file that is nowhere: nothing is left even if this process is killed.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& text) : fd_(memfd_create("job", MFD_CLOEXEC)) {
    const size_t size = text.size();
    if (fd_ < 0 || write(fd_, text.data(), size) != static_cast<ssize_t>(size)) {
      throw std::system_error(errno, std::generic_category(), "the job needs memory");
    }
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", fd_); }

 private:
  int fd_;
};

Exit run_here(const std::string& program, const std::string& job, const Line& on_line) {
  const MemoryFile file(job);
  try {
    return run_and_read({program, "/dev/stdin"}, file.path(), on_line, show_error);
  } catch (const std::system_error& error) {
    if (std::string(error.what()).rfind(program, 0) != 0) throw;
    throw cannot_run(program, error);
  }
}

/// `file`: commands may run it on another machine, or give it no stdin.
Exit run_through(const std::string& command, const std::string& program, const std::string& file,
                 const Line& on_line) {
  return run_and_read(shell_words(command, {program, file}), "", on_line, show_error);
}

void run_anywhere(const Target& target, const std::string& program, const std::string& job,
                  const Line& on_line) {
  const auto take = [&](const std::string& line) { sort_line(line, on_line); };
  Exit ended;
  if (target.kind == Target::Kind::local) {
    ended = run_here(program, job, take);
  } else {
    const TemporaryFolder folder;
    const std::string file = folder.write("job.json", job);
    if (target.kind != Target::Kind::exec) return run_remote(target, program, file, on_line);
    ended = run_through(target.address, program, file, take);
  }
  if (ended.status != 0) throw target_error(target, ended, "");
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
    run_anywhere(target, path, job, on_line);
  } catch (const Interrupted& interrupted) {
    throw TargetError{
        fmt::format("{}: interrupted by {}", to_text(target), signal_name(interrupted.signal))};
  }
}

}  // namespace tw::tuner
