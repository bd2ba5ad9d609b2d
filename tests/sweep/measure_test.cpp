// `tilewright sweep --measure` without its compilers: what it has built, and what it makes of the
// answers.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "spec/folder.h"
#include "support/run_command.h"
#include "tuner/sample_record.h"

namespace tw::measure_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFamily = "matmul_clamp_f32_qsi8d32p_qsi8c32p";
constexpr const char* kKernel = "tw_matmul_clamp_f32_qsi8d32p2x4_qsi8c32p16x4_2x16_avx2_far_asm";

std::string read(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// In the place of cmake: its words, and a tuner's program that answers with answer.jsonl.
void write_tools(const Folder& folder, const std::string& answers) {
  folder.write("answer.jsonl", answers);
  const fs::path cmake = folder.write("bin/cmake",
                                      "#!/bin/sh\n"
                                      "echo \"$@\" >> '" +
                                          folder.path().string() +
                                          "/words'\n"
                                          "[ ! -e '" +
                                          folder.path().string() +
                                          "/fail' ] || { echo no compiler; exit 3; }\n"
                                          "mkdir -p sweeps/program/tuner/program\n"
                                          "cp bin/tuner sweeps/program/tuner/program/"
                                          "tilewright_tuner\n");
  const fs::path tuner =
      folder.write("bin/tuner", "#!/bin/sh\ncat > /dev/null\ncat '" +
                                    (folder.path() / "answer.jsonl").string() + "'\n");
  for (const fs::path& file : {cmake, tuner}) {
    fs::permissions(file, fs::perms::owner_all, fs::perm_options::add);
  }
}

Ran measure(const Folder& folder, const std::string& options) {
  return run_command("cd '" + folder.path().string() +
                     "' && PATH=\"$PWD/bin:$PATH\" '" TILEWRIGHT_COMMAND "' sweep " +
                     std::string(kFamily) + " --isa avx2 --out sweeps " + options);
}

std::string answers() {
  tuner::Record record = tuner::test::sample_record();
  record.problem = {kFamily, 4096, 2048, 32, "f16", 4};
  record.regime = tuner::Regime::streamed;
  record.ran.kernel = kKernel;
  record.ratio = {};
  record.baseline = "";
  const std::string baseline = to_line(record);
  record.baseline = identity(record.ran);
  record.ran.kernel = "tw_matmul_clamp_f32_qsi8d32p4x4_qsi8c32p16x4_4x16_avx2_near_asm";
  record.ratio = {1.25, 1.2, 1.3, 9};
  return baseline + "\n" + to_line(record) + "\n";
}

TEST(SweepMeasure, BuildsTheBestAndRanksThem) {
  const Folder folder;
  write_tools(folder, answers());
  const Ran ran = measure(folder, "--measure 1 --budget 8");
  ASSERT_EQ(ran.status, 0) << ran.output;
  const fs::path own = folder.path() / "sweeps" / (std::string(kFamily) + "-b32-f16-avx2");
  EXPECT_NE(read(folder.path() / "words").find("-DTILEWRIGHT_GENERATED=" + own.string() + "/best"),
            std::string::npos);
  for (const char* kernel :  // what ships, and the model's best at 4 rows with every prefetch
       {kKernel, "tw_matmul_clamp_f32_qsi8d32p4x4_qsi8c32p16x4_4x16_avx2_near_asm",
        "tw_matmul_clamp_f32_qsi8d32p4x4_qsi8c32p16x4_4x16_avx2_far_asm",
        "tw_matmul_clamp_f32_qsi8d32p4x4_qsi8c32p16x4_4x16_avx2_asm"}) {
    EXPECT_TRUE(fs::exists(own / "best" / (std::string(kernel) + ".S"))) << kernel;
  }
  EXPECT_LT(std::distance(fs::directory_iterator(own / "best"), fs::directory_iterator()), 60);
  // The faster one first, with its lead; four numbers of rows, two regimes: eight jobs.
  const size_t winner = ran.output.find("  qsi8d32p4x4_qsi8c32p16x4_4x16_avx2_near_asm\n");
  const size_t other = ran.output.find("2x16_avx2_far_asm  (ships)", winner);
  EXPECT_NE(ran.output.find("4096, k 2048, 4 rows, weights from memory"), std::string::npos);
  EXPECT_NE(winner, std::string::npos) << ran.output;
  EXPECT_NE(other, std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("0.800", winner), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("records.jsonl: 16 new records"), std::string::npos) << ran.output;
}

TEST(SweepMeasure, SaysWhatFailed) {
  const Folder folder;
  write_tools(folder, "Segmentation fault\n");
  folder.write("fail", "");
  folder.write("other.yaml", "workload: o\nmatmuls: [{name: a, n: 64, k: 64}]\nm: [1]\n");
  Ran ran = measure(folder, "--measure 1 --workload other.yaml");
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.output.find("other.yaml: no matrix of " + std::string(kFamily)), std::string::npos)
      << ran.output;
  EXPECT_FALSE(fs::exists(folder.path() / "sweeps")) << "tiles were tried before";
  ran = measure(folder, "--measure 1");
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.output.find("no compiler\n"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("ended with status 3"), std::string::npos) << ran.output;
}

}  // namespace
}  // namespace tw::measure_test
