// Projects that `tilewright new-project` writes: from an installed library and from shipped
// sources, with weights of every kind.
#include "pipeline/project.h"

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "emit/write_tree.h"
#include "ship/ship_fixture.h"
#include "spec/isa_reader.h"
#include "spec/yaml_reader.h"

namespace tw {
namespace {

namespace fs = std::filesystem;

const fs::path source = TILEWRIGHT_SOURCE_DIR;

/// Families with f32 out that have kernels on every machine.
std::set<std::string> families() {
  std::set<std::string> found;
  for (const std::string& spec : yaml_names(source / "specs")) {
    const YamlNode root = read_yaml(source / "specs" / (spec + ".yaml"));
    for (const YamlNode* family : root.at("family").one_or_more()) {
      if (family->text().find("matmul_clamp_f32_") == 0) found.insert(family->text());
    }
  }
  found.erase("matmul_clamp_f32_f16p_f16p");
  found.erase("matmul_clamp_f32_f16p_qsi4c32p");
  found.erase("matmul_clamp_f32_bf16p_bf16p");
  found.erase("matmul_clamp_f32_qai8dxp_qsu2cxp");  // calls say what codes stand for
  return found;
}

/// A layer of each, and blocks that no model file has.
std::string workload() {
  std::string text = "workload: \"all \\\"of\\\" @THEM@ ?\?/\"\nmatmuls:\n";
  for (const std::string& family : families()) {
    const bool blocks = std::regex_search(family, std::regex("[ck](16|32|128)p$"));
    text += "  - {name: " + family.substr(17) + ", family: " + family +
            ", n: 70, k: " + (blocks ? "512" : "131") +
            (family.ends_with("qsi2c32p") ? ", block: 64}\n" : "}\n");
  }
  const std::string one = ", family: matmul_clamp_f32_qsi8d32p_";
  return text + "  - {name: bf16" + one + "qsi4c32p, n: 33, k: 128, block: 64, scales: bf16}\n" +
         "  - {name: f32" + one + "qai4c32p, n: 1, k: 128, block: 64, scales: f32}\n" +
         "m: [{m: 1, calls: 128}, 5]\n";
}

/// Configures with `options`, builds without warnings, runs.
Ran build_project(const Folder& folder, const std::string& options) {
  return run(folder,
             "cmake -S engine -B build "
             "-DCMAKE_C_FLAGS='-Wall -Wextra -Wpedantic -Werror' " +
                 options + " && cmake --build build && build/engine 3");
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

TEST(NewProject, RunsWeightsOfEveryKind) {
  const Folder folder;
  folder.write("w.yaml", workload());
  Ran ran = run(folder, "cmake --install '" TILEWRIGHT_BUILD_DIR
                        "' --prefix usr --component tilewright > /dev/null && "
                        "'" TILEWRIGHT_COMMAND "' new-project engine --for w.yaml");
  ASSERT_EQ(ran.output, "engine: 14 files; engine/README.md says how to build them\n");
  // Nothing of this machine.
  for (const fs::path& path : {folder.path(), source}) {
    EXPECT_EQ(run(folder, "grep -rl '" + path.string() + "' engine").output, "");
  }
  ran = build_project(folder, "-DCMAKE_PREFIX_PATH=\"$PWD/usr\"");
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_TRUE(ran.output.ends_with("\nOK\n")) << ran.output;
  EXPECT_EQ(count(ran.output, "  OK\n"), (families().size() + 2) * 2) << ran.output;
  EXPECT_NE(ran.output.find("\nall \"of\" @THEM@ ?\?/ on "), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find(", 3 threads\n"), std::string::npos) << ran.output;
  EXPECT_EQ(run(folder, "build/engine 0").output, "usage: engine [THREADS], 1 to 1024\n");

  // It notices a slice that nobody takes, and weights that are others than those packed.
  for (const auto& [file, mistake] : std::map<std::string, std::string>{
           {"main.c", "s/w->slices = slices;/w->slices = slices - 1;/"},
           {"ggml_blocks.c", "s/\\[i % 16\\]/[i % 8]/"}}) {
    ran = run(folder, "cp engine/" + file + " kept && sed -i '" + mistake + "' engine/" + file +
                          " && ! cmp -s kept engine/" + file +
                          " && cmake --build build > log && build/engine; r=$?; mv kept engine/" +
                          file + "; exit $r");
    EXPECT_EQ(ran.status, 1) << ran.output;
    EXPECT_TRUE(ran.output.ends_with("\nWRONG\n")) << ran.output;
  }
}

/// A project for one layer, and one shipped kernel, which is enough for it.
void make_project_and_sources(const Folder& folder) {
  folder.write("w.yaml",
               "workload: w\nfamily: matmul_clamp_f32_f32_f32p\n"
               "matmuls: [{name: a, n: 65, k: 33}]\nm: [3]\n");
  const Ran ran = run(
      folder, "tilewright ship --kernel tw_matmul_clamp_f32_f32_f32p4x1_1x4_scalar_u4 --out out");
  ASSERT_EQ(ran.status, 0) << ran.output;
  ASSERT_EQ(run(folder, "tilewright new-project engine --for w.yaml").status, 0);
}

TEST(NewProject, HasTheFormatsOfItsWorkloadAndIsForShippedSourcesToo) {
  const Folder folder;
  make_project_and_sources(folder);
  EXPECT_EQ(run(folder, "ls engine").output,
            "CMakeLists.txt\nREADME.md\nfloats.c\nlayers.h\nmain.c\npool.c\npool.h\nweights.c\n"
            "weights.h\n");
  const Ran ran = run(folder, "cmake -S engine -B build -DTILEWRIGHT_SOURCE=\"$PWD/out\"");
  EXPECT_EQ(ran.status, 0) << ran.output;
}

TEST(NewProject, RunsOnShippedSources) {
  const Folder folder;
  make_project_and_sources(folder);
  const Ran ran = build_project(folder, "-DTILEWRIGHT_SOURCE=\"$PWD/out\"");
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_TRUE(ran.output.ends_with("  OK\nOK\n")) << ran.output;
}

TEST(NewProject, WritesIntoNothingOfOthers) {
  const Folder folder;
  folder.write("w.yaml", "workload: w\nmatmuls: [{name: a, n: 8, k: 8}]\nm: 1\n");
  fs::create_directory(folder.path() / "empty");
  EXPECT_EQ(run(folder, "tilewright new-project empty --for w.yaml").status, 0);
  fs::remove(folder.path() / "empty/main.c");
  const Ran ran = run(folder, "tilewright new-project empty --for w.yaml");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.output, "empty is not empty: give an empty folder, or one that does not exist\n");
  EXPECT_FALSE(fs::exists(folder.path() / "empty/main.c"));
  EXPECT_EQ(run(folder, "tilewright new-project deep/er --for w.yaml").status, 0);
  EXPECT_TRUE(fs::exists(folder.path() / "deep/er/main.c"));
}

TEST(NewProject, NamesMistakesInWorkloads) {
  const Folder folder;
  folder.write("w.yaml", "workload: w\nmatmuls: [{name: a, n: 0, k: 8}]\nm: 1\n");
  Ran ran = run(folder, "tilewright new-project engine --for w.yaml");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.output, "w.yaml:2:24: 'n' must be a whole number above 0, found '0'\n");
  ran = run(folder, "tilewright new-project engine --for missing.yaml");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.output, "missing.yaml:1:1: the file cannot be read\n");
  EXPECT_FALSE(fs::exists(folder.path() / "engine"));
  EXPECT_EQ(run(folder, "tilewright new-project engine").status, 2);
  EXPECT_EQ(run(folder, "tilewright new-project --for w.yaml").status, 2);
  EXPECT_EQ(run(folder, "tilewright new-project '' --for w.yaml").status, 2);
}

