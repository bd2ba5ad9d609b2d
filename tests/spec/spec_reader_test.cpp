#include "spec/spec_reader.h"

#include <gtest/gtest.h>

#include "folder.h"

namespace tw::spec_reader_test {
namespace {

// Two ISAs: one that dots unsigned with signed bytes in vectors of 16 lanes, one that multiplies
// small matrices and cannot be printed as assembly.
const std::string wide =
    "isa: wide\nvector_bytes: 64\n"
    "registers: {v: {kind: vector, views: {v: \"v{0..31}\"}}, r: {kind: scalar, views: {r: "
    "\"r{0..15}\"}}}\n"
    "convention: plain\n"
    "rows:\n"
    "  - {means: \"d = dot4_u8s8(c, a, b)\", tied: {d: c}, c: \"dot({c}, {a}, {b})\", asm: \"dot "
    "{d}, {a}, {b}\", class: dot}\n"
    "  - {means: \"d = fma(a, b, c)\", tied: {d: c}, c: \"fma({a}, {b}, {c})\"}\n"
    "  - {means: \"d = shl.32(a, #i)\", c: \"shl({a}, {i})\"}\n";
const std::string matrix =
    "isa: matrix\nvector_bytes: 16\nusual_technique: mmla\n"
    "rows:\n"
    "  - {means: \"d = mmla_s8s8(c, a, b)\", tied: {d: c}, c: \"mmla({c}, {a}, {b})\"}\n"
    "  - {means: \"d = shl.8(a, #i)\", c: \"shl({a}, {i})\"}\n"
    "  - {means: \"d = cvt_f32_f16(a)\", c: \"half({a})\"}\n";

/// The first five lines of a spec; its kernels follow from line 6.
const std::string head =
    "family: matmul_clamp_f32_qai8dxp_qsi4cxp\n"
    "lhs: {format: qai8dx, from: [f32]}\n"
    "rhs: {format: qsi4cx, from: [nxk, kxn]}\n"
    "dst: f32\n"
    "kernels:\n";

class SpecReader : public testing::Test {
 protected:
  void SetUp() override {
    folder.write("isa/wide.yaml", wide);
    folder.write("isa/matrix.yaml", matrix);
    folder.write("abi/plain.yaml", "args_register: r0\nleave: ret\n");
    folder.write("core/big.yaml", "core: big\nwidth: 4\nports: [p]\n");
  }
  std::vector<Variant> read(const std::string& text) {
    return read_spec(folder.write("s.yaml", text), isas);
  }
  std::string error(const std::string& text) {
    return folder.error([&] { read(text); });
  }
  /// The error of one kernel, at line 6; its first key is at column 6.
  std::string kernel_error(const std::string& kernel) {
    return error(head + "  - {" + kernel + "}\n");
  }

