// Machines nobody here owns, described by hand.
#pragma once

#include <cstdint>
#include <cstdio>
#include <initializer_list>

#include "runtime/fake_rows.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {

inline tw_device machine(const char* name, tw_features features, size_t cores = 4) {
  auto device = tilewright::sized<tw_device>();
  std::snprintf(device.name, sizeof device.name, "%s", name);
  device.features = features;
  device.l1_bytes = 64 << 10;
  device.l2_bytes = 1 << 20;
  device.cluster_count = 1;
  device.clusters[0].count = cores;
  return device;
}

inline tw_device plain() {
  return machine("plain", 0);
}
inline tw_device neoverse_n1() {
  return machine("Neoverse-N1", kDotprod | TW_FEATURE_FP16);
}
inline tw_device neoverse_v1() {
  tw_device device =
      machine("Neoverse-V1", kDotprod | kI8mm | TW_FEATURE_FP16 | TW_FEATURE_BF16 | TW_FEATURE_SVE);
  device.vector_bytes = 32;
  return device;
}
inline tw_device neoverse_n2() {
  tw_device device = neoverse_v1();
  std::snprintf(device.name, sizeof device.name, "Neoverse-N2");
  device.features |= TW_FEATURE_SVE2;
  device.vector_bytes = 16;
  return device;
}
/// Cores of the kinds that the MIDRs name.
inline tw_device phone(const char* name, std::initializer_list<uint64_t> midrs) {
  tw_device device = machine(name, kDotprod | kI8mm);
  device.cluster_count = 0;
  for (uint64_t midr : midrs) {
    tw_cluster& cluster = device.clusters[device.cluster_count++];
    cluster.count = 4;
    cluster.midr = midr;
  }
  return device;
}
inline constexpr uint64_t kMidrA510 = 0x410fd460;
inline constexpr uint64_t kMidrA710 = 0x410fd470;
inline tw_device zen4() {
  return machine("Zen 4",
                 kAvx2 | TW_FEATURE_F16C | TW_FEATURE_BMI2 | kVnni | TW_FEATURE_AVX512BF16);
}
inline tw_device zen5() {
  tw_device device = zen4();
  std::snprintf(device.name, sizeof device.name, "Zen 5");
  device.features |= TW_FEATURE_AVXVNNI;
  return device;
}
inline tw_device alder_lake() {
  return machine("Alder Lake", kAvx2 | TW_FEATURE_F16C | TW_FEATURE_BMI2);
}

}  // namespace tw::test
