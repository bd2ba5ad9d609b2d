// The built command, as a user runs it.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "ship/one_of_each.h"
#include "spec/folder.h"
#include "spec/gguf_bytes.h"
#include "support/environment.h"
#include "support/run_command.h"
#include "tuner/device_text.h"
#include "tuner/sample_record.h"

namespace tw::command_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSpec = R"(family: matmul_clamp_f32_qai8dxp_qsi4cxp
lhs: {format: qai8dx, from: [f32]}
rhs: {format: qsi4cx, from: [nxk, kxn]}
dst: f32
kernels:
  - isa: avx512_vnni
    technique: dot
    tile: {m: 5, n: 48}
  - isa: neon_i8mm
    technique: mmla
    tile: {m: 6, n: 8}
)";

/// Runs in `folder`; "tilewright" at the beginning is the built command.
Ran run(const Folder& folder, const std::string& arguments) {
  return run_command("cd '" + folder.path().string() + "' && '" TILEWRIGHT_COMMAND "' " +
                     arguments);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

size_t files_in(const fs::path& root) {
  size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    count += entry.is_directory() ? 0 : 1;
  }
  return count;
}

TEST(Command, OwnSpecGivesAFolderThatStandsAlone) {
  const Folder folder;
  folder.write("mine.yaml", kSpec);
  const Ran ran = run(folder, "generate --spec mine.yaml --out out");
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_TRUE(std::regex_match(
      ran.output, std::regex("out: 4 kernels, 6 packers; 1[0-9] files written, 0 unchanged; "
                             "[0-9.]+ s\n")))
      << ran.output;
  for (const char* file : {"registry.c", "tilewright/generated.h", "tilewright/kernel.h",
                           "tilewright/registry.h", "KERNELS.md", "MATRIX.md", "README.md"}) {
    EXPECT_TRUE(fs::exists(folder.path() / "out" / file)) << file;
  }
  // Nothing outside of it is needed, and no path of this machine stands in it.
  EXPECT_EQ(run_command("cd '" + folder.path().string() + "/out' && cc -c -o /dev/null registry.c")
                .output,
            "");
  EXPECT_EQ(
      run_command("grep -rl '" + folder.path().string() + "' '" + folder.path().string() + "/out'")
          .output,
      "");
  const Ran again = run(folder, "generate --spec mine.yaml --out out");
  EXPECT_NE(again.output.find(" 0 files written"), std::string::npos) << again.output;
}