  Folder folder;
  IsaLibrary isas{folder.path()};
};

TEST_F(SpecReader, ListsMultiply) {
  const auto variants =
      read(head +
           "  - {isa: wide, technique: dot, tile: {m: [1, 4], n: [16, 32]}, knobs: "
           "{unroll_k: [32, 64], prefetch: far, core: big}}\n");
  ASSERT_EQ(variants.size(), 8U);
  const Variant& v = variants[3];
  EXPECT_EQ(v.tile.m, Length(1));
  EXPECT_EQ(v.tile.n, Length(32));
  EXPECT_EQ(v.knobs.unroll_k, 64);
  EXPECT_EQ(v.knobs.accumulators, 1);
  EXPECT_EQ(v.knobs.prefetch, Prefetch::far);
  EXPECT_EQ(v.knobs.core, "big");
  EXPECT_EQ(v.technique, Technique::dot);
  EXPECT_EQ(v.isa, &isas.get("wide"));
  EXPECT_EQ(v.family.lhs, find_format("qai8dx"));
  EXPECT_EQ(v.family.lhs_from, std::vector{ElementType::f32});
  EXPECT_EQ(v.family.rhs_from, (std::vector<std::string>{"nxk", "kxn"}));
  EXPECT_EQ(v.lhs.panel, Length(1));
  EXPECT_EQ(v.rhs.panel, Length(16));
  EXPECT_EQ(v.rhs.order.kr, 4);
  EXPECT_TRUE(v.print_c);
  EXPECT_TRUE(v.print_assembly);
  EXPECT_EQ(to_string(v.where), (folder.path() / "s.yaml").string() + ":6:5");
  EXPECT_EQ(v.tile_where.column, 39);
}

TEST_F(SpecReader, PanelsAreAsAskedFor) {
  const auto variants = read(head +
                             "  - {isa: matrix, technique: mmla, panels: {lhs: 4, rhs: 8, "
                             "kr: 8}, tile: {m: [2, 8], n: 8}}\n");
  ASSERT_EQ(variants.size(), 2U);
  EXPECT_EQ(variants[0].lhs.panel, Length(4));
  EXPECT_EQ(variants[0].rhs.panel, Length(8));
  EXPECT_EQ(variants[0].rhs.order.kr, 8);
  EXPECT_FALSE(variants[0].print_assembly);
}

TEST_F(SpecReader, LayoutSaysWhosePanels) {
  const auto variants = read(head +
                             "  - {isa: matrix, technique: mmla, layout: kleidiai, panels: {lhs: "
                             "4, rhs: 8}, tile: {m: 8, n: 8}}\n");
  ASSERT_EQ(variants.size(), 1U);
  EXPECT_EQ(canonical(variants[0].lhs),
            "lhs i8 m4 kr8 k%32 edge=last round=away [data|zeros:i32|scales:f32]");
  EXPECT_EQ(canonical(variants[0].rhs),
            "rhs i4 n8 kr8 pair=depth16 ss k%32 edge=last "
            "[data|sums:i32*16|scales:f32/16|bias:f32]");
  EXPECT_EQ(variants[0].name(), "matmul_clamp_f32_qai8dxp4x8_qsi4cxp8x8_8x8_matrix_kleidiai");
}

TEST_F(SpecReader, RowsOfTheTableRenameNoKernel) {
  const std::string kernel = "  - {isa: NAME, technique: dot, tile: {m: 1, n: 16}}\n";
  const auto name_on = [&](const std::string& isa, const std::string& table) {
    folder.write("isa/" + isa + ".yaml", table);
    return read(head + std::string(kernel).replace(kernel.find("NAME"), 4, isa)).at(0).name();
  };
  const auto named = [](std::string table, const std::string& isa) {
    return table.replace(table.find("wide"), 4, isa);
  };
  const std::string row =
      "  - {means: \"d = mmla_s8s8(c, a, b)\", tied: {d: c}, c: \"mmla({c}, {a}, {b})\"}\n";
  EXPECT_EQ(name_on("more", named(wide, "more") + row),
            "matmul_clamp_f32_qai8dxp1x4_qsi4cxp16x4_1x16_more");
  EXPECT_EQ(name_on("other", named(wide, "other") + row + "usual_technique: mmla\n"),
            "matmul_clamp_f32_qai8dxp1x4_qsi4cxp16x4_1x16_other_dot");
}

const std::string block_head =
    "family: matmul_clamp_f32_qai8dxp_qsi4c32p\n"
    "lhs: {format: qai8dx, from: [f32]}\n"
    "rhs: {format: qsi4c32, from: [nxk, q4_0]}\n"
    "dst: f32\n"
    "kernels:\n";

TEST_F(SpecReader, BlocksAndTheirScalesMultiply) {
  const std::string kernel = "  - {isa: wide, technique: dot, tile: {m: 1, n: 16}";
  const auto usual = read(block_head + kernel + "}\n");
  ASSERT_EQ(usual.size(), 1U);
  EXPECT_EQ(usual[0].knobs.unroll_k, 32);
  EXPECT_EQ(usual[0].name(), "matmul_clamp_f32_qai8dxp1x4_qsi4c32p16x4_1x16_wide");
  EXPECT_EQ(canonical(usual[0].lhs),
            "lhs i8 m1 kr4 k%32 b32 [data/b|sums:i32*-8/b|zeros:i32|scales:f32]");
  EXPECT_EQ(canonical(usual[0].rhs),
            "rhs i4 n16 kr4 pair=depth16 uu k%32 b32 [data/b|scales:f16/b|sums:f32*1|bias:f32]");
  const auto all =
      read(block_head + kernel + ", blocks: {length: [32, 256], scales: [f16, bf16, f32]}}\n");
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[5].name(), "matmul_clamp_f32_qai8dxp1x4_qsi4c32p16x4_1x16_wide_b256_f32");
  EXPECT_EQ(all[5].code_name(), "matmul_clamp_f32_qai8dxp1x4_qsi4c32p16x4_1x16_wide_blocks_f32");
  EXPECT_EQ(all[5].knobs.unroll_k, 64);
  EXPECT_EQ(all[0].code_name(), all[0].name());
  EXPECT_EQ(all[5].lhs.block, 256);
}

TEST_F(SpecReader, RefusesWrongBlocks) {
  const auto block_error = [&](const std::string& keys) {
    return error(block_head + "  - {isa: wide, technique: dot, tile: {m: 1, n: 16}, " + keys +
                 "}\n");
  };
  EXPECT_EQ(
      block_error("blocks: {length: 48, scales: f16}"),
      "s.yaml:6:71: blocks of 48 are not possible: of 16, 32, or of a multiple of 64 up to 4096, "
      "they are");
  EXPECT_EQ(block_error("blocks: {length: 32, scales: i8}"),
            "s.yaml:6:83: unknown scale type 'i8'; known scale types: f16, bf16, f32, e8m0");
  EXPECT_EQ(block_error("blocks: {length: 32}"),
            "s.yaml:6:62: key 'scales' is missing in 'blocks'");
  EXPECT_EQ(block_error("knobs: {unroll_k: 64}"),
            "s.yaml:6:72: unroll_k 64 is not possible with blocks of 32: 32 is");
  EXPECT_EQ(block_error("blocks: {length: [64, 128], scales: f16}"),
            "s.yaml:3:36: no kernel's layout can be packed from 'q4_0'; sources that one can be "
            "packed from: nxk");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, tile: {m: 1, n: 16}, blocks: {length: 32, "
                         "scales: f16}"),
            "s.yaml:6:71: format qsi4cx has no blocks");
}

