// The longest blocks: sums of the largest products.
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <filesystem>

#include "emit/c_printer.h"
#include "emit/explain.h"
#include "interpreter/random_variant.h"
#include "interpreter/run_program.h"
#include "pipeline/pipeline.h"
#include "spec/core_reader.h"
#include "spec/isa_reader.h"

namespace tw::test::long_blocks_test {
namespace {

const std::filesystem::path templates = std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates";

struct Case {
  const char* isa;
  Technique technique;
  const char* rhs;
};

void PrintTo(const Case& it, std::ostream* out) {
  *out << it.isa << ' ' << name(it.technique) << ' ' << it.rhs;
}

/// One panel by one panel.
Variant variant_of(const Case& it, const Isa& isa, const char* lhs, int block) {
  Variant variant;
  variant.family.name = "long_blocks";
  variant.family.lhs = find_format(lhs);
  variant.family.rhs = find_format(it.rhs);
  Panels panels;
  panels.block = block;
  const LayoutPair layouts =
      choose_layouts(*variant.family.lhs, *variant.family.rhs, it.technique, isa, panels);
  variant.lhs = layouts.lhs;
  variant.rhs = layouts.rhs;
  variant.technique = it.technique;
  variant.isa = &isa;
  variant.tile = {layouts.lhs.panel, layouts.rhs.panel};
  variant.knobs.unroll_k = long_block_step;
  return variant;
}

class LongBlocks : public testing::TestWithParam<Case> {};

TEST_P(LongBlocks, LargestSumsAreExact) {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get(GetParam().isa);
  const CoreModel core = read_core(templates, isa.default_core);
  for (const char* lhs : {"qai8dx", "qsi8d32"}) {
    const Variant variant = variant_of(GetParam(), isa, lhs, 4096);
    const Compiled compiled = compile(variant, core);
    const int half = 1 << (bits(variant.family.rhs->element) - 1);
    for (const int code : {-half, half - 1}) {
      Random random(3);
      Codes codes;
      while (codes.k == 0 || codes.m == 0 || codes.n == 0) {
        codes = random_codes(variant, {}, random);
      }
      std::fill(codes.lhs.begin(), codes.lhs.end(), static_cast<int8_t>(-128));
      std::fill(codes.rhs.begin(), codes.rhs.end(), static_cast<int8_t>(code));
      const Call call(variant, codes, {});
      EXPECT_EQ(run_and_compare(compiled.lowered, call, false), "") << lhs << ' ' << code;
      EXPECT_EQ(run_and_compare(*compiled.allocated, call, true), "") << lhs << ' ' << code;
    }
  }
}

/// Where a row's sum is multiplied as a number of 16 bits.
TEST(LongBlocksOfPairs, AreRefusedBeyondSixteenBits) {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get("sme2");
  const Case quarters{"sme2", Technique::outer, "qai2c32"};
  EXPECT_EQ(variant_of(quarters, isa, "qsi8d32", 192).rhs.block, 192);
  EXPECT_THROW(variant_of(quarters, isa, "qsi8d32", 256), NoInstruction);
}

/// Of eight codes in a byte, and eight values of k in a lane: an iteration has them all.
TEST(LongBlocksOfBits, AreRefusedInShorterSteps) {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get("neon_i8mm");
  const CoreModel core = read_core(templates, isa.default_core);
  Variant variant = variant_of({"neon_i8mm", Technique::mmla, "qsi1c128"}, isa, "qsi8d32", 128);
  EXPECT_NO_THROW(compile(variant, core));
  variant.knobs.unroll_k = 32;
  try {
    compile(variant, core);
    ADD_FAILURE() << "half of a byte's codes";
  } catch (const std::exception& refused) {
    EXPECT_STREQ(refused.what(),
                 ": unroll_k 32 is not possible: codes of 64 values of k share bytes");
  }
}

/// What the generator makes one file of for all lengths.
TEST_P(LongBlocks, ShareTheirCode) {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get(GetParam().isa);
  const CoreModel core = read_core(templates, isa.default_core);
  for (const char* lhs : {"qai8dx", "qsi8d32"}) {
    const Variant shorter = variant_of(GetParam(), isa, lhs, 64);
    const Variant longer = variant_of(GetParam(), isa, lhs, 4096);
    EXPECT_EQ(shorter.code_name(), longer.code_name());
    EXPECT_EQ(print_c_function(compile(shorter, core).ordered, "code"),
              print_c_function(compile(longer, core).ordered, "code"));
  }
}

TEST_P(LongBlocks, AreExplainedAsAWhole) {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get(GetParam().isa);
  const CoreModel core = read_core(templates, isa.default_core);
  const Variant variant = variant_of(GetParam(), isa, "qai8dx", 256);
  const Compiled compiled = compile(variant, core);
  const Explanation inner = explain(*compiled.allocated, core);
  const Explanation block = explain(*compiled.allocated, core, block_trips(variant));
  EXPECT_EQ(inner.loop, "k");
  EXPECT_EQ(block.loop, "block");
  EXPECT_EQ(block.macs, 4 * inner.macs);
  // Scales cost something, and less than the products of the block.
  EXPECT_GT(block.instructions, 4 * inner.instructions);
  EXPECT_LT(block.instructions, 8 * inner.instructions);
  EXPECT_GT(block.cycles, 4 * inner.cycles);
  EXPECT_LT(block.macs_per_cycle, inner.macs_per_cycle);
}

INSTANTIATE_TEST_SUITE_P(, LongBlocks,
                         testing::Values(Case{"avx2", Technique::dot, "qsi4c32"},
                                         Case{"avx512_vnni", Technique::dot, "qsi4c32"},
                                         Case{"avx512_vnni", Technique::dot, "qsi8c32"},
                                         Case{"neon_dotprod", Technique::dot, "qsi4c32"},
                                         Case{"neon_i8mm", Technique::mmla, "qsi4c32"},
                                         Case{"neon_i8mm", Technique::mmla, "qsi8c32"}));

}  // namespace
}  // namespace tw::test::long_blocks_test
