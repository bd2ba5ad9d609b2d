#include "tuner/target_advice.h"

#include <fmt/format.h>

#include <sstream>

namespace tw::tuner {
namespace {

struct Advice {
  const char* complaint;  ///< part of a line of stderr
  const char* advice;     ///< {0}: the target's address; {1}: the folder there
};

constexpr const char* kOtherFolder = "name another folder there in TILEWRIGHT_TARGET_FOLDER";

// The first one that is met counts.
constexpr Advice kAdvice[] = {
    {"Could not resolve hostname", "check the name, or give it an entry in ~/.ssh/config"},
    {"cannot connect to daemon", "`adb start-server` says why"},
    {"Connection refused",
     "nothing there takes ssh connections: start sshd there, or name its port in ~/.ssh/config"},
    {"Connection timed out", "is {0} on, and in a network that this machine reaches?"},
    {"Operation timed out", "is {0} on, and in a network that this machine reaches?"},
    {"No route to host", "is {0} on, and in a network that this machine reaches?"},
    {"Network is unreachable", "is {0} on, and in a network that this machine reaches?"},
    {"Host key verification failed", "run `ssh {0}` once by hand, check its key and accept it"},
    {"Permission denied (",
     "no key of yours is accepted there, and nobody is asked for passwords: `ssh-copy-id {0}` "
     "brings one there"},
    {"no devices",
     "turn on USB debugging on the phone and plug it in; `adb devices` lists it then"},
    {"device unauthorized", "unlock the phone and accept this machine's key on its screen"},
    {"device still authorizing", "unlock the phone and accept this machine's key on its screen"},
    {"device offline", "plug it in again, or run `adb reconnect offline`"},
    {"more than one device", "say which one with --adb SERIAL"},
    {"insufficient permissions",
     "this machine's users may not use the phone: Debian's package "
     "android-sdk-platform-tools-common has udev rules for that"},
    {"No space left on device", "free some space in {1} there, or {2}"},
    {"Disk quota exceeded", "free some space in {1} there, or {2}"},
    {"Read-only file system", "{2} where files can be written"},
    {"Exec format error", "the program is not for this processor: name another with --program"},
    {"cannot execute binary", "the program is not for this processor: name another with --program"},
    {"not executable", "the program is not for this processor: name another with --program"},
    {"Permission denied", "{1} does not let files be written, or programs be run: {2}"},
    {"adb: not found", "install adb, or name it in TILEWRIGHT_ADB"},
    {"ssh: not found", "install an ssh client, or name it in TILEWRIGHT_SSH"},
};

std::string advice_for(const Advice& advice, const Target& target, const std::string& folder) {
  return fmt::format(fmt::runtime(advice.advice), target.address,
                     folder.empty() ? "its folder for temporary files" : folder, kOtherFolder);
}

std::string status_text(int status) {
  if (status == 128 + 9) return "killed (SIGKILL); was memory short?";
  if (status > 128 && status < 128 + 65) {
    return fmt::format("ended by {}", signal_name(status - 128));
  }
  return fmt::format("ended with status {}", status);
}

}  // namespace

TargetError target_error(const Target& target, const Exit& ended, const std::string& folder) {
  std::istringstream errors(ended.errors);
  std::string last;
  for (std::string line; std::getline(errors, line);) {
    line.erase(line.find_last_not_of(" .\r") + 1);
    if (line.empty()) continue;
    last = line;
    for (const Advice& a : kAdvice) {
      if (line.find(a.complaint) == std::string::npos) continue;
      return {fmt::format("{}: {}; {}", to_text(target), line, advice_for(a, target, folder))};
    }
  }
  const std::string status = status_text(ended.status);
  return {last.empty() ? fmt::format("{}: {}", to_text(target), status)
                       : fmt::format("{}: {}: {}", to_text(target), status, last)};
}

}  // namespace tw::tuner