TEST_F(SpecReader, ShortFormSetsTileAndPanels) {
  const auto variants =
      read(head + "  - {isa: matrix, technique: mmla, tile: {mr: [4, 8], nr: 8, kr: 8}}\n");
  ASSERT_EQ(variants.size(), 2U);
  EXPECT_EQ(variants[1].tile.m, Length(8));
  EXPECT_EQ(variants[1].tile.n, Length(8));
  EXPECT_EQ(variants[1].lhs.panel, Length(8));
  EXPECT_EQ(variants[1].rhs.panel, Length(8));
}

TEST_F(SpecReader, PrintSelects) {
  const auto variants =
      read(head + "  - {isa: wide, technique: dot, tile: {m: 1, n: 16}, print: [assembly]}\n");
  EXPECT_FALSE(variants.at(0).print_c);
  EXPECT_TRUE(variants.at(0).print_assembly);
}

TEST_F(SpecReader, KeepsWhichCompilersSpill) {
  const std::string kernel = head + "  - {isa: wide, technique: dot, tile: {m: 1, n: 16}";
  EXPECT_EQ(read(kernel + "}\n").at(0).spills, "unknown");
  EXPECT_EQ(read(kernel + ", spills: none}\n").at(0).spills, "none");
  EXPECT_EQ(read(kernel + ", spills: gcc}\n").at(0).spills, "gcc");
  EXPECT_EQ(read(kernel + ", spills: [clang, gcc]}\n").at(0).spills, "gcc, clang");
}

TEST_F(SpecReader, RefusesAWrongFamily) {
  EXPECT_EQ(error("family: matmul_clamp_f32_qai8dxp_qsi8cxp\n" + head.substr(head.find('\n') + 1) +
                  "  - {}\n"),
            "s.yaml:1:9: family 'matmul_clamp_f32_qai8dxp_qsi8cxp' disagrees with its formats, "
            "which make 'matmul_clamp_f32_qai8dxp_qsi4cxp'");
  EXPECT_EQ(
      error("family: f\nlhs: {format: qai8d, from: f32}\nrhs: {}\ndst: f32\nkernels: []\n"),
      "s.yaml:2:15: unknown format 'qai8d'; did you mean 'qai8dx'? known formats: qai8dx, qai8, "
      "qsi8d32, qsi2cx, qsu2cx, qsi4cx, qsi8cx, qsi4c32, qsi8c32, qai2c32, qai4c32, qai8c32, "
      "qmi4c32, "
      "qmi4k32, "
      "qsi5c32, qmi5c32, qmi5k32, qsi6k16, qsi8k16, qmi2k16, qsi3k16, qnl4c32, qnl4k32, qmx4c32, "
      "f32, f16, bf16");
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
            "s.yaml:4:6: unknown dst 'f64'; known dsts: f16, bf16, f32, qai8");
  EXPECT_EQ(error("family: f\nlhs: {format: qai8dx}\n"), "s.yaml:1:1: key 'rhs' is missing");
  EXPECT_EQ(error("familiy: f\n"),
            "s.yaml:1:1: unknown key 'familiy'; did you mean 'family'? known keys: family, lhs, "
            "rhs, dst, accumulate, sums, kernels");
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

