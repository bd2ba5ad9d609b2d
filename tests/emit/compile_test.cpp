// Everything that is generated compiles: with each compiler at hand, plainly, as C and as C++,
// whatever the compiler's target.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "pipeline/generated_tree.h"
#include "ship/one_of_each.h"
#include "spec/folder.h"
#include "support/environment.h"
#include "support/run_command.h"

namespace tw::compile_test {
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

std::string read(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// The C of kernels that is shipped, with its headers: a step of its own compares it with what is
/// generated.
std::vector<TreeFile> shipped_c() {
  std::vector<TreeFile> files;
  for (const fs::path& root : {kSource / "generated", kSource / "runtime/include"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      const std::string type = entry.path().extension().string();
      if (type != ".c" && type != ".h") continue;
      if (entry.path().lexically_relative(root).begin()->string() == "kleidiai") continue;  // below
      files.push_back({entry.path().lexically_relative(root).string(), read(entry.path())});
    }
  }
  std::sort(files.begin(), files.end(),
            [](const TreeFile& a, const TreeFile& b) { return a.path < b.path; });
  return files;
}

/// What a text calls: intrinsics, and helpers in the file itself.
std::set<std::string> calls(const std::string& text) {
  const auto in_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  std::set<std::string> found;
  for (size_t at = 0; (at = text.find('(', at)) != std::string::npos; ++at) {
    size_t begin = at;
    while (begin > 0 && in_name(text[begin - 1])) --begin;
    found.insert(text.substr(begin, at - begin));
  }
  return found;
}

/// Headers, and the C files that call what none before them calls, their own function apart.
/// `named`: functions that each file has of its own, by how their names begin.
std::vector<TreeFile> with_new_calls(const std::vector<TreeFile>& all,
                                     const std::vector<std::string>& named = {}) {
  std::vector<TreeFile> some;
  std::set<std::string> known;
  for (const TreeFile& file : all) {
    std::set<std::string> its = calls(file.text);
    its.erase(fs::path(file.path).stem().string());
    for (const std::string& begin : named) {
      std::erase_if(its, [&](const std::string& call) { return call.rfind(begin, 0) == 0; });
    }
    const size_t before = known.size();
    known.merge(its);
    if (known.size() > before || !ends_with(file.path, ".c")) some.push_back(file);
  }
  return some;
}

/// Reading headers of intrinsics takes several times as long as a file that needs them, so that
/// files are included by sixteen. What declares the others begins sixteen: behind a function that
/// is optimized in its own way its declaration is a mistake. Returns the names of those that
/// include them.
std::string write_batches(const Folder& folder, const std::vector<TreeFile>& files) {
  std::vector<std::string> batches;
  size_t n = 0;
  for (const TreeFile& file : files) {
    if (!ends_with(file.path, ".c")) continue;
    // It declares what others define, some of it by pragmas that are not there any more.
    const bool alone = file.path == "registry.c";
    if (alone) n = 0;
    if (n++ % 16 == 0) batches.emplace_back();
    batches.back() += "#include \"" + file.path + "\"\n";
    if (alone) n = 0;
  }
  std::string names;
  for (size_t i = 0; i < batches.size(); ++i) {
    const std::string name = "batch_" + std::to_string(i) + ".c";
    folder.write(name, batches[i]);
    names += " " + name;
  }
  return names;
}

/// Compiles files of a tree; assembly, too, unless it is for C++.
Ran compile_all(const Folder& folder, const std::vector<TreeFile>& files,
                const std::string& compiler) {
  const bool cpp = compiler.find("-x c++") != std::string::npos;
  std::string names = write_batches(folder, files);
  for (const TreeFile& file : files) {
    if (!cpp && ends_with(file.path, ".S")) names += " " + file.path;
  }
  // As C with -Wpedantic too; the registry's designated initializers are C++20.
  const std::string command = compiler + " -Wall -Wextra -Werror" + (cpp ? "" : " -Wpedantic");
  return run_command("cd '" + folder.path().string() + "' && echo" + names + " | xargs -n 1 -P 2 " +
                     command + " -c -o /dev/null");
}

/// C for a compiler's own target: a build has compiled all of it so, optimized.
bool is_built_with(const std::string& compiler) {
  return compiler.find("-x c++") == std::string::npos &&
         compiler.find("--target") == std::string::npos;
}

/// C++, and C for another target.
void compile_without_flags(const std::vector<TreeFile>& files, const std::string& headers = "") {
  const Folder folder;
  write_tree(folder.path(), files);
  for (const std::string& compiler : compilers()) {
    if (is_built_with(compiler)) continue;
    const Ran ran = compile_all(folder, files, compiler + headers);
    EXPECT_EQ(ran.status, 0) << compiler << "\n" << ran.output.substr(0, 4000);
  }
}

/// As many files as have every intrinsic and helper that is used. (Assembly: tests/objects.)
TEST(Compile, EveryCallWithoutFlags) {
  const std::vector<TreeFile> all = shipped_c();
  const std::vector<TreeFile> some = with_new_calls(all);
  EXPECT_GT(some.size(), 20U);
  EXPECT_LT(some.size(), all.size());
  compile_without_flags(some, " -I.");
}

/// Files of clients' names, each by itself: they have functions of the same names.
TEST(Compile, ClientsNamesWithoutFlags) {
  const std::string made = kSource / "generated/kleidiai", ours = kSource / "integrations/kleidiai";
  std::vector<TreeFile> all;
  for (const std::string& folder : {ours + "/src", made + "/src"}) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".c") all.push_back({entry.path(), read(entry.path())});
    }
  }
  // Each declares the names that it has and a kernel or packer; with those all are compiled by the
  // build for Arm.
  const std::vector<std::string> named = {"kai_get_",   "kai_run_", "tw_matmul_", "tw_imatmul_",
                                          "tw_dwconv_", "tw_lhs_",  "tw_rhs_"};
  const std::vector<TreeFile> some = with_new_calls(all, named);
  EXPECT_GT(some.size(), 15U);
  std::string names;
  for (const TreeFile& file : some) names += " " + file.path;
  std::string headers;
  for (const std::string& folder :
       {kSource.string() + "/generated", kSource.string() + "/runtime/include", made + "/include",
        ours + "/include", ours + "/src"}) {
    headers += " -I" + folder;
  }
  for (const std::string& compiler : compilers()) {
    if (compiler.find("-x c++") != std::string::npos) continue;  // C of a library of ours
    const Ran ran = run_command("echo" + names + " | xargs -n 1 -P 2 " + compiler +
                                " -Wall -Wextra -Werror" + headers + " -c -o /dev/null");
    EXPECT_EQ(ran.status, 0) << compiler << "\n" << ran.output.substr(0, 4000);
  }
}

