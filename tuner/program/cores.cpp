#include "tuner/program/cores.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "tuner/device_text.h"

namespace tw::tuner {

std::vector<int> cores_to_tune(const tw_device& device, const std::vector<int>& allowed,
                               int asked) {
  if (asked >= 0) {
    if (std::find(allowed.begin(), allowed.end(), asked) != allowed.end()) return {asked};
    throw std::runtime_error(
        fmt::format("cpu {} may not be used by this process: taskset or the job scheduler keeps it "
                    "away; {} are legal",
                    asked, fmt::join(allowed, ", ")));
  }
  std::vector<int> last(std::max<size_t>(device.cluster_count, 1), -1);
  for (const int core : allowed) last[cluster_of(device, core)] = core;
  last.erase(std::remove(last.begin(), last.end(), -1), last.end());
  const auto speed = [&](int core) {
    const tw_cluster& cluster = device.clusters[cluster_of(device, core)];
    return std::pair(cluster.capacity, cluster.max_mhz);
  };
  std::stable_sort(last.begin(), last.end(), [&](int a, int b) { return speed(a) > speed(b); });
  return last;
}

std::vector<int> helpers_of(const tw_device& device, const std::vector<int>& allowed, int core,
                            size_t threads) {
  if (threads > allowed.size()) {
    throw std::runtime_error(
        fmt::format("{} threads: this process may use {} cores; 1 to {} threads are legal", threads,
                    allowed.size(), allowed.size()));
  }
  std::vector<int> others(allowed.rbegin(), allowed.rend());
  others.erase(std::remove(others.begin(), others.end(), core), others.end());
  const size_t cluster = cluster_of(device, core);
  std::stable_partition(others.begin(), others.end(),
                        [&](int other) { return cluster_of(device, other) == cluster; });
  others.resize(threads - 1);
  return others;
}

}  // namespace tw::tuner
