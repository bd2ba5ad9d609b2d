// The comment at the top of every generated file: what it is, where it came from, how to make it
// again. Nothing in it depends on when or where the generator ran.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tw {

/// Where a set of generated files comes from.
struct Origin {
  std::string version;  ///< of the generator, "0.1.0"
  std::string command;  ///< that makes them again: "tilewright generate"
};

/// A spec as files name it.
struct SpecFile {
  std::string name;   ///< relative: "specs/mine.yaml"
  uint64_t hash = 0;  ///< fnv1a of its text
};

/// `about`: lines that say what the file is. `comment` starts a line ("//", "#").
std::string file_head(const Origin& origin, const std::vector<SpecFile>& specs,
                      const std::vector<std::string>& about, const std::string& comment = "//");

/// True for a text that file_head() began: only such files may be removed.
bool has_file_head(std::string_view text);

}  // namespace tw
