#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "command/commands.h"
#include "command/places.h"
#include "emit/c_file.h"
#include "spec/isa_reader.h"
#include "tilewright/tilewright.hpp"
#include "tuner/device_text.h"

// The command carries no kernels: the runtime's rows are what it generates.
extern "C" {
extern const tw_kernel tw_generated_kernels[] = {{}};
extern const size_t tw_generated_kernel_count = 0;
extern const tw_depthwise_kernel tw_generated_depthwise_kernels[] = {{}};
extern const size_t tw_generated_depthwise_kernel_count = 0;
extern const tw_attention_kernel tw_generated_attention_kernels[] = {{}};
extern const size_t tw_generated_attention_kernel_count = 0;
extern const tw_kernel tw_generated_decoders[] = {{}};
extern const size_t tw_generated_decoder_count = 0;
extern const tw_kernel tw_generated_parts[] = {{}};
extern const size_t tw_generated_part_count = 0;
extern const tw_packer tw_generated_packers[] = {{}};
extern const size_t tw_generated_packer_count = 0;
extern const tw_source tw_generated_sources[] = {{}};
extern const size_t tw_generated_source_count = 0;
extern const tw_core tw_generated_cores[] = {{}};
extern const size_t tw_generated_core_count = 0;
}

namespace tw {
namespace {

std::string bytes_text(size_t bytes) {
  if (bytes == 0) return "unknown";
  if (bytes % (1 << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  return fmt::format("{} KiB", bytes >> 10);
}

void print_clusters(const tw_device& device) {
  for (size_t i = 0; i < device.cluster_count; ++i) {
    const tw_cluster& cluster = device.clusters[i];
    const std::string cpus = tuner::cpu_list(cluster);
    fmt::print("{:<10} {} x {}{}{}{}\n", i == 0 ? "cores" : "", cluster.count,
               cluster.name[0] != '\0' ? cluster.name : "unknown",
               cpus.empty() ? "" : fmt::format(", CPUs {}", cpus),
               cluster.max_mhz > 0 ? fmt::format(", {} MHz", cluster.max_mhz) : "",
               cluster.capacity > 0 ? fmt::format(", capacity {}", cluster.capacity) : "");
    fmt::print("{:<10} L1 {}, L2 {}{}{}\n", "", bytes_text(cluster.l1_bytes),
               bytes_text(cluster.l2_bytes),
               cluster.midr > 0 ? fmt::format(", MIDR {:#x}", cluster.midr) : "",
               cluster.sme_units > 0 ? fmt::format(", SME units {}", cluster.sme_units) : "");
  }
}

/// "runs", or what is missing.
std::string verdict(const Isa& isa, const tw_device& device) {
  std::string missing;
  for (const std::string& feature : isa.features) {
    const tw_features bit = tw_feature_from_name(feature.c_str());
    if ((device.features & bit) == 0) missing += " " + feature;
  }
  return missing.empty() ? "runs" : "no: needs" + missing;
}

}  // namespace

int run_device(const DeviceOptions& options) {
  // What the machine is, not what somebody limits programs to.
  unsetenv("TILEWRIGHT_ISA");
  auto device = tilewright::sized<tw_device>();
  if (tw_device_detect(&device) != TW_OK) {
    throw std::runtime_error(fmt::format("device: {}", tw_error_message()));
  }
  if (options.json) {
    fmt::print("{}", tuner::to_text(device));
    return 0;
  }
  const Places places = find_places(options.templates);
  fmt::print("device     {}{}\n", device.name[0] != '\0' ? device.name : "unknown",
             device.virtual_machine != 0 ? ", a virtual machine" : "");
  if (device.family > 0) {
    fmt::print("family     {}, model {}, stepping {}\n", device.family, device.model,
               device.stepping);
  }
  print_clusters(device);
  fmt::print("caches     L1 {}, L2 {}, L3 {}\n", bytes_text(device.l1_bytes),
             bytes_text(device.l2_bytes), bytes_text(device.l3_bytes));
  if (device.vector_bytes > 0) fmt::print("SVE        {} bytes\n", device.vector_bytes);
  if (device.streaming_vector_bytes > 0) {
    fmt::print("SME        {} bytes\n", device.streaming_vector_bytes);
  }
  const std::string features = tuner::feature_names(device.features);
  fmt::print("features   {}\n", features.empty() ? "none" : features);

  IsaLibrary isas(places.templates);
  const CFileRules rules = read_c_file_rules(places.templates);
  const char* label = "ISAs";
  for (const std::string& name : isas.known()) {
    const Isa& isa = isas.get(name);
    // Tables that need nothing but an architecture are there for others to extend.
    if (isa.features.empty() && !c_guard(rules, isa).empty()) continue;
    fmt::print("{:<10} {:<12} {}\n", label, name, verdict(isa, device));
    label = "";
  }
  return 0;
}

}  // namespace tw
