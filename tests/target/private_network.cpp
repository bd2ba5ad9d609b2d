#include "target/private_network.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace tw::tuner {
namespace {

bool write_file(const char* path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

/// As the same user with the same rights: all users where that is allowed, else only this one.
void map_users(uid_t user, gid_t group) {
  if (user == 0 && write_file("/proc/self/uid_map", "0 0 65536") &&
      write_file("/proc/self/gid_map", "0 0 65536")) {
    return;
  }
  const auto self = [](unsigned id) {
    return std::to_string(id) + " " + std::to_string(id) + " 1";
  };
  write_file("/proc/self/uid_map", self(user));
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/gid_map", self(group));
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
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS) != 0) {
      return "no network of its own: " + std::string(std::strerror(errno));
    }
    map_users(user, group);
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
