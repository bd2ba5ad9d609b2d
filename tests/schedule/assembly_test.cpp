// Printed assembly: what compilers say to it, and what explain says about the shipped kernels.
#include "emit/assembly_printer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "emit/explain.h"
#include "pipeline/pipeline.h"
#include "programs.h"
#include "schedule/allocate.h"
#include "schedule/select.h"
#include "spec/core_reader.h"
#include "spec/spec_reader.h"

namespace tw::test {
namespace {

const std::filesystem::path source_dir = TILEWRIGHT_SOURCE_DIR;

/// Assembly variants of the shipped spec for one ISA, whole way.
void for_each_kernel(const std::string& isa,
                     const std::function<void(const Variant&, const Program&)>& f,
                     const std::string& family = "matmul_clamp_f32_qai8dxp_qsi4cxp") {
  IsaLibrary isas(source_dir / "templates");
  int found = 0;
  for (const Variant& variant : read_spec(source_dir / "specs" / (family + ".yaml"), isas)) {
    if (variant.isa->name != isa || !variant.print_assembly) continue;
    const Compiled compiled =
        compile(variant, read_core(source_dir / "templates", core_name(variant)));
    f(variant, compiled.allocated.value());
    ++found;
  }
  EXPECT_GT(found, 0);
}

#if defined(X86_64_CC) || defined(AARCH64_CC)
void expect_assembles(const std::string& compiler, const std::string& isa) {
  const Dialect dialect = read_dialect(source_dir / "templates");
  const std::filesystem::path dir = std::filesystem::path(testing::TempDir()) / ("tw_" + isa);
  std::filesystem::create_directories(dir);
  for_each_kernel(isa, [&](const Variant& variant, const Program& program) {
    const std::filesystem::path file = dir / "kernel.S";
    std::ofstream(file) << print_assembly(program, "kernel", dialect, "// kernel\n");
    const std::string command =
        compiler + " -Wall -Werror -c " + file.string() + " -o " + (dir / "kernel.o").string();
    EXPECT_EQ(std::system(command.c_str()), 0) << variant.name();
  });
  std::filesystem::remove_all(dir);
}
#endif

#ifdef X86_64_CC
TEST(Assembly, AssemblesForX86) {
  expect_assembles(X86_64_CC, "avx512_vnni");
}
#endif
#ifdef AARCH64_CC
TEST(Assembly, AssemblesForAArch64) {
  expect_assembles(AARCH64_CC, "neon_i8mm");
}
#endif

TEST(Assembly, SavesWhatTheCallerKeeps) {
  const Dialect dialect = only(read_dialect(source_dir / "templates"), "elf");
  for_each_kernel("neon_i8mm", [&](const Variant&, const Program& program) {
    const std::string text = print_assembly(program, "kernel", dialect, "");
    for (int i = 8; i <= 15; ++i) {
      const bool used = text.find(" v" + std::to_string(i) + ".") != std::string::npos;
      const bool saved = text.find("str d" + std::to_string(i) + ",") != std::string::npos;
      EXPECT_EQ(used, saved) << "v" << i << " in " << program.name;
    }
    EXPECT_EQ(text.find("x18"), std::string::npos);
  });
}

/// Without anything that systems differ in.
Dialect fake_dialect() {
  Dialect dialect;
  dialect.comment = ";";
  dialect.guards["fake"] = "1";
  dialect.objects.resize(1);
  dialect.objects[0].condition = "FAKE";
  dialect.objects[0].conventions["fake"] = fake_isa().convention;
  dialect.objects[0].function_begin = {"{symbol}:"};
  return dialect;
}

TEST(Assembly, PrintsTilesWithinTheirMode) {
  const Isa& isa = fake_isa("fake_wide");
  const RegisterFile& codes = *isa.file("a");
  Builder b("tiles", isa);
  const Value from = b.arg(ArgField::lhs);
  const Value row = b.constant(64);
  const Value x =
      b.op(OpCode::tile_load, {from, row}, {.bytes = codes.bytes, .rows = codes.rows}, "x");
  const Value y = b.op(OpCode::tile_load, {from, row}, {.offset = 512}, "y");
  const Value sums = b.op(OpCode::tile_dot4_s8u8, {b.op(OpCode::tile_zero), x, y}, {}, "sums");
  b.op(OpCode::tile_store, {b.arg(ArgField::dst), row, sums});
  Program program = b.finish();
  select(program);
  allocate(program);
  EXPECT_EQ(verify_registers(program), "");
  EXPECT_EQ(print_assembly(program, "tiles", fake_dialect(), "; tiles\n"),
            "; tiles\n"
            "#if 1 && FAKE\n"
            "tiles:\n"
            "  tiles_on\n"
            "  get_arg r1, r0, 5                                      ; lhs\n"
            "  set r2, 64\n"
            "  tget a0, [r1 + 0], r2                                  ; x\n"
            "  tget t0, [r1 + 512], r2                                ; y\n"
            "  tzero t1\n"
            "  tdot t1, a0, t0                                        ; sums\n"
            "  get_arg r0, r0, 12                                     ; dst\n"
            "  tput [r0 + 0], r2, t1                                  ; sums\n"
            "  tiles_off\n"
            "  return\n"
            "#endif\n");
}

TEST(Assembly, PrintsAnyIsa) {
  Builder b("tiny", fake_isa());
  b.op(OpCode::store, {b.arg(ArgField::dst), b.op(OpCode::load, {b.arg(ArgField::lhs)}, {}, "x")});
  Program program = b.finish();
  select(program);
  allocate(program);
  EXPECT_EQ(print_assembly(program, "tiny", fake_dialect(), "; tiny\n"),
            "; tiny\n"
            "#if 1 && FAKE\n"
            "tiny:\n"
            "  get_arg r1, r0, 12                                     ; dst\n"
            "  get_arg r0, r0, 5                                      ; lhs\n"
            "  vget v0, [r0 + 0]                                      ; x\n"
            "  vput [r1 + 0], v0                                      ; x\n"
            "  return\n"
            "#endif\n");
}

TEST(Assembly, RefusesAProgramWithoutRegisters) {
  Builder b("virtual", fake_isa());
  EXPECT_THROW(print_assembly(b.finish(), "virtual", {}, ""), std::runtime_error);
}

TEST(Explain, KernelsForCortexA510ReachTheirGoals) {
  const CoreModel a510 = read_core(source_dir / "templates", "cortex-a510");
  int found = 0;
  for_each_kernel("neon_i8mm", [&](const Variant& variant, const Program& program) {
    if (variant.knobs.core != "cortex-a510" || variant.technique != Technique::mmla) return;
    const Explanation it = explain(program, a510);
    if (variant.tile.m != Length{8}) return;
    ++found;
    EXPECT_EQ(it.macs, 2048);
    EXPECT_LE(it.cycles, 50) << to_text(it);
  });
  EXPECT_EQ(found, 1);
}

TEST(Explain, KernelsReachTheirGoals) {
  const CoreModel n2 = read_core(source_dir / "templates", "neoverse-n2");
  for_each_kernel("neon_i8mm", [&](const Variant& variant, const Program& program) {
    if (!variant.knobs.core.empty()) return;
    const Explanation it = explain(program, n2);
    if (variant.style == LayoutStyle::own && variant.tile.m == Length{8} &&
        variant.tile.n == Length{8}) {
      EXPECT_GE(it.macs_per_instruction, 24) << to_text(it);
      EXPECT_GE(it.share_of_peak, 0.85) << to_text(it);
      EXPECT_DOUBLE_EQ(it.peak_macs_per_cycle, 64);
    }
  });
}

/// Of 64 bytes a vector, 16 rows of two tiles are read, scaled and put back after every block.
TEST(Explain, RowsOfTilesAreCounted) {
  const CoreModel core = read_core(source_dir / "templates", "sme");
  int seen = 0;
  const auto check = [&](const Variant& variant, const Program& program) {
    if (variant.technique != Technique::outer || variant.rhs.block != 32) return;
    ++seen;
    const Explanation it = explain(program, core);
    const auto of = [&](const std::string& name) {
      for (const auto& [row, count] : it.mix) {
        if (row == name) return count;
      }
      return 0;
    };
    EXPECT_EQ(of("smopa"), 16) << to_text(it);
    EXPECT_EQ(of("fmla"), 32) << to_text(it);
    EXPECT_GT(it.cycles, 64 + 16) << to_text(it);
  };
  for_each_kernel("sme", check, "matmul_clamp_f32_qsi8d32p_qsi4c32p");
  EXPECT_EQ(seen, 1);
}

/// On the same packed operands KleidiAI's loops do 18.8 (8x8), 15.1 (4x8) and 15.8 (8x4) on i8mm,
/// 11.8 and 4.7 to 5.4 on dotprod.
TEST(Explain, KernelsOnKleidiaisLayoutsNeedFewerInstructions) {
  const auto check = [](const char* isa, const char* core_name, double gemm, double gemv) {
    const CoreModel core = read_core(source_dir / "templates", core_name);
    int seen = 0;
    for_each_kernel(isa, [&](const Variant& variant, const Program& program) {
      if (variant.style != LayoutStyle::kleidiai) return;
      ++seen;
      const Explanation it = explain(program, core);
      const double goal = variant.tile.m == Length{1}   ? gemv
                          : variant.tile.m == Length{4} ? gemm * 0.9
                                                        : gemm;
      EXPECT_GE(it.macs_per_instruction, goal) << to_text(it);
    });
    EXPECT_GE(seen, 3) << isa;
  };
  check("neon_i8mm", "neoverse-n2", 20.4, 0);
  check("neon_dotprod", "neoverse-n1", 12.4, 6.3);
}

/// On weights of f32 they do 2.9 (6x16), 2.2 (6x16 for Cortex-A55) and 2.5 (6x8); on those of f16
/// 5.7 (6x16 of 16), 6.2 and 4.8 (6x32 of 32).
TEST(Explain, FloatsOnKleidiaisLayoutsNeedFewerInstructions) {
  const CoreModel n1 = read_core(source_dir / "templates", "neoverse-n1");
  const auto check = [&](const char* isa, const char* family, double narrow, double wide,
                         double ordered) {
    int seen = 0;
    const auto compare = [&](const Variant& variant, const Program& program) {
      if (variant.style != LayoutStyle::kleidiai) return;
      ++seen;
      const Explanation it = explain(program, n1);
      const bool in_order = !variant.knobs.core.empty();
      const bool row = variant.tile.m == Length{1};
      const double goal = in_order ? ordered : variant.rhs.panel.fixed > 8 ? wide : narrow;
      if (!row) {
        EXPECT_GE(it.macs_per_instruction, goal) << to_text(it);
      }
      EXPECT_GE(it.share_of_peak, row ? 0.85 : in_order ? 0.9 : 0.99) << to_text(it);
    };
    for_each_kernel(isa, compare, family);
    EXPECT_EQ(seen, 6);
  };
  check("neon", "matmul_clamp_f32_f32_f32p", 3.1, 3.3, 3.1);
  check("neon_fp16", "matmul_clamp_f16_f16_f16p", 0, 7, 6.2);
}

}  // namespace
}  // namespace tw::test
