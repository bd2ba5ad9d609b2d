// What a sweep tries, and how it orders what fits.
#include <gtest/gtest.h>

#include <algorithm>

#include "pipeline/generated_tree.h"
#include "pipeline/kernel_names.h"
#include "pipeline/sweep.h"
#include "spec/core_reader.h"

namespace tw {
namespace {

const std::filesystem::path kTemplates = TILEWRIGHT_SOURCE_DIR "/templates";

std::vector<Variant> shipped_variants(IsaLibrary& isas) {
  const std::filesystem::path specs = TILEWRIGHT_SOURCE_DIR "/specs";
  std::vector<SpecInput> inputs;
  for (const std::string& name : yaml_names(specs)) {
    inputs.push_back({specs / (name + ".yaml"), name});
  }
  return read_variants(inputs, isas);
}

SweepAim aim_of(const Variant& variant) {
  SweepAim aim{variant.family, variant.isa, variant.rhs.block, ElementType::f16, {}};
  if (aim.block != 0) aim.scales = *point_of(variant).panels.scales;
  return aim;
}

const Variant& variant_named(const std::vector<Variant>& variants, const std::string& part) {
  for (const Variant& variant : variants) {
    if (variant.name().find(part) != std::string::npos) return variant;
  }
  throw std::runtime_error("no " + part);
}

TEST(SweepPoints, AKernelsEntryMakesItAgain) {
  IsaLibrary isas(kTemplates);
  size_t count = 0;
  for (const Variant& variant : shipped_variants(isas)) {
    const Operation its = variant.family.operation;
    const bool is_swept = its == Operation::matmul || its == Operation::decoded;
    if (!variant.isa->can_print_assembly || !is_swept) continue;
    const Variant again = variant_of(aim_of(variant), point_of(variant), isas);
    EXPECT_EQ(again.name(), variant.name());
    EXPECT_EQ(canonical(again.lhs), canonical(variant.lhs));
    EXPECT_EQ(canonical(again.rhs), canonical(variant.rhs));
    ++count;
  }
  EXPECT_GT(count, 100U);
}

// Tiles that ship are among them, whatever their knobs; others are for sharing layouts only.
TEST(SweepPoints, HaveWhatShips) {
  IsaLibrary isas(kTemplates);
  const std::vector<Variant> variants = shipped_variants(isas);
  for (const char* part :
       {"qsi4cxp16x4_4x16_avx2", "f32p24x1_4x24_neon", "qsi4cxp8svlx4_8svlx8svl_sme2",
        "qsi4cxp8x8_12x8_neon_i8mm", "qsi4cxp8x8_1x16_neon_i8mm_dot", "6x16vl_sve2",
        "qsi4c32p4x8_8x4_neon_i8mm"}) {
    const Variant& variant = variant_named(variants, part);
    const SweepPoint wanted = point_of(variant);
    const std::vector<SweepPoint> points = sweep_points(aim_of(variant));
    const bool found = std::any_of(points.begin(), points.end(), [&](const SweepPoint& p) {
      return p.technique == wanted.technique && p.panels.rhs == wanted.panels.rhs &&
             p.panels.kr == wanted.panels.kr && p.tile.m == wanted.tile.m &&
             p.tile.n == wanted.tile.n;
    });
    EXPECT_TRUE(found) << part;
  }
}

TEST(SweepPoints, WithoutATechniqueThereAreNone) {
  IsaLibrary isas(kTemplates);
  const std::vector<Variant> variants = shipped_variants(isas);
  SweepAim aim = aim_of(variant_named(variants, "qai8dxp1x4_qsi8cxp16x4_1x16_avx2"));
  EXPECT_FALSE(sweep_points(aim).empty());
  aim.isa = &isas.get("avx512f");
  try {
    sweep_points(aim);
    FAIL() << "int8 without products of bytes";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(
        error.what(),
        "matmul_clamp_f32_qai8dxp_qsi8cxp on avx512f: no instruction of it multiplies what "
        "qai8dx and qsi8cx are packed as");
  }
}

TEST(Sweep, RowsLeftOverCostAWholeTile) {
  Swept swept;
  swept.rows = 6;
  swept.macs_per_cycle = 8;
  EXPECT_DOUBLE_EQ(cycles_per_mac(swept, 6), 1.0 / 8);
  EXPECT_DOUBLE_EQ(cycles_per_mac(swept, 1), 6.0 / 8);
  EXPECT_DOUBLE_EQ(cycles_per_mac(swept, 16), 18.0 / 16 / 8);
}

TEST(Sweep, BestTilesAreEachTilesBestKnobs) {
  Sweep all;
  const auto add = [&](int64_t rows, int unroll, double macs) {
    Swept swept;
    swept.point.tile = {rows, 16};
    swept.point.knobs.unroll_k = unroll;
    swept.rows = rows;
    swept.macs_per_cycle = macs;
    all.fit.push_back(swept);
  };
  add(1, 32, 10);
  add(1, 64, 12);
  add(4, 32, 30);
  add(4, 64, 20);
  const auto described = [&](int64_t m) {
    std::string text;
    for (const Swept* swept : best_tiles(all, m)) {
      text +=
          std::to_string(swept->rows) + " u" + std::to_string(swept->point.knobs.unroll_k) + " ";
    }
    return text;
  };
  EXPECT_EQ(described(1), "1 u64 4 u32 ");
  EXPECT_EQ(described(4), "4 u32 1 u64 ");
  all.fit[3].kernel = "shipped";
  EXPECT_EQ(best_tiles(all, 4, {"shipped"}).size(), 3U);
}

TEST(Sweep, CountsEveryPointOnce) {
  IsaLibrary isas(kTemplates);
  const Variant shipped = variant_named(shipped_variants(isas), "qsi8c32p16x4_2x16_avx2");
  const SweepAim aim = aim_of(shipped);
  SweepPoint fits = point_of(shipped);
  SweepPoint large = fits;
  large.tile.m = large.panels.lhs = 9;
  SweepPoint uneven = fits;
  uneven.tile.n = 24;
  const CoreModel core = read_core(kTemplates, aim.isa->default_core);
  double last = -1;
  const Sweep all =
      sweep(aim, {fits, large, uneven, fits, large}, core, isas, [&](double done) { last = done; });
  EXPECT_EQ(all.tried, 3U);
  ASSERT_EQ(all.fit.size(), 1U);
  EXPECT_EQ(all.fit[0].kernel, assembly_name(shipped));
  EXPECT_EQ(all.fit[0].rows, 2);
  EXPECT_GT(all.fit[0].macs_per_cycle, 0);
  EXPECT_EQ(all.refused.at("tile N needs N vector registers on avx2"), 1U);
  EXPECT_EQ(all.refused.size(), 2U);
  EXPECT_NEAR(last, 0.6, 1e-9);  // the last two are known
}

TEST(Sweep, ReasonsHaveNoNumbers) {
  EXPECT_EQ(reason_of("tile 16x16 needs 70 vector registers on neon_i8mm (64 accumulators), 32 "
                      "exist; 8x16 fits"),
            "tile N needs N vector registers on neon_i8mm");
  EXPECT_EQ(reason_of("tile m 3 does not fit mmla: multiples of 2 do"),
            "tile m N does not fit mmla: multiples of N do");
}

}  // namespace
}  // namespace tw
