#include "tuner/device_text.h"

#include <gtest/gtest.h>

#include "tilewright/tilewright.hpp"
#include "tuner/saved_devices.h"

namespace tw::tuner::test {
namespace {

TEST(DeviceText, RoundTripKeepsEveryMember) {
  for (const std::string& name : device_names()) {
    EXPECT_EQ(to_text(saved_device(name)), saved_text(name));
  }
  const tw_device phone = saved_device("snapdragon_8_gen_3");
  EXPECT_STREQ(phone.name, "Snapdragon 8 Gen 3");
  ASSERT_EQ(phone.cluster_count, 4U);
  EXPECT_EQ(phone.clusters[1].cpus[0], 0b11100U);
  EXPECT_EQ(phone.clusters[3].midr, 0x410fd821U);
  EXPECT_EQ(phone.l3_bytes, 12U << 20);
  EXPECT_EQ(saved_device("m4_like").streaming_vector_bytes, 64U);
}

TEST(DeviceText, ThisMachine) {
  auto device = tilewright::sized<tw_device>();
  ASSERT_EQ(tw_device_detect(&device), TW_OK);
  const tw_device back = device_from_text(to_text(device));
  EXPECT_EQ(to_text(back), to_text(device));
  EXPECT_EQ(back.features, device.features);
  EXPECT_EQ(tw_device_cores(&back), tw_device_cores(&device));
}

std::string what(const char* from, const std::string& to) {
  std::string text = saved_text("pixel_8");
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  try {
    device_from_text(text.replace(at, std::string(from).size(), to));
  } catch (const RecordError& error) {
    return error.what;
  }
  return "a device";
}

TEST(DeviceText, MistakesAreNamed) {
  EXPECT_EQ(what("\"count\": 4", "\"count\": 0"),
            "clusters[0].count is 0; a whole number from 1 is legal");
  EXPECT_EQ(what("\"cpus\": \"4-7\"", "\"cpus\": \"7-4\""),
            "clusters[1].cpus is \"7-4\"; a list like \"0-3,8\", in order, below 512, is legal");
  EXPECT_EQ(what("\"cpus\": \"8\"", "\"cpus\": \"8,512\""),
            "clusters[2].cpus is \"8,512\"; a list like \"0-3,8\", in order, below 512, is legal");
  EXPECT_EQ(what("neon dotprod", "neon doprod").rfind("features is \"neon doprod", 0), 0U);
  EXPECT_EQ(what("neon dotprod", "neon  dotprod").rfind("features is \"neon  dotprod", 0), 0U);
  EXPECT_EQ(what("\"max_mhz\": 1704,", ""), "clusters[0].max_mhz is missing; every record has it");
  EXPECT_EQ(what("\"Pixel 8\"", "\"" + std::string(64, 'x') + "\""),
            "name is \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...; at most 63 bytes are legal");
  EXPECT_EQ(what("{", "["), "byte 11 is no JSON; one object is legal");
}

TEST(DeviceText, CpuLists) {
  tw_cluster cluster{};
  EXPECT_EQ(cpu_list(cluster), "");
  for (const size_t cpu : {0, 1, 2, 5, 63, 64, 511}) cluster.cpus[cpu / 64] |= 1ULL << cpu % 64;
  EXPECT_EQ(cpu_list(cluster), "0-2,5,63-64,511");
}

TEST(DeviceText, ClusterOfACpu) {
  const tw_device phone = saved_device("snapdragon_8_gen_3");
  EXPECT_EQ(cluster_of(phone, 0), 0U);
  EXPECT_EQ(cluster_of(phone, 4), 1U);
  EXPECT_EQ(cluster_of(phone, 6), 2U);
  EXPECT_EQ(cluster_of(phone, 7), 3U);
  EXPECT_EQ(cluster_of(phone, 8), 0U);
  EXPECT_EQ(cluster_of(phone, -1), 0U);
}

TEST(DeviceText, CoreOfACluster) {
  const Core core = core_of(saved_device("pixel_8"), 2);
  EXPECT_EQ(core.name, "Cortex-X3");
  EXPECT_EQ(core.midr, 0x411fd4e0U);
  EXPECT_EQ(core.mhz, 2914U);
  EXPECT_EQ(core.capacity, 1024U);
  EXPECT_EQ(core.l1, 64U << 10);
  EXPECT_EQ(core.l2, 1U << 20);
  EXPECT_EQ(core.l3, 4U << 20);
  EXPECT_EQ(core.features, "neon dotprod i8mm fp16 bf16 sve sve2 fhm");
  EXPECT_EQ(core.vector, 16U);
  EXPECT_EQ(core.streaming, 0U);
  const Core zen = core_of(saved_device("zen_4"), 0);
  EXPECT_EQ(zen.family, 25U);
  EXPECT_EQ(zen.model, 97U);
  EXPECT_EQ(zen.stepping, 2U);
  // Clusters of the same core type and unlike frequencies are different kinds.
  const tw_device elite = saved_device("snapdragon_8_elite");
  EXPECT_NE(identity(core_of(elite, 0)), identity(core_of(elite, 1)));
}

}  // namespace
}  // namespace tw::tuner::test