TEST_F(SpecReader, RefusesASpecWithoutKernels) {
  EXPECT_EQ(error(head), "s.yaml:5:1: 'kernels' must be a list, found nothing");
  EXPECT_EQ(error(head + "  []\n"), "s.yaml:6:3: 'kernels' is an empty list");
  EXPECT_EQ(error(head.substr(0, head.find("kernels"))), "s.yaml:1:1: key 'kernels' is missing");
}

TEST_F(SpecReader, RefusesWrongKeysAndTypes) {
  EXPECT_EQ(
      kernel_error("isa: wide, tecnique: dot"),
      "s.yaml:6:17: unknown key 'tecnique'; did you mean 'technique'? known keys: isa, "
      "technique, dst, accumulate, layout, codes, blocks, panels, tile, knobs, print, spills");
  EXPECT_EQ(kernel_error("isa: wide, isa: wide"), "s.yaml:6:17: duplicate key 'isa'; first at 6:6");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot"),
            "s.yaml:6:5: key 'tile' is missing in 'kernels'");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, tile: {m: four, n: 16}"),
            "s.yaml:6:43: 'm' must be a length such as 8, 4vl or 16+4vl, found 'four'");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, tile: {m: [], n: 16}"),
            "s.yaml:6:43: 'm' is an empty list");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, tile: 4x16"),
            "s.yaml:6:39: 'tile' must be a map, found '4x16'");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, tile: {m: 1, n: 16, k: 4}"),
            "s.yaml:6:53: unknown key 'k'; known keys: m, n");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, tile: {m: 1, n: 16}, knobs: {unrol_k: 32}"),
            "s.yaml:6:62: unknown key 'unrol_k'; did you mean 'unroll_k'? known keys: unroll_k, "
            "accumulators, prefetch, paired_loads, core");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, tile: {m: 1, n: 16}, knobs: {prefetch: fr}"),
            "s.yaml:6:72: unknown prefetch kind 'fr'; did you mean 'far'? known prefetch kinds: "
            "none, near, beside, far");
}

TEST_F(SpecReader, RefusesPrefetchesBesideLoadsThatAreNotOfCodes) {
  EXPECT_EQ(
      error("family: matmul_clamp_f32_f32_f32p\nlhs: {format: f32, from: [f32]}\n"
            "rhs: {format: f32, from: [nxk]}\ndst: f32\nkernels:\n"
            "  - {isa: wide, technique: fma, tile: {m: 1, n: 16}, knobs: {prefetch: beside}}\n"),
      "s.yaml:6:72: prefetch 'beside' is for techniques dot and mmla, not fma; near and far "
      "are legal");
}

TEST_F(SpecReader, TakesCodesAsBytes) {
  const auto of = [](const std::string& weights, const std::string& codes) {
    return "family: matmul_clamp_f32_qsi8d32p_" + weights +
           "p\nlhs: {format: qsi8d32, from: f32}\nrhs: {format: " + weights +
           ", from: " + (weights == "qsi6k16" ? "q6_k" : "q5_k") + "}\ndst: f32\nkernels:\n" +
           "  - {isa: wide, technique: dot, codes: " + codes + ", tile: {m: 1, n: 16}}\n";
  };
  EXPECT_EQ(error(of("qsi6k16", "bytes")),
            "s.yaml:6:28: format qsi8k16 is not possible on wide: it has no instruction that makes "
            "32 bits of bytes");
  EXPECT_EQ(error(of("qsi6k16", "byte")),
            "s.yaml:6:40: unknown packing 'byte'; did you mean 'bytes'? known packings: bytes");
  EXPECT_EQ(error(of("qmi5k32", "bytes")), "s.yaml:6:40: codes of qmi5k32 are not packed as bytes");
}

