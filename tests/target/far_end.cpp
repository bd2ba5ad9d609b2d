#include "target/far_end.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "support/run_command.h"
#include "target/target_fixture.h"

namespace tw::tuner {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSshd = "/usr/sbin/sshd";

/// A server in a process group of its own, with its output in `log`.
pid_t start(const std::string& command, const std::string& log) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string text = fmt::format("exec {} >>{} 2>&1 </dev/null", command, log);
  execl("/bin/sh", "sh", "-c", text.c_str(), nullptr);
  _exit(127);
}

void end(pid_t& pid) {
  if (pid > 0) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  pid = -1;
}

/// Processes whose parent is `parent`.
std::vector<pid_t> children(pid_t parent) {
  std::vector<pid_t> pids;
  std::ifstream list(fmt::format("/proc/{0}/task/{0}/children", parent));
  for (pid_t pid = 0; list >> pid;) pids.push_back(pid);
  return pids;
}

void must(const std::string& command) {
  const Ran ran = run_command(command);
  if (ran.status != 0) throw std::runtime_error(command + ": " + ran.output);
}

}  // namespace

std::string missing_for_ssh() {
  if (!fs::exists(kSshd)) return "openssh-server is not installed";
  return run_command("command -v ssh").status == 0 ? "" : "openssh-client is not installed";
}

SshFarEnd::SshFarEnd(const std::string& folder) : folder_(folder) {
  if (geteuid() == 0) fs::create_directories("/run/sshd");  // where sshd confines itself
  must(
      fmt::format("ssh-keygen -q -t ed25519 -N '' -f {0}/host_key && "
                  "ssh-keygen -q -t ed25519 -N '' -f {0}/user_key && "
                  "ssh-keygen -q -t ed25519 -N '' -f {0}/other_key",
                  folder));
  fs::copy_file(folder + "/user_key.pub", folder + "/authorized_keys");
  std::ofstream(folder + "/sshd_config") << fmt::format(
      "ListenAddress 127.0.0.1\nPort 2222\nHostKey {0}/host_key\nPidFile none\n"
      "AuthorizedKeysFile {0}/authorized_keys\nStrictModes no\nUsePAM no\n"
      "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin "
      "prohibit-password\n",
      folder);
  std::string key;
  std::getline(std::ifstream(folder + "/host_key.pub"), key);
  std::ofstream(folder + "/known_hosts") << "board " << key << "\n";
  std::ofstream(folder + "/ssh_config") << fmt::format(
      "Host board\n  HostName 127.0.0.1\n  HostKeyAlias board\n  Port 2222\n"
      "Host *\n  UserKnownHostsFile {0}/known_hosts\n  IdentityFile {0}/user_key\n"
      "  IdentitiesOnly yes\n",
      folder);
  setenv("TILEWRIGHT_SSH", fmt::format("ssh -F {}/ssh_config", folder).c_str(), 1);
  serve();
}

SshFarEnd::~SshFarEnd() {
  cut();
  end(sshd_);
  unsetenv("TILEWRIGHT_SSH");
}

void SshFarEnd::cut() {
  for (const pid_t session : children(sshd_)) {
    for (const pid_t unprivileged : children(session)) {
      std::string name;
      std::getline(std::ifstream(fmt::format("/proc/{}/comm", unprivileged)), name);
      if (name == "sshd") kill(unprivileged, SIGKILL);
    }
    kill(session, SIGKILL);
  }
}

void SshFarEnd::serve() {
  if (sshd_ > 0) return;
  sshd_ = start(fmt::format("{} -D -e -f {}/sshd_config", kSshd, folder_), folder_ + "/sshd.log");
  const std::string probe =
      fmt::format("ssh -F {}/ssh_config -o BatchMode=yes board true", folder_);
  Ran ran;
  if (!comes_true([&] { return (ran = run_command(probe)).status == 0; })) {
    throw std::runtime_error("sshd: " + ran.output +
                             run_command("cat " + folder_ + "/sshd.log").output);
  }
}

std::string missing_for_adb() {
  if (!fs::exists(TILEWRIGHT_ADBD)) return "adbd is not installed";
  return run_command("command -v adb").status == 0 ? "" : "adb is not installed";
}

AdbFarEnd::AdbFarEnd(const std::string& folder) : folder_(folder) {
  setenv("ANDROID_ADB_SERVER_PORT", "5038", 1);
  // Else the server takes a daemon on this machine for an emulator, too. It reads this while it
  // looks for them already, so it must be up before there is a daemon to find.
  setenv("ADB_LOCAL_TRANSPORT_MAX_PORT", "1", 1);
  setenv("TILEWRIGHT_ADB", fmt::format("HOME={0} TMPDIR={0} adb", folder).c_str(), 1);
  run_command(fmt::format("HOME={0} TMPDIR={0} adb start-server", folder));
  serve();
}

AdbFarEnd::~AdbFarEnd() {
  end(adbd_);
  run_command(fmt::format("HOME={0} TMPDIR={0} adb kill-server", folder_));
  unsetenv("ANDROID_ADB_SERVER_PORT");
  unsetenv("TILEWRIGHT_ADB");
}

void AdbFarEnd::cut() {
  end(adbd_);
}

void AdbFarEnd::serve() {
  if (adbd_ > 0) return;
  const fs::path adbd = TILEWRIGHT_ADBD;
  adbd_ = start(fmt::format("env HOME={} LD_LIBRARY_PATH={} {}", folder_,
                            adbd.parent_path().string(), adbd.string()),
                folder_ + "/adbd.log");
  const std::string adb = fmt::format("export HOME={0} TMPDIR={0}; adb ", folder_);
  run_command(adb + "disconnect 127.0.0.1:5555");
  Ran ran;
  if (!comes_true([&] {
        ran = run_command(adb + "connect 127.0.0.1:5555 && adb -s 127.0.0.1:5555 shell true");
        return ran.status == 0;
      })) {
    throw std::runtime_error("adbd: " + ran.output +
                             run_command("cat " + folder_ + "/adbd.log").output);
  }
}

}  // namespace tw::tuner