/// `scripts/test --long`.
TEST(Compile, EveryFileWithoutFlags) {
  compile_without_flags(shipped().files);
}

/// Builds compile files behind others that may have included them.
TEST(Compile, FilesIncludeTheirIntrinsics) {
  const auto has_one = [](const std::string& text, const std::vector<const char*>& words) {
    return std::any_of(words.begin(), words.end(),
                       [&](const char* word) { return text.find(word) != std::string::npos; });
  };
  size_t found = 0;
  for (const TreeFile& file : shipped_c()) {
    if (!ends_with(file.path, ".c")) continue;
    const auto includes = [&](const char* header) {
      return file.text.find(std::string("#include <") + header + ">") != std::string::npos;
    };
    const bool is_x86 =
        has_one(file.text, {"_mm_", "_mm256_", "_mm512_", "__m128", "__m256", "__m512"});
    const bool is_arm = has_one(file.text, {"int8x", "int16x", "int32x", "int64x", "float16x",
                                            "float32x", "float64x", "poly8x"});
    EXPECT_TRUE(!is_x86 || includes("immintrin.h")) << file.path;
    EXPECT_TRUE(!is_arm || includes("arm_neon.h")) << file.path;
    found += is_x86 || is_arm ? 1 : 0;
  }
  EXPECT_GT(found, 100U);
}

/// Optimized, since warnings about values and inlining need that; the largest kernels.
TEST(Compile, OptimizedWithoutWarnings) {
  const Folder folder;
  write_tree(folder.path(), shipped_c());
  for (const std::string& compiler : compilers()) {
    if (is_built_with(compiler)) continue;
    const Ran ran = run_command("cd '" + folder.path().string() +
                                "' && for f in $(ls -S *matmul*avx512*.c | head -1) "
                                "$(ls -S *matmul*neon*.c | head -1) $(ls -S tw_*scalar.c | head -" +
                                (test::is_long() ? "1000" : "4") + "); do " + compiler +
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
  std::string assembly;  // tests/objects assembles it
  std::vector<TreeFile> c;
  for (const TreeFile& file : tree.files) {
    if (ends_with(file.path, ".S")) {
      assembly += " " + file.path;
    } else {
      c.push_back(file);
    }
  }
  const std::vector<TreeFile> some = with_new_calls(c);
  for (const std::string target :
       {"aarch64-linux-android30", "arm64-apple-macos14", "aarch64-pc-windows-msvc"}) {
    const std::string with_flags = clang + " --target=" + target + " -ffreestanding -isystem '" +
                                   (folder.path() / "system").string() + "'";
    const Ran ran = compile_all(folder, some, with_flags);
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
}  // namespace tw::compile_test
