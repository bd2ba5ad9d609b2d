// What macOS and Windows say of machines that are not here, and what a device becomes of it.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/devices.h"

namespace tw::test {
namespace {

/// Answers of sysctl.
struct Answers {
  std::map<std::string, uint64_t> numbers;
  std::map<std::string, std::string> texts;
};

bool number(void* context, const char* name, uint64_t* value) {
  const auto& numbers = static_cast<Answers*>(context)->numbers;
  const auto found = numbers.find(name);
  if (found == numbers.end()) return false;
  *value = found->second;
  return true;
}

bool text(void* context, const char* name, char* to, size_t bytes) {
  const auto& texts = static_cast<Answers*>(context)->texts;
  const auto found = texts.find(name);
  if (found == texts.end()) return false;
  std::snprintf(to, bytes, "%s", found->second.c_str());
  return true;
}

void describe(tw_device& device, Answers answers) {
  const tw_sysctl system = {number, text, &answers};
  tw_describe_apple(&device, &system);
}

Answers apple_m4() {
  return {{{"hw.optional.neon", 1},
           {"hw.optional.arm.AdvSIMD", 1},
           {"hw.optional.arm.FEAT_DotProd", 1},
           {"hw.optional.arm.FEAT_I8MM", 1},
           {"hw.optional.arm.FEAT_FP16", 1},
           {"hw.optional.arm.FEAT_BF16", 1},
           {"hw.optional.arm.FEAT_FHM", 1},
           {"hw.optional.arm.FEAT_SME", 1},
           {"hw.optional.arm.FEAT_SME2", 1},
           {"hw.optional.arm.sme_max_svl_b", 64},
           {"hw.nperflevels", 2},
           {"hw.perflevel0.logicalcpu", 4},
           {"hw.perflevel0.l1dcachesize", 128 << 10},
           {"hw.perflevel0.l2cachesize", 16 << 20},
           {"hw.perflevel0.cpusperl2", 4},
           {"hw.perflevel1.logicalcpu", 6},
           {"hw.perflevel1.l1dcachesize", 64 << 10},
           {"hw.perflevel1.l2cachesize", 4 << 20},
           {"hw.perflevel1.cpusperl2", 6}},
          {{"machdep.cpu.brand_string", "Apple M4"},
           {"hw.perflevel0.name", "Performance"},
           {"hw.perflevel1.name", "Efficiency"}}};
}

TEST(Apple, LevelsOfPerformanceAreClusters) {
  tw_device device{};
  describe(device, apple_m4());
  EXPECT_STREQ(device.name, "Apple M4");
  EXPECT_EQ(device.features, kI8mm | TW_FEATURE_DOTPROD | TW_FEATURE_FP16 | TW_FEATURE_BF16 |
                                 TW_FEATURE_FHM | TW_FEATURE_SME | TW_FEATURE_SME2);
  EXPECT_EQ(device.streaming_vector_bytes, 64U);
  EXPECT_EQ(device.vector_bytes, 0U);
  ASSERT_EQ(device.cluster_count, 2U);
  EXPECT_STREQ(device.clusters[0].name, "Apple M4 P");
  EXPECT_STREQ(device.clusters[1].name, "Apple M4 E");
  EXPECT_EQ(tw_fastest_cluster(&device), &device.clusters[0]);
  EXPECT_EQ(device.clusters[0].count, 4U);
  EXPECT_EQ(device.clusters[1].l2_bytes, 4U << 20);
  EXPECT_EQ(device.clusters[1].sme_units, 1U);
  EXPECT_EQ(device.l1_bytes, 128U << 10);
  EXPECT_EQ(device.l2_bytes, 16U << 20);
  EXPECT_EQ(device.virtual_machine, 0);
  EXPECT_EQ(tw_device_cores(&device), 10U);
}

TEST(Apple, ClustersOfCoresHaveAnSmeUnitEach) {
  Answers answers = apple_m4();
  answers.numbers["hw.perflevel0.logicalcpu"] = 10;
  answers.numbers["hw.perflevel0.cpusperl2"] = 5;
  tw_device device{};
  describe(device, answers);
  EXPECT_EQ(device.clusters[0].sme_units, 2U);
  answers.numbers["hw.optional.arm.FEAT_SME"] = 0;
  device = {};
  describe(device, answers);
  EXPECT_EQ(device.clusters[0].sme_units, 0U);
  EXPECT_EQ(device.features & TW_FEATURE_SME, 0U);
}

TEST(Apple, OlderSystemsHaveOtherNames) {
  tw_device device{};
  describe(device, {{{"hw.optional.neon", 1}, {"hw.optional.neon_fp16", 1}, {"hw.logicalcpu", 2}},
                    {{"machdep.cpu.brand_string", "Apple M1"}}});
  EXPECT_EQ(device.features, TW_FEATURE_NEON | TW_FEATURE_FP16);
  ASSERT_EQ(device.cluster_count, 1U);
  EXPECT_EQ(device.clusters[0].count, 2U);
  EXPECT_STREQ(device.clusters[0].name, "Apple M1");
}

TEST(Apple, IntelMacsKeepWhatCpuidSaid) {
  tw_device device{};
  device.features = kAvx2;
  std::snprintf(device.name, sizeof device.name, "Intel(R) Core(TM) i7");
  std::snprintf(device.clusters[0].name, sizeof device.clusters[0].name, "Intel 6.158");
  describe(device, {{{"hw.nperflevels", 1},
                     {"hw.logicalcpu", 12},
                     {"hw.l1dcachesize", 32 << 10},
                     {"hw.l2cachesize", 256 << 10},
                     {"hw.l3cachesize", 12 << 20},
                     {"kern.hv_vmm_present", 1}},
                    {{"machdep.cpu.brand_string", "another"}}});
  EXPECT_EQ(device.features, kAvx2);
  EXPECT_STREQ(device.name, "Intel(R) Core(TM) i7");
  ASSERT_EQ(device.cluster_count, 1U);
  EXPECT_STREQ(device.clusters[0].name, "Intel 6.158");
  EXPECT_EQ(device.clusters[0].count, 12U);
  EXPECT_EQ(device.clusters[0].l2_bytes, 256U << 10);
  EXPECT_EQ(device.l3_bytes, 12U << 20);
  EXPECT_EQ(device.virtual_machine, 1);
}

TEST(Apple, SaysNothing) {
  tw_device device{};
  describe(device, {});
  EXPECT_EQ(device.features, 0U);
  EXPECT_EQ(device.cluster_count, 1U);
  EXPECT_EQ(tw_device_cores(&device), 1U);
}

TEST(Windows, FeaturesFollowTheSystemsNumbers) {
  EXPECT_EQ(tw_windows_features([](unsigned it) { return it == 19 || it == 43 || it == 67; }),
            kDotprod | TW_FEATURE_FP16);
  EXPECT_EQ(tw_windows_features([](unsigned it) { return it == 66; }), TW_FEATURE_I8MM);
  EXPECT_EQ(tw_windows_features([](unsigned it) { return it == 68; }), TW_FEATURE_BF16);
  // Of SVE and SME it does not say how long vectors are.
  const tw_features vectors = TW_FEATURE_SVE | TW_FEATURE_SVE2 | TW_FEATURE_SME | TW_FEATURE_SME2;
  EXPECT_EQ(tw_windows_features([](unsigned) { return true; }) & vectors, 0U);
}

TEST(Windows, CoresOfArmHaveNames) {
  std::vector<tw_windows_cpu> cpus(8);
  for (size_t i = 0; i < cpus.size(); ++i) {
    const bool fast = i >= 4;  // slow ones come first there
    cpus[i] = {fast ? 0x411fd440U : 0x410fd4b0U,
               fast ? 3000U : 2400U,
               fast ? 1U : 0U,
               {0, 64 << 10, (fast ? 1024U : 512U) << 10, 8 << 20}};
  }
  tw_device device{};
  tw_describe_windows(&device, cpus.data(), cpus.size());
  ASSERT_EQ(device.cluster_count, 2U);
  EXPECT_STREQ(device.clusters[0].name, "Cortex-X1");
  EXPECT_STREQ(device.clusters[1].name, "Cortex-A78C");
  EXPECT_EQ(device.clusters[0].cpus[0], 0xf0U);
  EXPECT_EQ(device.clusters[0].max_mhz, 3000U);
  EXPECT_EQ(device.clusters[1].l2_bytes, 512U << 10);
  EXPECT_EQ(device.l2_bytes, 1024U << 10);
  EXPECT_EQ(device.l3_bytes, 8U << 20);
  EXPECT_EQ(tw_fastest_cluster(&device), &device.clusters[0]);
}

TEST(Windows, HybridX86HasTwoKindsOfCores) {
  std::vector<tw_windows_cpu> cpus(6);
  for (size_t i = 0; i < cpus.size(); ++i) cpus[i].efficiency_class = i < 2 ? 1 : 0;
  tw_device device{};
  device.l1_bytes = 48 << 10;  // cpuid's
  std::snprintf(device.clusters[0].name, sizeof device.clusters[0].name, "Intel 6.151");
  tw_describe_windows(&device, cpus.data(), cpus.size());
  ASSERT_EQ(device.cluster_count, 2U);
  EXPECT_STREQ(device.clusters[0].name, "Intel 6.151 Core");
  EXPECT_STREQ(device.clusters[1].name, "Intel 6.151 Atom");
  EXPECT_EQ(device.clusters[1].count, 4U);
  EXPECT_EQ(device.l1_bytes, 48U << 10);
}

TEST(Windows, CoresThatAreAlikeAreOneCluster) {
  const std::vector<tw_windows_cpu> cpus(3);
  tw_device device{};
  device.l2_bytes = 1 << 20;
  std::snprintf(device.clusters[0].name, sizeof device.clusters[0].name, "AMD 25.17");
  tw_describe_windows(&device, cpus.data(), cpus.size());
  ASSERT_EQ(device.cluster_count, 1U);
  EXPECT_STREQ(device.clusters[0].name, "AMD 25.17");
  EXPECT_EQ(device.clusters[0].count, 3U);
  EXPECT_EQ(device.clusters[0].l2_bytes, 1U << 20);
  device = {};
  tw_describe_windows(&device, nullptr, 0);
  EXPECT_EQ(tw_device_cores(&device), 1U);
}

}  // namespace
}  // namespace tw::test
