// A file that others may be writing or replacing at the same time.
#pragma once

#include <string>
#include <string_view>

namespace tw::tuner {

[[noreturn]] void fail_file(const char* what, const std::string& path, int error);

/// The file that has the name `path`, locked against other holders of this class until destruction.
class LockedFile {
 public:
  /// Makes the file if there is none and `create` is set. Throws std::runtime_error.
  LockedFile(const std::string& path, bool create);
  ~LockedFile();
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  /// Adds `line` and a newline, and one in front of it if the file ends within a line. All of it is
  /// on disk, or the file is as long as before and std::runtime_error thrown.
  void append(std::string_view line);

 private:
  bool ends_within_line(size_t length) const;

  std::string path_;
  int file_ = -1;
};

/// Writes a file beside `path`, and renames it when it is on disk. Throws std::runtime_error.
void replace_file(const std::string& path, std::string_view text);

}  // namespace tw::tuner
