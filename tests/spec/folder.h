// A folder for the files of one test, and the message that reading them ends with.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "spec/yaml_reader.h"

namespace tw {

/// Made empty, removed with its files at the end.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  /// Writes a file, folders above it included; returns its path.
  std::filesystem::path write(const std::string& name, const std::string& text) const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// what() of the SpecError that `read` throws, with paths from this folder on; "" if none.
  template <typename Read>
  [[nodiscard]] std::string error(Read&& read) const {
    try {
      read();
    } catch (const SpecError& error) {
      return without_path(error.what());
    }
    return "";
  }

 private:
  [[nodiscard]] std::string without_path(std::string text) const;
  std::filesystem::path path_;
};

}  // namespace tw
