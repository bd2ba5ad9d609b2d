#include "tuner/locked_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace tw::tuner {
namespace {

/// `file` is what the name means: nobody has put another file there since it was opened.
bool is_current(int file, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  return fstat(file, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/// How much of `text` is written: in one piece, unless a disk or a limit is full on the way. Then
/// `error` is set.
size_t write_text(int file, std::string_view text, int& error) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      error = errno;
      break;
    }
    done += static_cast<size_t>(written);
  }
  return done;
}

}  // namespace

void fail_file(const char* what, const std::string& path, int error) {
  throw std::runtime_error(fmt::format("{} {}: {}", what, path, std::strerror(error)));
}

LockedFile::LockedFile(const std::string& path, bool create) : path_(path) {
  for (;;) {
    file_ = open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | (create ? O_CREAT : 0), 0644);
    if (file_ < 0) fail_file("cannot open for writing", path, errno);
    int status = 0;
    do {
      status = flock(file_, LOCK_EX);
    } while (status != 0 && errno == EINTR);
    const int error = errno;
    if (status == 0 && is_current(file_, path)) return;
    close(file_);
    if (status != 0) fail_file("cannot lock", path, error);
  }
}

LockedFile::~LockedFile() {
  close(file_);
}

bool LockedFile::ends_within_line(size_t length) const {
  char last = '\n';
  return length > 0 && pread(file_, &last, 1, static_cast<off_t>(length - 1)) == 1 && last != '\n';
}

void LockedFile::append(std::string_view line) {
  struct stat status {};
  if (fstat(file_, &status) != 0) fail_file("cannot append to", path_, errno);
  const auto length = static_cast<size_t>(status.st_size);
  const std::string text = fmt::format("{}{}\n", ends_within_line(length) ? "\n" : "", line);
  int error = 0;
  const size_t written = write_text(file_, text, error);
  if (written != text.size()) {
    const bool whole = written == 0 || ftruncate(file_, status.st_size) == 0;
    throw std::runtime_error(
        fmt::format("cannot append to {}: {}; its first {} bytes are kept, the new line is {}",
                    path_, std::strerror(error), length, whole ? "not" : "cut short"));
  }
  if (fdatasync(file_) != 0 && errno != EINVAL) {  // of what is on no disk
    throw std::runtime_error(
        fmt::format("cannot sync {}: {}; its lines are written, but a power failure may lose them",
                    path_, std::strerror(errno)));
  }
}

void replace_file(const std::string& path, std::string_view text) {
  const std::string temporary = fmt::format("{}.{}.new", path, getpid());
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) fail_file("cannot write", temporary, errno);
  int error = 0;
  bool done = write_text(file, text, error) == text.size();
  if (done && fsync(file) != 0) {
    done = false;
    error = errno;
  }
  close(file);
  if (done && std::rename(temporary.c_str(), path.c_str()) == 0) return;
  if (done) error = errno;
  unlink(temporary.c_str());
  fail_file("cannot write", path, error);
}

}  // namespace tw::tuner
