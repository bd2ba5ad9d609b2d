#include "emit/write_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "emit/file_head.h"
#include "spec/folder.h"

namespace tw::write_tree_test {
namespace {

namespace fs = std::filesystem;

std::string head() {
  return file_head({"1.2.3", "tilewright generate"}, {}, {"a test"});
}

std::string read(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Every file below a folder.
std::vector<std::string> files_in(const fs::path& root) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_directory()) found.push_back(entry.path().lexically_relative(root).string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string error_of(const fs::path& root, const std::vector<TreeFile>& files) {
  try {
    write_tree(root, files);
  } catch (const TreeError& error) {
    return error.what();
  }
  return "";
}

using Differences = std::vector<std::pair<Difference, std::string>>;

TEST(WriteTree, WritesWhatChangedAndRemovesWhatIsStale) {
  const Folder folder;
  const fs::path root = folder.path() / "out";
  TreeChanges changes = write_tree(root, {{"a.c", head() + "1"}, {"sub/b.c", head() + "2"}});
  EXPECT_EQ(changes.written, 2);
  EXPECT_EQ(read(root / "sub/b.c"), head() + "2");
  const auto time = fs::last_write_time(root / "a.c");

  changes = write_tree(root, {{"a.c", head() + "1"}, {"c.c", head() + "3"}});
  EXPECT_EQ(changes.written, 1);
  EXPECT_EQ(changes.unchanged, 1);
  EXPECT_EQ(changes.removed, 1);
  EXPECT_EQ(fs::last_write_time(root / "a.c"), time);
  EXPECT_EQ(files_in(root), (std::vector<std::string>{"a.c", "c.c"}));
}

TEST(WriteTree, LeavesFilesOfOthersAlone) {
  const Folder folder;
  folder.write("out/notes.txt", "mine");
  folder.write("out/kernel.c", "// written by hand\n\n");
  const fs::path root = folder.path() / "out";
  EXPECT_EQ(error_of(root, {{"a.c", head()}, {"kernel.c", head()}}),
            (root / "kernel.c").string() + " is not a generated file: move it away first");
  EXPECT_EQ(files_in(root), (std::vector<std::string>{"kernel.c", "notes.txt"}));
  EXPECT_EQ(error_of(root, {{"a.c", head()}}), "");
  EXPECT_EQ(files_in(root), (std::vector<std::string>{"a.c", "kernel.c", "notes.txt"}));
}

TEST(WriteTree, ChangesNothingWhenOneFileCannotBeWritten) {
  const Folder folder;
  folder.write("out/a.c", head() + "old");
  folder.write("out/in_the_way", "not a folder");
  const fs::path root = folder.path() / "out";
  const std::string error =
      error_of(root, {{"a.c", head() + "new"}, {"made/b.c", head()}, {"in_the_way/c.c", head()}});
  EXPECT_NE(error.find("cannot make folder " + (root / "in_the_way").string()), std::string::npos)
      << error;
  EXPECT_EQ(read(root / "a.c"), head() + "old");
  EXPECT_EQ(files_in(root), (std::vector<std::string>{"a.c", "in_the_way"}));
  EXPECT_FALSE(fs::exists(root / "made"));
}

TEST(WriteTree, SaysWhichFolderCannotBeMade) {
  EXPECT_EQ(error_of("/proc/tilewright", {{"a.c", head()}}),
            "cannot make folder /proc/tilewright: No such file or directory");
}

TEST(WriteFile, ReplacesOnlyWhatBeginsLikeIt) {
  const Folder folder;
  const fs::path file = folder.write("a", "# mine\nold\n");
  EXPECT_NO_THROW(check_replaceable(folder.path() / "none", "# mine", "a text"));
  EXPECT_NO_THROW(check_replaceable(file, "# mine", "a text"));
  for (const char* other : {"# thine\n", "# min", ""}) {
    folder.write("a", other);
    try {
      check_replaceable(file, "# mine", "a text");
      ADD_FAILURE() << other;
    } catch (const TreeError& error) {
      EXPECT_EQ(error.what(),
                file.string() + " is not a text that this command made: move it away first");
    }
  }
  EXPECT_THROW(check_replaceable(folder.path(), "# mine", "a text"), TreeError);
}

TEST(CompareTree, NamesEveryDifferenceAndWritesNothing) {
  const Folder folder;
  folder.write("out/same.c", head() + "1");
  folder.write("out/other.c", head() + "2");
  folder.write("out/stale.c", head() + "3");
  folder.write("out/mine.txt", "4");
  const fs::path root = folder.path() / "out";
  const std::vector<TreeFile> wanted = {
      {"missing.c", head()}, {"other.c", head() + "5"}, {"same.c", head() + "1"}};
  EXPECT_EQ(compare_tree(root, wanted), (Differences{{Difference::missing, "missing.c"},
                                                     {Difference::differs, "other.c"},
                                                     {Difference::stale, "stale.c"}}));
  EXPECT_EQ(files_in(root), (std::vector<std::string>{"mine.txt", "other.c", "same.c", "stale.c"}));
  EXPECT_EQ(compare_tree(folder.path() / "none", {{"a.c", ""}}),
            (Differences{{Difference::missing, "a.c"}}));
}

TEST(FileHead, SaysWhatAndHow) {
  EXPECT_EQ(file_head({"1.2.3", "tilewright generate"}, {{"specs/a.yaml", 0x12}}, {"x", "", "y"}),
            "// SPDX-License-Identifier: Apache-2.0\n"
            "// Generated by tilewright 1.2.3: do not edit.\n"
            "//\n"
            "// x\n"
            "//\n"
            "// y\n"
            "//\n"
            "// from   specs/a.yaml (0000000000000012)\n"
            "// again  tilewright generate\n");
  EXPECT_TRUE(has_file_head(head()));
  EXPECT_FALSE(has_file_head("// SPDX-License-Identifier: Apache-2.0\n// mine\n"));
  EXPECT_FALSE(has_file_head(""));
}

}  // namespace
}  // namespace tw::write_tree_test
