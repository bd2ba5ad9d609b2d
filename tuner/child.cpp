#include "tuner/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

namespace tw::tuner {
namespace {

constexpr size_t kKept = 4096;  // bytes of stderr

[[noreturn]] void throw_errno(const std::string& what, int error = errno) {
  throw std::system_error(error, std::generic_category(), what);
}

/// Closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  void reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }
  operator int() const { return fd_; }

 private:
  int fd_;
};

struct Pipe {
  Descriptor read, write;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw_errno("pipe");
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
};

sigset_t held_back() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

/// Does not return. What fails is told through `failed`.
[[noreturn]] void become(char* const* words, pid_t parent, int input, int out, int err,
                         int failed) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  const sigset_t set = held_back();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  dup2(input, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execv(words[0], words);
  const int error = errno;
  if (write(failed, &error, sizeof error) < 0) _exit(126);
  _exit(127);
}

class Child {
 public:
  Child(const Words& words, const std::string& input) {
    std::vector<char*> pointers;
    for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    const std::string file = input.empty() ? "/dev/null" : input;
    const Descriptor in(open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (in < 0) throw_errno(file);
    Pipe out, err, failed;
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0) throw_errno("fork");
    if (pid_ == 0) become(pointers.data(), parent, in, out.write, err.write, failed.write);
    failed.write.reset();
    int error = 0;
    if (read(failed.read, &error, sizeof error) == sizeof error) {
      stop();
      throw_errno(words[0], error);
    }
    out_.reset(dup_nonblocking(out.read));
    err_.reset(dup_nonblocking(err.read));
  }
  ~Child() { stop(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Others may still have its pipes open when it ends: its own end is what counts.
  bool ended(int& status) {
    if (pid_ > 0 && waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
    status = WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
    return pid_ < 0;
  }

  [[nodiscard]] int out() const { return out_; }
  [[nodiscard]] int err() const { return err_; }

 private:
  static int dup_nonblocking(int fd) {
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (copy < 0 || fcntl(copy, F_SETFL, O_NONBLOCK) != 0) throw_errno("fcntl");
    return copy;
  }

  void stop() {
    if (pid_ < 0) return;
    out_.reset();
    err_.reset();
    kill(pid_, SIGTERM);
    for (int i = 0; i < 100; ++i) {
      if (waitpid(pid_, nullptr, WNOHANG) != 0) return;
      usleep(20'000);
    }
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  pid_t pid_ = -1;
  int status_ = 0;
  Descriptor out_, err_;
};

/// What is there now. False: nothing will be.
bool read_some(int fd, std::string& text) {
  char buffer[4096];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n > 0) {
      text.append(buffer, static_cast<size_t>(n));
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
      return false;
    } else if (errno == EAGAIN) {
      return true;
    }
  }
}

void throw_if_interrupted() {
  const sigset_t set = held_back();
  sigset_t blocked;
  sigprocmask(SIG_BLOCK, nullptr, &blocked);
  const timespec now{0, 0};
  if (sigismember(&blocked, SIGINT) == 0) return;
  const int signal = sigtimedwait(&set, nullptr, &now);
  if (signal > 0) throw Interrupted{signal};
}

}  // namespace

void hand_on_lines(std::string& text, const Line& on_line) {
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    on_line(text.substr(begin, end - begin));
  }
  text.erase(0, begin);
}

std::string signal_name(int signal) {
  const char* abbreviation = sigabbrev_np(signal);
  return abbreviation != nullptr ? fmt::format("SIG{}", abbreviation)
                                 : fmt::format("signal {}", signal);
}

SignalsHeldBack::SignalsHeldBack() {
  const sigset_t set = held_back();
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

SignalsHeldBack::~SignalsHeldBack() {
  const sigset_t set = held_back();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

Exit run_and_read(const Words& words, const std::string& input, const Line& on_line,
                  const Line& on_error) {
  Child child(words, input);
  Exit ended;
  std::string out, err;
  const auto keep_error = [&](const std::string& line) {
    ended.errors += line + '\n';
    if (ended.errors.size() > kKept) ended.errors.erase(0, ended.errors.size() - kKept);
    on_error(line);
  };
  pollfd polls[] = {{child.out(), POLLIN, 0}, {child.err(), POLLIN, 0}};
  for (bool done = false; !done;) {
    const bool closed = polls[0].fd < 0 && polls[1].fd < 0;
    if (poll(polls, 2, closed ? 10 : 200) < 0 && errno != EINTR) throw_errno("poll");
    throw_if_interrupted();
    done = child.ended(ended.status);  // asked for before reading: all that it wrote is there
    if (!read_some(child.err(), err)) polls[1].fd = -1;
    hand_on_lines(err, keep_error);
    if (!read_some(child.out(), out)) polls[0].fd = -1;
    hand_on_lines(out, on_line);
  }
  if (!err.empty()) keep_error(err);
  return ended;
}

}  // namespace tw::tuner