std::string read(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What only printing or scheduling can find out stands at the table all the same.
TEST(Command, TablesThatLackSomethingAreNamed) {
  const Folder folder;
  folder.write("mine.yaml", kSpec);
  fs::copy(TILEWRIGHT_SOURCE_DIR "/templates", folder.path() / "t", fs::copy_options::recursive);
  const auto error = [&](const char* file, const char* from, const char* to) {
    const fs::path table = folder.path() / "t/isa" / file;
    const std::string good = read(table);
    EXPECT_NE(good.find(from), std::string::npos) << from;
    std::ofstream(table) << replaced(good, from, to);
    const Ran ran = run(folder, "generate --templates t --spec mine.yaml --out out");
    std::ofstream(table) << good;
    EXPECT_EQ(ran.status, 1);
    EXPECT_FALSE(fs::exists(folder.path() / "out"));
    return ran.output;
  };
  EXPECT_EQ(error("avx512_vnni.yaml", "extends: avx512f", "extends: avx512f\narchitecture: x86"),
            "t/isa/avx512_vnni.yaml:2:6: assembly files have no guard for x86\n");
  EXPECT_EQ(error("x86_64.yaml", "      below: ", "      # "),
            "t/isa/avx512_vnni.yaml:2:6: avx512_vnni has no assembly rule to branch when "
            "below\n");
}

// One row of outputs in accumulator tiles, as many columns as these hold.
TEST(Command, TilesThatDoNotFitAccumulatorTilesAreRefused) {
  const Folder folder;
  const auto error = [&](const char* tile) {
    std::string spec = replaced(kSpec, "avx512_vnni", "sme2");
    folder.write("sme2.yaml", replaced(spec, "{m: 5, n: 48}", tile));
    return run(folder, "generate --spec sme2.yaml --out out").output;
  };
  EXPECT_EQ(error("{m: 2, n: 64svl}"),
            "sme2.yaml:8:11: tile m 2 of lhs panels of 1 does not fit dot in accumulator tiles on "
            "sme2: 1 of 1 does\n");
  EXPECT_EQ(error("{m: 1, n: 80svl}"),
            "sme2.yaml:8:11: tile n 80svl does not fit the 4 accumulator tiles of sme2: at most "
            "64svl does\n");
  EXPECT_EQ(error("{m: 1, n: 8svl}"),
            "sme2.yaml:8:11: tile n 8svl does not fit dot on sme2: whole vectors, multiples of "
            "16svl columns, do\n");
}

TEST(Command, TilesThatDoNotFitBesideTotalsAreRefused) {
  const Folder folder;
  const auto error = [&](const char* isa, const char* tile) {
    folder.write("blocks.yaml", std::string("family: matmul_clamp_f32_qsi8d32p_qsi4c32p\n"
                                            "lhs: {format: qsi8d32, from: [f32]}\n"
                                            "rhs: {format: qsi4c32, from: [nxk, q4_0]}\n"
                                            "dst: f32\n"
                                            "kernels:\n"
                                            "  - isa: ") +
                                    isa + "\n    technique: outer\n    tile: " + tile + "\n");
    return run(folder, "generate --spec blocks.yaml --out out").output;
  };
  EXPECT_EQ(error("sme2", "{mr: 8svl, nr: 8svl}"),
            "blocks.yaml:8:11: tile 8svlx8svl does not fit the 4 accumulator tiles of sme2 with "
            "blocks: 4svlx8svl does\n");
  EXPECT_EQ(error("sme", "{mr: 4svl, nr: 8svl}"),
            "blocks.yaml:7:16: outer is not possible with blocks of qsi4c32 on sme, which has no "
            "instruction that adds products to rows of tiles: dot and mmla are\n");
}

TEST(Command, CheckComparesAndWritesNothing) {
  const Folder folder;
  folder.write("mine.yaml", kSpec);
  Ran ran = run(folder, "generate --spec mine.yaml --out out --check");
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.output.find("out/registry.c: missing\n"), std::string::npos) << ran.output;
  EXPECT_FALSE(fs::exists(folder.path() / "out"));

  ASSERT_EQ(run(folder, "generate --spec mine.yaml --out out").status, 0);
  ran = run(folder, "generate --spec mine.yaml --out out --check");
  EXPECT_EQ(ran.status, 0) << ran.output;

  std::ofstream(folder.path() / "out/registry.c", std::ios::app) << "\n";
  fs::copy(folder.path() / "out/KERNELS.md", folder.path() / "out/OLD.md");
  fs::remove(folder.path() / "out/README.md");
  ran = run(folder, "generate --spec mine.yaml --out out --check");
  EXPECT_EQ(ran.status, 1);
  for (const char* line :
       {"out/registry.c: differs\n", "out/OLD.md: stale\n", "out/README.md: missing\n"}) {
    EXPECT_NE(ran.output.find(line), std::string::npos) << ran.output;
  }
  EXPECT_FALSE(fs::exists(folder.path() / "out/README.md"));
}

TEST(Command, NothingIsWrittenWhenOneSpecIsWrong) {
  const Folder folder;
  folder.write("mine.yaml", kSpec);
  folder.write("wrong.yaml", replaced(kSpec, "m: 5", "m: 16"));
  folder.write("typo.yaml", replaced(kSpec, "technique", "tecnique"));
  Ran ran = run(folder, "generate --spec mine.yaml --spec wrong.yaml --out out");
  EXPECT_EQ(ran.status, 1);
  EXPECT_TRUE(std::regex_match(
      ran.output,
      std::regex(
          "wrong\\.yaml:8:[0-9]+: tile 16x48 needs [0-9]+ vector registers on avx512_vnni "
          "\\(48 accumulators( \\+ [0-9]+ [a-z]+)*\\), 32 exist; [0-9]+x48 and 16x16 fit\n")))
      << ran.output;
  EXPECT_FALSE(fs::exists(folder.path() / "out"));
  ran = run(folder, "generate --spec mine.yaml --spec typo.yaml --out out");
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.output.find("typo.yaml:7:5: "), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("technique"), std::string::npos) << ran.output;
  EXPECT_FALSE(fs::exists(folder.path() / "out"));
}

