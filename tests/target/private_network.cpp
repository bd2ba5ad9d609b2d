#include "target/private_network.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace tw::tuner {
namespace {

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

/// Enters a user namespace with the same users, as far as that is allowed: root's servers change
/// users, others need only their own. False: errno says why not.
bool enter_user_namespace(int spaces) {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  int go[2];
  if (pipe2(go, O_CLOEXEC) != 0) return false;
  // More than one user can be mapped from outside only.
  const pid_t outside = fork();
  if (outside == 0) {
    char byte = 0;
    const std::string process = "/proc/" + std::to_string(getppid());
    const bool mapped = read(go[0], &byte, 1) == 1 && user == 0 &&
                        write_file(process + "/uid_map", "0 0 65536") &&
                        write_file(process + "/gid_map", "0 0 65536");
    _exit(mapped ? 0 : 1);
  }
  const bool entered = unshare(CLONE_NEWUSER | spaces) == 0;
  const int error = errno;
  const bool told = write(go[1], "", entered ? 1 : 0) >= 0;
  close(go[0]);
  close(go[1]);
  int status = 1;
  waitpid(outside, &status, 0);
  if (told && entered && status != 0) {
    write_file("/proc/self/uid_map", std::to_string(user) + " " + std::to_string(user) + " 1");
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/gid_map", std::to_string(group) + " " + std::to_string(group) + " 1");
  }
  errno = error;
  return entered;
}

}  // namespace

void set_loopback(bool up) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = static_cast<short>(up ? IFF_UP | IFF_RUNNING : 0);
  const bool done = ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  close(fd);
  if (!done) throw std::runtime_error("loopback device: " + std::string(std::strerror(errno)));
}

std::string enter_private_network() {
  static bool inside = false;
  if (inside) return "";
  const int spaces = CLONE_NEWNET | CLONE_NEWNS;
  if (unshare(spaces) != 0 && !enter_user_namespace(spaces)) {
    return "no network of its own: " + std::string(std::strerror(errno));
  }
  mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  set_loopback(true);
  inside = true;
  return "";
}

SmallDisk::SmallDisk(const std::string& folder, bool programs_may_run) : folder_(folder) {
  std::filesystem::create_directory(folder);
  if (mount("none", folder.c_str(), "tmpfs", programs_may_run ? 0 : MS_NOEXEC, "size=64k") != 0) {
    throw std::runtime_error("mount: " + std::string(std::strerror(errno)));
  }
}

SmallDisk::~SmallDisk() {
  umount2(folder_.c_str(), MNT_DETACH);
}

}  // namespace tw::tuner
