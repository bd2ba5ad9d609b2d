#include "integrations/ggml/settings.h"

#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

#include "integrations/common/message.h"
#include "tuner/device_text.h"
#include "tuner/record_file.h"

namespace tw::ggml {

namespace {

std::vector<tuner::Record> read(const std::string& path) {
  if (path.empty()) return {};
  try {
    tuner::RecordFile file = tuner::read_records(path);
    if (!file.bad.empty()) {
      message("{}: {} lines are no records, the first is line {}: {}", path, file.bad.size(),
              file.bad[0].line, file.bad[0].what);
    }
    return std::move(file.records);
  } catch (const std::exception& error) {
    message("TILEWRIGHT_RECORDS: {}; going on without records", error.what());
    return {};
  }
}

/// Once, as long as it is the same file.
const std::vector<tuner::Record>& records() {
  static std::string known;
  static std::vector<tuner::Record> found;
  const char* named = std::getenv("TILEWRIGHT_RECORDS");
  const std::string path = named != nullptr ? named : "";
  if (path != known) found = read(path);
  known = path;
  return found;
}

size_t fastest_cluster(const tw_device& device) {
  size_t best = 0;
  for (size_t i = 1; i < device.cluster_count; ++i) {
    const tw_cluster &cluster = device.clusters[i], &leader = device.clusters[best];
    const bool same = cluster.capacity == leader.capacity;
    if (same ? cluster.max_mhz > leader.max_mhz : cluster.capacity > leader.capacity) best = i;
  }
  return best;
}

}  // namespace

Settings find_settings(const tw_device& device, const tw_matmul& matmul) {
  Settings settings;
  if (records().empty() || device.cluster_count == 0) return settings;
  tuner::Wanted wanted;
  wanted.family = matmul.family;
  wanted.n = matmul.n;
  wanted.k = matmul.k;
  wanted.block = matmul.block;
  wanted.scales = matmul.scales == TW_SCALES_F16 ? "f16" : "";
  wanted.mix = {{1, 128}, {512, 1}};  // a prompt, then one token after the other
  try {
    const tuner::Core core = tuner::core_of(device, fastest_cluster(device));
    settings.choice = tuner::choose(records(), device, core, wanted);
    settings.rows = tuner::settings_of(settings.choice);
  } catch (const std::exception& error) {
    message("records: {}; going on without", error.what());
  }
  return settings;
}

}  // namespace tw::ggml
