// Technique `tile`: two tiles of accumulators one above the other and two side by side.
#include <gtest/gtest.h>

#include "interpreter/random_variant.h"
#include "interpreter/run_program.h"
#include "pipeline/pipeline.h"
#include "spec/core_reader.h"
#include "spec/isa_reader.h"

namespace tw::test {
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

}  // namespace
}  // namespace tw::test
