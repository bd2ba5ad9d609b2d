// Everything that is generated compiles: with each compiler at hand, plainly, as C and as C++,
// whatever the compiler's target.
#include <gtest/gtest.h>

#include <sstream>

#include "pipeline/generated_tree.h"
#include "spec/folder.h"
#include "spec/isa_reader.h"
#include "support/run_command.h"

namespace tw {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = TILEWRIGHT_SOURCE_DIR;

/// Command lines, "gcc", "g++ -x c++" ...
std::vector<std::string> compilers() {
  std::vector<std::string> found;
  std::istringstream all(TILEWRIGHT_COMPILERS);
  for (std::string one; std::getline(all, one, '|');) found.push_back(one);
  return found;
}

GeneratedTree shipped() {
  std::vector<SpecInput> specs;
  for (const std::string& name : yaml_names(kSource / "specs")) {
    specs.push_back({kSource / "specs" / (name + ".yaml"), name});
  }
  return generate_tree(specs,
                       {kSource / "templates", {"test", "test"}, kSource / "runtime/include"});
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// C++, and C for another target. As C for its own target a build has compiled all of it.
TEST(Compile, EveryFileWithoutFlags) {
  const Folder folder;
  const GeneratedTree tree = shipped();
  write_tree(folder.path(), tree.files);
  for (const std::string& compiler : compilers()) {
    const bool cpp = compiler.find("-x c++") != std::string::npos;
    if (!cpp && compiler.find("--target") == std::string::npos) continue;
    std::string sources;
    for (const TreeFile& file : tree.files) {
      if (ends_with(file.path, ".c") || (!cpp && ends_with(file.path, ".S"))) {
        sources += " " + file.path;
      }
    }
    // As C with -Wpedantic too; the registry's designated initializers are C++20.
    const Ran ran = run_command(
        "cd '" + folder.path().string() + "' && echo" + sources + " | xargs -n 1 -P 2 " + compiler +
        " -c -o /dev/null -Wall -Wextra -Werror" + (cpp ? "" : " -Wpedantic"));
    EXPECT_EQ(ran.status, 0) << compiler << "\n" << ran.output.substr(0, 4000);
  }
}

/// Optimized, since warnings about values and inlining need that; the largest kernel of each ISA.
TEST(Compile, OptimizedWithoutWarnings) {
  const Folder folder;
  const GeneratedTree tree = shipped();
  write_tree(folder.path(), tree.files);
  for (const std::string& compiler : compilers()) {
    const Ran ran = run_command("cd '" + folder.path().string() +
                                "' && for f in $(ls -S *matmul*avx512*.c | head -1) "
                                "$(ls -S *matmul*neon*.c | head -1) tw_*scalar.c; do " +
                                compiler +
                                " -c -o object -O2 -Wall -Wextra -Werror $f || exit 1; "
                                "done");
    EXPECT_EQ(ran.status, 0) << compiler << "\n" << ran.output.substr(0, 4000);
  }
}

}  // namespace
}  // namespace tw