TEST_F(SpecReader, RefusesUnknownNames) {
  EXPECT_EQ(kernel_error("isa: wid, technique: dot, tile: {m: 1, n: 16}"),
            "s.yaml:6:11: unknown ISA 'wid'; did you mean 'wide'? known ISAs: matrix, wide");
  EXPECT_EQ(kernel_error("isa: wide, technique: dots, tile: {m: 1, n: 16}"),
            "s.yaml:6:28: unknown technique 'dots'; did you mean 'dot'? known techniques: dot, "
            "mmla, fma, outer, tile");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, layout: kleidia, tile: {m: 1, n: 16}"),
            "s.yaml:6:41: unknown layout 'kleidia'; did you mean 'kleidiai'? known layouts: own, "
            "kleidiai");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, tile: {m: 1, n: 16}, knobs: {core: bug}"),
            "s.yaml:6:68: unknown core 'bug'; did you mean 'big'? known cores: big");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, tile: {m: 1, n: 16}, print: [asembly]"),
            "s.yaml:6:62: unknown printer 'asembly'; did you mean 'assembly'? known printers: "
            "intrinsics, assembly");
  EXPECT_EQ(kernel_error("isa: matrix, technique: mmla, tile: {m: 2, n: 4}, print: [assembly]"),
            "s.yaml:6:64: matrix cannot print assembly");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, tile: {m: 1, n: 16}, spills: [gcc, msvc]"),
            "s.yaml:6:68: unknown compiler 'msvc'; known compilers: gcc, clang; or spills: none");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, tile: {m: 1, n: 16}, print: assembly, "
                         "spills: none"),
            "s.yaml:6:79: 'spills' is about intrinsics, which this entry does not print");
}

TEST_F(SpecReader, RefusesWhatTheInstructionCannotDo) {
  EXPECT_EQ(kernel_error("isa: wide, technique: mmla, tile: {m: 1, n: 16}"),
            "s.yaml:6:28: technique mmla is not possible on wide: it has no instruction for it");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, panels: {lhs: 1, kr: 3}, tile: {m: 1, n: 16}"),
            "s.yaml:6:54: kr 3 does not fit dot4_u8s8 on wide, which eats kr 4");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, layout: kleidiai, tile: {m: 1, n: 16}"),
            "s.yaml:6:41: layout kleidiai is not possible with technique dot on wide: that needs "
            "products of signed bytes, and for nibbles shifts of bytes");
  EXPECT_EQ(kernel_error("isa: matrix, technique: mmla, tile: {mr: 8, nr: 8, kr: 4}"),
            "s.yaml:6:61: kr 4 does not fit mmla_s8s8 on matrix, which eats kr 8");
  EXPECT_EQ(kernel_error("isa: matrix, technique: mmla, panels: {lhs: 3}, tile: {m: 3, n: 4}"),
            "s.yaml:6:50: lhs panel 3 does not fit mmla_s8s8 on matrix: panels of whole operands "
            "of 2 rows");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, panels: {rhs: 24}, tile: {m: 1, n: 24}"),
            "s.yaml:6:47: rhs panel 24 does not fit dot4_u8s8 on wide: panels of whole vectors, "
            "multiples of 16 columns");
}

