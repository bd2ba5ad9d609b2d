// Tiles that chance seldom draws. Technique `tile`: two tiles of accumulators one above the other
// and two side by side. KleidiAI's blocks: parts of a panel of rows, and scales of a whole one.
#include <gtest/gtest.h>

#include "interpreter/random_variant.h"
#include "interpreter/run_program.h"
#include "pipeline/pipeline.h"
#include "spec/core_reader.h"
#include "spec/isa_reader.h"

namespace tw::test::tiles_test {
namespace {

const std::filesystem::path source_dir = TILEWRIGHT_SOURCE_DIR;

/// Of two by two tiles; the rest is random, but far prefetches, whose cursors take more scalar
/// registers than there are beside them.
Variant two_by_two(const Isa& isa, Random& random) {
  for (;;) {
    const std::optional<Variant> variant =
        random_variant({&isa, Technique::tile, "qai8dx", "qsi8cx"}, random);
    if (variant && variant->tile.m == isa.tile_rows() * 2 &&
        variant->tile.n == isa.tile_columns() * 2 && variant->knobs.prefetch != Prefetch::far) {
      return *variant;
    }
  }
}

class TwoByTwo : public testing::TestWithParam<const char*> {};

TEST_P(TwoByTwo, EdgesInAllStages) {
  IsaLibrary isas(source_dir / "tests/fake_isa");
  const Isa& isa = isas.get(GetParam());
  const CoreModel core = read_core(source_dir / "templates", isa.default_core);
  Random random(7);
  for (int round = 0; round < 3; ++round) {
    const Variant variant = two_by_two(isa, random);
    const Compiled compiled = compile(variant, core);
    for (int i = 0; i < 12; ++i) {
      const Call call(variant, random_codes(variant, {}, random), {});
      const std::string about = describe(variant) + ", m=" + std::to_string(call.codes.m) +
                                " n=" + std::to_string(call.codes.n) +
                                " k=" + std::to_string(call.codes.k);
      for (const Program* stage : {&compiled.lowered, &compiled.ordered, &*compiled.selected,
                                   &*compiled.pipelined, &*compiled.allocated}) {
        EXPECT_EQ(run_and_compare(*stage, call, stage == &*compiled.allocated), "") << about;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, TwoByTwo, testing::Values("fake_wide", "fake_tiles"),
                         [](const auto& isa) { return isa.param; });

TEST(Tiles, StandInOnePanelOfActivations) {
  IsaLibrary isas(source_dir / "tests/fake_isa");
  const Isa& isa = isas.get("fake_wide");
  Random random(7);
  Variant variant = two_by_two(isa, random);
  variant.tile.m = 8;
  try {
    compile(variant, read_core(source_dir / "templates", isa.default_core));
    FAIL() << "no error";
  } catch (const SpecError& error) {
    EXPECT_NE(std::string(error.what()).find("tile m 8 does not fit tile: one lhs panel, 16, does"),
              std::string::npos)
        << error.what();
  }
}

/// Weights that become bytes a step of k ahead: no step, one, two, three and five of 64 values,
/// some of which end half way. Nothing is read behind a panel.
TEST(Tiles, CopyWeightsAheadAtEveryDepth) {
  IsaLibrary isas(source_dir / "templates");
  const Isa& isa = isas.get("amx_int8");
  Random random(9);
  std::optional<Variant> variant;
  while (!variant || variant->knobs.unroll_k != 128 || variant->tile.m != isa.tile_rows() ||
         variant->tile.n != isa.tile_columns() || variant->family.dst != ElementType::f32 ||
         variant->family.accumulate) {
    variant = random_variant({&isa, Technique::tile, "qai8dx", "qsi4cx"}, random);
  }
  const Compiled compiled =
      compile(*variant, read_core(source_dir / "templates", isa.default_core));
  for (const size_t k : {1, 32, 33, 64, 65, 96, 128, 129, 192, 193, 320}) {
    Codes codes;
    codes.m = codes.n = 1;
    codes.k = k;
    for (size_t i = 0; i < k; ++i) {
      codes.lhs.push_back(static_cast<int8_t>(random.between(-128, 127)));
      codes.rhs.push_back(static_cast<int8_t>(random.between(-8, 7)));
    }
    codes.zero_points = {-3};
    codes.lhs_scales = codes.rhs_scales = codes.bias = {0.5F};
    const Call call(*variant, codes, {});
    for (const Program* stage : {&compiled.lowered, &*compiled.allocated}) {
      EXPECT_EQ(run_and_compare(*stage, call, stage == &*compiled.allocated), "") << "k " << k;
    }
  }
}

/// Of activations and int4 in blocks as KleidiAI packs them.
Variant in_their_blocks(const Isa& isa, Technique technique, int kr, Tile tile, Length columns) {
  Variant variant;
  variant.family.name = "their_blocks";
  variant.family.lhs = find_format("qsi8d32");
  variant.family.rhs = find_format("qsi4c32");
  variant.style = LayoutStyle::kleidiai;
  const Panels panels{4, columns, kr, LayoutStyle::kleidiai, 32};
  const LayoutPair layouts =
      choose_layouts(*variant.family.lhs, *variant.family.rhs, technique, isa, panels);
  variant.lhs = layouts.lhs;
  variant.rhs = layouts.rhs;
  variant.technique = technique;
  variant.isa = &isa;
  variant.tile = tile;
  variant.knobs.unroll_k = 32;
  return variant;
}

void expect_right(const Variant& variant) {
  const CoreModel core = read_core(source_dir / "templates", variant.isa->default_core);
  const Compiled compiled = compile(variant, core);
  Random random(5);
  for (const int64_t length : {1, 2, 8, 16}) {
    CallOptions options;
    options.vl = {length, length};
    const Call call(variant, random_codes(variant, options.vl, random), options);
    for (const Program* stage : {&compiled.lowered, &*compiled.allocated}) {
      EXPECT_EQ(run_and_compare(*stage, call, stage == &*compiled.allocated), "")
          << describe(variant) << ", " << length << " segments";
    }
  }
}

TEST(Tiles, ReadNothingBeyondRowsOfTheirBlocks) {
  IsaLibrary isas(source_dir / "templates");
  const Isa& sve = isas.get("sve_i8mm");
  expect_right(in_their_blocks(sve, Technique::dot, 8, {1, Length{0, 8}}, Length{0, 4}));
  expect_right(in_their_blocks(sve, Technique::mmla, 8, {2, Length{0, 4}}, Length{0, 4}));
  expect_right(in_their_blocks(sve, Technique::mmla, 8, {16, Length{0, 4}}, Length{0, 4}));
  // Scales stand behind all codes there.
  const Isa& sme = isas.get("sme");
  expect_right(in_their_blocks(sme, Technique::dot, 4, {4, Length{0, 0, 4}}, Length{0, 0, 4}));
  // Lanes of four values are loaded with those behind them.
  const Variant part = in_their_blocks(sve, Technique::dot, 4, {1, Length{0, 8}}, Length{0, 4});
  EXPECT_THROW(compile(part, read_core(source_dir / "templates", sve.default_core)), SpecError);
}

}  // namespace
}  // namespace tw::test::tiles_test
