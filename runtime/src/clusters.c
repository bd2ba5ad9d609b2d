/* Cores of a machine by kind, from what an operating system says about each. */
#include <stdio.h>

#include "internal.h"

/* Frequencies of one design differ by a few percent from core to core. */
static bool like_frequency(size_t a, size_t b) {
  const size_t low = a < b ? a : b, high = a < b ? b : a;
  return low == 0 || high - low <= low / 8;
}

static bool same_kind(const tw_cluster* a, const tw_cluster* b) {
  return a->midr >> 4 == b->midr >> 4 && /* the rest is the revision */
         a->capacity == b->capacity && strcmp(a->name, b->name) == 0 &&
         like_frequency(a->max_mhz, b->max_mhz);
}

/* The cluster of this kind of core, a new one if need be; the last one takes what is too many. */
static tw_cluster* find_cluster(tw_device* device, const tw_cluster* core) {
  for (size_t i = 0; i < device->cluster_count; ++i) {
    if (same_kind(&device->clusters[i], core)) return &device->clusters[i];
  }
  if (device->cluster_count == TW_MAX_CLUSTERS) return &device->clusters[TW_MAX_CLUSTERS - 1];
  tw_cluster* cluster = &device->clusters[device->cluster_count++];
  *cluster = *core;
  return cluster;
}

tw_cluster* tw_add_core(tw_device* device, const tw_cluster* core, size_t cpu) {
  tw_cluster* cluster = find_cluster(device, core);
  cluster->count += 1;
  if (core->max_mhz > cluster->max_mhz) cluster->max_mhz = core->max_mhz;
  if (cpu < TW_MAX_CPUS) cluster->cpus[cpu / 64] |= (uint64_t)1 << cpu % 64;
  return cluster;
}

void tw_describe_only_cluster(tw_device* device, uint64_t midr) {
  tw_cluster* cluster = &device->clusters[0];
  if (cluster->l1_bytes == 0) cluster->l1_bytes = device->l1_bytes;
  if (cluster->l2_bytes == 0) cluster->l2_bytes = device->l2_bytes;
  if (cluster->midr != 0) return;
  cluster->midr = midr;
  const char* name = tw_core_name(midr);
  if (name != NULL) snprintf(cluster->name, sizeof cluster->name, "%s", name);
}
