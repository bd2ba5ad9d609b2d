#include "tuner/device_text.h"
namespace tw::tuner {
std::string to_text(const tw_device&) { return "{}"; }
Core core_of(const tw_device& d, size_t cluster) {
  Core c;
  const tw_cluster& k = d.clusters[cluster];
  c.name = k.name; c.midr = k.midr; c.family = d.family; c.model = d.model; c.stepping = d.stepping;
  c.mhz = k.max_mhz; c.capacity = k.capacity; c.l1 = d.l1_bytes; c.l2 = d.l2_bytes; c.l3 = d.l3_bytes;
  std::string f(tw_feature_names(d.features, nullptr, 0), '\0');
  tw_feature_names(d.features, f.data(), f.size() + 1);
  c.features = f; c.vector = d.vector_bytes; c.streaming = d.streaming_vector_bytes;
  return c;
}
size_t cluster_of(const tw_device&, int) { return 0; }
}
