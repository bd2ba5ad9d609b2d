// Trees that `tilewright ship` writes, built and tested as their users would: with their own
// CMakeLists.txt, with one command, for this machine and for 64-bit Arm.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>

#include "pipeline/shipped_tree.h"
#include "ship/one_of_each.h"
#include "ship/ship_fixture.h"
#include "support/environment.h"

namespace tw {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSource = TILEWRIGHT_SOURCE_DIR;
const std::string kInt4 = "tw_matmul_clamp_f32_qai8dxp4x4_qsi4cxp16x4_4x16_avx2_near_asm";
/// Of a family without portable kernels.
const std::string kBf16 = "tw_matmul_clamp_f32_bf16p1x2_bf16p48x2_4x48_avx512_bf16_dot_u8_near";

Ran ship(const Folder& folder, const std::vector<std::string>& kernels) {
  std::string command = "tilewright ship --out out";
  for (const std::string& kernel : kernels) command += " --kernel " + kernel;
  return run(folder, command);
}

std::set<std::string> files_in(const fs::path& root) {
  std::set<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_directory()) found.insert(entry.path().lexically_relative(root).string());
  }
  return found;
}

TEST(Ship, ATreeOfWhatWasAskedForAndThePortableKernels) {
  const Folder folder;
  Ran ran = ship(folder, {kInt4, kBf16});
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_TRUE(std::regex_match(
      ran.output, std::regex("out: 3 kernels, 14 packers; [0-9]+ files written, 0 unchanged\n"
                             "matmul_clamp_f32_bf16p_bf16p: there is no portable kernel; .*\n")))
      << ran.output;
  const std::set<std::string> files = files_in(folder.path() / "out");
  std::set<std::string> kernels;
  for (const std::string& file : files) {
    if (file.find("matmul") != std::string::npos) kernels.insert(file);
  }
  EXPECT_EQ(kernels, (std::set<std::string>{
                         "kernels/" + kInt4 + ".S", "kernels/" + kBf16 + ".c",
                         "kernels/tw_matmul_clamp_f32_qai8dxp1x4_qsi4cxp4x4_1x4_scalar.c"}));
  for (const char* file :
       {"CMakeLists.txt", "README.txt", "LICENSE", "KERNELS.md", "kernels/registry.c",
        "kernels/choices.c", "include/tilewright/choices.h", "runtime/plan.c",
        "include/tilewright/tilewright.h", "include/tilewright/generated.h", "test/test.c"}) {
    EXPECT_EQ(files.count(file), 1U) << file;
  }
  EXPECT_EQ(files.count("MATRIX.md"), 0U);  // why other kernels are missing is not known
  const std::string readme = read(folder.path() / "out/README.txt");
  EXPECT_NE(readme.find("  " + kInt4 + "\n      asked for by name\n"), std::string::npos) << readme;
  EXPECT_NE(readme.find("_1x4_scalar\n      portable C, "), std::string::npos) << readme;
  // The same rows as in the registry of everything: hashes are what records go by.
  const std::string all = read(fs::path(kSource) / "generated/registry.c");
  const std::string some = read(folder.path() / "out/kernels/registry.c");
  const std::regex hash("\\.name = \"" + kInt4 + "\"[^}]*content_hash = ([^,]*),");
  std::smatch one;
  std::smatch other;
  ASSERT_TRUE(std::regex_search(all, one, hash));
  ASSERT_TRUE(std::regex_search(some, other, hash));
  EXPECT_EQ(one[1], other[1]);
  // Nothing of this machine.
  for (const fs::path& path : {folder.path(), fs::path(kSource)}) {
    EXPECT_EQ(run(folder, "grep -rl '" + path.string() + "' out").output, "");
  }
}

/// Rows of long blocks share their code.
std::string file_of(const std::string& row) {
  return std::regex_replace(row, std::regex("_b64_"), "_blocks_");
}