/// A file of a project for these layers.
std::string text_of(const std::string& path, const std::string& name,
                    const std::vector<Matmul>& matmuls) {
  Workload workload;
  workload.name = name;
  workload.matmuls = matmuls;
  workload.rows = {{1, 128}, {64, 1}};
  for (const TreeFile& file : project_files(workload, "0.1", source / "templates")) {
    if (file.path == path) return file.text;
  }
  return "";
}

Matmul blocks_of(const std::string& rhs, int block, const std::string& scales) {
  return {"a", "matmul_clamp_f32_qsi8d32p_" + rhs, 8, 512, 1, block, scales};
}

TEST(ProjectFiles, HaveTheWorkload) {
  const std::string text = text_of(
      "layers.h", "@W@ ?",
      {{"\"", "matmul_clamp_f32_f32_f32p", 8, 9, 1, 0, ""}, blocks_of("qsi4c32p", 64, "bf16")});
  EXPECT_NE(text.find("workload[] = \"\\100W\\100 \\077\";"), std::string::npos) << text;
  EXPECT_NE(text.find("    {.name = \"\\042\",\n"
                      "     .family = \"matmul_clamp_f32_f32_f32p\",\n"
                      "     .n = 8, .k = 9, .as = &f32},\n"
                      "    {.name = \"a\",\n"
                      "     .family = \"matmul_clamp_f32_qsi8d32p_qsi4c32p\",\n"
                      "     .n = 8, .k = 512, .block = 64, .scales = TW_SCALES_BF16, .as = &int4},"
                      "\n};"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("rows[] = {{1, 128}, {64, 1}};"), std::string::npos) << text;
}

TEST(ProjectFiles, HaveWeightsAsModelFilesDoWhereThoseHaveSuch) {
  const auto weights = [](const std::string& rhs, int block, const std::string& scales) {
    return text_of("weights.h", "w", {blocks_of(rhs, block, scales)});
  };
  EXPECT_NE(weights("qsi4c32p", 32, "f16").find("extern const format q4_0;"), std::string::npos);
  EXPECT_NE(weights("qsi4c32p", 64, "f16").find("extern const format int4;"), std::string::npos);
  EXPECT_NE(weights("qsi4c32p", 32, "bf16").find("extern const format int4;"), std::string::npos);
  EXPECT_NE(weights("qmi4k32p", 256, "f16").find("extern const format q4_k;"), std::string::npos);
  const std::string build =
      text_of("CMakeLists.txt", "w",
              {blocks_of("qmi4k32p", 256, "f16"), blocks_of("qmi5k32p", 256, "f16"),
               blocks_of("qsi8c32p", 32, "f32")});
  EXPECT_NE(build.find("weights.c codes.c ggml_k.c)"), std::string::npos) << build;
  EXPECT_NE(build.find("find_package(tilewright 0.1 REQUIRED)"), std::string::npos) << build;
}

TEST(ProjectFiles, WeightsOfNoKnownKindAreRefused) {
  Workload workload;
  workload.name = "w";
  workload.matmuls.push_back({"a", "matmul_clamp_f32_f32_odd", 1, 1, 1, 0, ""});
  workload.rows = {{1, 1}};
  try {
    project_files(workload, "0.1", source / "templates");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "matmul 'a': there are no example weights for matmul_clamp_f32_f32_odd");
  }
}

TEST(ProjectFolder, IsNobodysYet) {
  const Folder folder;
  const auto refused = [&](const std::string& path) -> std::string {
    try {
      check_nothing_there(folder.path() / path);
    } catch (const TreeError& error) {
      return std::string(error.what()).substr(folder.path().string().size() + 1);
    }
    return "";
  };
  EXPECT_EQ(refused("missing"), "");
  fs::create_directory(folder.path() / "full");
  EXPECT_EQ(refused("full"), "");
  folder.write("full/.hidden", "mine");
  EXPECT_EQ(refused("full"), "full is not empty: give an empty folder, or one that does not exist");
  EXPECT_EQ(refused("full/.hidden"),
            "full/.hidden is not a folder: give an empty one, or one that does not exist");
  fs::create_symlink("nowhere", folder.path() / "link");
  EXPECT_EQ(refused("link"), "link is not a folder: give an empty one, or one that does not exist");
}

}  // namespace
}  // namespace tw