TEST(Command, TheSameKernelInTwoSpecsIsAMistake) {
  const Folder folder;
  folder.write("a.yaml", kSpec);
  folder.write("b.yaml", kSpec);
  const Ran ran = run(folder, "generate --spec a.yaml --spec b.yaml --out out");
  EXPECT_EQ(ran.status, 1);
  EXPECT_TRUE(std::regex_match(
      ran.output,
      std::regex("b\\.yaml:6:5: kernel tw_[a-z0-9_]+ stands at a\\.yaml:6:5 already\n")))
      << ran.output;
}

TEST(Command, AFolderThatCannotBeWritten) {
  const Folder folder;
  folder.write("mine.yaml", kSpec);
  folder.write("taken", "a file\n");
  const Ran ran = run(folder, "generate --spec mine.yaml --out taken");
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.output.find("taken"), std::string::npos) << ran.output;
  EXPECT_EQ(files_in(folder.path()), 2U);
}

TEST(Command, UsageErrors) {
  const Folder folder;
  for (const char* arguments :
       {"", "generat", "generate --spce a", "generate --spec mine.yaml", "explain", "list surplus",
        "records", "records check", "records merge a.jsonl"}) {
    const Ran ran = run(folder, arguments);
    EXPECT_EQ(ran.status, 2) << arguments << "\n" << ran.output;
    EXPECT_NE(ran.output.find("--help"), std::string::npos) << arguments << "\n" << ran.output;
  }
  const Ran ran = run(folder, "list --spec none.yaml");
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.output.find("none.yaml"), std::string::npos) << ran.output;
}

// A cell says what there is, or whose kernels serve, and why.
TEST(Command, ListsFamiliesByIsas) {
  const Folder folder;
  folder.write("mine.yaml", R"(family: matmul_clamp_f32_f32_f16p
lhs: {format: f32}
rhs: {format: f16, from: [nxk, kxn]}
dst: f32
kernels:
  - {isa: neon, technique: fma, panels: {rhs: 8}, tile: {m: 4, n: 8}, print: intrinsics}
  - {isa: avx512f, technique: fma, panels: {rhs: 32}, tile: {m: [1, 4], n: 32}, print: assembly}
)");
  folder.write("dot.yaml", kSpec);
  const Ran ran = run(folder, "list --matrix --spec mine.yaml --spec dot.yaml");
  EXPECT_EQ(ran.status, 0) << ran.output;
  const auto expect = [&](const char* pattern) {
    EXPECT_TRUE(std::regex_search(ran.output, std::regex(pattern))) << pattern << "\n"
                                                                    << ran.output;
  };
  expect(R"(\| family +\| avx512f +\| avx512_vnni \| neon +\| neon_i8mm \|)");
  expect(R"(\| `matmul_clamp_f32_f32_f16p` +\| A1P +\| avx512f \(1\) \| CP +\| neon \(1\) +\|)");
  expect(R"(1\. technique fma may do it; no spec asks for that)");
  expect(R"(2\. no instruction of it multiplies what qai8dx and qsi4cx are packed as)");
  expect(R"(qsi4cxp` +\| - \(2\) +\| CAP +\| - \(2\) +\| CAP +\|)");
}