// Blocks and their scales are the weights' own: other kernels for them are of no use.
TEST(ShipTree, BringsThePortableKernelsOfTheSameWeights) {
  const fs::path source = kSource;
  const auto portable = [&](const std::string& name) {
    const ShippedTree tree = ship_tree(shipped_specs(),
                                       {source / "templates", source / "runtime/include",
                                        source / "runtime/src", source / "LICENSE"},
                                       {"1", "test"}, {{name, "a test"}}, "");
    std::set<std::string> found;
    for (const TreeFile& file : tree.files) {
      if (file.path.find("matmul") == std::string::npos) continue;
      const std::string kernel = fs::path(file.path).stem().string();
      if (kernel != file_of(name)) found.insert(kernel);
    }
    EXPECT_EQ(tree.kernels, static_cast<int>(found.size() + 1));
    EXPECT_EQ(tree.remarks.empty(), !found.empty());
    return found;
  };
  EXPECT_EQ(portable("tw_matmul_clamp_f32_qai8dxp1x4_qsi4c32p16x4_1x16_avx2_bf16_near_asm"),
            std::set<std::string>{"tw_matmul_clamp_f32_qai8dxp1x4_qsi4c32p4x4_1x4_scalar_bf16"});
  EXPECT_EQ(portable("tw_matmul_clamp_f32_qai8dxp1x4_qsi4c32p16x4_1x16_avx2_b64_bf16_near_asm"),
            std::set<std::string>{
                "tw_matmul_clamp_f32_qai8dxp1x4_qsi4c32p4x4_1x4_scalar_blocks_bf16_u32"});
  EXPECT_EQ(portable(kBf16), std::set<std::string>{});
}

/// The command of a document that begins so, continued lines as one.
std::string command_in(const fs::path& document, const std::string& begin) {
  const std::string text = std::regex_replace(read(document), std::regex("\\\\\n *"), "");
  const size_t at = text.find("    " + begin);
  return at == std::string::npos ? "" : text.substr(at + 4, text.find('\n', at) - at - 4);
}

/// Of int8 weights are another kernel's than of all others.
TEST(ShipTree, BringsTheOtherStagesOfAttention) {
  const Folder folder;
  const Ran ran = ship(folder, {"tw_attention_scores_f32_f32_qsi4c32_4x4_avx512f_asm",
                                "tw_attention_values_f32_f32_qai8dx_2x32_avx2"});
  EXPECT_EQ(ran.status, 0) << ran.output;
  std::set<std::string> kernels;
  for (const std::string& file : files_in(folder.path() / "out/kernels")) {
    if (file.starts_with("tw_")) kernels.insert(file.substr(std::string("tw_attention_").size()));
  }
  EXPECT_EQ(kernels,
            (std::set<std::string>{
                "scores_f32_f32_qai8dx_1x4_scalar.c", "scores_f32_f32_qai8dx_2x4_avx2.c",
                "scores_f32_f32_qsi4c32_1x2_scalar.c", "scores_f32_f32_qsi4c32_4x4_avx512f_asm.S",
                "values_f32_f32_qai8dx_1x4_scalar.c", "values_f32_f32_qai8dx_2x32_avx2.c",
                "values_f32_f32_qsi4c32_1x8_scalar.c", "values_f32_f32_qsi4c32_4x64_avx512f_asm.S",
                "weights_f32_f32_f16_1x16_avx512f_asm.S", "weights_f32_f32_f16_1x1_scalar.c",
                "weights_f32_f32_qai8dx_1x1_scalar.c", "weights_f32_f32_qai8dx_1x8_avx2.c"}));
}

TEST(Ship, TheReadmesCommandsAreTrue) {
  const Folder folder;
  const fs::path readme = fs::path(kSource) / "README.md";
  const std::string command = command_in(readme, "tilewright ship ");
  const std::string build = command_in(readme, "cmake -S my_kernels ");
  ASSERT_NE(command, "");
  ASSERT_NE(build, "");
  const Ran shipped = run(folder, command);
  ASSERT_EQ(shipped.status, 0) << shipped.output;
  const Ran ran = run(folder, build + " && " + command_in(readme, "(cd build && ctest"));
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_NE(ran.output.find("100% tests passed"), std::string::npos) << ran.output;
}

