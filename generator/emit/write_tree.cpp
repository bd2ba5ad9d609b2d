#include "emit/write_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "emit/file_head.h"

namespace tw {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what, const fs::path& path, int error) {
  throw TreeError(fmt::format("{} {}: {}", what, path.string(), std::strerror(error)));
}

/// Contents of a file; nothing if there is none.
std::optional<std::string> read_file(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  if (!in || fs::is_directory(path, error)) {
    throw TreeError(fmt::format("cannot read {}", path.string()));
  }
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// Files below `root` that carry our head and are not in `files`.
std::vector<std::string> stale_files(const fs::path& root, const std::vector<TreeFile>& files) {
  std::vector<std::string> stale;
  std::error_code error;
  if (!fs::is_directory(root, error)) return stale;
  std::set<std::string> wanted;
  for (const TreeFile& file : files) wanted.insert(file.path);
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    const std::string path = entry.path().lexically_relative(root).generic_string();
    if (wanted.count(path) > 0) continue;
    const std::optional<std::string> text = read_file(entry.path());
    if (text && has_file_head(*text)) stale.push_back(path);
  }
  std::sort(stale.begin(), stale.end());
  return stale;
}

/// New contents beside their destinations, which disappear again unless commit() is reached.
class Staged {
 public:
  Staged() = default;
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;
  ~Staged() {
    std::error_code ignored;
    for (const auto& [temporary, path] : files_) fs::remove(temporary, ignored);
    for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) {
      fs::remove(*folder, ignored);  // only if it is empty
    }
  }

  void add(const fs::path& path, const std::string& text) {
    make_folder(path.parent_path());
    const fs::path temporary =
        path.parent_path() / fmt::format(".{}.{}.new", path.filename().string(), getpid());
    const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0) fail("cannot write", temporary, errno);
    files_.emplace_back(temporary, path);
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t n = write(file, text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        const int error = errno;
        close(file);
        fail("cannot write", temporary, error);
      }
      done += static_cast<size_t>(n);
    }
    const bool synced = fsync(file) == 0;
    const int error = errno;
    close(file);
    if (!synced) fail("cannot sync", temporary, error);
  }

  void commit() {
    for (const auto& [temporary, path] : files_) {
      if (rename(temporary.c_str(), path.c_str()) != 0) fail("cannot replace", path, errno);
    }
    files_.clear();
    folders_.clear();
  }

 private:
  void make_folder(const fs::path& folder) {
    std::error_code error;
    if (folder.empty() || fs::is_directory(folder, error)) return;
    make_folder(folder.parent_path());
    if (!fs::create_directory(folder, error)) {
      throw TreeError(fmt::format("cannot make folder {}: {}", folder.string(), error.message()));
    }
    folders_.push_back(folder);
  }

  std::vector<std::pair<fs::path, fs::path>> files_;
  std::vector<fs::path> folders_;
};

}  // namespace

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw TreeError(fmt::format("cannot read {}", file.string()));
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string_view name(Difference difference) {
  constexpr std::string_view names[] = {"differs", "missing", "stale"};
  return names[static_cast<size_t>(difference)];
}

TreeChanges write_tree(const fs::path& root, const std::vector<TreeFile>& files) {
  const std::vector<std::string> stale = stale_files(root, files);  // before staging adds files
  TreeChanges changes;
  Staged staged;
  for (const TreeFile& file : files) {
    const fs::path path = root / file.path;
    const std::optional<std::string> old = read_file(path);
    if (old && *old == file.text) {
      ++changes.unchanged;
      continue;
    }
    if (old && has_file_head(file.text) && !has_file_head(*old)) {
      throw TreeError(fmt::format("{} is not a generated file: move it away first", path.string()));
    }
    staged.add(path, file.text);
    ++changes.written;
  }
  staged.commit();
  for (const std::string& path : stale) {
    std::error_code error;
    if (!fs::remove(root / path, error)) {
      throw TreeError(fmt::format("cannot remove {}: {}", (root / path).string(), error.message()));
    }
    ++changes.removed;
  }
  return changes;
}

void write_file(const fs::path& path, const std::string& text) {
  Staged staged;
  staged.add(path, text);
  staged.commit();
}

void check_replaceable(const fs::path& path, const std::string& head, const std::string& what) {
  std::error_code error;
  if (!fs::exists(path, error)) return;
  std::string found(head.size(), '\0');
  std::ifstream(path, std::ios::binary)
      .read(found.data(), static_cast<std::streamsize>(found.size()));
  if (found == head) return;
  throw TreeError(
      fmt::format("{} is not {} that this command made: move it away first", path.string(), what));
}

std::vector<std::pair<Difference, std::string>> compare_tree(const fs::path& root,
                                                             const std::vector<TreeFile>& files) {
  std::vector<std::pair<Difference, std::string>> found;
  for (const TreeFile& file : files) {
    const std::optional<std::string> old = read_file(root / file.path);
    if (!old) {
      found.emplace_back(Difference::missing, file.path);
    } else if (*old != file.text) {
      found.emplace_back(Difference::differs, file.path);
    }
  }
  for (const std::string& path : stale_files(root, files)) {
    found.emplace_back(Difference::stale, path);
  }
  return found;
}

}  // namespace tw
