#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime/devices.h"
#include "support/environment.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {
namespace {

TEST(Device, X86FeaturesNeedTheOperatingSystem) {
  tw_x86_registers zen4{};
  zen4.leaf1_ecx = 1U << 12 | 1U << 27 | 1U << 28 | 1U << 29;
  zen4.leaf7_ebx = 1U << 5 | 1U << 8 | 1U << 16 | 1U << 17 | 1U << 30 | 1U << 31;
  zen4.leaf7_ecx = 1U << 8 | 1U << 11;
  zen4.leaf7_1_eax = 1U << 5;
  zen4.xcr0 = 0xe7;
  EXPECT_EQ(tw_x86_features(&zen4), kAvx2 | TW_FEATURE_F16C | TW_FEATURE_BMI2 | kVnni |
                                        TW_FEATURE_AVX512BF16 | TW_FEATURE_GFNI);
  zen4.xcr0 = 0x7;  // ymm only
  EXPECT_EQ(tw_x86_features(&zen4), kAvx2 | TW_FEATURE_F16C | TW_FEATURE_BMI2);
  zen4.xcr0 = 0x67;  // half of the zmm registers
  EXPECT_EQ(tw_x86_features(&zen4), kAvx2 | TW_FEATURE_F16C | TW_FEATURE_BMI2);
  zen4.xcr0 = 0x1;
  EXPECT_EQ(tw_x86_features(&zen4), TW_FEATURE_BMI2);
  zen4.xcr0 = 0xe7;
  zen4.leaf1_ecx &= ~(1U << 27);  // no xgetbv
  EXPECT_EQ(tw_x86_features(&zen4), TW_FEATURE_BMI2);
}

tw_x86_registers granite_rapids() {
  tw_x86_registers registers{};
  registers.leaf1_ecx = 1U << 12 | 1U << 27 | 1U << 28 | 1U << 29;
  registers.leaf7_ebx = 1U << 5 | 1U << 8 | 1U << 16 | 1U << 17 | 1U << 30 | 1U << 31;
  registers.leaf7_ecx = 1U << 11;
  registers.leaf7_edx = 1U << 22 | 1U << 24 | 1U << 25;
  registers.xcr0 = 0x600e7;
  registers.tiles_granted = true;
  return registers;
}

TEST(Device, TilesNeedTheOperatingSystemAndItsPermission) {
  const tw_features vectors = kAvx2 | TW_FEATURE_F16C | TW_FEATURE_BMI2 | kVnni;
  const tw_x86_registers all = granite_rapids();
  constexpr tw_features tiles = TW_FEATURE_AMX_TILE | TW_FEATURE_AMX_INT8 | TW_FEATURE_AMX_BF16;
  EXPECT_EQ(tw_x86_features(&all), vectors | tiles);
  const auto lacks = [](void (*change)(tw_x86_registers&)) {
    tw_x86_registers less = granite_rapids();
    change(less);
    return tw_x86_features(&less);
  };
  EXPECT_EQ(lacks([](tw_x86_registers& r) { r.tiles_granted = false; }), vectors);
  EXPECT_EQ(lacks([](tw_x86_registers& r) { r.xcr0 = 0xe7; }), vectors);
  EXPECT_EQ(lacks([](tw_x86_registers& r) { r.xcr0 = 0x200e7; }), vectors);  // shapes only
  EXPECT_EQ(lacks([](tw_x86_registers& r) { r.xcr0 = 0x400e7; }), vectors);  // tiles only
  EXPECT_EQ(lacks([](tw_x86_registers& r) { r.leaf7_edx = 1U << 22 | 1U << 25; }), vectors);
  EXPECT_EQ(lacks([](tw_x86_registers& r) { r.leaf7_edx = 1U << 24; }),
            vectors | TW_FEATURE_AMX_TILE);
  EXPECT_EQ(lacks([](tw_x86_registers& r) { r.leaf7_edx = 1U << 24 | 1U << 25; }),
            vectors | TW_FEATURE_AMX_TILE | TW_FEATURE_AMX_INT8);
}

// Asking has a lasting effect on the process, so it is a switch of its own.
TEST(Device, TilesCanBeSwitchedOff) {
  set_environment("TILEWRIGHT_AMX", "0");
  auto device = tilewright::sized<tw_device>();
  const tw_status status = tw_device_detect(&device);
  set_environment("TILEWRIGHT_AMX", "");
  ASSERT_EQ(status, TW_OK);
  EXPECT_EQ(device.features & (TW_FEATURE_AMX_TILE | TW_FEATURE_AMX_INT8 | TW_FEATURE_AMX_BF16),
            0U);
}

TEST(Device, Aarch64FeaturesFollowTheKernelsBits) {
  EXPECT_EQ(tw_aarch64_features(1U << 1, 0), TW_FEATURE_NEON);
  EXPECT_EQ(tw_aarch64_features(1U << 1 | 1U << 20 | 1U << 10, 0), kDotprod | TW_FEATURE_FP16);
  EXPECT_EQ(tw_aarch64_features(1U << 1, 1U << 13), kI8mm);
  EXPECT_EQ(tw_aarch64_features(1U << 23, 0), TW_FEATURE_FHM);
  EXPECT_EQ(tw_aarch64_features(1U << 22, uint64_t{1} << 37 | 1U << 23 | 1U << 1 | 1U << 14),
            TW_FEATURE_SVE | TW_FEATURE_SVE2 | TW_FEATURE_SME | TW_FEATURE_SME2 | TW_FEATURE_BF16);
}

TEST(Device, CoresHaveNames) {
  EXPECT_STREQ(tw_core_name(0x413fd0c1), "Neoverse-N1");
  EXPECT_STREQ(tw_core_name(0x410fd490), "Neoverse-N2");
  EXPECT_EQ(tw_core_name(0x610f0000), nullptr);
  EXPECT_STREQ(tw_core_name(0x514f0010), "Oryon");
  EXPECT_STREQ(tw_core_name(0x611f0230), "Apple M1 P");
  EXPECT_STREQ(tw_core_name(0x410fd8c0), "C1-Ultra");
  EXPECT_TRUE(tw_core_in_order(0x410fd8a0));
  EXPECT_FALSE(tw_core_in_order(0x410fd8b0));
}

#if defined(__linux__)
class Sysfs : public ::testing::Test {
 protected:
  void SetUp() override {
    // Tests run at the same time, also those of several builds.
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("tilewright_sysfs_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  void core(int cpu, const char* midr, const char* capacity, const char* khz, const char* l2) {
    const std::string at = "cpu" + std::to_string(cpu) + "/";
    write(at + "regs/identification/midr_el1", midr);
    write(at + "cpu_capacity", capacity);
    write(at + "cpufreq/cpuinfo_max_freq", khz);
    write(at + "cache/index0/type", "Data");
    write(at + "cache/index0/level", "1");
    write(at + "cache/index0/size", "64K");
    write(at + "cache/index1/type", "Instruction");
    write(at + "cache/index1/level", "1");
    write(at + "cache/index1/size", "128K");
    write(at + "cache/index2/type", "Unified");
    write(at + "cache/index2/level", "2");
    write(at + "cache/index2/size", l2);
  }
  std::filesystem::path root_;
};

TEST_F(Sysfs, PhoneHasClusters) {
  write("online", "0-3,5");
  for (int cpu = 0; cpu < 3; ++cpu) core(cpu, "0x00000000411fd460", "300", "1800000", "256K");
  core(3, "0x00000000410fd4d0", "800", "2800000", "512K");
  core(5, "0x00000000410fd4e0", "1024", "3200000", "1M");
  auto device = tilewright::sized<tw_device>();
  tw_detect_sysfs(&device, root_.c_str());
  ASSERT_EQ(device.cluster_count, 3U);
  EXPECT_STREQ(device.clusters[0].name, "Cortex-A510");
  EXPECT_EQ(device.clusters[0].count, 3U);
  EXPECT_EQ(device.clusters[0].max_mhz, 1800U);
  EXPECT_EQ(device.clusters[0].capacity, 300U);
  EXPECT_STREQ(device.clusters[1].name, "Cortex-A715");
  EXPECT_STREQ(device.clusters[2].name, "Cortex-X3");
  EXPECT_EQ(device.clusters[2].midr, 0x410fd4e0U);
  EXPECT_EQ(device.l1_bytes, 64U << 10);
  EXPECT_EQ(device.l2_bytes, 1U << 20);  // the fastest core's
  EXPECT_EQ(tw_device_cores(&device), 5U);
}

/// Of the first 64, which are enough here.
uint64_t cpus(const tw_cluster& cluster) {
  return cluster.cpus[0];
}

TEST_F(Sysfs, ClustersKnowTheirCoresAndCaches) {
  write("online", "0-4");
  core(0, "0x411fd460", "300", "1800000", "256K");
  core(1, "0x410fd4e0", "1024", "3200000", "1M");
  core(2, "0x411fd461", "300", "1800000", "256K");  // another revision
  core(3, "0x410fd4d0", "800", "2800000", "512K");
  core(4, "0x411fd460", "300", "1800000", "256K");
  write("cpu1/cache/index3/type", "Unified");
  write("cpu1/cache/index3/level", "3");
  write("cpu1/cache/index3/size", "4M");
  auto device = tilewright::sized<tw_device>();
  tw_detect_sysfs(&device, root_.c_str());
  ASSERT_EQ(device.cluster_count, 3U);
  EXPECT_EQ(device.clusters[0].count, 3U);
  EXPECT_EQ(cpus(device.clusters[0]), 0b10101U);
  EXPECT_EQ(cpus(device.clusters[1]), 0b00010U);
  EXPECT_EQ(cpus(device.clusters[2]), 0b01000U);
  EXPECT_EQ(device.clusters[0].l2_bytes, 256U << 10);
  EXPECT_EQ(device.clusters[1].l2_bytes, 1U << 20);
  EXPECT_EQ(device.clusters[2].l2_bytes, 512U << 10);
  EXPECT_EQ(device.clusters[2].l1_bytes, 64U << 10);
  EXPECT_EQ(device.l2_bytes, 1U << 20);
  EXPECT_EQ(device.l3_bytes, 4U << 20);
  EXPECT_EQ(device.clusters[0].sme_units, 0U);  // nobody says
}

TEST_F(Sysfs, LikeCoresDifferInFrequencyByMoreThanAnEighth) {
  write("online", "0-3");
  core(0, "0x514f0014", "1024", "3532800", "12M");
  core(1, "0x514f0014", "1024", "3400000", "12M");  // one that boosts less
  core(2, "0x514f0014", "1024", "4320000", "12M");
  core(3, "0x514f0014", "1024", "4320000", "12M");
  auto device = tilewright::sized<tw_device>();
  tw_detect_sysfs(&device, root_.c_str());
  ASSERT_EQ(device.cluster_count, 2U);
  EXPECT_STREQ(device.clusters[0].name, "Oryon");
  EXPECT_EQ(device.clusters[0].max_mhz, 3532U);
  EXPECT_EQ(cpus(device.clusters[0]), 0b0011U);
  EXPECT_EQ(device.clusters[1].max_mhz, 4320U);
  EXPECT_EQ(tw_fastest_cluster(&device), &device.clusters[1]);
}

TEST_F(Sysfs, CountsSmeUnits) {
  write("online", "0-5");
  for (int cpu = 0; cpu < 6; ++cpu) core(cpu, "0x410fd8b0", "700", "2000000", "1M");
  const auto smidr = [&](int cpu, const char* value) {
    write("cpu" + std::to_string(cpu) + "/regs/identification/smidr_el1", value);
  };
  const auto units = [&] {
    auto device = tilewright::sized<tw_device>();
    tw_detect_sysfs(&device, root_.c_str());
    EXPECT_EQ(device.cluster_count, 1U);
    return device.clusters[0].sme_units;
  };
  for (int cpu = 0; cpu < 6; ++cpu) smidr(cpu, cpu < 3 ? "0x6000" : "0x6001");  // shared by three
  EXPECT_EQ(units(), 2U);
  for (int cpu = 0; cpu < 6; ++cpu) smidr(cpu, "0x0000000000006000");
  EXPECT_EQ(units(), 1U);
  for (int cpu = 0; cpu < 6; ++cpu) smidr(cpu, "0x0100000000006000");  // two for all
  EXPECT_EQ(units(), 2U);
  for (int cpu = 0; cpu < 6; ++cpu) smidr(cpu, "0x4000");  // one each
  EXPECT_EQ(units(), 6U);
  smidr(5, "0x0000");  // its maker's secret
  EXPECT_EQ(units(), 0U);
}

TEST_F(Sysfs, HybridX86HasTwoKindsOfCores) {
  const std::filesystem::path top = root_;
  root_ = top / "devices/system/cpu";
  write("online", "0-3");
  for (int cpu = 0; cpu < 4; ++cpu) {
    write("cpu" + std::to_string(cpu) + "/cpufreq/cpuinfo_max_freq",
          cpu < 2 ? "5100000" : "4900000");
  }
  auto device = tilewright::sized<tw_device>();
  std::snprintf(device.clusters[0].name, sizeof device.clusters[0].name, "Intel 6.151");
  tw_device plain = device;
  tw_detect_sysfs(&plain, root_.c_str());
  EXPECT_EQ(plain.cluster_count, 1U);
  EXPECT_STREQ(plain.clusters[0].name, "Intel 6.151");
  write("../../cpu_core/cpus", "0-1");
  write("../../cpu_atom/cpus", "2-3");
  tw_detect_sysfs(&device, root_.c_str());
  ASSERT_EQ(device.cluster_count, 2U);
  EXPECT_STREQ(device.clusters[0].name, "Intel 6.151 Core");
  EXPECT_STREQ(device.clusters[1].name, "Intel 6.151 Atom");
  EXPECT_EQ(cpus(device.clusters[1]), 0b1100U);
  root_ = top;
}

TEST_F(Sysfs, BoardsHaveNames) {
  const std::filesystem::path top = root_;
  root_ = top / "devices/system/cpu";
  write("online", "0");
  write("../../../firmware/devicetree/base/model", "Raspberry Pi 5 Model B");
  auto device = tilewright::sized<tw_device>();
  tw_detect_sysfs(&device, root_.c_str());
  EXPECT_EQ(std::string(device.name).rfind("Raspberry Pi 5 Model B", 0), 0U);
  root_ = top;
}

TEST_F(Sysfs, OnlyClusterHasWhatTheRunningCoreSays) {
  write("online", "0-1");
  auto device = tilewright::sized<tw_device>();
  device.clusters[0].midr = 0x410fd0c1;
  device.l1_bytes = 32 << 10;
  device.l2_bytes = 1 << 20;
  tw_detect_sysfs(&device, root_.c_str());
  ASSERT_EQ(device.cluster_count, 1U);
  EXPECT_STREQ(device.clusters[0].name, "Neoverse-N1");
  EXPECT_EQ(device.clusters[0].l1_bytes, 32U << 10);
  EXPECT_EQ(device.clusters[0].l2_bytes, 1U << 20);
}

TEST_F(Sysfs, ManyKindsOfCoresShareTheLastCluster) {
  write("online", "0-11");
  for (int cpu = 0; cpu < 12; ++cpu) {
    core(cpu, "0x410fd460", std::to_string(cpu + 1).c_str(), "1000000", "256K");
  }
  auto device = tilewright::sized<tw_device>();
  tw_detect_sysfs(&device, root_.c_str());
  EXPECT_EQ(device.cluster_count, size_t{TW_MAX_CLUSTERS});
  EXPECT_EQ(tw_device_cores(&device), 12U);
}

TEST_F(Sysfs, MayBeMissing) {
  auto device = tilewright::sized<tw_device>();
  tw_detect_sysfs(&device, (root_ / "nothing").c_str());
  EXPECT_EQ(device.cluster_count, 1U);
  EXPECT_GE(tw_device_cores(&device), 1U);
}

#endif

TEST(Device, FeatureNames) {
  EXPECT_STREQ(tw_feature_name(TW_FEATURE_I8MM), "i8mm");
  EXPECT_EQ(tw_feature_name(TW_FEATURE_UNKNOWN), nullptr);
  EXPECT_EQ(tw_feature_from_name("avx512vnni"), TW_FEATURE_AVX512VNNI);
  EXPECT_EQ(tw_feature_from_name("avx1024"), TW_FEATURE_UNKNOWN);
  EXPECT_EQ(tw_feature_from_name(nullptr), TW_FEATURE_UNKNOWN);
  char text[8];
  EXPECT_EQ(tw_feature_names(kI8mm | TW_FEATURE_FP16, text, sizeof text), 14U);
  EXPECT_STREQ(text, "neon i8");
  EXPECT_EQ(tw_feature_names(0, text, sizeof text), 0U);
  EXPECT_STREQ(text, "");
}

TEST(Device, LimitNamesWhatIsLegal) {
  tw_device device = zen4();
  EXPECT_EQ(tw_device_limit(&device, "avx2"), TW_OK);
  EXPECT_STREQ(device.isa, "avx2");
  EXPECT_FALSE(tw_kernel_supported(&fake_kernel("vnni_1x32"), &device));
  EXPECT_TRUE(tw_kernel_supported(&fake_kernel("avx2_4x16"), &device));
  EXPECT_TRUE(tw_kernel_supported(&fake_kernel("scalar_1x8"), &device));

  EXPECT_EQ(tw_device_limit(&device, "avx9"), TW_INVALID);
  EXPECT_STREQ(tw_error_message(),
               "isa \"avx9\" is unknown; legal here: scalar, avx2, avx512_vnni");
  EXPECT_EQ(tw_device_limit(&device, "neon_i8mm"), TW_UNSUPPORTED);
  EXPECT_STREQ(tw_error_message(),
               "isa neon_i8mm needs neon i8mm, which this device lacks; legal here: scalar, avx2, "
               "avx512_vnni");
  EXPECT_EQ(tw_device_limit(&device, "avx512f"), TW_UNSUPPORTED);
  EXPECT_STREQ(tw_error_message(),
               "isa avx512f is not built for this architecture; legal here: scalar, avx2, "
               "avx512_vnni");
  EXPECT_STREQ(device.isa, "avx2");
  EXPECT_EQ(tw_device_limit(&device, ""), TW_OK);
  EXPECT_STREQ(device.isa, "");
  EXPECT_EQ(tw_device_limit(nullptr, "scalar"), TW_INVALID);
  EXPECT_EQ(tw_device_limit(&device, nullptr), TW_INVALID);
  EXPECT_EQ(tw_device_limit(&device, std::string(100, 'x').c_str()), TW_INVALID);
}

TEST(Device, EnvironmentLimitsThisMachine) {
  auto device = tilewright::sized<tw_device>();
  set_environment("TILEWRIGHT_ISA", "scalar");
  EXPECT_EQ(tw_device_detect(&device), TW_OK);
  EXPECT_STREQ(device.isa, "scalar");
  set_environment("TILEWRIGHT_ISA", "mmx");
  EXPECT_EQ(tw_device_detect(&device), TW_INVALID);
  EXPECT_EQ(std::string(tw_error_message())
                .rfind("environment variable TILEWRIGHT_ISA: isa \"mmx\" is unknown; legal here: "
                       "scalar",
                       0),
            0U);
  EXPECT_STREQ(device.isa, "");
  set_environment("TILEWRIGHT_ISA", "");
  EXPECT_EQ(tw_device_detect(&device), TW_OK);
  EXPECT_STREQ(device.isa, "");
  EXPECT_GE(device.cluster_count, 1U);
  EXPECT_EQ(tw_device_detect(nullptr), TW_INVALID);
}

#if defined(__x86_64__)
TEST(Device, AgreesWithTheCompilersDetection) {
  auto device = tilewright::sized<tw_device>();
  ASSERT_EQ(tw_device_detect(&device), TW_OK);
  __builtin_cpu_init();
  EXPECT_EQ((device.features & TW_FEATURE_AVX2) != 0, __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ((device.features & TW_FEATURE_FMA) != 0, __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ((device.features & TW_FEATURE_AVX512F) != 0, __builtin_cpu_supports("avx512f") != 0);
  EXPECT_EQ((device.features & TW_FEATURE_AVX512VNNI) != 0,
            __builtin_cpu_supports("avx512vnni") != 0);
  EXPECT_EQ((device.features & TW_FEATURE_AVX512BF16) != 0,
            __builtin_cpu_supports("avx512bf16") != 0);
  EXPECT_EQ((device.features & TW_FEATURE_GFNI) != 0,
            __builtin_cpu_supports("gfni") != 0 && __builtin_cpu_supports("avx512f") != 0);
  EXPECT_GT(device.family, 0U);
#if defined(__linux__)
  // Some virtual machines tell nothing of caches.
  if (!std::filesystem::exists("/sys/devices/system/cpu/cpu0/cache")) return;
#endif
  EXPECT_GT(device.l1_bytes, 0U);
  EXPECT_GT(device.l2_bytes, device.l1_bytes);
}
#endif

TEST(Registry, ListsAndFindsRows) {
  const tw_device n1 = neoverse_n1();
  EXPECT_EQ(tw_list_kernels(nullptr, nullptr, 0), tw_generated_kernel_count);
  EXPECT_EQ(tw_list_packers(nullptr, nullptr, 0), tw_generated_packer_count);
  const tw_kernel* rows[8] = {};
  EXPECT_EQ(tw_list_kernels(&n1, rows, 3), 7U);
  EXPECT_STREQ(rows[2]->name, "dotprod_1x16");
  EXPECT_EQ(rows[3], nullptr);
  EXPECT_EQ(tw_list_packers(&n1, nullptr, 0), 10U);
  EXPECT_EQ(tw_find_kernel("nothing"), nullptr);
  EXPECT_EQ(tw_find_kernel(nullptr), nullptr);
  ASSERT_NE(tw_find_packer("lhs4"), nullptr);
  EXPECT_EQ(tw_find_packer("lhs9"), nullptr);
  ASSERT_NE(tw_find_layout(0x220), nullptr);
  EXPECT_STREQ(tw_find_layout(0x220)->text, "rhs 32");
  EXPECT_STREQ(tw_find_layout(0x101)->text, "lhs 1");
  EXPECT_EQ(tw_find_layout(7), nullptr);
}

// Every row on every machine: run or refused. A row is offered exactly where its features are.
TEST(Registry, LadderOfMachines) {
  struct {
    tw_device device;
    const char* isas;  // besides scalar
  } ladder[] = {{plain(), ""},
                {neoverse_n1(), "neon_dotprod"},
                {neoverse_v1(), "neon_dotprod neon_i8mm"},
                {neoverse_n2(), "neon_dotprod neon_i8mm sve2"},
                {alder_lake(), "avx2"},
                {zen4(), "avx2 avx512_vnni avx512f"},
                {zen5(), "avx2 avx512_vnni avx512f"}};
  for (const auto& step : ladder) {
    for (size_t i = 0; i < tw_generated_kernel_count; ++i) {
      const tw_kernel& kernel = tw_generated_kernels[i];
      const bool expected =
          kernel.features == 0 || std::string(step.isas).find(kernel.isa) != std::string::npos;
      EXPECT_EQ(tw_kernel_supported(&kernel, &step.device) != 0, expected)
          << kernel.name << " on " << step.device.name;
    }
  }
}

}  // namespace
}  // namespace tw::test
