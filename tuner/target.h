// Where a job runs: here, through a wrapper, over ssh, on a phone.
#pragma once

#include <functional>
#include <string>

namespace tw::tuner {

struct Target {
  enum class Kind {
    local,
    exec,  ///< address: a command that runs the program given behind it, "qemu-aarch64 -cpu max"
    ssh,   ///< address: as ssh takes it
    adb    ///< address: serial number; "": the only one that is connected
  };
  Kind kind = Kind::local;
  std::string address;
};

/// "this machine", "ssh user@board"
std::string to_text(const Target& target);

/// The program cannot be run there, or its answer ended before it did; `what` says what to do.
struct TargetError {
  std::string what;
};

/// Brings the program there, runs it with a job, hands on every line that it prints as it comes,
/// and removes what it brought, even after an error. Blocks. Lines of the program's stderr go to
/// this process's. Throws TargetError; std::system_error for what fails here.
void run_on_target(const Target& target, const std::string& program, const std::string& job,
                   const std::function<void(const std::string&)>& on_line);

}  // namespace tw::tuner
