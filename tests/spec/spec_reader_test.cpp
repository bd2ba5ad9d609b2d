#include "spec_reader_test.h"

namespace tw::spec_reader_test {
namespace {

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
  const auto lists = read(block_head + kernel +
                          ", blocks: [{length: 32, scales: f16}, {length: 256, scales: f32}]}\n");
  ASSERT_EQ(lists.size(), 2U);
  EXPECT_EQ(lists[0].name(), all[0].name());
  EXPECT_EQ(lists[1].name(), all[5].name());
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

TEST_F(SpecReader, RefusesASpecWithoutKernels) {
  EXPECT_EQ(error(head), "s.yaml:5:1: 'kernels' must be a list, found nothing");
  EXPECT_EQ(error(head + "  []\n"), "s.yaml:6:3: 'kernels' is an empty list");
  EXPECT_EQ(error(head.substr(0, head.find("kernels"))), "s.yaml:1:1: key 'kernels' is missing");
}

TEST_F(SpecReader, RefusesWrongKeysAndTypes) {
  EXPECT_EQ(kernel_error("isa: wide, tecnique: dot"),
            "s.yaml:6:17: unknown key 'tecnique'; did you mean 'technique'? known keys: isa, "
            "technique, weights, dst, accumulate, layout, codes, blocks, panels, rows_of, tile, "
            "knobs, print, spills");
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

TEST_F(SpecReader, TakesRowsOfOtherWeights) {
  const auto of = [](const std::string& others) {
    return "family: matmul_clamp_f32_qai8dxp_qsi8cxp\nlhs: {format: qai8dx, from: f32}\n"
           "rhs: {format: qsi8cx, from: nxk}\ndst: f32\nkernels:\n"
           "  - {isa: matrix, technique: mmla, rows_of: " +
           others + ", tile: {m: 4, n: 8}}\n";
  };
  const std::vector<Variant> variants = read(of("qsi4cx"));
  ASSERT_EQ(variants.size(), 1U);
  EXPECT_EQ(canonical(variants[0].lhs),
            "lhs i8 m2 kr8 k%32 [data|sums:i32*1|zeros:i32|scales:f32]");
  EXPECT_NE(variants[0].name().find("_rows_of_qsi4cx"), std::string::npos);
  EXPECT_EQ(
      error(of("qsi4xc")).find("s.yaml:6:45: unknown format 'qsi4xc'; did you mean 'qsi4cx'?"), 0U);
  EXPECT_EQ(
      error(of("qsi8cx")),
      "s.yaml:6:45: rows of qsi8cx are not those of qsi8cx with sums beside them; leave it out");
}

TEST_F(SpecReader, TakesDecodersToCodes) {
  const auto of = [](const std::string& dst) {
    return "family: decode_" + dst +
           "_qsi4cxp\nlhs: {format: qai8dx}\nrhs: {format: qsi4cx}\ndst: " + dst +
           "\nkernels:\n  - {isa: matrix, technique: mmla, tile: {m: 1, n: 4}}\n";
  };
  const std::vector<Variant> variants = read(of("s8"));
  ASSERT_EQ(variants.size(), 1U);
  EXPECT_EQ(canonical(variants[0].decoded),
            "rhs i8 n4 kr8 k%32 [data|sums:i32*1|scales:f32|bias:f32]");
  EXPECT_EQ(error(of("f16")),
            "s.yaml:4:6: unknown dst 'f16'; did you mean 'bf16'? known dsts: bf16, "
            "f32, s8");
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
