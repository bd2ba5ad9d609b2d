// What records say goes into the shipped tree, and its plans do it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "ship/one_of_each.h"
#include "ship/ship_fixture.h"
#include "tuner/record_file.h"

namespace tw {
namespace {

namespace fs = std::filesystem;
using tuner::Record;

constexpr const char* kFamily = "matmul_clamp_f32_qai8dxp_qsi4cxp";
const std::string kWide = "tw_matmul_clamp_f32_qai8dxp4x4_qsi4cxp16x4_4x16_avx2_near_asm";
const std::string kOneRow = "tw_matmul_clamp_f32_qai8dxp1x4_qsi4cxp16x4_1x16_avx2_near_asm";
const std::string kArm = "tw_matmul_clamp_f32_qai8dxp8x8_qsi4cxp8x8_8x8_neon_i8mm_asm";

const std::string kQ5K = "tw_matmul_clamp_f32_qsi8d32p2x4_qmi5k32p8x4_2x8_avx2_far_asm";
const std::string kFloats = "tw_matmul_clamp_f32_f32_qai4c32p16x4_3x16_avx2_fma_far_asm";

/// As a tuning of the specs as they are now would have them.
uint64_t hash_of(const std::string& kernel) {
  static const auto hashes = content_hashes({kWide, kOneRow, kArm, kQ5K, kFloats});
  return hashes.at(kernel);
}

uint64_t layout_of(const std::string& kernel) {
  IsaLibrary isas(fs::path(TILEWRIGHT_SOURCE_DIR) / "templates");
  for (const Variant& variant : read_variants(shipped_specs(), isas)) {
    const std::vector<std::string> rows = row_names(variant);
    if (std::count(rows.begin(), rows.end(), kernel) != 0) return id(variant.rhs);
  }
  return 0;
}

Record baseline(const std::string& kernel, size_t m) {
  Record r;
  r.time = "2026-11-22T04:05:06Z";
  r.tool = "test";
  r.core.name = "a core";
  r.core.family = 25;
  r.core.model = 97;
  r.core.mhz = 4000;
  r.core.l2 = 1 << 20;
  r.core.features = "avx2 fma f16c bmi2";
  r.problem = {kFamily, 512, 256, 0, "", m};
  r.measured_n = 512;
  r.ran = {kernel, hash_of(kernel), "avx2", layout_of(kernel), "", 64, m, "rows", 8192, ""};
  r.ns = {1000, 990, 980, {}};
  return r;
}

Record faster(const std::string& kernel, const Record& than, double ratio) {
  Record r = baseline(kernel, than.problem.m);
  r.core = than.core;
  r.ran.n_block = 128;
  r.ran.order = "columns";
  r.ran.prefetch = 0;
  r.ratio = {ratio, ratio * 0.99, ratio * 1.01, 20};
  r.baseline = identity(than.ran);
  return r;
}

class Choices : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("w.yaml", "workload: w\nmatmuls: [{name: a, n: 512, k: 256}]\nm: [4, 64]\n");
  }

  Ran ship(const std::vector<Record>& records) {
    fs::remove(folder_.path() / "r.jsonl");
    for (const Record& r : records) append_record((folder_.path() / "r.jsonl").string(), r);
    return run(folder_, "tilewright ship --records r.jsonl --workload w.yaml --out out");
  }

  /// The test of a tree with these records says so.
  void expect(const std::vector<Record>& records, const std::vector<std::string>& lines) {
    const Ran shipped = ship(records);
    ASSERT_EQ(shipped.status, 0) << shipped.output;
    const Ran ran = build(folder_, quickly + "-DCMAKE_C_COMPILER='" TILEWRIGHT_C_COMPILER "'");
    EXPECT_EQ(ran.status, 0) << ran.output;
    for (const std::string& line : lines) {
      EXPECT_NE(ran.output.find(line), std::string::npos) << line << "\n" << ran.output;
    }
  }

  Folder folder_;
};

TEST_F(Choices, ThePlansOfAShippedTreeDoWhatWasMeasuredBest) {
  std::vector<Record> records = {baseline(kWide, 4), baseline(kWide, 64)};
  Record arm = baseline(kArm, 4);
  arm.core = {"Cortex-X3", 0x411fd4e0, 0, 0, 0, 2900, 1024, 0, 0, 0, "neon dotprod i8mm", 0, 0};
  arm.ran.isa = "neon_i8mm";
  records.push_back(arm);
  expect(records, {"choice  m 4: 64 x 4, rows first, prefetch 8192, " + kWide + "\n",
                   "choice  m 8: 64 x 8, rows first, prefetch 8192, " + kWide + "\n",
                   "n 512, k 256, 1 threads: not built\n"});
  // One record more flips one choice.
  records.push_back(faster(kOneRow, records[0], 1.5));
  records.push_back(faster(kOneRow, records[1], 0.5));
  expect(records, {"choice  m 4: 128 x 4, columns first, prefetch 0, " + kOneRow + "\n",
                   "choice  m 8: 64 x 8, rows first, prefetch 8192, " + kWide + "\n"});
}

TEST_F(Choices, TheShippedTestNoticesARuntimeThatForgetsThem) {
  ASSERT_EQ(ship({baseline(kWide, 4), baseline(kWide, 64)}).status, 0);
  const fs::path file = folder_.path() / "out/runtime/choices.c";
  std::string text = read(file);
  const std::string right = "if (!exact) ";
  const size_t at = text.find(right);
  ASSERT_NE(at, std::string::npos);
  std::ofstream(file) << text.erase(at, right.size());
  const Ran ran = build(folder_, quickly + "-DCMAKE_C_FLAGS=-Wno-unused-parameter");
  EXPECT_NE(ran.status, 0);
  EXPECT_NE(ran.output.find("WRONG choice"), std::string::npos) << ran.output;
}

