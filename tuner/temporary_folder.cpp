#include "tuner/temporary_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "tuner/shell.h"

namespace tw::tuner {

TemporaryFolder::TemporaryFolder() : path_(environment("TMPDIR", "/tmp") + "/tilewright.XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(),
                            fmt::format("cannot make the folder {}", path_));
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, std::string_view text) const {
  const std::string path = path_ + "/" + name;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw std::system_error(errno, std::generic_category(), "cannot write " + path);
  return path;
}

}  // namespace tw::tuner