TEST(Ship, BuildsAndRunsWithItsOwnFilesAlone) {
  const Folder folder;
  const std::vector<std::string> kernels = one_of_each({"avx2", "neon_i8mm"});
  ASSERT_GE(kernels.size(), 12U);
  ASSERT_EQ(ship(folder, kernels).status, 0);
  const Ran ran = build(folder, quickly + "-DCMAKE_C_COMPILER='" TILEWRIGHT_C_COMPILER "'");
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_NE(ran.output.find(", 0 wrong"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("runs  tw_matmul_clamp_f32_f32_f32p4x1_1x4_scalar_u4"),
            std::string::npos)
      << ran.output;
  EXPECT_NE(ran.output.find("runs  tw_attention_values_f32_f32_qsi4c32_2x32_avx2\n"),
            std::string::npos)
      << ran.output;
  // Every row is there; those of the other architecture are not built.
  for (const std::string& kernel : kernels) {
    EXPECT_TRUE(std::regex_search(
        ran.output, std::regex("(runs |not needed:|not on this CPU:|not built:) " + kernel + "\n")))
        << kernel;
  }
}

TEST(Ship, BuildsWithTheOneCommandOfItsReadme) {
  const Folder folder;
  for (const std::vector<std::string>& kernels :
       {std::vector<std::string>{kInt4}, std::vector<std::string>{kBf16}}) {
    fs::remove_all(folder.path() / "out");
    ASSERT_EQ(ship(folder, kernels).status, 0);
    const std::string readme = read(folder.path() / "out/README.txt");
    std::smatch command;
    ASSERT_TRUE(std::regex_search(readme, command, std::regex("\n  (cc -O2 .*)\n")));
    const Ran ran = run(folder, "cd out && " + command[1].str() + " && ./tilewright_test");
    // bf16 has no portable kernel: nothing runs where there is no avx512_bf16, and the test says
    // so.
    const bool runs = ran.output.find("\nruns ") != std::string::npos;
    EXPECT_EQ(ran.status, runs ? 0 : 1) << ran.output;
  }
}

TEST(Ship, ItsTestNoticesAWrongKernel) {
  const Folder folder;
  ASSERT_EQ(ship(folder, {kInt4}).status, 0);
  const fs::path kernel =
      folder.path() / "out/kernels/tw_matmul_clamp_f32_qai8dxp1x4_qsi4cxp4x4_1x4_scalar.c";
  const std::string good = read(kernel);
  // A sign, a step of k, the clamp.
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"tw_dot4_u8s8(", "tw_dot4_u8s8(1 + "}, {"tw_min_f32(", "tw_max_f32("}}) {
    const size_t at = good.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    std::string wrong = good;
    std::ofstream(kernel) << wrong.replace(at, from.size(), to);
    const Ran ran = build(folder, quickly);
    EXPECT_NE(ran.status, 0) << ran.output;
    EXPECT_NE(ran.output.find("WRONG"), std::string::npos) << ran.output;
  }
}

TEST(Ship, RunsOn64BitArm) {
  if (std::string(TILEWRIGHT_ARM_TOOLCHAIN).empty()) {
    ASSERT_EQ(std::getenv("TILEWRIGHT_ALL_TOOLS"), nullptr) << "no compiler or no QEMU for Arm";
    GTEST_SKIP() << "no compiler or no QEMU for Arm";
  }
  const Folder folder;
  // What a tree needs, all kernels of the test above have shown.
  std::vector<std::string> kernels;
  const std::vector<std::string> all = one_of_each({"neon", "neon_i8mm", "sve2"});
  for (size_t i = 0; i < all.size(); i += test::is_long() ? 1 : 4) kernels.push_back(all[i]);
  ASSERT_EQ(ship(folder, kernels).status, 0);
  const Ran ran = build(folder, quickly + "-DCMAKE_TOOLCHAIN_FILE='" TILEWRIGHT_ARM_TOOLCHAIN "'");
  EXPECT_EQ(ran.status, 0) << ran.output;
  for (const char* isa : {"f32p[^ ]*_neon", "neon_i8mm", "sve2", "scalar"}) {
    EXPECT_TRUE(std::regex_search(ran.output, std::regex(std::string("runs  .*_") + isa))) << isa;
  }
  EXPECT_EQ(ran.output.find("not on this CPU"), std::string::npos) << ran.output;
  EXPECT_EQ(ran.output.find("not built"), std::string::npos) << ran.output;
}

