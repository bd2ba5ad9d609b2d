#include "tuner/program/device_lock.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>

#include "tuner/shell.h"

namespace tw::tuner {
namespace {

constexpr useconds_t kBetween = 100000;  // microseconds
constexpr int kMostWaiting = 1000;       // who ask, none of whom is ever answered

struct Address {
  explicit Address(const std::string& name) {
    address.sun_family = AF_UNIX;  // and a zero, which makes it abstract
    const size_t length = std::min(name.size(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, name.data(), length);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  sockaddr_un address{};
  socklen_t size = 0;
};

int open_socket(int flags) {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
}

/// The process that listens; 0: unknown, or of another container.
pid_t holder(const Address& address) {
  const int asking = open_socket(SOCK_NONBLOCK);
  ucred peer{};
  socklen_t size = sizeof peer;
  const bool known = connect(asking, address.get(), address.size) == 0 &&
                     getsockopt(asking, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  close(asking);
  return known ? peer.pid : 0;
}

/// "tilewright_tuner job.json"; "" if it may not be read.
std::string command_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/cmdline", process), std::ios::binary);
  std::string words{std::istreambuf_iterator<char>(file), {}};
  while (!words.empty() && words.back() == '\0') words.pop_back();
  std::replace(words.begin(), words.end(), '\0', ' ');
  return words;
}

std::string who(pid_t process) {
  if (process == 0) return "another process";
  const std::string command = command_of(process);
  return fmt::format("process {}{}", process, command.empty() ? "" : " (" + command + ")");
}

}  // namespace

DeviceLock::DeviceLock(double patience) {
  const Address address(environment("TILEWRIGHT_LOCK", "tilewright_tuner"));
  socket_ = open_socket(0);
  for (double waited = 0; waited <= patience; waited += kBetween / 1e6) {
    if (bind(socket_, address.get(), address.size) == 0 && listen(socket_, kMostWaiting) == 0) {
      return;
    }
    if (errno != EADDRINUSE) {
      fmt::print(stderr, "tilewright_tuner: other tunings of this device are not kept away: {}\n",
                 std::strerror(errno));
      return;
    }
    usleep(kBetween);
  }
  close(socket_);
  const pid_t process = holder(address);
  throw std::runtime_error(
      fmt::format("{} tunes this device already, and both would measure each other: wait until it "
                  "ends{}",
                  who(process), process == 0 ? "" : fmt::format(", or `kill {}` there", process)));
}

DeviceLock::~DeviceLock() {
  if (socket_ >= 0) close(socket_);
}

}  // namespace tw::tuner
