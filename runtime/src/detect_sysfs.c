/* Linux: clusters of like cores and their caches from sysfs. Reads with plain system calls, since
 * stdio allocates. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

#if defined(__linux__)
#include <fcntl.h>
#include <unistd.h>

/* Reads a small file as text; false when there is none. */
static bool read_text(char* text, size_t bytes, const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t length = read(file, text, bytes - 1);
  close(file);
  text[length > 0 ? length : 0] = '\0';
  return length > 0;
}

/* A number like "0x410fd0c0", "1024" or "48K"; 0 when there is none. */
static uint64_t read_number(const char* root, size_t cpu, const char* name) {
  char path[256], text[64], *end;
  snprintf(path, sizeof path, "%s/cpu%zu/%s", root, cpu, name);
  if (!read_text(text, sizeof text, path)) return 0;
  const uint64_t value = strtoull(text, &end, 0);
  if (*end == 'K') return value << 10;
  if (*end == 'M') return value << 20;
  return value;
}

static void read_caches(tw_device* device, const char* root, size_t cpu) {
  for (size_t index = 0; index < 8; ++index) {
    char name[64], path[256], type[32];
    snprintf(path, sizeof path, "%s/cpu%zu/cache/index%zu/type", root, cpu, index);
    if (!read_text(type, sizeof type, path)) return;
    if (type[0] == 'I') continue; /* "Instruction" */
    snprintf(name, sizeof name, "cache/index%zu/level", index);
    const uint64_t level = read_number(root, cpu, name);
    snprintf(name, sizeof name, "cache/index%zu/size", index);
    const size_t bytes = (size_t)read_number(root, cpu, name);
    if (bytes == 0) continue;
    if (level == 1) device->l1_bytes = bytes;
    if (level == 2) device->l2_bytes = bytes;
    if (level == 3) device->l3_bytes = bytes;
  }
}

/* Adds a core to the cluster of its kind. Returns true for the first core of a new one. */
static bool add_core(tw_device* device, const tw_cluster* core) {
  for (size_t i = 0; i < device->cluster_count; ++i) {
    tw_cluster* cluster = &device->clusters[i];
    const bool same = cluster->midr == core->midr && cluster->capacity == core->capacity;
    if (!same && i + 1 < TW_MAX_CLUSTERS) continue;
    cluster->count += 1;
    if (core->max_mhz > cluster->max_mhz) cluster->max_mhz = core->max_mhz;
    return false;
  }
  device->clusters[device->cluster_count++] = *core;
  return true;
}

static void add_cpu(tw_device* device, const char* root, size_t cpu, const char* default_name) {
  tw_cluster core = {.count = 1};
  core.midr = read_number(root, cpu, "regs/identification/midr_el1");
  core.capacity = (size_t)read_number(root, cpu, "cpu_capacity");
  core.max_mhz = (size_t)(read_number(root, cpu, "cpufreq/cpuinfo_max_freq") / 1000);
  const char* name = core.midr != 0 ? tw_core_name(core.midr) : NULL;
  snprintf(core.name, sizeof core.name, "%s", name != NULL ? name : default_name);
  size_t fastest = 0;
  for (size_t i = 0; i < device->cluster_count; ++i) {
    if (device->clusters[i].capacity > fastest) fastest = device->clusters[i].capacity;
  }
  const bool first = device->cluster_count == 0;
  if (add_core(device, &core) && (first || core.capacity > fastest)) {
    read_caches(device, root, cpu);
  }
}

/* All cores are alike, so the one that was asked speaks for them. */
static void name_core(tw_device* device, uint64_t midr) {
  const char* name = tw_core_name(midr);
  device->clusters[0].midr = midr;
  if (name == NULL) return;
  snprintf(device->clusters[0].name, sizeof device->clusters[0].name, "%s", name);
}

void tw_detect_sysfs(tw_device* device, const char* root) {
  char path[256], online[256];
  const tw_cluster asked = device->clusters[0]; /* what the running core says of itself */
  snprintf(path, sizeof path, "%s/online", root);
  if (!read_text(online, sizeof online, path)) {
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    device->cluster_count = 1;
    device->clusters[0].count = count > 0 ? (size_t)count : 1;
    name_core(device, asked.midr);
    return;
  }
  device->cluster_count = 0;
  for (char* at = online; *at >= '0' && *at <= '9';) { /* "0-3,8,10-11" */
    size_t first = strtoul(at, &at, 10), last = first;
    if (*at == '-') last = strtoul(at + 1, &at, 10);
    for (; first <= last && first < 4096; ++first) add_cpu(device, root, first, asked.name);
    if (*at == ',') ++at;
  }
  if (device->cluster_count == 1 && device->clusters[0].midr == 0) name_core(device, asked.midr);
}
#else
void tw_detect_sysfs(tw_device* device, const char* root) {
  (void)root;
  device->cluster_count = 1;
  device->clusters[0].count = 1;
}
#endif
