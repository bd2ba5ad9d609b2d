// Specs of depthwise convolutions, with the tables that ship.
#include <gtest/gtest.h>

#include <filesystem>

#include "folder.h"
#include "spec/spec_reader.h"

namespace tw::depthwise_reader_test {
namespace {

/// Its kernels follow from line 6.
const std::string head =
    "family: dwconv_clamp_f32_f32_f32p\n"
    "lhs: {format: f32}\n"
    "rhs: {format: f32, from: [kxn]}\n"
    "dst: f32\n"
    "kernels:\n";

class DepthwiseReader : public testing::Test {
 protected:
  std::vector<Variant> read(const std::string& text) {
    return read_spec(folder.write("s.yaml", text), isas);
  }
  /// Of one kernel, whose first key is at column 6.
  std::string error(const std::string& kernel, const std::string& before = head) {
    return folder.error([&] { read(before + "  - {" + kernel + "}\n"); });
  }

  Folder folder;
  IsaLibrary isas{std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates"};
};

TEST_F(DepthwiseReader, ListsMultiply) {
  const std::vector<Variant> all = read(
      head + "  - {isa: [avx2, neon], taps: [3x3, 1x5], stride: [1, 2], tile: {m: 4, n: 8}}\n");
  ASSERT_EQ(all.size(), 8U);
  EXPECT_EQ(all.front().name(), "dwconv_clamp_f32_f32_f32p8x1_3x3s1_4x8_avx2");
  EXPECT_EQ(all[3].name(), "dwconv_clamp_f32_f32_f32p8x1_1x5s2_4x8_avx2");
  EXPECT_EQ(all[3].window.height, 1);
  EXPECT_EQ(all[3].window.width, 5);
  EXPECT_TRUE(all.front().family.lhs_from.empty());
  EXPECT_EQ(all.back().rhs.panel, Length(4));
}

TEST_F(DepthwiseReader, Mistakes) {
  const std::string taps = ": lines x columns are, from 1x1 to 11x11";
  EXPECT_EQ(error("isa: avx2, taps: 3, stride: 1, tile: {m: 4, n: 8}"),
            "s.yaml:6:23: taps '3' are not possible" + taps);
  EXPECT_EQ(error("isa: avx2, taps: 3x12, stride: 1, tile: {m: 4, n: 8}"),
            "s.yaml:6:23: taps '3x12' are not possible" + taps);
  EXPECT_EQ(error("isa: avx2, taps: 3x3, stride: 9, tile: {m: 4, n: 8}"),
            "s.yaml:6:36: stride 9 is not possible: 1 to 4 are");
  EXPECT_EQ(error("isa: sve2, taps: 3x3, stride: 1, tile: {m: 4, n: 8}"),
            "s.yaml:6:11: depthwise convolutions want vectors of a fixed length");
  EXPECT_NE(error("isa: avx2, technique: fma, taps: 3x3, stride: 1, tile: {m: 4, n: 8}"), "");
}

TEST_F(DepthwiseReader, LayoutsOfKleidiai) {
  const std::vector<Variant> all =
      read(head +
           "  - {isa: [neon, sme2], layout: kleidiai, taps: 3x3, stride: 1, "
           "tile: {m: 4, n: 8svl}}\n");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all.front().name(), "dwconv_clamp_f32_f32_f32p4x1_3x3s1_4x8svl_neon_kleidiai");
  EXPECT_EQ(canonical(all.front().rhs), "rhs f32 n4 kr1 k%1 [bias:f32|data]");
  EXPECT_EQ(canonical(all.back().rhs), "rhs f32 n4svl kr1 k%1 [bias:f32|data]");
  EXPECT_EQ(error("isa: sme2, layout: own, taps: 3x3, stride: 1, tile: {m: 4, n: 8svl}"),
            "s.yaml:6:11: depthwise convolutions want vectors of a fixed length");
  EXPECT_EQ(
      error("isa: sme2, layout: theirs, taps: 3x3, stride: 1, tile: {m: 4, n: 8svl}").substr(0, 15),
      "s.yaml:6:25: un");
}

TEST_F(DepthwiseReader, LayoutsOfKleidiaiHaveNoCodes) {
  const std::string codes =
      "family: dwconv_clamp_qai8_qai8_qsi8cxp\nlhs: {format: qai8}\n"
      "rhs: {format: qsi8cx, from: [nxk]}\ndst: qai8\nkernels:\n";
  EXPECT_EQ(error("isa: neon, layout: kleidiai, taps: 3x3, stride: 1, tile: {m: 4, n: 4}", codes),
            "s.yaml:6:11: KleidiAI has no depthwise convolutions of codes: of floats");
}

TEST_F(DepthwiseReader, OtherTypes) {
  const std::string codes =
      "family: dwconv_clamp_f32_f32_bf16p\nlhs: {format: f32}\nrhs: {format: bf16, from: [nxk]}\n"
      "dst: f32\nkernels:\n";
  EXPECT_EQ(error("isa: avx2, taps: 3x3, stride: 1, tile: {m: 4, n: 8}", codes),
            "s.yaml:6:11: no depthwise convolution of f32 by bf16 makes f32: of f32 by f32 to f32, "
            "of f16 by f16 to f16, and of qai8 by qsi8cx to qai8 there are");
}

}  // namespace
}  // namespace tw::depthwise_reader_test
