// Which cores of which machine measure.
#include "tuner/program/cores.h"
#include "tilewright/tilewright.hpp"

#include <gtest/gtest.h>

#include <functional>

#include <stdexcept>
#include <string>

namespace tw::tuner {
namespace {

using Cores = std::vector<int>;

void add_cluster(tw_device& device, size_t first, size_t count, size_t capacity) {
  tw_cluster& cluster = device.clusters[device.cluster_count++];
  cluster.count = count;
  cluster.capacity = capacity;
  for (size_t cpu = first; cpu < first + count; ++cpu) cluster.cpus[0] |= uint64_t{1} << cpu;
}

/// Four small ones, four medium ones, a big one.
tw_device phone() {
  auto device = tilewright::sized<tw_device>();
  add_cluster(device, 0, 4, 300);
  add_cluster(device, 4, 4, 900);
  add_cluster(device, 8, 1, 1024);
  return device;
}

const Cores kAll = {0, 1, 2, 3, 4, 5, 6, 7, 8};

std::string refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(Cores, OneOfEachClusterTheFastestFirst) {
  EXPECT_EQ(cores_to_tune(phone(), kAll, -1), (Cores{8, 7, 3}));
  EXPECT_EQ(cores_to_tune(phone(), {0, 1, 5}, -1), (Cores{5, 1}));
  EXPECT_EQ(cores_to_tune(phone(), kAll, 2), (Cores{2}));
  EXPECT_EQ(cores_to_tune(tw_device{}, {0, 1}, -1), (Cores{1}));
  EXPECT_EQ(refusal([] {
              cores_to_tune(phone(), {0, 1}, 2);
            }),
            "cpu 2 may not be used by this process: taskset or the job scheduler keeps it away; 0, "
            "1 are legal");
}

TEST(Cores, HelpersComeFromTheSameClusterFirst) {
  EXPECT_EQ(helpers_of(phone(), kAll, 7, 1), Cores{});
  EXPECT_EQ(helpers_of(phone(), kAll, 7, 4), (Cores{6, 5, 4}));
  EXPECT_EQ(helpers_of(phone(), kAll, 8, 3), (Cores{7, 6}));
  EXPECT_EQ(helpers_of(phone(), kAll, 3, 6), (Cores{2, 1, 0, 8, 7}));
  EXPECT_EQ(refusal([] {
              helpers_of(phone(), {0, 1}, 1, 3);
            }),
            "3 threads: this process may use 2 cores; 1 to 2 threads are legal");
}

}  // namespace
}  // namespace tw::tuner