TEST(Command, ExplainFindsKernelsByPartsOfNames) {
  const Folder folder;
  folder.write("mine.yaml", kSpec);
  Ran ran = run(folder, "explain --spec mine.yaml 6x8_neon");
  EXPECT_EQ(ran.status, 0) << ran.output;
  for (const char* part : {"mine.yaml:9:5", "smmla", "multiply-accumulates per cycle", "v0 "}) {
    EXPECT_NE(ran.output.find(part), std::string::npos) << part << "\n" << ran.output;
  }
  ran = run(folder, "explain --spec mine.yaml --core cortex-a510 6x8_neon");
  EXPECT_NE(ran.output.find("cortex-a510"), std::string::npos) << ran.output;

  ran = run(folder, "explain --spec mine.yaml tw_matmul_clamp_f32_5x48_avx");
  EXPECT_EQ(ran.status, 1);
  EXPECT_TRUE(std::regex_search(ran.output, std::regex("nearest names are:\n  tw_.*5x48_avx512")))
      << ran.output;
  ran = run(folder, "explain --spec mine.yaml matmul");
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.output.find("2 kernels have 'matmul' in their names"), std::string::npos)
      << ran.output;
  ran = run(folder, "explain --spec mine.yaml --core abacus 6x8_neon");
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.output.find("abacus"), std::string::npos) << ran.output;
}

// Dot products into tiles grow with one vector length, outer products with both.
TEST(Command, ExplainCountsByTheCoresVectors) {
  const Folder folder;
  const auto explained = [&](const char* kernel) {
    return run(folder, std::string("explain ") + kernel).output;
  };
  const auto expect = [&](const char* kernel, const char* count) {
    const std::string text = explained(kernel);
    EXPECT_NE(text.find(count), std::string::npos) << kernel << "\n" << text;
    EXPECT_NE(text.find("on sme, vectors of 512 bits"), std::string::npos) << text;
  };
  expect("matmul_clamp_f32_qai8dxp1x4_qsi4cxp8svlx4_1x64svl_sme2_dot",
         "  16384 multiply-accumulates, 239 instructions: 68.6 each\n");
  expect("matmul_clamp_f32_qai8dxp8svlx4_qsi4cxp8svlx4_8svlx8svl_sme2",
         "  32768 multiply-accumulates, 50 instructions: 655.4");
  // The loop for vectors of that length, of several.
  expect("tw_matmul_clamp_f32_qsi8d32p4svlx4_qsi4c32p8svlx4_4svlx8svl_sme2",
         "  16384 multiply-accumulates, 76 instructions: 215.6 each\n");
}

TEST(Command, DeviceSaysWhatRunsHere) {
  const Folder folder;
  const Ran ran = run(folder, "device");
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_TRUE(std::regex_search(ran.output, std::regex("scalar +runs\n"))) << ran.output;
  // No CPU is both.
  EXPECT_TRUE(std::regex_search(ran.output, std::regex("(avx512_vnni|neon_i8mm) +no: needs ")))
      << ran.output;
}

TEST(Command, WorkloadOfAModel) {
  const Folder folder;
  folder.write("m.gguf", small_gguf().bytes());
  Ran ran = run(folder, "workload m.gguf");
  EXPECT_EQ(ran.status, 0) << ran.output;
  const std::string printed = ran.output;
  EXPECT_NE(printed.find("workload: \"Small one\"\n"), std::string::npos) << printed;
  EXPECT_NE(printed.find("n: 2, k: 32, count: 2, block: 32, scales: f16}\n"), std::string::npos)
      << printed;
  ran = run(folder, "workload m.gguf -o w.yaml");
  EXPECT_EQ(ran.output, "w.yaml: 3 shapes of 5 matrices\n");
  EXPECT_EQ(read(folder.path() / "w.yaml"), printed);
  EXPECT_EQ(run(folder, "workload m.gguf -o w.yaml").status, 0);  // its own file

  // A slip must not cost the model, nor anybody's file.
  ran = run(folder, "workload m.gguf -o m.gguf");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.output, "m.gguf is not a workload that this command made: move it away first\n");
  EXPECT_EQ(read(folder.path() / "m.gguf"), small_gguf().bytes());

  folder.write("cut.gguf", small_gguf().bytes().substr(0, 300));
  ran = run(folder, "workload cut.gguf -o cut.yaml");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.output.find("cut.gguf: byte 2"), 0U) << ran.output;
  EXPECT_FALSE(fs::exists(folder.path() / "cut.yaml"));
  folder.write("q8_k.gguf", GgufBytes().counts(1, 0).tensor("output.weight", {256, 8}, 15).bytes());
  ran = run(folder, "workload q8_k.gguf");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(
      ran.output,
      "q8_k.gguf: no matrix of a type that is served (F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, "
      "Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ2_XXS, IQ2_XS, IQ3_XXS, IQ1_S, IQ4_NL, IQ3_S, IQ2_S, "
      "IQ4_XS, "
      "IQ1_M, BF16, TQ1_0, TQ2_0, MXFP4, NVFP4, Q1_0, Q2_0); it has:\n"
      "  not served, Q8_K: 1 x 8 x 256 (output)\n");
}