TEST_F(SpecReader, RefusesProductsOfTilesWithoutAFixedShape) {
  const auto tiles = [&](const std::string& rows) {
    folder.write("isa/tiles.yaml",
                 "isa: tiles\nextends: wide\nregisters: {t: {kind: tile, rows: " + rows +
                     ", bytes: 64, views: {t: \"t{0..7}\"}}}\n"
                     "rows:\n"
                     "  - {means: \"d = tile_dot4_s8u8(c, a, b)\", tied: {d: c}, asm: \"dot {d}, "
                     "{a}, {b}\", class: dot}\n"
                     "  - {means: \"d = tile_load(p, s)[o]\", asm: \"get {d}, {p}, {s}, {o}\", "
                     "class: load}\n"
                     "  - {means: \"tile_store(p, s, x)[o]\", asm: \"put {p}, {s}, {o}, {x}\", "
                     "class: store}\n");
    IsaLibrary fresh(folder.path());
    const auto path = folder.write(
        "s.yaml",
        "family: matmul_clamp_f32_qai8dxp_qsi8cxp\nlhs: {format: qai8dx, from: [f32]}\n"
        "rhs: {format: qsi8cx, from: [nxk]}\ndst: f32\nkernels:\n"
        "  - {isa: tiles, technique: tile, print: assembly, tile: {m: 16, n: 32}}\n");
    return folder.error([&] { read_spec(path, fresh); });
  };
  EXPECT_EQ(tiles("16"), "");
  EXPECT_EQ(tiles("4vl"),
            "s.yaml:6:29: technique tile is not possible on tiles: its tiles have no fixed shape");
}

TEST_F(SpecReader, RefusesTilesThatDoNotFitPanels) {
  EXPECT_EQ(kernel_error("isa: matrix, technique: mmla, panels: {lhs: 4}, tile: {m: 6, n: 8}"),
            "s.yaml:6:64: tile m 6 neither spans whole lhs panels of 4 nor divides one; 1, 2, 4 or "
            "a multiple of 4 fit");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, panels: {rhs: 32}, tile: {m: 1, n: 48}"),
            "s.yaml:6:68: tile n 48 neither spans whole rhs panels of 32 nor divides one; 2, 4, 8, "
            "16, 32 or a multiple of 32 fit");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, tile: {m: 0, n: 16}"),
            "s.yaml:6:43: 'm' must be from 1 to 256");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, tile: {m: 1, n: 0}"),
            "s.yaml:6:49: 'n' must be from 1 to 4096");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, tile: {m: 1000, n: 16}"),
            "s.yaml:6:43: 'm' must be from 1 to 256");
  EXPECT_EQ(
      kernel_error("isa: wide, technique: dot, panels: {lhs: 4}, tile: {mr: 4, nr: 16}"),
      "s.yaml:6:41: tile {mr, nr, kr} sets the panels too; write tile {m, n} beside 'panels'");
}

TEST_F(SpecReader, RefusesAnUnrollThatIsNotAMultiple) {
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, tile: {m: 1, n: 16}, knobs: {unroll_k: [32, "
                         "48]}"),
            "s.yaml:6:77: unroll_k 48 is not a multiple of 32, to which k is padded");
}

TEST_F(SpecReader, RefusesDuplicates) {
  const std::string kernel = "  - {isa: wide, technique: dot, tile: {m: 4, n: 16}}\n";
  EXPECT_EQ(error(head + kernel + kernel),
            "s.yaml:7:39: duplicate kernel matmul_clamp_f32_qai8dxp1x4_qsi4cxp16x4_4x16_wide; "
            "first at 6:39");
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, tile: {m: [4, 4], n: 16}"),
            "s.yaml:6:47: '4' stands twice in the list");
}

TEST_F(SpecReader, RefusesMoreVariantsThanAnybodyWants) {
  std::string unrolls;
  std::string accumulators;
  for (int i = 1; i <= 128; ++i) unrolls += std::to_string(32 * i) + ", ";
  for (int i = 1; i <= 64; ++i) accumulators += std::to_string(i) + ", ";
  EXPECT_EQ(
      kernel_error("isa: wide, technique: dot, tile: {m: [1, 2], n: 16}, knobs: {unroll_k: [" +
                   unrolls + "], accumulators: [" + accumulators + "]}"),
      "s.yaml:6:5: the lists multiply to too many variants; 10000 are legal");
  std::string same;  // 1, 01, 001 ...
  for (size_t i = 0; i < 150; ++i) same += std::string(i, '0') + "1, ";
  EXPECT_EQ(kernel_error("isa: wide, technique: dot, tile: {m: [" + same + "], n: [" + same + "]}"),
            "s.yaml:6:39: the lists multiply to too many variants; 10000 are legal");
}

TEST_F(SpecReader, RefusesAnUnreadableFile) {
  EXPECT_EQ(folder.error([&] { read_spec(folder.path() / "none.yaml", isas); }),
            "none.yaml:1:1: the file cannot be read");
}

}  // namespace
}  // namespace tw::spec_reader_test
