#include "folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace tw {

Folder::Folder() {
  static int made = 0;
  path_ = std::filesystem::path(testing::TempDir()) /
          ("tilewright_spec_" + std::to_string(getpid()) + "_" + std::to_string(made++));
  std::filesystem::remove_all(path_);
  std::filesystem::create_directories(path_);
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path Folder::write(const std::string& name, const std::string& text) const {
  const std::filesystem::path file = path_ / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
  return file;
}

std::string Folder::without_path(std::string text) const {
  const std::string prefix = path_.string() + "/";
  for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) {
    text.erase(at, prefix.size());
  }
  return text;
}

}  // namespace tw
