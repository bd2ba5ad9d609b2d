// A folder of this process's own.
#pragma once

#include <string>
#include <string_view>

namespace tw::tuner {

/// In $TMPDIR or /tmp; removed with all that is in it at the end of its scope.
class TemporaryFolder {
 public:
  /// Throws std::system_error.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// Its path. Throws std::system_error.
  [[nodiscard]] std::string write(const std::string& name, std::string_view text) const;

 private:
  std::string path_;
};

}  // namespace tw::tuner
