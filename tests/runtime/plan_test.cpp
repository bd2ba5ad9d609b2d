#include <gtest/gtest.h>

#include "runtime/devices.h"
#include "runtime/problem.h"
#include "support/environment.h"
#include "tilewright/tilewright.hpp"

namespace tw::test::plan_test {
namespace {

constexpr size_t kN = 2048;
constexpr size_t kK = 2048;

TEST(Plan, SplitsRowsByCost) {
  const TestPlan plan(zen4(), kN, kK);
  ASSERT_EQ(plan.status, TW_OK) << tw_error_message();
  EXPECT_EQ(plan.split(0), "");
  EXPECT_EQ(plan.split(1), "1:vnni_1x32");
  EXPECT_EQ(plan.split(4), "4:vnni_4x32");
  EXPECT_EQ(plan.split(5), "4:vnni_4x32 1:vnni_1x32");
  EXPECT_EQ(plan.split(7), "7:vnni_8x32");
  EXPECT_EQ(plan.split(8), "8:vnni_8x32");
  EXPECT_EQ(plan.split(12), "8:vnni_8x32 4:vnni_4x32");
  EXPECT_EQ(plan.split(13), "8:vnni_8x32 4:vnni_4x32 1:vnni_1x32");
  EXPECT_EQ(plan.split(16), "16:vnni_8x32");
  EXPECT_EQ(plan.split(512), "512:vnni_8x32");
  EXPECT_EQ(plan.split(516), "512:vnni_8x32 4:vnni_4x32");
  EXPECT_EQ(plan.split(1000001), "1000000:vnni_8x32 1:vnni_1x32");
}

// The dynamic programming against all ways to cover the rows with whole and partial tiles, of which
// the first waits for the weights. `behind`: what fewer rows cost that do not wait.
double cheapest(const tw_plan* plan, size_t rows, double segment, double stream,
                const std::vector<double>& behind) {
  double best = 1e300;
  for (size_t c = 0; c < plan->split.count; ++c) {
    const tw_choice& choice = plan->split.choices[c];
    const size_t tile = choice.kernel->tile_m;
    for (size_t tiles = 1; (tiles - 1) * tile < rows; ++tiles) {
      const size_t taken = std::min(rows, tiles * tile);
      const double cycles = static_cast<double>(tiles) * choice.tile_cycles;
      const double others = choice.kernel->prefetches_panels != 0 ? 0.75 : 0;
      const double hidden = choice.tile_cycles * (0.999 + others * static_cast<double>(tiles - 1));
      best =
          std::min(best, cycles + segment + std::max(0.0, stream - hidden) + behind[rows - taken]);
    }
  }
  return best;
}

TEST(Plan, SplitIsTheCheapest) {
  for (const tw_device& device : {zen4(), neoverse_v1(), alder_lake(), plain()}) {
    const TestPlan plan(device, 96, 64);
    ASSERT_EQ(plan.status, TW_OK);
    const double segment =
        100.0 * static_cast<double>((96 + plan.get()->n_block - 1) / plan.get()->n_block);
    const double stream = static_cast<double>(plan.get()->rhs_bytes) / TW_STREAM_BYTES;
    std::vector<double> behind = {0};
    for (size_t m = 1; m <= 31; ++m) {
      EXPECT_NEAR(tw_split_cycles(&plan.get()->split, m, TW_NO_CHOICE),
                  cheapest(plan.get(), m, segment, stream, behind), 1e-6)
          << device.name << " m " << m;
      behind.push_back(cheapest(plan.get(), m, segment, 0, behind));
    }
  }
}

/// Which of two tiles many rows go to: 12 rows for 1200 cycles, which waits for its weights, or 8
/// rows for `cycles`, which prefetches the next panel.
size_t tile_of_many(double cycles) {
  tw_kernel waits{}, prefetches{};
  prefetches.prefetches_panels = true;
  tw_split split{};
  split.count = 2;
  split.choices[0].kernel = &waits;
  split.choices[0].tile_m = 12;
  split.choices[0].tile_cycles = 1200;
  split.choices[1].kernel = &prefetches;
  split.choices[1].tile_m = 8;
  split.choices[1].tile_cycles = cycles;
  tw_split_build(&split, 0, 0);
  return split.choices[split.main].tile_m;
}

TEST(Plan, ManyRowsGoToWhatKeepsMemoryBusy) {
  EXPECT_EQ(tile_of_many(820), 8U);
  EXPECT_EQ(tile_of_many(860), 12U) << "where that takes 7 % more cycles";
}

TEST(Plan, SegmentsCoverTheRowsInOrder) {
  const TestPlan plan(zen4(), 96, 64);
  for (size_t m = 0; m < 70; ++m) {
    tw_segment segments[TW_MAX_SEGMENTS];
    size_t count = 0;
    ASSERT_EQ(tw_plan_segments(plan.get(), m, segments, &count), TW_OK);
    size_t row = 0;
    size_t offset = 0;
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(segments[i].row_begin, row);
      EXPECT_GE(segments[i].lhs_offset, offset);
      EXPECT_EQ(segments[i].lhs_offset % 64, 0U);
      row += segments[i].rows;
      const size_t panel = segments[i].kernel->lhs->panel;
      offset =
          segments[i].lhs_offset + (segments[i].rows + panel - 1) / panel * segments[i].lhs_stride;
    }
    EXPECT_EQ(row, m);
    EXPECT_LE(offset, plan.lhs_bytes(m));
  }
}

// A kernel is never offered to a machine without its features, whatever m, n and k are.
TEST(Plan, UsesOnlyWhatTheMachineHas) {
  for (const tw_device& device :
       {plain(), neoverse_n1(), neoverse_v1(), neoverse_n2(), alder_lake(), zen4(), zen5()}) {
    for (const size_t n : {1, 33, 256, 16384}) {
      const TestPlan plan(device, n, 100);
      ASSERT_EQ(plan.status, TW_OK) << device.name << ": " << tw_error_message();
      for (const size_t m : {1, 2, 3, 4, 7, 8, 16, 31, 500}) {
        tw_segment segments[TW_MAX_SEGMENTS];
        size_t count = 0;
        ASSERT_EQ(tw_plan_segments(plan.get(), m, segments, &count), TW_OK);
        for (size_t i = 0; i < count; ++i) {
          EXPECT_TRUE(tw_kernel_supported(segments[i].kernel, &device)) << device.name;
          EXPECT_TRUE(tw_packer_supported(segments[i].lhs_packer, &device)) << device.name;
        }
      }
    }
  }
}

// Plain C is for where there is nothing else, however new what it was compiled for.
TEST(Plan, VectorizedPackersComeFirst) {
  tw_layout layout{};
  layout.id = 7;
  const auto packer = [&](const char* name, tw_features features, int vectorized) {
    const auto run = [](const tw_pack_args*) {};
    return tw_packer{name, "lhs", "f32", name, run, features, &layout, 0, vectorized};
  };
  const tw_packer rows[] = {packer("scalar", 0, 0),
                            packer("plain", TW_FEATURE_I8MM | TW_FEATURE_SVE2, 0),
                            packer("dotprod", TW_FEATURE_DOTPROD, 1),
                            packer("i8mm", TW_FEATURE_DOTPROD | TW_FEATURE_I8MM, 1)};
  tw_device device = neoverse_n2();
  for (const size_t count : {4, 3, 2, 1}) {
    const tw_registry registry{nullptr, 0, rows, count, nullptr, 0, nullptr, 0, nullptr, 0};
    EXPECT_EQ(tw_choose_packer(&registry, &device, 7, "f32"), &rows[count - 1]);
  }
}

TEST(Plan, ForeignMachines) {
  struct {
    tw_device device;
    const char* one;
    const char* twelve;
    const char* many;
  } cases[] = {
      {plain(), "1:scalar_1x8", "12:scalar_2x8", "64:scalar_2x8"},
      {neoverse_n1(), "1:dotprod_1x16", "12:dotprod_4x8", "64:dotprod_4x8"},
      {neoverse_v1(), "1:dotprod_1x16", "8:i8mm_8x8 4:i8mm_4x8", "64:i8mm_8x8"},
      {neoverse_n2(), "1:sve2_4x1vl", "12:sve2_4x1vl", "64:sve2_4x1vl"},
      {alder_lake(), "1:avx2_4x16", "12:avx2_4x16", "64:avx2_4x16"},
      {zen4(), "1:vnni_1x32", "8:vnni_8x32 4:vnni_4x32", "64:vnni_8x32"},
      {zen5(), "1:vnni_1x32", "8:vnni_8x32 4:vnni_4x32", "64:vnni_8x32"},
  };
  for (const auto& expected : cases) {
    const TestPlan plan(expected.device, kN, kK);
    ASSERT_EQ(plan.status, TW_OK) << expected.device.name;
    EXPECT_EQ(plan.split(1), expected.one) << expected.device.name;
    EXPECT_EQ(plan.split(12), expected.twelve) << expected.device.name;
    EXPECT_EQ(plan.split(64), expected.many) << expected.device.name;
  }
}

// Kernels for cores that issue in order, whatever their predicted speed, where nothing else is.
TEST(Plan, InOrderCoresGetTheirKernels) {
  const tw_device little = phone("little", {kMidrA510});
  const tw_device both = phone("both", {kMidrA510, kMidrA710});
  EXPECT_TRUE(tw_device_in_order(&little));
  EXPECT_FALSE(tw_device_in_order(&both));
  const TestPlan on_little(little, kN, kK);
  EXPECT_EQ(on_little.split(64), "64:i8mm_8x8_little");
  EXPECT_EQ(on_little.split(1), "1:i8mm_1x16_little");
  EXPECT_EQ(on_little.split(12), "12:i8mm_8x8_little");
  EXPECT_EQ(on_little.split(4), "4:i8mm_8x8_little") << "there is no lower one but for one row";
  const TestPlan on_both(both, kN, kK);
  EXPECT_EQ(on_both.split(1), "1:dotprod_1x16");
  EXPECT_EQ(on_both.split(4), "4:i8mm_4x8");
  EXPECT_EQ(on_both.split(64), "64:i8mm_8x8");
  tw_matmul matmul = TestPlan::basic(kN, kK);
  matmul.kernel = "i8mm_8x8_little";
  const TestPlan named(both, matmul);
  EXPECT_EQ(named.split(64), "64:i8mm_8x8_little") << "asked for by name";
}

TEST(Plan, MixDecidesTheLayout) {
  tw_matmul matmul = TestPlan::basic(kN, kK);
  const tw_mix decode[] = {{1, 1}};
  matmul.mix = decode;
  matmul.mix_count = 1;
  const TestPlan one(neoverse_n2(), matmul);
  EXPECT_EQ(one.split(1), "1:dotprod_1x16");
  const tw_mix prefill[] = {{256, 1}};
  matmul.mix = prefill;
  const TestPlan many(neoverse_n2(), matmul);
  EXPECT_EQ(many.split(256), "256:sve2_4x1vl");
}

TEST(Plan, LayoutAndKernelCanBeGiven) {
  tw_matmul matmul = TestPlan::basic(kN, kK);
  matmul.rhs_layout = 0x208;
  const TestPlan scalar(zen4(), matmul);
  ASSERT_EQ(scalar.status, TW_OK);
  EXPECT_EQ(scalar.split(5), "4:scalar_2x8 1:scalar_1x8");
  EXPECT_EQ(tw_plan_rhs_layout(scalar.get())->id, 0x208U);
  matmul.rhs_layout = 0;
  matmul.kernel = "vnni_8x32_again";  // never chosen by itself: the first of equals is
  const TestPlan forced(zen4(), matmul);
  ASSERT_EQ(forced.status, TW_OK);
  EXPECT_EQ(forced.split(1), "1:vnni_8x32_again");
  EXPECT_EQ(tw_plan_rhs_layout(nullptr), nullptr);
}

TEST(Plan, LimitedDeviceUsesThatIsa) {
  tw_device device = zen4();
  ASSERT_EQ(tw_device_limit(&device, "avx2"), TW_OK);
  EXPECT_EQ(TestPlan(device, kN, kK).split(8), "8:avx2_4x16");
  ASSERT_EQ(tw_device_limit(&device, "scalar"), TW_OK);
  EXPECT_EQ(TestPlan(device, kN, kK).split(8), "8:scalar_2x8");
}

TEST(Plan, PrefetchIsOffWhenMemoryBound) {
  const TestPlan plan(zen4(), kN, kK);
  tw_tuning tuning{};
  ASSERT_EQ(tw_plan_tuning(plan.get(), 1, &tuning), TW_OK);
  EXPECT_EQ(tuning.rhs_prefetch, 0U);
  ASSERT_EQ(tw_plan_tuning(plan.get(), 16, &tuning), TW_OK);
  EXPECT_EQ(tuning.rhs_prefetch, 32U * (kK / 2 + 8));  // the next panel
  EXPECT_EQ(tuning.n_block % 32, 0U);
  const TestPlan shallow(zen4(), kN, 128);  // one pass: not closer than 16 KiB
  ASSERT_EQ(tw_plan_tuning(shallow.get(), 4, &tuning), TW_OK);
  EXPECT_EQ(tuning.rhs_prefetch, 16384U);
  ASSERT_EQ(tw_plan_tuning(shallow.get(), 0, &tuning), TW_OK);
  ASSERT_EQ(tw_plan_tuning(plan.get(), 13, &tuning), TW_OK);
  EXPECT_EQ(tuning.rhs_prefetch, 16384U) << "8 + 4 + 1: each kernel passes over the weights once";
}

TEST(Plan, PrefetchHelpsStreamsOnZen5) {
  tw_device device = zen4();
  device.family = 26;  // AMD's, as no other maker is named
  const TestPlan plan(device, kN, kK);
  tw_tuning tuning{};
  ASSERT_EQ(tw_plan_tuning(plan.get(), 1, &tuning), TW_OK);
  EXPECT_EQ(tuning.rhs_prefetch, 8192U);
  ASSERT_EQ(tw_plan_tuning(plan.get(), 16, &tuning), TW_OK);
  EXPECT_EQ(tuning.rhs_prefetch, 32U * (kK / 2 + 8));  // the next panel
}

TEST(Plan, TuningOverrides) {
  tw_matmul matmul = TestPlan::basic(1000, 64);
  matmul.tuning = {100, 17, 4096, TW_ORDER_UNSET, TW_DECODE_UNSET};
  const TestPlan plan(zen4(), matmul);
  tw_tuning tuning{};
  ASSERT_EQ(tw_plan_tuning(plan.get(), 64, &tuning), TW_OK);
  EXPECT_EQ(tuning.n_block, 128U);
  EXPECT_EQ(tuning.m_block, 16U);
  EXPECT_EQ(tuning.rhs_prefetch, 4096U);
  EXPECT_EQ(tilewright::run_slices(plan.get(), 64), 8U * 4U);
  matmul.tuning = {SIZE_MAX, SIZE_MAX, TW_PREFETCH_OFF, TW_ORDER_UNSET, TW_DECODE_UNSET};
  const TestPlan whole(zen4(), matmul);
  ASSERT_EQ(tw_plan_tuning(whole.get(), 64, &tuning), TW_OK);
  EXPECT_EQ(tuning.rhs_prefetch, 0U);
  EXPECT_EQ(tilewright::run_slices(whole.get(), 64), 1U);
}

TEST(Plan, CoresGetSlices) {
  const tw_device one = machine("one core", kVnni, 1);
  const tw_device many = machine("many cores", kVnni, 64);
  const TestPlan alone(one, kN, kK);
  EXPECT_EQ(tilewright::run_slices(alone.get(), 128), 4U);
  EXPECT_EQ(tilewright::run_slices(TestPlan(many, kN, kK).get(), 1), 64U);
}

// 2.3 MB of weights, of which one row waits for each byte.
TEST(Plan, FewRowsStreamLongRunsOfWeights) {
  tw_matmul matmul = TestPlan::basic(kN, kK);
  for (const auto& [threads, slices] : {std::pair{1U, 3U}, {2U, 3U}, {4U, 4U}, {1000U, 64U}}) {
    matmul.threads = threads;
    const TestPlan plan(machine("some cores", kVnni, 16), matmul);
    EXPECT_EQ(tilewright::run_slices(plan.get(), 1), slices) << threads;
  }
  tw_device unlike = machine("big and little", kVnni, 2);
  unlike.cluster_count = 2;
  unlike.clusters[1].count = 2;
  EXPECT_GE(tilewright::run_slices(TestPlan(unlike, kN, kK).get(), 1), 4U * 4U)
      << "slow cores must be able to take fewer";
  unlike.clusters[0].count = unlike.clusters[1].count = 1;
  EXPECT_EQ(tilewright::run_slices(TestPlan(unlike, kN, kK).get(), 128), 10U)
      << "7 panels have a quarter of L2";
  EXPECT_EQ(tilewright::run_slices(TestPlan(machine("two cores", kVnni, 2), kN, kK).get(), 128),
            8U);
}

TEST(Plan, ThreadsGetSlicesOfFewColumns) {
  tw_matmul matmul = TestPlan::basic(64, kK);
  matmul.threads = 8;
  const TestPlan plan(machine("some cores", kVnni, 2), matmul);
  EXPECT_EQ(tilewright::run_slices(plan.get(), 128), 8U);  // 2 panels, so 4 blocks of rows
  EXPECT_EQ(tilewright::run_slices(plan.get(), 8), 2U) << "a tile of rows is not cut";
}

size_t rows_of_a_slice(const tw_device& device, size_t k, size_t m) {
  const TestPlan plan(device, 4096, k);
  tw_tuning tuning{};
  EXPECT_EQ(tw_plan_tuning(plan.get(), m, &tuning), TW_OK);
  return tuning.m_block;
}

// Weights come from memory once for each block of rows; the rows come from a cache once for each
// tile of columns.
TEST(Plan, BlocksOfRowsAreLongWherePanelsAre) {
  tw_device device = machine("one core", kVnni, 1);  // 1 MiB of L2, of which a half is 18 of these
  EXPECT_EQ(rows_of_a_slice(device, 28800, 128), 128U) << "18 at a time would read weights 8 times";
  EXPECT_EQ(rows_of_a_slice(device, 28800, 4096), 142U) << "more than caches behind L2 keep";
  device.l3_bytes = 8 << 20;
  EXPECT_EQ(rows_of_a_slice(device, 28800, 128), 128U);
  EXPECT_LT(rows_of_a_slice(device, 2048, 4096), 400U) << "those stay in L2";
}

const char* core_of(size_t family, const char* cores, tw_features features) {
  tw_device device = machine("x86", features);
  device.family = family;
  std::snprintf(device.clusters[0].name, sizeof device.clusters[0].name, "%s", cores);
  const tw_registry registry = fake_registry();
  const tw_core* core = tw_core_of(&registry, &device);
  return core == nullptr ? "none" : core->name;
}

TEST(Plan, UnknownCoresAreLikeTheirNearestRelative) {
  EXPECT_STREQ(core_of(26, "AMD 26.2", kVnni), "new");
  EXPECT_STREQ(core_of(30, "AMD 30.1", kVnni), "new");
  EXPECT_STREQ(core_of(25, "AMD 25.17", kVnni), "old");
  EXPECT_STREQ(core_of(23, "AMD 23.49", kAvx2), "old");
  EXPECT_STREQ(core_of(6, "Intel 6.151", kAvx2), "client");
  EXPECT_STREQ(core_of(6, "Intel 6.143", kVnni), "server");
  EXPECT_STREQ(core_of(19, "Intel 19.1", kVnni), "server") << "though 19 is nearer to 25 than to 6";
  EXPECT_STREQ(core_of(7, "CentaurHauls 7.59", kAvx2), "client");
  EXPECT_STREQ(core_of(0, "Neoverse-N1", kDotprod), "none");
}

// Of its core, where a machine does not say.
TEST(Plan, SizesOfCachesComeFromTheCore) {
  tw_device device = machine("x86", kVnni, 1);
  device.l2_bytes = 0;
  EXPECT_EQ(TestPlan(device, kN, kK).get()->near_columns, 32U) << "some 256 KiB are likely";
  device.family = 26;
  EXPECT_EQ(TestPlan(device, kN, kK).get()->near_columns, 7 * 32U) << "a quarter of 1 MiB";
}

uint64_t lhs_id(const TestPlan& plan, size_t m) {
  uint64_t id = 0;
  EXPECT_EQ(tw_lhs_id(plan.get(), m, &id), TW_OK);
  return id;
}

TEST(Plan, PackedLhsIsSharedWhenIdsAgree) {
  const TestPlan q(zen4(), 2048, 512);
  const TestPlan k(zen4(), 256, 512);
  const TestPlan deeper(zen4(), 2048, 544);
  EXPECT_EQ(lhs_id(q, 12), lhs_id(k, 12));
  EXPECT_NE(lhs_id(q, 12), lhs_id(q, 13));
  EXPECT_NE(lhs_id(q, 12), lhs_id(deeper, 12));
  EXPECT_NE(lhs_id(q, 1), lhs_id(TestPlan(alder_lake(), 2048, 512), 1));
}

TEST(Plan, LogSaysWhatRuns) {
  set_environment("TILEWRIGHT_LOG", "1");
  ::testing::internal::CaptureStderr();
  const TestPlan plan(zen4(), 64, 64);
  const std::string log = ::testing::internal::GetCapturedStderr();
  set_environment("TILEWRIGHT_LOG", "");
  EXPECT_NE(log.find("m=1 rows 0..0: vnni_1x32"), std::string::npos) << log;
  EXPECT_NE(log.find("m=128 rows 0..127: vnni_8x32"), std::string::npos) << log;
  ::testing::internal::CaptureStderr();
  const TestPlan quiet(zen4(), 64, 64);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// A layout whose sums would overflow is not taken, however fast its kernels are.
TEST(Plan, DeepProblemsNeedALayoutWithExactSums) {
  EXPECT_EQ(TestPlan(neoverse_n1(), 64, 65535).split(4), "4:dotprod_4x8");
  EXPECT_EQ(TestPlan(neoverse_n1(), 64, 65536).split(1), "1:scalar_1x8");
}

}  // namespace
}  // namespace tw::test::plan_test
