// What specs say of their families: formats, sums, outputs.
#include "spec_reader_test.h"

namespace tw {
namespace {

TEST_F(SpecReader, RefusesAWrongFamily) {
  EXPECT_EQ(error("family: matmul_clamp_f32_qai8dxp_qsi8cxp\n" + head.substr(head.find('\n') + 1) +
                  "  - {}\n"),
            "s.yaml:1:9: family 'matmul_clamp_f32_qai8dxp_qsi8cxp' disagrees with its formats, "
            "which make 'matmul_clamp_f32_qai8dxp_qsi4cxp'");
  EXPECT_EQ(
      error("family: f\nlhs: {format: qai8d, from: f32}\nrhs: {format: f32}\ndst: f32\nkernels: "
            "[]\n"),
      "s.yaml:2:15: unknown format 'qai8d'; did you mean 'qai8dx'? known formats: qai8dx, qai8, "
      "qsi8d32, qsi2cx, qsu2cx, qsi4cx, qsi8cx, qai8cx, qsi4c32, qsi8c32, qsi2c32, qai2c32, "
      "qai4c32, qai8c32, qmi4c32, "
      "qmi4k32, "
      "qsi5c32, qmi5c32, qmi5k32, qsi6k16, qsi8k16, qmi2k16, qsi3k16, qnl4c32, qnl4k32, qsi1c128, "
      "qi3s4k32, "
      "qi3x4k32, qi2x3k16, qi1x3k16, qmx4c32, "
      "qnv4k16, f8e4m3cx, f8e5m2cx, f8e4m3c128, f32, f16, bf16");
  EXPECT_EQ(error("family: f\nlhs: {format: qai8dx, from: f32}\nrhs: {format: qsi4cx, from: [nxk, "
                  "kx]}\ndst: f32\n"),
            "s.yaml:3:35: unknown source 'kx'; did you mean 'kxn'? known sources: nxk, kxn");
  EXPECT_EQ(
      error("family: f\nlhs: {format: qai8dx, from: f8}\nrhs: {format: qsi4cx, from: nxk}\n"),
      "s.yaml:2:29: unknown source 'f8'; did you mean 's8'? known sources: f16, bf16, f32, s8");
  EXPECT_EQ(  // codes of a whole tensor have one scale
      error("family: f\nlhs: {format: qai8dx, from: s8}\nrhs: {format: qsi4c32, from: nxk}\n"),
      "s.yaml:2:29: unknown source 's8'; known sources: f16, bf16, f32");
  EXPECT_EQ(error("family: f\nlhs: {format: qai8dx, from: [f16, f32, f16]}\nrhs: {format: qsi4cx, "
                  "from: nxk}\n"),
            "s.yaml:2:40: 'f16' stands twice in the list");
  EXPECT_EQ(error("family: f\nlhs: {format: qai8dx, from: f32}\nrhs: {format: qsi4c32, from: "
                  "kxn}\n"),
            "s.yaml:3:30: unknown source 'kxn'; known sources: nxk, q4_0");
  EXPECT_EQ(error("family: f\nlhs: {format: qai8dx, from: f32}\nrhs: {format: qsi4c32, from: "
                  "q4_1}\n"),
            "s.yaml:3:30: unknown source 'q4_1'; did you mean 'q4_0'? known sources: nxk, q4_0");
  EXPECT_EQ(
      error("family: f\nlhs: {format: f32}\nrhs: {format: f32, from: q4}\n"),
      "s.yaml:3:26: unknown source 'q4'; known sources: nxk, kxn, q4_0, q8_0, nxk_bf16, q4_1");
  EXPECT_EQ(error("family: f\nlhs: {format: qai8dx, from: f32}\nrhs: {format: qsi4cx, from: "
                  "nxk}\ndst: f64\n"),
            "s.yaml:4:6: unknown dst 'f64'; known dsts: f16, bf16, f32, qai8, i32");
  EXPECT_EQ(error("family: f\nlhs: {format: qai8dx}\n"), "s.yaml:1:1: key 'rhs' is missing");
  EXPECT_EQ(error("familiy: f\n"),
            "s.yaml:1:1: unknown key 'familiy'; did you mean 'family'? known keys: family, lhs, "
            "rhs, dst, accumulate, sums, kernels");
}

TEST_F(SpecReader, FamiliesShareTheirTiles) {
  const auto with = [](const std::string& families, const std::string& formats,
                       const std::string& from) {
    return "family: " + families +
           "\nlhs: {format: qai8dx, from: [f32]}\nrhs: {format: " + formats + ", from: " + from +
           "}\ndst: f32\nkernels:\n" +
           "  - {isa: matrix, technique: mmla, tile: {m: 2, n: 8}, dst: [f16, f32]}\n";
  };
  const std::string both = "[matmul_clamp_f32_qai8dxp_qsi4cxp, matmul_clamp_f32_qai8dxp_qsi8cxp]";
  const auto variants = read(with(both, "[qsi4cx, qsi8cx]", "[nxk, kxn]"));
  ASSERT_EQ(variants.size(), 4U);
  EXPECT_EQ(variants[0].family.name, "matmul_clamp_f32_qai8dxp_qsi4cxp");
  EXPECT_EQ(variants[1].family.name, "matmul_clamp_f16_qai8dxp_qsi4cxp");
  EXPECT_EQ(variants[2].family.name, "matmul_clamp_f32_qai8dxp_qsi8cxp");
  EXPECT_EQ(variants[3].family.name, "matmul_clamp_f16_qai8dxp_qsi8cxp");
  EXPECT_EQ(variants[2].family.rhs->name, "qsi8cx");
  EXPECT_EQ(variants[2].family.rhs_from, (std::vector<std::string>{"nxk", "kxn"}));
  EXPECT_EQ(variants[2].where.line, 6);
  EXPECT_EQ(error(with(both, "qsi4cx", "nxk")),
            "s.yaml:3:15: 1 formats are not possible with 2 families: as many are");
  EXPECT_EQ(error(with(both, "[qsi8cx, qsi4cx]", "nxk")),
            "s.yaml:1:10: family 'matmul_clamp_f32_qai8dxp_qsi4cxp' disagrees with its formats, "
            "which make 'matmul_clamp_f32_qai8dxp_qsi8cxp'");
  EXPECT_EQ(error(with("[a, a]", "[qsi4cx, qsi8cx]", "nxk")),
            "s.yaml:1:13: 'a' stands twice in the list");
}

TEST_F(SpecReader, EntriesMayBeOfSomeWeights) {
  const std::string begin =
      "family: [matmul_clamp_f32_qai8dxp_qsi4cxp, matmul_clamp_f32_qai8dxp_qsi8cxp]\n"
      "lhs: {format: qai8dx, from: [f32]}\nrhs: {format: [qsi4cx, qsi8cx], from: nxk}\n"
      "dst: f32\nkernels:\n  - {isa: matrix, technique: mmla, tile: {m: 2, n: 8}}\n";
  const auto of = [&](const std::string& weights) {
    return begin + "  - {isa: matrix, technique: mmla, tile: {m: 4, n: 8}, weights: " + weights +
           "}\n";
  };
  const auto variants = read(of("qsi8cx"));
  ASSERT_EQ(variants.size(), 3U);
  EXPECT_EQ(variants[0].family.rhs->name, "qsi4cx");
  EXPECT_EQ(variants[1].family.rhs->name, "qsi8cx");
  EXPECT_EQ(variants[2].family.rhs->name, "qsi8cx");
  EXPECT_EQ(variants[2].tile.m, Length{4});
  EXPECT_EQ(read(of("[qsi4cx, qsi8cx]")).size(), 4U);
  EXPECT_EQ(error(of("qsi2cx")),
            "s.yaml:7:65: unknown format 'qsi2cx'; did you mean 'qsi4cx'? known formats: qsi4cx, "
            "qsi8cx");
}

TEST_F(SpecReader, SourcesGoToTheFormatsThatHaveThem) {
  const std::string blocks = "matmul_clamp_f32_qsi8d32p_";
  const std::string text = "family: [" + blocks + "qmi5c32p, " + blocks +
                           "qsi5c32p]\nlhs: {format: qsi8d32, from: [f32]}\n"
                           "rhs: {format: [qmi5c32, qsi5c32], from: [q5_0, q5_1]}\ndst: f32\n"
                           "kernels:\n  - {isa: wide, technique: dot, tile: {m: 1, n: 16}}\n";
  const auto variants = read(text);
  ASSERT_EQ(variants.size(), 2U);
  EXPECT_EQ(variants[0].family.rhs_from, std::vector<std::string>{"q5_1"});
  EXPECT_EQ(variants[1].family.rhs_from, std::vector<std::string>{"q5_0"});
}

TEST_F(SpecReader, FloatRowsAreNotPacked) {
  const std::string rest = "rhs: {format: f32, from: nxk}\ndst: f32\nkernels:\n";
  const std::string floats = "family: matmul_clamp_f32_f32_f32p\nlhs: {format: f32}\n" + rest;
  EXPECT_EQ(read(floats + "  - {isa: wide, technique: fma, tile: {m: 4, n: 32}}\n").at(0).name(),
            "matmul_clamp_f32_f32_f32p16x1_4x32_wide");
  const auto others =
      read("family: matmul_clamp_f32_f32_f32p\nlhs: {format: f32, from: [f32, f16]}\n" + rest +
           "  - {isa: wide, technique: fma, tile: {m: 4, n: 32}}\n");
  EXPECT_EQ(others.at(0).family.lhs_from, (std::vector{ElementType::f32, ElementType::f16}));
  EXPECT_EQ(error("family: matmul_clamp_f32_f32p_f32p\nlhs: {format: f32}\n" + rest + "  - {}\n"),
            "s.yaml:1:9: family 'matmul_clamp_f32_f32p_f32p' disagrees with its formats, which "
            "make 'matmul_clamp_f32_f32_f32p'");
  EXPECT_EQ(error(floats + "  - {isa: wide, technique: dot, tile: {m: 1, n: 16}}\n"),
            "s.yaml:6:28: technique dot does not multiply f32 with f32; legal here: fma, outer");
  EXPECT_EQ(error(floats + "  - {isa: wide, technique: fma, panels: {lhs: 4}, tile: {m: 4, n: 16}}"
                           "\n"),
            "s.yaml:6:47: lhs panel 4 does not fit fma of f32: 1 does");
  const std::string bytes =
      "family: matmul_clamp_f32_f32_qsi8cxp\nlhs: {format: f32}\n"
      "rhs: {format: qsi8cx, from: nxk}\ndst: f32\nkernels:\n"
      "  - {isa: wide, technique: fma, tile: {m: 1, n: 16}, knobs: {unroll_k: ";
  EXPECT_EQ(error(bytes + "6}}\n"),
            "s.yaml:6:72: unroll_k 6 is not a multiple of 4, a group of the weights");
  EXPECT_EQ(read(bytes + "8}}\n").at(0).knobs.unroll_k, 8);
  EXPECT_EQ(error("family: matmul_clamp_f32_f32_qsi4cxp\nlhs: {format: f32}\n"
                  "rhs: {format: qsi4cx, from: nxk}\ndst: f32\nkernels:\n"
                  "  - {isa: wide, technique: outer, tile: {m: 1, n: 16}}\n"),
            "s.yaml:6:28: technique outer does not multiply f32 with qsi4cx; legal here: fma");
  EXPECT_EQ(error("family: matmul_clamp_f32_f32_f16p\nlhs: {format: f32}\n"
                  "rhs: {format: f16, from: nxk}\ndst: f32\nkernels:\n"
                  "  - {isa: wide, technique: fma, tile: {m: 1, n: 16}}\n"),
            "s.yaml:6:28: format f16 is not possible on wide: it has no instruction that makes "
            "f32 of it");
}

TEST_F(SpecReader, SumsOfHalvesAreOfProductsOfHalves) {
  const auto with = [](const std::string& lhs, const std::string& sums) {
    return "family: f\nlhs: {format: " + lhs +
           "}\nrhs: {format: f16, from: nxk}\ndst: f16\nsums: " + sums + "\nkernels: [{}]\n";
  };
  EXPECT_EQ(error(with("f32", "f16")),
            "s.yaml:5:7: sums of f16 are not possible with f32 and f16: with f16 and f16 they are");
  EXPECT_EQ(error(with("f16", "bf16")),
            "s.yaml:5:7: unknown sum type 'bf16'; did you mean 'f16'? known sum types: f16, f32");
  EXPECT_EQ(error(with("f16", "f16")),
            "s.yaml:1:9: family 'f' disagrees with its formats, which make "
            "'matmul_clamp_f16_f16_f16p'");
  EXPECT_EQ(error(with("f16", "f32")),
            "s.yaml:1:9: family 'f' disagrees with its formats, which make "
            "'matmul_clamp_f16_f16p_f16p'");
}

TEST_F(SpecReader, CodesAreMultipliedAsTheyAre) {
  const std::string rest = "rhs: {format: qsi8cx, from: nxk}\ndst: qai8\nkernels:\n";
  const std::string family = "family: matmul_clamp_qai8_qai8p_qsi8cxp\n";
  const std::string codes = family + "lhs: {format: qai8}\n" + rest;
  const std::string entry = "  - {isa: wide, technique: dot, tile: {m: 1, n: 16}";
  EXPECT_EQ(error(family + "lhs: {format: qai8, from: f32}\n" + rest + entry + "}\n"),
            "s.yaml:2:21: unknown key 'from'; known keys: format");
  EXPECT_EQ(error(codes + entry + ", dst: f32}\n"),
            "s.yaml:6:59: dst f32 is not possible with qai8: qai8 is");
  EXPECT_EQ(error(codes + entry + "}\n"),
            "s.yaml:6:11: dst qai8 is not possible on wide: it has no instructions that make it of "
            "f32");
  EXPECT_EQ(error(head + "  - {isa: wide, technique: dot, dst: qai8, tile: {m: 1, n: 16}}\n"),
            "s.yaml:6:38: dst qai8 is not possible with qai8dx: with qai8 it is");
}

TEST_F(SpecReader, SumsAreOutputsOfCodesWithZeroPointsOfRows) {
  const std::string of_sums =
      "family: matmul_i32_qai8dxp_qsi4cxp\nlhs: {format: qai8dx, from: s8}\n"
      "rhs: {format: qsi4cx, from: nxk}\ndst: i32\nkernels:\n";
  const std::string entry = "  - {isa: wide, technique: dot, tile: {m: 1, n: 16}";
  const auto variants = read(of_sums + entry + "}\n");
  ASSERT_EQ(variants.size(), 1U);
  EXPECT_EQ(variants[0].family.dst, ElementType::i32);
  EXPECT_EQ(variants[0].name().substr(0, 19), "matmul_i32_qai8dxp1");
  EXPECT_EQ(error(of_sums + entry + ", accumulate: true}\n"),
            "s.yaml:6:66: accumulate is not possible with dst i32");
  EXPECT_EQ(error("family: matmul_clamp_qai8_qai8p_qsi4cxp\nlhs: {format: qai8}\n"
                  "rhs: {format: qsi4cx, from: nxk}\ndst: qai8\nkernels:\n" +
                  entry + ", dst: i32}\n"),
            "s.yaml:6:59: dst i32 is not possible with qai8: with qai8dx it is");
}

// Rows of the registry stand by family.
TEST_F(SpecReader, EntriesSayWhatTheirOutputsAre) {
  const std::string matrix_kernel = "  - {isa: matrix, technique: mmla, tile: {m: 2, n: 8}";
  const auto variants = read(head + matrix_kernel + ", dst: [f16, f32]}\n" +
                             "  - {isa: matrix, technique: mmla, tile: {m: 4, n: 8}}\n");
  ASSERT_EQ(variants.size(), 3U);
  EXPECT_EQ(variants[0].family.name, "matmul_clamp_f32_qai8dxp_qsi4cxp");
  EXPECT_EQ(variants[1].family.name, "matmul_clamp_f32_qai8dxp_qsi4cxp");
  EXPECT_EQ(variants[2].family.name, "matmul_clamp_f16_qai8dxp_qsi4cxp");
  EXPECT_EQ(variants[2].family.dst, ElementType::f16);
  EXPECT_EQ(variants[2].rhs.panel, variants[0].rhs.panel);
  EXPECT_EQ(variants[2].name().find("matmul_clamp_f16_qai8dxp"), 0U) << variants[2].name();
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, dst: f16, tile: {m: 1, n: 16}"),
            "s.yaml:6:38: dst f16 is not possible on wide: it has no instruction that makes it of "
            "f32");
  EXPECT_EQ(kernel_error("isa: matrix, technique: mmla, dst: bf16, tile: {m: 2, n: 8}"),
            "s.yaml:6:41: dst bf16 is not possible on matrix: it has no instruction that makes it "
            "of f32");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, dst: [f32, f32], tile: {m: 1, n: 16}"),
            "s.yaml:6:44: 'f32' stands twice in the list");
  const std::string half_head =
      "family: matmul_clamp_f16_qai8dxp_qsi4cxp\nlhs: {format: qai8dx, from: [f32]}\n"
      "rhs: {format: qsi4cx, from: [nxk, kxn]}\ndst: f16\nkernels:\n";
  EXPECT_EQ(read(half_head + matrix_kernel + "}\n").at(0).family.dst, ElementType::f16);
  EXPECT_EQ(error(half_head + "  - {isa: wide, technique: dot, tile: {m: 1, n: 16}}\n"),
            "s.yaml:6:11: dst f16 is not possible on wide: it has no instruction that makes it of "
            "f32");
}

