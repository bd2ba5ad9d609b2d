#include "tuner/remote_target.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "tuner/program_file.h"
#include "tuner/shell.h"
#include "tuner/target_advice.h"
#include "tuner/target_lines.h"

namespace tw::tuner {
namespace {

namespace fs = std::filesystem;

// In front of lines that the scripts below say of themselves; shells may greet first.
constexpr std::string_view kSystem = "tilewright-system ";
constexpr std::string_view kFolder = "tilewright-folder ";
constexpr std::string_view kStatus = "tilewright-status ";

std::optional<std::string> behind(std::string_view mark, std::string_view line) {
  if (line.substr(0, mark.size()) != mark) return std::nullopt;
  line.remove_prefix(mark.size());
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return std::string(line);
}

/// Runs a script of `sh` there.
Words there(const Target& target, const std::string& script) {
  if (target.kind == Target::Kind::adb) {
    Words words{"shell", script};
    if (!target.address.empty()) words.insert(words.begin(), {"-s", target.address});
    return shell_words(environment("TILEWRIGHT_ADB", "adb"), words);
  }
  // A connection that is silent for half a minute is given up.
  return shell_words(
      environment("TILEWRIGHT_SSH", "ssh"),
      {"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=10", "-o",
       "ServerAliveCountMax=3", "--", target.address, "exec sh -c " + as_word(script)});
}

/// Serial numbers and what adb says of their states.
std::string connected_devices() {
  std::string devices;
  run_and_read(
      shell_words(environment("TILEWRIGHT_ADB", "adb"), {"devices"}), "",
      [&](const std::string& line) {
        const size_t tab = line.find('\t');
        if (tab == std::string::npos) return;
        devices += fmt::format("{}{} ({})", devices.empty() ? "" : ", ", line.substr(0, tab),
                               line.substr(tab + 1));
      },
      [](const std::string&) {});
  return devices.empty() ? "none" : devices;
}

TargetError unreachable(const Target& target, const Exit& ended) {
  TargetError error = target_error(target, ended, "");
  const auto says = [&](const char* text) { return ended.errors.find(text) != std::string::npos; };
  if (target.kind == Target::Kind::adb && (says("more than one device") || says("not found"))) {
    error.what += "; connected: " + connected_devices();
  }
  return error;
}

/// A folder of its own on the target; the program goes there.
class Place {
 public:
  Place(const Target& target, const std::string& program) : target_(target) {
    const std::string system = system_of_program(program);
    std::string found;
    const bool ssh = target.kind == Target::Kind::ssh;
    const Exit ended = run_and_read(
        there(target, prepare(system, ssh ? fs::file_size(program) : 0)), ssh ? program : "",
        [&](const std::string& line) {
          if (const auto text = behind(kSystem, line)) found = *text;
          if (const auto text = behind(kFolder, line)) folder_ = *text;
          if (const auto text = behind(kStatus, line)) ready_ = *text == "0";
        },
        [](const std::string&) {});
    if (!found.empty()) {
      throw TargetError{fmt::format("{} is {}, but {} is for {}; {}", to_text(target), found,
                                    program, system, how_to_build_for(found))};
    }
    if (ready_) return;
    throw folder_.empty() ? unreachable(target, ended) : target_error(target, ended, folder_);
  }
  ~Place() {
    try {
      if (ready_) run(fmt::format("rm -rf {}", as_word(folder_)));
    } catch (...) {  // nobody can be reached: there the trap of the script does it
    }
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  void push(const std::string& file, const std::string& name) {
    Words words{"push", file, folder_ + "/" + name};
    if (!target_.address.empty()) words.insert(words.begin(), {"-s", target_.address});
    std::string said;  // adb complains of files on stdout
    Exit ended = run_and_read(
        shell_words(environment("TILEWRIGHT_ADB", "adb"), words), "",
        [&](const std::string& line) { said += line + '\n'; }, [](const std::string&) {});
    ended.errors += said;
    if (ended.status != 0) throw target_error(target_, ended, folder_);
  }

  const std::string& folder() const { return folder_; }
  /// The script has removed it.
  void gone() { ready_ = false; }

 private:
  Exit run(const std::string& script) {
    return run_and_read(
        there(target_, script), "", [](const std::string&) {}, [](const std::string&) {});
  }

  /// Makes the folder; `bytes` of the program come at once, from stdin: all of them, or the
  /// connection was cut.
  static std::string prepare(const std::string& system, size_t bytes) {
    const std::string named = environment(kFolderVariable, "");
    const std::string base = !named.empty() ? as_word(named)
                             : bytes > 0    ? "\"${TMPDIR:-/tmp}\""
                                            : "/data/local/tmp";
    std::string script = "s=$(uname -sm); ";
    if (!system.empty()) {
      script += fmt::format("[ \"$s\" = {} ] || {{ echo \"{}$s\"; exit 1; }}; ", as_word(system),
                            kSystem);
    }
    script += fmt::format(
        "d=$(mktemp -d {}/tilewright.XXXXXX) || exit 1; trap 'rm -rf \"$d\"' EXIT; "
        "trap 'exit 1' HUP INT TERM PIPE; echo \"{}$d\"; ",
        base, kFolder);
    if (bytes > 0) {
      script += fmt::format(
          "f=$d/tilewright_tuner; cat >\"$f\" && [ $(($(wc -c <\"$f\"))) = {} ] || exit 1; ",
          bytes);
    }
    return script + fmt::format("echo {}0; trap - EXIT", kStatus);
  }

  const Target& target_;
  std::string folder_;
  bool ready_ = false;
};

/// Runs the program and removes the folder, even when nobody listens any more: the program ends
/// when it cannot print its next line. The status is printed since adb has none for a connection
/// that was cut.
std::string run_script(const std::string& folder, bool receive) {
  return fmt::format(
      "d={}; cd \"$d\" || exit 1; trap 's=$?; cd /; rm -rf \"$d\"; echo {}$s' EXIT; "
      "trap 'exit 1' HUP INT TERM PIPE; {}chmod 700 tilewright_tuner && "
      "./tilewright_tuner job.json",
      as_word(folder), kStatus, receive ? "cat >job.json && " : "");
}

}  // namespace

void run_remote(const Target& target, const std::string& program, const std::string& job,
                const Line& on_line) {
  const bool ssh = target.kind == Target::Kind::ssh;
  Place place(target, program);
  if (!ssh) {
    place.push(program, "tilewright_tuner");
    place.push(job, "job.json");
  }
  std::optional<std::string> status;
  Exit ended = run_and_read(
      there(target, run_script(place.folder(), ssh)), ssh ? job : "",
      [&](const std::string& line) {
        if (const auto text = behind(kStatus, line)) {
          status = text;
        } else {
          sort_line(line, on_line);
        }
      },
      show_error);
  if (!status) {
    throw TargetError{fmt::format("{}: the connection was lost", to_text(target))};
  }
  place.gone();
  ended.status = std::atoi(status->c_str());
  if (ended.status != 0) throw target_error(target, ended, place.folder());
}

}  // namespace tw::tuner
