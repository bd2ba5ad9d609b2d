#include "tuner/device_text.h"

#include <fmt/format.h>

#include <charconv>

#include "tilewright/tilewright.hpp"
#include "tuner/member_reader.h"
#include "tuner/member_writer.h"
#include "tuner/record_fields.h"

namespace tw::tuner {
namespace {

bool has_cpu(const tw_cluster& cluster, size_t cpu) {
  return cpu < TW_MAX_CPUS && (cluster.cpus[cpu / 64] >> cpu % 64 & 1) != 0;
}

/// A number below TW_MAX_CPUS at the beginning of `text`, which it takes away; TW_MAX_CPUS: none.
size_t take_cpu(std::string_view& text) {
  size_t cpu = TW_MAX_CPUS;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cpu);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return error == std::errc() && cpu < TW_MAX_CPUS ? cpu : TW_MAX_CPUS;
}

/// False unless the list is as cpu_list writes it.
bool parse_cpus(std::string_view list, tw_cluster& cluster) {
  const std::string whole(list);
  while (!list.empty()) {
    size_t first = take_cpu(list);
    size_t last = first;
    if (list.starts_with('-')) {
      list.remove_prefix(1);
      last = take_cpu(list);
    }
    if (first == TW_MAX_CPUS || last == TW_MAX_CPUS) return false;
    for (; first <= last; ++first) cluster.cpus[first / 64] |= uint64_t{1} << first % 64;
    if (!list.starts_with(',')) break;
    list.remove_prefix(1);
  }
  return cpu_list(cluster) == whole;
}

void cpus_member(MemberWriter& members, const tw_cluster& cluster) {
  members.word("cpus", cpu_list(cluster));
}

void cpus_member(MemberReader& members, tw_cluster& cluster) {
  std::string list;
  members.word("cpus", list);
  if (parse_cpus(list, cluster)) return;
  members.refuse("cpus", fmt::format("a list like \"0-3,8\", in order, below {}, is legal",
                                     size_t{TW_MAX_CPUS}));
}

void features_member(MemberWriter& members, tw_features features) {
  members.word("features", feature_names(features));
}

std::string all_feature_names() {
  tw_features all = 0;
  for (int bit = 0; bit < 64; ++bit) {
    if (tw_feature_name(tw_features{1} << bit) != nullptr) all |= tw_features{1} << bit;
  }
  return feature_names(all);
}

void features_member(MemberReader& members, tw_features& features) {
  std::string names;
  members.word("features", names);
  for (size_t begin = 0; begin < names.size();) {
    const size_t end = std::min(names.find(' ', begin), names.size());
    const tw_features bit = tw_feature_from_name(names.substr(begin, end - begin).c_str());
    if (bit == TW_FEATURE_UNKNOWN) {
      members.refuse("features", fmt::format("names separated by single blanks, of {}, are legal",
                                             all_feature_names()));
    }
    features |= bit;
    begin = end + 1;
  }
}

template <class Members, class ClusterT>
void cluster_members(Members& members, ClusterT& cluster) {
  members.label("name", cluster.name);
  members.hex("midr", cluster.midr);
  members.size("count", cluster.count, 1, kNoLimit);
  cpus_member(members, cluster);
  members.size("max_mhz", cluster.max_mhz, 0, kNoLimit);
  members.size("capacity", cluster.capacity, 0, kNoLimit);
  members.size("l1_bytes", cluster.l1_bytes, 0, kNoLimit);
  members.size("l2_bytes", cluster.l2_bytes, 0, kNoLimit);
  members.size("sme_units", cluster.sme_units, 0, kNoLimit);
}

template <class Members, class DeviceT>
void device_members(Members& members, DeviceT& device) {
  members.label("name", device.name);
  members.flag("virtual_machine", device.virtual_machine);
  features_member(members, device.features);
  members.size("family", device.family, 0, kNoLimit);
  members.size("model", device.model, 0, kNoLimit);
  members.size("stepping", device.stepping, 0, kNoLimit);
  members.size("vector_bytes", device.vector_bytes, 0, 256);
  members.size("streaming_vector_bytes", device.streaming_vector_bytes, 0, 256);
  members.size("l1_bytes", device.l1_bytes, 0, kNoLimit);
  members.size("l2_bytes", device.l2_bytes, 0, kNoLimit);
  members.size("l3_bytes", device.l3_bytes, 0, kNoLimit);
  members.list("clusters", device.clusters, device.cluster_count,
               [](Members& inner, auto& cluster) { cluster_members(inner, cluster); });
}

}  // namespace

std::string feature_names(tw_features features) {
  std::string text(tw_feature_names(features, nullptr, 0), '\0');
  tw_feature_names(features, text.data(), text.size() + 1);
  return text;
}

std::string cpu_list(const tw_cluster& cluster) {
  std::string text;
  for (size_t cpu = 0; cpu < TW_MAX_CPUS; ++cpu) {
    if (!has_cpu(cluster, cpu)) continue;
    const size_t first = cpu;
    while (has_cpu(cluster, cpu + 1)) ++cpu;
    if (!text.empty()) text += ",";
    text += first == cpu ? fmt::format("{}", cpu) : fmt::format("{}-{}", first, cpu);
  }
  return text;
}

std::string to_text(const tw_device& device) {
  nlohmann::ordered_json json;
  MemberWriter members(json);
  device_members(members, device);
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

tw_device device_from_text(std::string_view text) {
  auto device = tilewright::sized<tw_device>();
  const nlohmann::json json = parse_json(text);
  MemberReader members(json, "");
  device_members(members, device);
  return device;
}

size_t cluster_of(const tw_device& device, int cpu) {
  for (size_t i = 0; i < device.cluster_count; ++i) {
    if (has_cpu(device.clusters[i], static_cast<size_t>(cpu))) return i;
  }
  return 0;
}

Core core_of(const tw_device& device, size_t cluster) {
  const tw_cluster& kind = device.clusters[cluster];
  Core core;
  core.name = kind.name;
  core.midr = kind.midr;
  core.family = device.family;
  core.model = device.model;
  core.stepping = device.stepping;
  core.mhz = kind.max_mhz;
  core.capacity = kind.capacity;
  core.l1 = kind.l1_bytes;
  core.l2 = kind.l2_bytes;
  core.l3 = device.l3_bytes;
  core.features = feature_names(device.features);
  core.vector = device.vector_bytes;
  core.streaming = device.streaming_vector_bytes;
  return core;
}

}  // namespace tw::tuner
