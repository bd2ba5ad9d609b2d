// The lint sees what it must see: in hand-written disassembly, and in tiles that are too large.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "emit/c_file.h"
#include "emit/c_printer.h"
#include "lower/lower.h"
#include "schedule/order.h"
#include "schedule/pressure.h"
#include "spec/spec_reader.h"
#include "spill/compile.h"

namespace tw::spill {
namespace {

HotLoops examine_text(const std::string& text) {
  return examine(parse_disassembly(text));
}

std::string error_of(const std::string& text) {
  try {
    (void)examine_text(text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(HotLoops, CountsStoresAndLoadsOnX86) {
  const HotLoops found = examine_text(
      "  0: \tvmovups\tzmmword ptr [rsp + 0x40], zmm3\n"  // before the loop: nobody minds
      "  4: \tvmovups\tzmm1, zmmword ptr [rsi + rax]\n"
      "  8: \tvpdpbusd\tzmm2, zmm1, dword ptr [rsp + 0x8]{1to16}\n"
      "  c: \tvmovups\tzmmword ptr [rsp + 0x40], zmm2\n"
      " 10: \tkmovw\tk1, word ptr [rsp]\n"
      " 14: \tmov\trcx, qword ptr [rsp + 0x10]\n"  // no vector
      " 18: \tjne\t0x4 <f+0x4>\n"
      " 1c: \tret\n");
  EXPECT_EQ(found.loops, 1);
  EXPECT_EQ(found.instructions, 6);
  EXPECT_EQ(found.multiplies, 1);
  EXPECT_EQ(found.stores, 1);
  EXPECT_EQ(found.loads, 2);
}

TEST(HotLoops, CountsStoresAndLoadsOnArm) {
  const HotLoops found = examine_text(
      "  0: \tadd\tx8, sp, #0x1, lsl #12 // =0x1000\n"
      "  4: \tldr\tq0, [x1], #0x10\n"
      "  8: \tsdot\tv1.4s, v0.16b, v2.4b[0]\n"
      "  c: \tstp\tq1, q0, [sp, #0x20]\n"
      " 10: \tldr\tq3, [x8, #0x30]\n"
      " 14: \tldr\tx3, [sp, #0x8]\n"
      " 18: \tst1\t{v0.4s, v1.4s}, [x4], #32\n"
      " 1c: \tcbnz\tx2, 0x4 <f+0x4>\n"
      " 20: \tret\n");
  EXPECT_EQ(found.stores, 1);
  EXPECT_EQ(found.loads, 1);
}

// rbp is a frame pointer here, and a pointer to weights there.
TEST(HotLoops, KnowsPointersIntoTheFrame) {
  const std::string loop =
      "  8: \tvmovups\tzmm1, zmmword ptr [rbp - 0x40]\n"
      "  c: \tvpmaddwd\tzmm2, zmm1, zmm0\n"
      " 10: \tjne\t0x8 <f+0x8>\n"
      " 14: \tpop\trbp\n";
  EXPECT_EQ(examine_text("  0: \tpush\trbp\n  4: \tmov\trbp, rsp\n" + loop).loads, 1);
  EXPECT_EQ(examine_text("  4: \tlea\trbp, [rsp + 0x80]\n" + loop).loads, 1);
  EXPECT_EQ(examine_text("  0: \tmov\trbp, rsp\n  4: \tmov\trbp, qword ptr [rdi]\n" + loop).loads,
            1)
      << "an epilogue's restore in the middle";
  EXPECT_EQ(examine_text("  4: \tmov\trbp, qword ptr [rdi]\n" + loop).loads, 0);
  EXPECT_EQ(examine_text("  0: \tlea\trbp, [rsp]\n  4: \tlea\trbp, [rdi]\n" + loop).loads, 0);
}

// The k loop counts, the loop around it does not, nor does one without multiplications.
TEST(HotLoops, AreTheInnermostWithMultiplications) {
  const HotLoops found = examine_text(
      "  0: \tstr\tq9, [sp]\n"
      "  4: \tsmmla\tv1.4s, v0.16b, v2.16b\n"
      "  8: \tb.ne\t0x4 <f+0x4>\n"
      "  c: \tldr\tq9, [sp]\n"
      " 10: \tb\t0x24 <f+0x24>\n"
      " 14: \tstr\tq7, [sp]\n"
      " 18: \tsubs\tx1, x1, #1\n"
      " 1c: \tb.ne\t0x14 <f+0x14>\n"
      " 20: \tret\n"
      " 24: \tcbnz\tx3, 0x0 <f>\n"  // the outer loop's end lies behind
      " 28: \tb\t0x14 <f+0x14>\n");
  EXPECT_EQ(found.loops, 1);
  EXPECT_EQ(found.instructions, 2);
  EXPECT_EQ(found.stores + found.loads, 0);
}

// A block of the loop that was moved behind the function's end is of the loop all the same.
TEST(HotLoops, FollowsBlocksElsewhere) {
  const HotLoops found = examine_text(
      "  0: \tsmmla\tv1.4s, v0.16b, v2.16b\n"
      "  4: \ttbnz\tw0, #3, 0x14 <f+0x14>\n"
      "  8: \tsubs\tx1, x1, #1\n"
      "  c: \tb.ne\t0x0 <f>\n"
      " 10: \tret\n"
      " 14: \tstr\tq1, [sp, #16]\n"
      " 18: \tb\t0x8 <f+0x8>\n");
  EXPECT_EQ(found.instructions, 6);
  EXPECT_EQ(found.stores, 1);
}

TEST(HotLoops, NothingFoundIsAnError) {
  EXPECT_EQ(error_of(""), "no loop with multiplications was found");
  EXPECT_EQ(error_of("  0: \tsdot\tv1.4s, v0.16b, v2.16b\n  4: \tret\n"),
            "no loop with multiplications was found");
  EXPECT_EQ(error_of("  0: \tadd\tx1, x1, #1\n  4: \tb.ne\t0x0 <f>\n  8: \tret\n"),
            "no loop with multiplications was found");
  EXPECT_EQ(error_of("  0: \timul\teax, ecx\n  4: \tcall\t0x9 <f+9>\n  9: \tjne\t0x0 <f>\n"),
            "its hot loop calls a function");
  EXPECT_EQ(error_of("  0: \timul\teax, ecx\n  4: \tjmp\trax\n"), "cannot follow \"jmp rax\"");
}

/// The variant with more and more rows in its tile until it needs `surplus` registers too many, in
/// its hot loop, too: sums of f16 become twice as many vectors behind it.
std::optional<Program> too_large(Variant variant, int surplus) {
  const int64_t step = variant.lhs.panel.fixed;
  const int widened = variant.family.sums == ElementType::f16 ? 2 : 1;
  for (int64_t rows = step; rows <= 256; rows += step) {
    variant.tile.m = rows;
    Program program = lower(variant);
    order(program);
    const Pressure pressure = vector_pressure(program);
    if (pressure.most >= widened * (pressure.available + surplus)) return program;
  }
  return std::nullopt;
}

// Every ISA with vectors of its own: a tile that the generator would refuse spills, and is seen.
TEST(SpillLint, TilesThatDoNotFitAreReported) {
  const std::filesystem::path source = TILEWRIGHT_SOURCE_DIR;
  const CFileRules rules = read_c_file_rules(source / "templates");
  IsaLibrary isas(source / "templates");
  const std::vector<Compiler> all = compilers();
  std::set<std::string> seen;
  for (const std::string& spec : yaml_names(source / "specs")) {
    for (const Variant& variant : read_spec(source / "specs" / (spec + ".yaml"), isas)) {
      const Isa& isa = *variant.isa;
      const bool has_vectors = !c_guard(rules, isa).empty();  // portable C has none of its own
      const bool is_matmul = variant.family.operation == Operation::matmul;  // of any tiles
      if (!is_matmul || !has_vectors || !variant.print_c) continue;
      if (!seen.insert(isa.name).second) continue;
      const std::optional<Program> program = too_large(variant, isa.vector_bytes.fixed / 8);
      ASSERT_TRUE(program.has_value()) << isa.name;
      const std::filesystem::path file =
          std::filesystem::path(testing::TempDir()) / ("too_large_" + isa.name + ".c");
      std::ofstream(file) << c_file(rules, isa, print_c_function(*program, "tw_too_large"),
                                    "tw_too_large");
      int compiled = 0;
      for (const Compiler& compiler : all) {
        const Examined found =
            compile_and_examine(compiler, "-O2", {{file.string(), "tw_too_large"}}).front();
        EXPECT_EQ(found.error, "");
        const std::optional<HotLoops>& loops = found.loops;
        if (!loops) continue;
        ++compiled;
        EXPECT_GT(loops->stores, 0) << isa.name << " " << compiler.command;
        EXPECT_GT(loops->loads, 0) << isa.name << " " << compiler.command;
      }
      EXPECT_EQ(compiled, 2) << isa.name << ": gcc and clang for its architecture";
      std::filesystem::remove(file);
    }
  }
  EXPECT_GE(seen.size(), 3U);
}

}  // namespace
}  // namespace tw::spill
