#include "tuner/program/watched.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <system_error>

#include "measure/machine.h"
#include "tuner/child.h"

namespace tw::tuner {
namespace {

[[noreturn]] void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void write_line(int fd, std::string line) {
  line += '\n';
  size_t sent = 0;
  while (sent < line.size()) {
    const ssize_t n = write(fd, line.data() + sent, line.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(3);  // the parent is gone
    sent += static_cast<size_t>(n);
  }
}

/// Until the child closes its end. False: it was silent for too long.
bool read_lines(int fd, const Watch& watch, double patience,
                const std::function<void(const std::string&)>& on_line) {
  std::string text;
  unsigned beats = watch.beats;
  double last = measure::now();
  for (;;) {
    pollfd poll_of{fd, POLLIN, 0};
    const int ready = poll(&poll_of, 1, 200);
    if (ready < 0 && errno != EINTR) throw_errno("poll");
    if (watch.beats != beats || ready > 0) {
      beats = watch.beats;
      last = measure::now();
    } else if (measure::now() - last > patience) {
      return false;
    }
    if (ready <= 0) continue;
    char buffer[4096];
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    text.append(buffer, static_cast<size_t>(n));
    hand_on_lines(text, on_line);
  }
}

[[noreturn]] void run_child(
    const std::function<void(Watch&, const std::function<void(std::string)>&)>& child, Watch& watch,
    int fd) {
  try {
    child(watch, [fd](std::string line) { write_line(fd, std::move(line)); });
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    std::fflush(stderr);
    _exit(1);
  }
  _exit(0);
}

}  // namespace

Ended run_watched(const std::function<void(Watch&, const std::function<void(std::string)>&)>& child,
                  const std::function<void(const std::string&)>& on_line, double patience) {
  void* shared =
      mmap(nullptr, sizeof(Watch), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw_errno("mmap");
  auto* watch = static_cast<Watch*>(shared);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw_errno("pipe");
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw_errno("fork");
  if (pid == 0) {
    close(ends[0]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody would read what it measures
    run_child(child, *watch, ends[1]);
  }
  close(ends[1]);
  Ended ended;
  if (!read_lines(ends[0], *watch, patience, on_line)) {
    kill(pid, SIGKILL);
    ended.ending = Ending::timeout;
    ended.detail = fmt::format("no answer for {:.0f} s", patience);
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  ended.entrant = watch->entrant;
  munmap(shared, sizeof(Watch));
  if (ended.ending == Ending::timeout || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
    return ended;
  }
  ended.ending = Ending::crash;
  ended.detail = WIFSIGNALED(status) ? signal_name(WTERMSIG(status))
                                     : fmt::format("exit status {}", WEXITSTATUS(status));
  return ended;
}

}  // namespace tw::tuner
