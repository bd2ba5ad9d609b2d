// Writes a set of generated files as one: all of them or none.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace tw {

struct TreeFile {
  std::string path;  ///< relative to the tree's root, with '/'
  std::string text;
};

/// A file or folder that cannot be read or written; what() names it and says why.
struct TreeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A whole file. Throws TreeError.
std::string read_text(const std::filesystem::path& file);

struct TreeChanges {
  int written = 0;
  int unchanged = 0;
  int removed = 0;  ///< stale: generated once (by their head), no longer in the set
};

/// Makes the tree at `root` equal to `files`. New contents are first written beside the old ones
/// and synced, then renamed over them, so that readers see whole files only; if one cannot be
/// written, nothing has changed. Files without our head are never removed, nor overwritten.
/// Throws TreeError.
TreeChanges write_tree(const std::filesystem::path& root, const std::vector<TreeFile>& files);

/// One file likewise. Throws TreeError.
void write_file(const std::filesystem::path& path, const std::string& text);

/// Throws TreeError if there is a file that does not begin with `head`: it is not `what` that this
/// command made, and would be gone.
void check_replaceable(const std::filesystem::path& path, const std::string& head,
                       const std::string& what);

enum class Difference { differs, missing, stale };
std::string_view name(Difference difference);

/// How the tree at `root` differs from `files`; writes nothing. Throws TreeError.
std::vector<std::pair<Difference, std::string>> compare_tree(const std::filesystem::path& root,
                                                             const std::vector<TreeFile>& files);

}  // namespace tw