TEST(Ship, LeavesFoldersOfOthersAlone) {
  const Folder folder;
  folder.write("out/notes.txt", "mine");
  Ran ran = ship(folder, {kInt4});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.output,
            "out/notes.txt is not of a shipped tree: give an empty folder, or one that does not "
            "exist\n");
  EXPECT_EQ(files_in(folder.path()), std::set<std::string>{"out/notes.txt"});

  fs::remove_all(folder.path() / "out");
  folder.write("out", "a file");
  ran = ship(folder, {kInt4});
  EXPECT_EQ(ran.output, "out is a file: give a folder\n");

  fs::remove(folder.path() / "out");
  ASSERT_EQ(ship(folder, {kInt4, kBf16}).status, 0);
  ran = ship(folder, {kInt4, kBf16});
  EXPECT_NE(ran.output.find("; 0 files written"), std::string::npos) << ran.output;
  // What is no longer asked for goes.
  ran = ship(folder, {kInt4});
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_FALSE(fs::exists(folder.path() / "out/kernels" / (kBf16 + ".c")));
}

TEST(Ship, RefusesKernelsThatNoSpecMakes) {
  const Folder folder;
  Ran ran = ship(folder, {kInt4, "tw_matmul_clamp_f32_f32_f16p16x1_6x16_avx2"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(
      ran.output.find("no kernel 'tw_matmul_clamp_f32_f32_f16p16x1_6x16_avx2'; the nearest "
                      "names are:\n  tw_matmul_clamp_f32_f32_f16p16x1_6x16_avx2_u4_far_asm\n"),
      0U)
      << ran.output;
  EXPECT_FALSE(fs::exists(folder.path() / "out"));
  EXPECT_EQ(run(folder, "tilewright ship --out out").status, 2);
  EXPECT_EQ(run(folder, "tilewright ship --kernel " + kInt4).status, 2);
  EXPECT_EQ(run(folder, "tilewright ship --out '' --kernel " + kInt4).status, 2);
}

TEST(Ship, AKernelOfAnOwnSpec) {
  const Folder folder;
  folder.write("mine.yaml",
               "family: matmul_clamp_f32_qai8dxp_qsi4cxp\n"
               "lhs: {format: qai8dx, from: [f32]}\n"
               "rhs: {format: qsi4cx, from: [nxk]}\n"
               "dst: f32\n"
               "kernels: [{isa: avx2, technique: dot, tile: {m: 3, n: 8}}]\n");
  const std::string name = "tw_matmul_clamp_f32_qai8dxp1x4_qsi4cxp8x4_3x8_avx2_asm";
  const Ran ran = run(folder, "tilewright ship --spec mine.yaml --kernel " + name + " --out out");
  EXPECT_EQ(ran.status, 0) << ran.output;
  // That spec has no portable kernel.
  EXPECT_NE(ran.output.find("out: 1 kernels, 2 packers"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("there is no portable kernel"), std::string::npos) << ran.output;
}

// On a machine without the source tree: the same tree, from what is installed beside the command.
TEST(Ship, WorksInstalled) {
  const Folder folder;
  Ran ran = run(folder, "cmake --install '" TILEWRIGHT_BUILD_DIR
                        "' --prefix usr --component Unspecified > /dev/null && "
                        "cp '" TILEWRIGHT_ELSEWHERE "' usr/bin/tilewright");
  ASSERT_EQ(ran.status, 0) << ran.output;
  ran = run(folder, "usr/bin/tilewright generate");
  ASSERT_NE(ran.output.find("an installed command needs --out"), std::string::npos) << ran.output;
  ran = run(folder, "usr/bin/tilewright ship --kernel " + kInt4 + " --out installed");
  EXPECT_EQ(ran.status, 0) << ran.output;
  ASSERT_EQ(ship(folder, {kInt4}).status, 0);
  EXPECT_EQ(run(folder, "diff -r installed out").output, "");
  folder.write("w.yaml", "workload: w\nmatmuls: [{name: a, n: 8, k: 64}]\nm: 1\n");
  EXPECT_EQ(run(folder, "usr/bin/tilewright new-project engine --for w.yaml").status, 0);
  EXPECT_EQ(run(folder, "tilewright new-project same --for w.yaml").status, 0);
  EXPECT_EQ(run(folder, "diff -r engine same").output, "");
}

}  // namespace
}  // namespace tw
