// The commands with which a build tree (Ninja's) makes one program, so that a single object of it
// can be compiled from another source, and the program linked again with that one beside the tree:
// no copy of the tree, nothing in it changes, and several can be made at once.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace tw::test {

class BuildTree {
 public:
  explicit BuildTree(const std::filesystem::path& folder);

  /// Starts programs of this build: an emulator that plays `cpu` (empty: the build's), or nothing.
  [[nodiscard]] std::string emulator(const std::string& cpu) const;
  /// The program as it is in the tree.
  [[nodiscard]] std::filesystem::path program(const std::string& target);
  /// A shell command: `source`, of which the program's own is a changed copy, into `object`.
  std::string compile(const std::string& target, const std::filesystem::path& own,
                      const std::filesystem::path& source, const std::filesystem::path& object);
  /// A shell command: the program, with that object in the place of the one made from `own`.
  std::string link(const std::string& target, const std::filesystem::path& own,
                   const std::filesystem::path& object, const std::filesystem::path& program);

 private:
  struct Target {
    std::map<std::string, std::string> compile;  ///< source -> command
    std::map<std::string, std::string> part_of;  ///< file -> the source that includes it and others
    std::string link;
  };
  const Target& commands(const std::string& target);
  /// What is compiled for `own`: itself, or the source that it is part of.
  std::string compiled_for(const std::string& target, const std::filesystem::path& own);

  std::filesystem::path folder_;
  std::string qemu_, cpu_;
  std::mutex mutex_;
  std::map<std::string, Target> targets_;
};

}  // namespace tw::test