/// Of another family, whose blocks have scales of that type.
Record decoded(const std::string& kernel, const char* family, size_t block, const char* scales) {
  Record r = baseline(kernel, 64);
  r.problem = {family, 512, 256, block, scales, 64};
  r.ran.decodes = "yes";
  return r;
}

// What decodes them, and what multiplies by what that makes: bytes for the same rows, or floats.
TEST_F(Choices, WhatDecodesWeightsShipsWhereThatHasWon) {
  const struct {
    Record record;
    std::vector<const char*> files;
  } cases[] = {{decoded(kQ5K, "matmul_clamp_f32_qsi8d32p_qmi5k32p", 256, "f16"),
                {"tw_decode_s8_qmi5k32p8x4_1x8_avx2_near_asm.S",
                 "tw_matmul_decoded_clamp_f32_qsi8d32p2x4_qmi5k32p8x4_4x8_avx2_asm.S"}},
               {decoded(kFloats, "matmul_clamp_f32_f32_qai4c32p", 32, "f16"),
                {"tw_decode_f32_qai4c32p16x4_1x16_avx2_fma_near_asm.S",
                 "tw_matmul_clamp_f32_f32_f32p16x1_6x16_avx2_u4_far_asm.S",
                 "tw_matmul_acc_clamp_f32_f32_f32p16x1_6x16_avx2_u4_far_asm.S"}}};
  for (const auto& [record, files] : cases) {
    folder_.write("w.yaml", "workload: w\nfamily: " + record.problem.family +
                                "\nmatmuls: [{name: a, n: 512, k: 256}]\nm: [64]\n");
    for (const bool decodes : {true, false}) {
      fs::remove_all(folder_.path() / "out");
      Record its = record;
      its.ran.decodes = decodes ? "yes" : "no";
      const Ran ran = ship({its});
      ASSERT_EQ(ran.status, 0) << ran.output;
      for (const char* file : files) {
        EXPECT_EQ(fs::exists(folder_.path() / "out/kernels" / file), decodes) << file;
      }
      EXPECT_NE(read(folder_.path() / "out/kernels/choices.c")
                    .find(decodes ? "TW_DECODE_ALWAYS" : "TW_DECODE_NEVER"),
                std::string::npos);
    }
  }
}

// Every number of threads that was measured has its own choice.
TEST_F(Choices, ByThreads) {
  std::vector<Record> records = {baseline(kWide, 4), baseline(kWide, 4)};
  records[1].threads = 2;
  records.push_back(faster(kOneRow, records[1], 1.5));
  records.back().threads = 2;
  ASSERT_EQ(ship(records).status, 0);
  const std::string choices = read(folder_.path() / "out/kernels/choices.c");
  const size_t one = choices.find(".threads = 1"), two = choices.find(".threads = 2");
  EXPECT_LT(one, two);
  EXPECT_NE(two, std::string::npos) << choices;
  EXPECT_NE(choices.find("settings_0[] = {\n    {4, 4, \"" + kWide), std::string::npos) << choices;
  EXPECT_NE(choices.find("settings_1[] = {\n    {4, 4, \"" + kOneRow), std::string::npos)
      << choices;
}

TEST_F(Choices, RecordsOfKernelsThatAreNoMoreSayNothing) {
  std::vector<Record> records = {baseline(kWide, 4)};
  Record old = faster(kOneRow, records[0], 1.5);
  old.ran.hash ^= 1;
  Record gone = faster(kOneRow, records[0], 3);
  gone.ran.kernel = "tw_matmul_of_yesterday";
  records.insert(records.end(), {old, gone});
  Ran ran = ship(records);
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_NE(
      ran.output.find("2 records of kernels that have changed or that no spec makes left out"),
      std::string::npos)
      << ran.output;
  EXPECT_EQ(read(folder_.path() / "out/kernels/choices.c").find(kOneRow), std::string::npos);
  ran = ship({old, gone});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.output,
            "r.jsonl: no record of a matrix of w.yaml (2 records of kernels that have changed or "
            "that no spec makes left out); `tilewright tune --workload w.yaml --records r.jsonl` "
            "makes some\n");
}

// A workload alone is shipped by the records that come with the project.
TEST_F(Choices, OfRecordsThatShip) {
  folder_.write("shipped/a.jsonl", to_line(baseline(kWide, 4)) + "\n");
  const std::string command = "'" TILEWRIGHT_COMMAND "' ship --workload w.yaml --out out";
  Ran ran = run(folder_, "TILEWRIGHT_SHIPPED_RECORDS=shipped " + command);
  EXPECT_EQ(ran.status, 0) << ran.output;
  const std::string choices = read(folder_.path() / "out/kernels/choices.c");
  EXPECT_NE(choices.find(kWide), std::string::npos) << choices;
  ran = run(folder_, "TILEWRIGHT_SHIPPED_RECORDS=nowhere " + command);
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.output,
            "the records that ship: no record of a matrix of w.yaml; `tilewright tune --workload "
            "w.yaml --records FILE` makes some\n");
}

TEST_F(Choices, ATreeOfNamedKernelsHasNone) {
  ASSERT_EQ(run(folder_, "tilewright ship --kernel " + kOneRow + " --out out").status, 0);
  const std::string choices = read(folder_.path() / "out/kernels/choices.c");
  EXPECT_NE(choices.find("tw_generated_choice_count = 0;"), std::string::npos) << choices;
}

}  // namespace
}  // namespace tw