TEST(Command, DeviceDescribesThisMachine) {
  const Folder folder;
  const Ran text = run(folder, "device");
  const tw_device device = tuner::device_from_text(run(folder, "device --json").output);
  EXPECT_NE(text.output.find(device.name), std::string::npos) << text.output;
  EXPECT_NE(text.output.find(tuner::feature_names(device.features) + "\n"), std::string::npos);
  ASSERT_GE(device.cluster_count, 1U);
  for (size_t i = 0; i < device.cluster_count; ++i) {
    const tw_cluster& cluster = device.clusters[i];
    EXPECT_NE(text.output.find(std::to_string(cluster.count) + " x " + cluster.name),
              std::string::npos)
        << text.output;
  }
}

/// The lines under "Examples:" of a help text.
std::vector<std::string> examples(const std::string& help) {
  std::vector<std::string> found;
  std::istringstream lines(help.substr(help.find("Examples:")));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("  tilewright ", 0) != 0) continue;
    found.push_back(line.substr(13, line.find("   ", 13) - 13));  // without the remark behind it
  }
  return found;
}

/// Of a kernel that exists, the only one that was tried for tuned.yaml.
tuner::Record record_of_a_shipped_kernel() {
  tuner::Record record = tuner::test::sample_record();
  record.problem = {"matmul_clamp_f32_qai8dxp_qsi4cxp", 4096, 2048, 0, "", 1};
  record.regime = tuner::Regime::streamed;
  record.threads = 1;
  const std::string kernel = "tw_matmul_clamp_f32_qai8dxp1x4_qsi4cxp4x4_1x4_scalar";
  record.ran.kernel = kernel;
  record.ran.hash = content_hashes({kernel}).at(kernel);
  record.ratio = {};
  return record;
}

TEST(Command, ExamplesOfTheHelpRun) {
  const Folder folder;
  folder.write("tuned.yaml", "workload: tuned\nmatmuls: [{name: a, n: 4096, k: 2048}]\nm: [1]\n");
  folder.write("mine.yaml", replaced(kSpec, "{m: 6, n: 8}", "{m: 8, n: 8}"));
  folder.write("model.gguf", small_gguf().bytes());
  for (const char* records : {"mine.jsonl", "phone.jsonl", "desk.jsonl"}) {
    folder.write(records, tuner::to_line(tuner::test::sample_record()) + "\n" +
                              tuner::to_line(record_of_a_shipped_kernel()) + "\n");
  }
  std::set<std::string> ran_before;
  for (const char* command : {"", "generate", "list", "explain", "device", "workload", "records",
                              "records check", "records merge", "records shorten", "records best",
                              "records regret", "report", "ship", "new-project"}) {
    const Ran help = run(folder, std::string(command) + " --help");
    EXPECT_EQ(help.status, 0);
    for (const std::string& example : examples(help.output)) {
      if (!ran_before.insert(example).second) continue;
      // A step of scripts/test, and the next test.
      const bool elsewhere = example == "generate --check" || example == "generate";
      if (elsewhere && !test::is_long()) continue;
      // A test does not write to the source tree.
      const Ran ran = run(folder, example == "generate" ? "generate --out all" : example);
      EXPECT_EQ(ran.status, 0) << example << "\n" << ran.output;
    }
  }
  EXPECT_GE(ran_before.size(), 25U);
}

TEST(Command, GeneratesEverything) {
  const Folder folder;
  const Ran ran = run(folder, "generate --out out");
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_TRUE(std::regex_search(ran.output, std::regex("[0-9]+ kernels, [0-9]+ packers; .* s\n")))
      << ran.output;
}

}  // namespace
}  // namespace tw::command_test
