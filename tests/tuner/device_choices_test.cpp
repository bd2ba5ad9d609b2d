// What a plan does on machines that nobody here owns, from their saved descriptions: which ISAs
// they are offered, which kernels are chosen. The rows are the generated ones; those of other
// architectures count as built.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <utility>

#include "internal.h"
#include "support/environment.h"
#include "tilewright/tilewright.hpp"
#include "tuner/saved_devices.h"

namespace tw::tuner::test {
namespace {

/// The generated rows, all built.
tw_registry all_rows() {
  static const std::vector<tw_kernel> kernels = [] {
    std::vector<tw_kernel> rows(tw_generated_kernels,
                                tw_generated_kernels + tw_generated_kernel_count);
    for (tw_kernel& row : rows) row.run = [](const tw_args*) {};
    return rows;
  }();
  static const std::vector<tw_packer> packers = [] {
    std::vector<tw_packer> rows(tw_generated_packers,
                                tw_generated_packers + tw_generated_packer_count);
    for (tw_packer& row : rows) row.run = [](const tw_pack_args*) {};
    return rows;
  }();
  return {kernels.data(),
          kernels.size(),
          packers.data(),
          packers.size(),
          tw_generated_cores,
          tw_generated_core_count,
          nullptr,
          0,
          nullptr,
          0};
}

struct Destroy {
  void operator()(tw_plan* plan) const { tw_plan_destroy(plan); }
};
using Plan = std::unique_ptr<tw_plan, Destroy>;

Plan plan_for(const tw_device& device, const char* family) {
  const tw_registry rows = all_rows();
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = family;
  matmul.n = 3072;
  matmul.k = 2048;
  for (size_t i = 0; i < rows.kernel_count; ++i) {
    const tw_kernel& row = rows.kernels[i];
    if (row.family == std::string(family) && row.dst == TW_S8) {
      matmul.lhs_type = matmul.dst_type = TW_S8;
    }
  }
  tw_plan* plan = nullptr;
  EXPECT_EQ(tw_plan_create_from(&rows, &device, &matmul, &plan), TW_OK) << tw_error_message();
  return Plan(plan);
}

std::vector<tw_segment> segments(const Plan& plan, size_t m) {
  std::vector<tw_segment> found(TW_MAX_SEGMENTS);
  size_t count = 0;
  EXPECT_EQ(tw_plan_segments(plan.get(), m, found.data(), &count), TW_OK);
  found.resize(count);
  return found;
}

/// "4x16vl": rows and columns of a tile; vl and svl count 16 bytes of vectors and streaming ones.
std::string tile(const tw_kernel& kernel) {
  const char* unit = kernel.rhs->streaming != 0 ? "svl" : "vl";
  const auto length = [&](size_t fixed, size_t scalable) {
    return scalable != 0 ? fmt::format("{}{}", scalable, unit) : fmt::format("{}", fixed);
  };
  return length(kernel.tile_m, kernel.tile_m_scalable) + "x" +
         length(kernel.tile_n, kernel.tile_n_scalable);
}

/// The kernels of m rows: "8x8 neon_i8mm + 4x8 neon_i8mm".
std::string chosen(const Plan& plan, size_t m) {
  std::string text;
  for (const tw_segment& segment : segments(plan, m)) {
    const tw_kernel& kernel = *segment.kernel;
    if (!text.empty()) text += " + ";
    text += fmt::format("{} {}{}", tile(kernel), kernel.isa,
                        std::string(kernel.printer) == "assembly" ? "" : " (C)");
  }
  return text;
}

std::string offered(const tw_device& device) {
  const tw_registry rows = all_rows();
  std::set<std::string> isas;
  for (size_t i = 0; i < rows.kernel_count; ++i) {
    if (tw_kernel_supported(&rows.kernels[i], &device) != 0) isas.insert(rows.kernels[i].isa);
  }
  std::string text;
  for (const std::string& isa : isas) text += (text.empty() ? "" : " ") + isa;
  return text;
}

using Choices = std::array<std::string, 3>;  // for these numbers of rows
constexpr std::array<size_t, 3> kRows = {1, 16, 128};

struct Expected {
  const char* device;
  const char* isas;
  Choices int4, f32;
};

// The rules: what the features allow; of that the layout whose kernels take fewest predicted cycles
// for 128 calls of one row and one of 128, where streaming the weights bounds the single rows;
// then, in that layout, tiles that cover the rows in fewest cycles. n is 3072, whole tiles of every
// kernel.
const Expected kExpected[] = {
    // VNNI in its form of 256 bits. 16 rows of floats are 6 + 6 + 4.
    {"alder_lake",
     "avx2 avx_vnni scalar",
     {"1x16 avx_vnni", "4x16 avx_vnni", "4x16 avx_vnni"},
     {"1x16 avx2", "6x16 avx2 + 4x16 avx2", "6x16 avx2 + 4x16 avx2"}},
    // Intel's tiles, on the same weights as vectors; single rows are left to these, two panels at a
    // time. Tiles have nothing for floats.
    {"granite_rapids",
     "amx_bf16 amx_int8 avx2 avx512_bf16 avx512_gfni avx512_vnni avx512f avx_vnni scalar",
     {"1x64 avx512_vnni", "16x32 amx_int8", "32x32 amx_int8"},
     {"1x32 avx512f", "8x32 avx512f", "8x32 avx512f"}},
    // SVE without SVE2: there are kernels for its floats alone, whose vectors are twice NEON's. 128
    // rows of int4 are ten tiles of 12 and one of 8.
    {"graviton_3",
     "neon neon_bf16 neon_dotprod neon_fhm neon_fp16 neon_i8mm scalar sve sve_i8mm",
     {"1x16 neon_i8mm", "8x8 neon_i8mm", "12x8 neon_i8mm + 8x8 neon_i8mm"},
     {"1x16vl sve", "6x16vl sve + 1x16vl sve", "6x16vl sve + 1x16vl sve"}},
    // Vectors of 16 bytes, so SVE2 computes what NEON does; NEON has the taller tile for int4, and
    // for
    // floats one that leaves none of 128 rows over (SVE2's 6 leaves two).
    {"graviton_4",
     "neon neon_bf16 neon_dotprod neon_fhm neon_fp16 neon_i8mm scalar sve sve2 sve_i8mm",
     {"1x16 neon_i8mm", "8x8 neon_i8mm", "12x8 neon_i8mm + 8x8 neon_i8mm"},
     {"1x24 neon", "4x24 neon", "4x24 neon"}},
    // No I8MM.
    {"m1_like",
     "neon neon_dotprod neon_fhm neon_fp16 scalar",
     {"1x16 neon_dotprod", "8x8 neon_dotprod", "8x8 neon_dotprod"},
     {"1x24 neon", "4x24 neon", "4x24 neon"}},
    // No SVE outside of streaming mode, so nothing of sve2. SME2 has int4 of single rows by dot
    // products
    // in the layout of its outer products. Floats: sme and sme2 have the same outer products of one
    // predicted cost and layout, the first one stays.
    {"m4_like",
     "neon neon_bf16 neon_dotprod neon_fhm neon_fp16 neon_i8mm scalar sme sme2",
     {"1x64svl sme2", "8svlx8svl sme2", "8svlx8svl sme2"},
     {"8svlx8svl sme", "8svlx8svl sme", "8svlx8svl sme"}},
    {"pixel_8",  // as graviton_4
     "neon neon_bf16 neon_dotprod neon_fhm neon_fp16 neon_i8mm scalar sve sve2 sve_i8mm",
     {"1x16 neon_i8mm", "8x8 neon_i8mm", "12x8 neon_i8mm + 8x8 neon_i8mm"},
     {"1x24 neon", "4x24 neon", "4x24 neon"}},
    {"raspberry_pi_5",  // as m1_like
     "neon neon_dotprod neon_fp16 scalar",
     {"1x16 neon_dotprod", "8x8 neon_dotprod", "8x8 neon_dotprod"},
     {"1x24 neon", "4x24 neon", "4x24 neon"}},
    {"snapdragon_8_elite",  // as graviton_3: no SVE, no SME
     "neon neon_bf16 neon_dotprod neon_fhm neon_fp16 neon_i8mm scalar",
     {"1x16 neon_i8mm", "8x8 neon_i8mm", "12x8 neon_i8mm + 8x8 neon_i8mm"},
     {"1x24 neon", "4x24 neon", "4x24 neon"}},
    // SME without SME2: the tiles take about as long for one row as streaming the weights does, and
    // a tenth of NEON's time for 128. Four tiles in a row take nibbles in 1 % less time than two by
    // two, which stand first.
    {"snapdragon_8_elite_gen_5",
     "neon neon_bf16 neon_dotprod neon_fhm neon_fp16 neon_i8mm scalar sme sve sve2 sve_i8mm",
     {"8svlx8svl sme", "8svlx8svl sme", "8svlx8svl sme"},
     {"8svlx8svl sme", "8svlx8svl sme", "8svlx8svl sme"}},
    // Its kernel hides the cores' SVE2.
    {"snapdragon_8_gen_3",
     "neon neon_bf16 neon_dotprod neon_fhm neon_fp16 neon_i8mm scalar",
     {"1x16 neon_i8mm", "8x8 neon_i8mm", "12x8 neon_i8mm + 8x8 neon_i8mm"},
     {"1x24 neon", "4x24 neon", "4x24 neon"}},
    // AVX-512 with VNNI; no VNNI of 256 bits (avx_vnni), which is another feature.
    {"zen_4",
     "avx2 avx512_bf16 avx512_gfni avx512_vnni avx512f scalar",
     {"1x32 avx512_vnni", "8x32 avx512_vnni", "8x32 avx512_vnni"},
     {"1x32 avx512f", "8x32 avx512f", "8x32 avx512f"}},
    // Both forms of VNNI.
    {"zen_5",
     "avx2 avx512_bf16 avx512_gfni avx512_vnni avx512f avx_vnni scalar",
     {"1x32 avx512_vnni", "8x32 avx512_vnni", "8x32 avx512_vnni"},
     {"1x32 avx512f", "8x32 avx512f", "8x32 avx512f"}},
};

// Where the features are the same, the core's table decides: on Granite Rapids an instruction that
// converts halves takes both ports of the products, so more rows at a time are worth more; on Zen 4
// prefetches of a stream cost more than they bring.
TEST(SavedDevice, CoresWithTheSameFeaturesDiffer) {
  const struct {
    const char *device, *halves;
    size_t prefetch;
  } expected[] = {{"zen_4", "4x32 avx512f", 0},
                  {"zen_5", "8x32 avx512f + 4x32 avx512f", 8192},
                  {"granite_rapids", "8x32 avx512f + 4x32 avx512f", 3072}};
  for (const auto& row : expected) {
    const tw_device device = saved_device(row.device);
    const Plan halves = plan_for(device, "matmul_clamp_f32_f32_f16p");
    EXPECT_EQ(chosen(halves, 12), row.halves) << row.device;
    tw_tuning tuning{};
    ASSERT_EQ(tw_plan_tuning(halves.get(), 1, &tuning), TW_OK);
    EXPECT_EQ(tuning.rhs_prefetch, row.prefetch) << row.device;
  }
}

// Bit matrices take codes out of bytes in one instruction for two. Where shifts and masks take
// ports that products want, that pays (Granite Rapids whose tiles nobody asked for); on Zen bit
// matrices take those ports, shifts do not.
TEST(SavedDevice, OnlyCoresWhoseShiftsCostProductsTakeBitMatrices) {
  for (const char* name : {"zen_4", "zen_5", "granite_rapids"}) {
    tw_device device = saved_device(name);
    device.features &= ~(TW_FEATURE_AMX_TILE | TW_FEATURE_AMX_INT8 | TW_FEATURE_AMX_BF16);
    const std::string isa = std::string(name) == "granite_rapids" ? "avx512_gfni" : "avx512_vnni";
    const Plan int4 = plan_for(device, "matmul_clamp_f32_qai8dxp_qsi4cxp");
    EXPECT_EQ(chosen(int4, 4), "4x32 " + isa) << name;
    EXPECT_EQ(chosen(int4, 128), "8x32 " + isa) << name;
  }
}

Choices choices(const tw_device& device, const char* family) {
  const Plan plan = plan_for(device, family);
  Choices all;
  for (size_t i = 0; i < kRows.size(); ++i) all[i] = chosen(plan, kRows[i]);
  return all;
}

void PrintTo(const Expected& expected, std::ostream* out) {
  *out << expected.device;
}

class SavedDevices : public ::testing::TestWithParam<Expected> {};

TEST_P(SavedDevices, AreOfferedAndChoose) {
  const tw_device device = saved_device(GetParam().device);
  EXPECT_EQ(offered(device), GetParam().isas);
  EXPECT_EQ(choices(device, "matmul_clamp_f32_qai8dxp_qsi4cxp"), GetParam().int4);
  EXPECT_EQ(choices(device, "matmul_clamp_f32_f32_f32p"), GetParam().f32);
}

INSTANTIATE_TEST_SUITE_P(Table, SavedDevices, ::testing::ValuesIn(kExpected),
                         [](const auto& row) { return std::string(row.param.device); });

/// Layout ids of the weights that kernels of an ISA read.
std::set<uint64_t> weights_of(const char* family, const char* isa) {
  const tw_registry rows = all_rows();
  std::set<uint64_t> ids;
  for (size_t i = 0; i < rows.kernel_count; ++i) {
    const tw_kernel& row = rows.kernels[i];
    if (std::string(row.family) == family && std::string(row.isa) == isa) ids.insert(row.rhs->id);
  }
  return ids;
}

// One packed copy for single rows by vectors and many by tiles.
TEST(SavedDevice, TilesReadTheWeightsOfVectors) {
  const struct {
    const char *family, *single;
  } all[] = {{"matmul_clamp_f32_qai8dxp_qsi8cxp", "1x64 avx512_vnni"},
             {"matmul_clamp_f32_qai8dxp_qsi4cxp", "1x64 avx512_vnni"},
             {"matmul_clamp_f32_qai8dxp_qsi2cxp", "1x32 avx512_vnni"},
             {"matmul_clamp_qai8_qai8p_qsi8cxp", "1x32 avx512_vnni"},
             {"matmul_clamp_qai8_qai8p_qsi4cxp", "1x32 avx512_vnni"},
             {"matmul_clamp_qai8_qai8p_qsi2cxp", "1x32 avx512_vnni"}};
  for (const auto& [family, single] : all) {
    EXPECT_EQ(weights_of(family, "amx_int8").size(), 1U) << family;
    EXPECT_EQ(weights_of(family, "amx_int8"), weights_of(family, "avx512_vnni")) << family;
    const Choices chosen = choices(saved_device("granite_rapids"), family);
    EXPECT_EQ(chosen[0], single) << family;
    EXPECT_EQ(chosen[2], "32x32 amx_int8") << family;
  }
}

// Products of vectors are slower there than those of f32, but one row waits for memory.
TEST(SavedDevice, TilesTakeRowsOfBf16) {
  const Choices chosen = choices(saved_device("granite_rapids"), "matmul_clamp_f32_bf16p_bf16p");
  EXPECT_EQ(chosen[0], "1x32 avx512_bf16");
  EXPECT_EQ(chosen[1], "16x32 amx_bf16");
  EXPECT_EQ(chosen[2], "32x32 amx_bf16");
}

TEST(SavedDevice, AllStandInTheTable) {
  std::vector<std::string> expected;
  for (const Expected& row : kExpected) expected.emplace_back(row.device);
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(device_names(), expected);
}

using Blocks = std::pair<size_t, tw_scales>;

std::set<std::pair<std::string, Blocks>> all_families() {
  const tw_registry rows = all_rows();
  std::set<std::pair<std::string, Blocks>> families;
  for (size_t i = 0; i < rows.kernel_count; ++i) {
    const tw_kernel& row = rows.kernels[i];
    families.insert({row.family, {row.rhs->block, row.rhs->block_scales}});
  }
  return families;
}

void expect_only_what_runs(const tw_device& device) {
  const tw_registry rows = all_rows();
  for (const auto& [family, blocks] : all_families()) {
    auto matmul = tilewright::sized<tw_matmul>();
    matmul.family = family.c_str();
    matmul.n = matmul.k = 1024;
    matmul.block = blocks.first;
    matmul.scales = blocks.second;
    tw_plan* made = nullptr;
    const tw_status status = tw_plan_create_from(&rows, &device, &matmul, &made);
    EXPECT_TRUE(status == TW_OK || status == TW_UNSUPPORTED) << tw_error_message();
    if (status != TW_OK) continue;
    const Plan plan(made);
    for (const size_t m : {1, 2, 5, 8, 16, 130}) {
      for (const tw_segment& segment : segments(plan, m)) {
        const tw_features missing = ~device.features;
        EXPECT_EQ(segment.kernel->features & missing, 0U)
            << segment.kernel->name << " on " << device.name;
        if (segment.lhs_packer == nullptr) continue;
        EXPECT_EQ(segment.lhs_packer->features & missing, 0U)
            << segment.lhs_packer->name << " on " << device.name;
      }
    }
  }
}

// Whatever the cost model says: nothing that the CPU lacks. Nor what it would lack with a feature
// less, as kernels of operating systems hide some.
TEST(SavedDevice, NeverGetsAKernelThatItLacks) {
  const bool is_sampled = tw::test::is_sanitized && !tw::test::is_long();
  for (const std::string& name : device_names()) {
    const tw_device device = saved_device(name);
    expect_only_what_runs(device);
    for (int bit = 0; bit < 64; bit += is_sampled ? 9 : 1) {
      tw_device less = device;
      less.features &= ~(tw_features{1} << bit);
      if (less.features != device.features) expect_only_what_runs(less);
    }
  }
}

}  // namespace
}  // namespace tw::tuner::test
