#include "spec/workload_reader.h"

#include <gtest/gtest.h>

#include "folder.h"

namespace tw::workload_reader_test {
namespace {

std::string error(const std::string& text) {
  const Folder folder;
  const auto file = folder.write("w.yaml", text);
  return folder.error([&] { read_workload(file); });
}

/// The message for a matmul of these members.
std::string error_of(const std::string& members) {
  return error("workload: w\nmatmuls:\n  - {name: q, n: 8, k: 64, " + members + "}\nm: 1\n");
}

TEST(WorkloadReader, ReadsAWorkload) {
  const Folder folder;
  const Workload workload = read_workload(
      folder.write("w.yaml",
                   "workload: w\nabout: text\nmatmuls:\n  - {name: q, n: 8, k: 16, count: 3}\n"
                   "  - {name: v, n: 4, k: 16, regime: hot}\nm: [{m: 1, calls: 9}, 64]\n"));
  EXPECT_EQ(workload.name, "w");
  EXPECT_EQ(workload.about, "text");
  ASSERT_EQ(workload.matmuls.size(), 2U);
  EXPECT_EQ(workload.matmuls[0].name, "q");
  EXPECT_EQ(workload.matmuls[0].family, "matmul_clamp_f32_qai8dxp_qsi4cxp");
  EXPECT_EQ(workload.matmuls[0].n, 8);
  EXPECT_EQ(workload.matmuls[0].k, 16);
  EXPECT_EQ(workload.matmuls[0].count, 3);
  EXPECT_EQ(workload.matmuls[0].block, 0);
  EXPECT_EQ(workload.matmuls[0].scales, "");
  EXPECT_EQ(workload.matmuls[0].regime, Regime::streamed);
  EXPECT_EQ(workload.matmuls[1].count, 1);
  EXPECT_EQ(workload.matmuls[1].regime, Regime::hot);
  ASSERT_EQ(workload.rows.size(), 2U);
  EXPECT_EQ(workload.rows[0].m, 1);
  EXPECT_EQ(workload.rows[0].calls, 9);
  EXPECT_EQ(workload.rows[1].m, 64);
  EXPECT_EQ(workload.rows[1].calls, 1);
}

TEST(WorkloadReader, ReadsFamiliesAndBlocks) {
  const Folder folder;
  const Workload workload = read_workload(
      folder.write("w.yaml",
                   "workload: w\nfamily: matmul_clamp_f32_qsi8d32p_qsi4c32p\nmatmuls:\n"
                   "  - {name: a, n: 8, k: 64}\n"
                   "  - {name: b, n: 8, k: 64, block: 64, scales: bf16}\n"
                   "  - {name: c, family: matmul_clamp_f32_f32_f16p, n: 8, k: 1}\nm: 4\n"));
  ASSERT_EQ(workload.matmuls.size(), 3U);
  EXPECT_EQ(workload.matmuls[0].family, "matmul_clamp_f32_qsi8d32p_qsi4c32p");
  EXPECT_EQ(workload.matmuls[0].block, 32);
  EXPECT_EQ(workload.matmuls[0].scales, "f16");
  EXPECT_EQ(workload.matmuls[1].block, 64);
  EXPECT_EQ(workload.matmuls[1].scales, "bf16");
  EXPECT_EQ(workload.matmuls[2].family, "matmul_clamp_f32_f32_f16p");
  EXPECT_EQ(workload.matmuls[2].block, 0);
  EXPECT_EQ(workload.rows[0].m, 4);
}

// Blocks are the registry's, and what `tilewright workload` writes.
TEST(WorkloadReader, ReadsSuperBlocks) {
  const Folder folder;
  const Workload workload =
      read_workload(folder.write("w.yaml",
                                 "workload: w\nfamily: matmul_clamp_f32_qsi8d32p_qmi4k32p\n"
                                 "matmuls:\n  - {name: a, n: 8, k: 512}\n"
                                 "  - {name: b, n: 8, k: 256, block: 256, scales: f16}\nm: 4\n"));
  EXPECT_EQ(workload.matmuls[0].block, 256);
  EXPECT_EQ(workload.matmuls[1].block, 256);
  EXPECT_EQ(workload.matmuls[1].scales, "f16");
}

TEST(WorkloadReader, RefusesMistakes) {
  EXPECT_EQ(error("workload: w\nmatmuls: []\nm: 1\n"), "w.yaml:2:10: 'matmuls' is an empty list");
  EXPECT_EQ(error("workload: w\nmatmuls:\n  - {name: q, n: -8, k: 16}\nm: 1\n"),
            "w.yaml:3:18: 'n' must be a whole number above 0, found '-8'");
  EXPECT_EQ(error("workload: w\nmatmuls:\n  - {name: q, n: 8, k: 8}\n  - {name: q, n: 8, k: 8}\n"
                  "m: 1\n"),
            "w.yaml:4:5: matmul 'q' twice");
  EXPECT_EQ(error("workload: w\nmatmuls:\n  - {name: q, n: 8, k: 16}\n"),
            "w.yaml:1:1: key 'm' is missing");
}

TEST(WorkloadReader, RefusesMistakesInRows) {
  const auto rows = [](const std::string& m) {
    return error("workload: w\nmatmuls: [{name: q, n: 8, k: 8}]\nm: " + m + "\n");
  };
  EXPECT_EQ(rows("[1, 4, {m: 1, calls: 2}]"), "w.yaml:3:11: m 1 twice");
  EXPECT_EQ(rows("{m: 1}"), "w.yaml:3:4: key 'calls' is missing in 'm'");
  EXPECT_EQ(rows("{m: 1, calls: 0}"),
            "w.yaml:3:18: 'calls' must be a whole number above 0, found '0'");
  EXPECT_EQ(rows("{m: 1, cals: 2}"),
            "w.yaml:3:11: unknown key 'cals'; did you mean 'calls'? known keys: m, calls");
  EXPECT_EQ(rows("[]"), "w.yaml:3:4: 'm' is an empty list");
  EXPECT_EQ(rows("[{m: 1, m: 2, calls: 1}]"), "w.yaml:3:12: duplicate key 'm'; first at 3:6");
}

TEST(WorkloadReader, RefusesMistakesInFamiliesAndBlocks) {
  const std::string blocks = "family: matmul_clamp_f32_qsi8d32p_qsi4c32p, ";
  EXPECT_EQ(
      error_of("family: matmul_clamp_f32_qai8dxp_qsi4cx"),
      "w.yaml:3:36: unknown family name 'matmul_clamp_f32_qai8dxp_qsi4cx'; did you mean "
      "'matmul_clamp_f32_qai8dxp_qsi4cxp'? known family names: "
      "matmul_clamp_f32_qai8dxp_qsi2cxp, matmul_clamp_f32_qai8dxp_qsi4cxp, "
      "matmul_clamp_f32_qai8dxp_qsi8cxp, matmul_clamp_f32_qai8dxp_qai8cxp, "
      "matmul_clamp_f32_qai8dxp_qsi4c32p, matmul_clamp_f32_qai8dxp_qsi8c32p, "
      "matmul_clamp_f32_qai8dxp_qsi2c32p, "
      "matmul_clamp_f32_qsi8d32p_qsi4c32p, matmul_clamp_f32_qsi8d32p_qsi8c32p, "
      "matmul_clamp_f32_qsi8d32p_qsi2c32p, "
      "matmul_clamp_f32_qsi8d32p_qai2c32p, matmul_clamp_f32_qsi8d32p_qai4c32p, "
      "matmul_clamp_f32_qsi8d32p_qai8c32p, "
      "matmul_clamp_f32_qsi8d32p_qmi4c32p, matmul_clamp_f32_qsi8d32p_qmi4k32p, "
      "matmul_clamp_f32_qsi8d32p_qsi5c32p, matmul_clamp_f32_qsi8d32p_qmi5c32p, "
      "matmul_clamp_f32_qsi8d32p_qmi5k32p, matmul_clamp_f32_qsi8d32p_qsi6k16p, "
      "matmul_clamp_f32_qsi8d32p_qmi2k16p, matmul_clamp_f32_qsi8d32p_qsi3k16p, "
      "matmul_clamp_f32_qsi8d32p_qnl4c32p, matmul_clamp_f32_qsi8d32p_qnl4k32p, "
      "matmul_clamp_f32_qsi8d32p_qsi1c128p, "
      "matmul_clamp_f32_qsi8d32p_qi3s4k32p, matmul_clamp_f32_qsi8d32p_qi3x4k32p, "
      "matmul_clamp_f32_qsi8d32p_qi2x3k16p, matmul_clamp_f32_qsi8d32p_qi1x3k16p, "
      "matmul_clamp_f32_qsi8d32p_qmx4c32p, matmul_clamp_f32_qsi8d32p_qnv4k16p, "
      "matmul_clamp_f32_f32_qsi4cxp, matmul_clamp_f32_f32_qsi8cxp, "
      "matmul_clamp_f32_f32_qsi4c32p, matmul_clamp_f32_f32_qsi8c32p, "
      "matmul_clamp_f32_f32_qsi2c32p, "
      "matmul_clamp_f32_f32_qai2c32p, matmul_clamp_f32_f32_qai4c32p, "
      "matmul_clamp_f32_f32_qai8c32p, matmul_clamp_f32_f32_f8e4m3cxp, "
      "matmul_clamp_f32_f32_f8e5m2cxp, matmul_clamp_f32_f32_f8e4m3c128p, "
      "matmul_clamp_f32_f32_f32p, "
      "matmul_clamp_f32_f32_f16p, matmul_clamp_f32_f32_bf16p, "
      "matmul_clamp_f32_f16p_qsi4c32p, matmul_clamp_f32_f16p_f16p, matmul_clamp_f32_bf16p_bf16p");
  EXPECT_EQ(
      error("workload: w\nfamily: mine\nmatmuls: [{name: q, n: 8, k: 8}]\nm: 1\n").substr(0, 39),
      "w.yaml:2:9: unknown family name 'mine';");
  EXPECT_EQ(error_of("regime: cold"),
            "w.yaml:3:36: unknown regime 'cold'; known regimes: streamed, hot");
  EXPECT_EQ(error_of("block: 32"),
            "w.yaml:3:35: weights of family matmul_clamp_f32_qai8dxp_qsi4cxp have no blocks: leave "
            "'block' away");
  EXPECT_EQ(error_of("scales: f16"),
            "w.yaml:3:36: weights of family matmul_clamp_f32_qai8dxp_qsi4cxp have no blocks: leave "
            "'scales' away");
  EXPECT_EQ(
      error_of(blocks + "block: 48"),
      "w.yaml:3:79: blocks of 48 are not possible: of 16, 32, or of a multiple of 64 up to 4096, "
      "they are");
  EXPECT_EQ(
      error_of(blocks + "block: 4294967328"),
      "w.yaml:3:79: blocks of 4294967328 are not possible: of 16, 32, or of a multiple of 64 up "
      "to 4096, they are");
  EXPECT_EQ(error_of(blocks + "scales: i8"),
            "w.yaml:3:80: unknown scale type 'i8'; known scale types: f16, bf16, f32, e8m0");
  const std::string super = "family: matmul_clamp_f32_qsi8d32p_qmi4k32p";
  EXPECT_EQ(error_of(super + ", block: 32"),
            "w.yaml:3:79: blocks of 32 are not possible: those of qmi4k32 are of 256");
  EXPECT_EQ(error_of(super), "w.yaml:3:24: 'k' is 64: multiples of the block, 256, are legal");
  EXPECT_EQ(error_of(blocks + "block: 128"),
            "w.yaml:3:24: 'k' is 64: multiples of the block, 128, are legal");
}

}  // namespace
}  // namespace tw::workload_reader_test
