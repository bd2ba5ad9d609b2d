// Everything that is generated compiles: with each compiler at hand, plainly, as C and as C++,
// whatever the compiler's target.
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <sstream>

#include "pipeline/generated_tree.h"
#include "ship/one_of_each.h"
#include "spec/folder.h"
#include "support/precompiled_intrinsics.h"

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

/// What is generated of these rows; of all, when there are none.
GeneratedTree shipped(const std::vector<std::string>& rows = {}) {
  TreeOptions options{kSource / "templates", {"test", "test"}, kSource / "runtime/include"};
  options.only = {rows.begin(), rows.end()};
  return generate_tree(shipped_specs(), options);
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Compiles the tree's files; assembly, too, unless it is for C++.
Ran compile_all(const Folder& folder, const GeneratedTree& tree, const std::string& compiler) {
  const bool cpp = compiler.find("-x c++") != std::string::npos;
  std::string plain;
  std::string with_intrinsics;
  for (const TreeFile& file : tree.files) {
    if (!ends_with(file.path, ".c") && (cpp || !ends_with(file.path, ".S"))) continue;
    (uses_intrinsics(compiler, file.text) ? with_intrinsics : plain) += " " + file.path;
  }
  // As C with -Wpedantic too; the registry's designated initializers are C++20.
  const std::string command = compiler + " -Wall -Wextra -Werror" + (cpp ? "" : " -Wpedantic");
  const std::string include = precompiled_intrinsics(command, folder.path());
  const std::string each = " | xargs -n 1 -P 2 " + command + " -c -o /dev/null";
  return run_command("cd '" + folder.path().string() + "' && echo" + plain + each + " && echo" +
                     with_intrinsics + each + include);
}

/// C for a compiler's own target: a build has compiled all of it so, optimized.
bool is_built_with(const std::string& compiler) {
  return compiler.find("-x c++") == std::string::npos &&
         compiler.find("--target") == std::string::npos;
}

/// C++, and C for another target.
void compile_without_flags(const GeneratedTree& tree) {
  const Folder folder;
  write_tree(folder.path(), tree.files);
  for (const std::string& compiler : compilers()) {
    if (is_built_with(compiler)) continue;
    const Ran ran = compile_all(folder, tree, compiler);
    EXPECT_EQ(ran.status, 0) << compiler << "\n" << ran.output.substr(0, 4000);
  }
}

TEST(Compile, OneOfEachWithoutFlags) {
  IsaLibrary isas(kSource / "templates");
  const std::vector<std::string> names = isas.known();
  compile_without_flags(shipped(one_of_each({names.begin(), names.end()})));
}

/// `scripts/test --long`.
TEST(Compile, EveryFileWithoutFlags) {
  compile_without_flags(shipped());
}

/// Builds may have precompiled these headers.
TEST(Compile, FilesIncludeTheirIntrinsics) {
  const std::regex x86("\\b_mm[0-9]*_|\\b__m(128|256|512)");
  const std::regex arm("\\b(u?int|float)[0-9]+x[0-9]+(x[0-9])?_t\\b");
  size_t found = 0;
  for (const TreeFile& file : shipped().files) {
    if (!ends_with(file.path, ".c")) continue;
    const auto includes = [&](const char* header) {
      return file.text.find(std::string("#include <") + header + ">") != std::string::npos;
    };
    const bool is_x86 = std::regex_search(file.text, x86);
    const bool is_arm = std::regex_search(file.text, arm);
    EXPECT_TRUE(!is_x86 || includes("immintrin.h")) << file.path;
    EXPECT_TRUE(!is_arm || includes("arm_neon.h")) << file.path;
    found += is_x86 || is_arm ? 1 : 0;
  }
  EXPECT_GT(found, 100U);
}

/// Optimized, since warnings about values and inlining need that; the largest kernel of each ISA.
TEST(Compile, OptimizedWithoutWarnings) {
  const Folder folder;
  const GeneratedTree tree = shipped();
  write_tree(folder.path(), tree.files);
  for (const std::string& compiler : compilers()) {
    if (is_built_with(compiler)) continue;
    const Ran ran = run_command("cd '" + folder.path().string() +
                                "' && for f in $(ls -S *matmul*avx512*.c | head -1) "
                                "$(ls -S *matmul*neon*.c | head -1) tw_*scalar.c; do " +
                                compiler +
                                " -c -o object -O2 -Wall -Wextra -Werror $f || exit 1; "
                                "done");
    EXPECT_EQ(ran.status, 0) << compiler << "\n" << ran.output.substr(0, 4000);
  }
}

/// What a generated file needs of a C library, for systems whose headers are not here.
constexpr const char* kStringHeader =
    "#include <stddef.h>\n"
    "void *memcpy(void *to, const void *from, size_t bytes);\n"
    "void *memmove(void *to, const void *from, size_t bytes);\n"
    "void *memset(void *to, int byte, size_t bytes);\n";

/// A preprocessed file without the preprocessor's own lines.
std::string preprocessed(const std::string& compiler, const std::string& file) {
  const Ran ran = run_command(compiler + " -E -P " + file);
  EXPECT_EQ(ran.status, 0) << ran.output;
  return ran.output;
}

/// Objects only: neither headers nor linkers of these systems are here.
TEST(Compile, ObjectsForOtherSystems) {
  const std::string clang = TILEWRIGHT_CLANG;
  if (clang.empty()) {
    ASSERT_EQ(std::getenv("TILEWRIGHT_ALL_TOOLS"), nullptr) << "clang is not installed";
    GTEST_SKIP() << "clang is not installed";
  }
  const GeneratedTree tree = shipped(one_of_each({"scalar", "neon", "neon_i8mm", "sme2"}));
  const Folder folder;
  write_tree(folder.path(), tree.files);
  folder.write("system/string.h", kStringHeader);
  std::string assembly;
  for (const TreeFile& file : tree.files) {
    if (ends_with(file.path, ".S")) assembly += " " + file.path;
  }
  for (const std::string target :
       {"aarch64-linux-android30", "arm64-apple-macos14", "aarch64-pc-windows-msvc"}) {
    const std::string with_flags = clang + " --target=" + target + " -ffreestanding -isystem '" +
                                   (folder.path() / "system").string() + "'";
    const Ran ran = compile_all(folder, tree, with_flags);
    EXPECT_EQ(ran.status, 0) << target << "\n" << ran.output.substr(0, 4000);
    const std::string compiler = "cd '" + folder.path().string() + "' && " + with_flags;
    // Assembly for each object format, and rows that say that it is built.
    const std::string text = preprocessed(compiler, assembly);
    EXPECT_NE(text.find_first_not_of("\n "), std::string::npos) << target;
    const std::string rows = preprocessed(compiler, "registry.c");
    EXPECT_TRUE(std::regex_search(rows, std::regex(R"(\.run = \w+_asm,)"))) << target;
    EXPECT_TRUE(std::regex_search(rows, std::regex(R"(\.run = \w+_neon_i8mm,)"))) << target;
  }
}

}  // namespace
}  // namespace tw