TEST_F(SpecReader, EntriesSayWhetherOutputsAreAddedTo) {
  const std::string kernel = "  - {isa: wide, technique: dot, tile: {m: 1, n: 16}";
  const auto variants = read(head + kernel + ", accumulate: [true, false]}\n");
  ASSERT_EQ(variants.size(), 2U);
  EXPECT_FALSE(variants[0].family.accumulate);
  EXPECT_TRUE(variants[1].family.accumulate);
  EXPECT_EQ(variants[1].family.name, "matmul_acc_clamp_f32_qai8dxp_qsi4cxp");
  EXPECT_EQ(variants[1].name(), "matmul_acc_clamp_f32_qai8dxp1x4_qsi4cxp16x4_1x16_wide");
  EXPECT_EQ(
      kernel_error("isa: matrix, technique: mmla, dst: f16, accumulate: [false, true], "
                   "tile: {m: 2, n: 8}"),
      "s.yaml:6:66: accumulate is not possible with dst f16 on matrix: it has no instructions "
      "that make f32 of that");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, accumulate: yes, tile: {m: 1, n: 16}"),
            "s.yaml:6:45: 'accumulate' must be true or false, found 'yes'");
  const std::string family_head =
      "family: matmul_acc_clamp_f32_qai8dxp_qsi4cxp\nlhs: {format: qai8dx, from: [f32]}\n"
      "rhs: {format: qsi4cx, from: [nxk, kxn]}\ndst: f32\naccumulate: true\nkernels:\n";
  EXPECT_TRUE(read(family_head + kernel + "}\n").at(0).family.accumulate);
}

}  // namespace
}  // namespace tw
