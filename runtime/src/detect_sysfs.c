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

/* A list of CPUs is text like "0-3,8,10-11". Takes its next part; false at its end. */
static bool next_part(const char** list, size_t* first, size_t* last) {
  char* end;
  if (**list < '0' || **list > '9') return false;
  *first = *last = strtoul(*list, &end, 10);
  if (*end == '-') *last = strtoul(end + 1, &end, 10);
  *list = *end == ',' ? end + 1 : end;
  return true;
}

static bool is_listed(const char* list, size_t cpu) {
  size_t first, last;
  while (next_part(&list, &first, &last)) {
    if (first <= cpu && cpu <= last) return true;
  }
  return false;
}

/* Bytes of the data caches by level. */
static void read_caches(size_t bytes[4], const char* root, size_t cpu) {
  for (size_t index = 0; index < 8; ++index) {
    char name[64], path[256], type[32];
    snprintf(path, sizeof path, "%s/cpu%zu/cache/index%zu/type", root, cpu, index);
    if (!read_text(type, sizeof type, path)) return;
    if (type[0] == 'I') continue; /* "Instruction" */
    snprintf(name, sizeof name, "cache/index%zu/level", index);
    const uint64_t level = read_number(root, cpu, name);
    snprintf(name, sizeof name, "cache/index%zu/size", index);
    if (level < 4) bytes[level] = (size_t)read_number(root, cpu, name);
  }
}

/* Of SME units: SMIDR_EL1 says whether a core has its own (2) or shares (3), and the group that
 * shares by two affinities. 0 if a core does not say. */
static size_t count_sme_units(const tw_cluster* cluster, const char* root) {
  const uint64_t group_bits = 0x000fffff00000fff;
  uint64_t groups[TW_MAX_CPUS];
  size_t units = 0, group_count = 0;
  for (size_t cpu = 0; cpu < TW_MAX_CPUS; ++cpu) {
    if ((cluster->cpus[cpu / 64] >> cpu % 64 & 1) == 0) continue;
    const uint64_t smidr = read_number(root, cpu, "regs/identification/smidr_el1");
    const unsigned sharing = smidr >> 13 & 3;
    if (sharing < 2) return 0;
    size_t known = 0;
    while (known < group_count && groups[known] != (smidr & group_bits)) ++known;
    if (sharing == 3 && known < group_count) continue;
    if (sharing == 3) groups[group_count++] = smidr & group_bits;
    units += 1 + (smidr >> 56 & 15);
  }
  return units;
}

/* Kinds of cores that one x86 CPU has: "" if they are all alike. */
static const char* hybrid_kind(const char* root, size_t cpu) {
  char path[256], list[256];
  snprintf(path, sizeof path, "%s/../../cpu_atom/cpus", root);
  if (!read_text(list, sizeof list, path)) return "";
  return is_listed(list, cpu) ? " Atom" : " Core";
}

static void add_cpu(tw_device* device, const char* root, size_t cpu, const char* default_name) {
  tw_cluster core = {.count = 0};
  core.midr = read_number(root, cpu, "regs/identification/midr_el1");
  core.capacity = (size_t)read_number(root, cpu, "cpu_capacity");
  core.max_mhz = (size_t)(read_number(root, cpu, "cpufreq/cpuinfo_max_freq") / 1000);
  const char* name = core.midr != 0 ? tw_core_name(core.midr) : NULL;
  snprintf(core.name, sizeof core.name, "%.24s%s", name != NULL ? name : default_name,
           hybrid_kind(root, cpu));
  tw_cluster* cluster = tw_add_core(device, &core, cpu);
  if (cluster->count > 1) return;
  size_t caches[4] = {0};
  read_caches(caches, root, cpu);
  cluster->l1_bytes = caches[1];
  cluster->l2_bytes = caches[2];
}

/* The machine's caches are those that its fastest core sees. */
static void use_caches(tw_device* device, const char* root) {
  const tw_cluster* fastest = tw_fastest_cluster(device);
  size_t caches[4] = {0}, cpu = 0;
  while (cpu < TW_MAX_CPUS && (fastest->cpus[cpu / 64] >> cpu % 64 & 1) == 0) ++cpu;
  read_caches(caches, root, cpu);
  if (caches[1] != 0) device->l1_bytes = caches[1];
  if (caches[2] != 0) device->l2_bytes = caches[2];
  if (caches[3] != 0) device->l3_bytes = caches[3];
}

/* What boards and phones call themselves. */
static void read_model(tw_device* device, const char* root) {
  char path[256];
  snprintf(path, sizeof path, "%s/../../../firmware/devicetree/base/model", root);
  if (device->name[0] == '\0') read_text(device->name, sizeof device->name, path);
}

void tw_detect_sysfs(tw_device* device, const char* root) {
  char path[256], online[256];
  const tw_cluster asked = device->clusters[0]; /* what the running core says of itself */
  read_model(device, root);
  snprintf(path, sizeof path, "%s/online", root);
  if (!read_text(online, sizeof online, path)) {
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    device->cluster_count = 1;
    device->clusters[0].midr = 0;
    device->clusters[0].count = count > 0 ? (size_t)count : 1;
    tw_describe_only_cluster(device, asked.midr);
    return;
  }
  device->cluster_count = 0;
  size_t first, last;
  for (const char* at = online; next_part(&at, &first, &last);) {
    for (; first <= last && first < 4096; ++first) add_cpu(device, root, first, asked.name);
  }
  if (device->cluster_count == 0) return;
  use_caches(device, root);
  for (size_t i = 0; i < device->cluster_count; ++i) {
    device->clusters[i].sme_units = count_sme_units(&device->clusters[i], root);
  }
  if (device->cluster_count == 1) tw_describe_only_cluster(device, asked.midr);
}

void tw_detect_system(tw_device* device) {
  tw_detect_sysfs(device, "/sys/devices/system/cpu");
}
#elif !defined(__APPLE__) && !defined(_WIN32)
void tw_detect_system(tw_device* device) {
  device->cluster_count = 1;
  device->clusters[0].count = 1;
}
#endif
