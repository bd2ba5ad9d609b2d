/* Windows: features of Arm by IsProcessorFeaturePresent, cores and caches from the system's list of
 * logical processors, names and MIDR_EL1 from the registry. */
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

/* By the numbers that IsProcessorFeaturePresent takes: headers may be older than the CPU. Vectors
 * of SVE and SME are left out: the system does not say how long they are; fmlal is: it has no
 * number. */
static const struct {
  unsigned number;
  tw_features bit;
} features_by_number[] = {
    {19, TW_FEATURE_NEON}, {43, TW_FEATURE_DOTPROD}, {66, TW_FEATURE_I8MM},
    {67, TW_FEATURE_FP16}, {68, TW_FEATURE_BF16},
};

tw_features tw_windows_features(bool (*present)(unsigned number)) {
  tw_features features = 0;
  for (size_t i = 0; i < sizeof features_by_number / sizeof features_by_number[0]; ++i) {
    if (present(features_by_number[i].number)) features |= features_by_number[i].bit;
  }
  return features;
}

static void add_cpu(tw_device* device, const tw_windows_cpu* cpu, size_t index, const char* name,
                    const char* kind) {
  tw_cluster core = {.count = 0};
  core.midr = cpu->midr;
  core.max_mhz = cpu->mhz;
  core.l1_bytes = cpu->cache_bytes[1];
  core.l2_bytes = cpu->cache_bytes[2];
  const char* own = cpu->midr != 0 ? tw_core_name(cpu->midr) : NULL;
  snprintf(core.name, sizeof core.name, "%.24s%s", own != NULL ? own : name,
           own != NULL ? "" : kind);
  tw_add_core(device, &core, index);
}

void tw_describe_windows(tw_device* device, const tw_windows_cpu* cpus, size_t count) {
  const tw_cluster asked = device->clusters[0]; /* what the running core says of itself */
  unsigned most = 0, least = 255;
  for (size_t i = 0; i < count; ++i) {
    if (cpus[i].efficiency_class > most) most = cpus[i].efficiency_class;
    if (cpus[i].efficiency_class < least) least = cpus[i].efficiency_class;
  }
  /* The fastest cores first: of equals, the first cluster is taken for the fastest. */
  device->cluster_count = 0;
  for (int level = (int)most; level >= (int)least; --level) {
    const char* kind = least == most ? "" : level == (int)most ? " Core" : " Atom";
    for (size_t i = 0; i < count; ++i) {
      if (cpus[i].efficiency_class != (unsigned)level) continue;
      if (device->cluster_count == 0) { /* caches that the fastest core sees */
        size_t* const bytes[] = {NULL, &device->l1_bytes, &device->l2_bytes, &device->l3_bytes};
        for (size_t at = 1; at < 4; ++at) {
          if (cpus[i].cache_bytes[at] != 0) *bytes[at] = cpus[i].cache_bytes[at];
        }
      }
      add_cpu(device, &cpus[i], i, asked.name, kind);
    }
  }
  if (device->cluster_count == 0) device->cluster_count = device->clusters[0].count = 1;
  if (device->cluster_count == 1) tw_describe_only_cluster(device, asked.midr);
}

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

static bool is_present(unsigned number) {
  return IsProcessorFeaturePresent(number) != 0;
}

/* Logical processors of a group, of which the first 64 are told apart. */
static void each_cpu(const GROUP_AFFINITY* group, tw_windows_cpu* cpus,
                     void (*note)(tw_windows_cpu* cpu, const void* what), const void* what) {
  if (group->Group != 0) return;
  for (size_t i = 0; i < 64; ++i) {
    if (((uint64_t)group->Mask >> i & 1) != 0) note(&cpus[i], what);
  }
}

static void note_class(tw_windows_cpu* cpu, const void* core) {
  cpu->efficiency_class = ((const uint8_t*)core)[1]; /* EfficiencyClass; reserved in old headers */
}

static void note_cache(tw_windows_cpu* cpu, const void* cache) {
  const CACHE_RELATIONSHIP* its = cache;
  const bool data = its->Type == CacheData || its->Type == CacheUnified;
  if (data && its->Level < 4) cpu->cache_bytes[its->Level] = its->CacheSize;
}

static void note_list(tw_windows_cpu* cpus, const uint8_t* list, size_t bytes) {
  for (size_t at = 0; at < bytes;) {
    const SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX* item = (const void*)(list + at);
    if (item->Relationship == RelationProcessorCore) {
      each_cpu(&item->Processor.GroupMask[0], cpus, note_class, &item->Processor);
    } else if (item->Relationship == RelationCache) {
      each_cpu(&item->Cache.GroupMask, cpus, note_cache, &item->Cache);
    }
    at += item->Size;
  }
}

static void read_registry(void* value, DWORD bytes, size_t cpu, const char* name, DWORD type) {
  char key[80];
  snprintf(key, sizeof key, "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\%u", (unsigned)cpu);
  RegGetValueA(HKEY_LOCAL_MACHINE, key, name, type, NULL, value, &bytes);
}

void tw_detect_system(tw_device* device) {
  static const size_t most = 64;
  tw_windows_cpu cpus[64] = {{0}};
  SYSTEM_INFO info;
  GetNativeSystemInfo(&info);
  const size_t count = info.dwNumberOfProcessors < most ? info.dwNumberOfProcessors : most;
  device->features |= tw_windows_features(is_present);

  DWORD bytes = 0;
  GetLogicalProcessorInformationEx(RelationAll, NULL, &bytes);
  void* list = malloc(bytes > 0 ? bytes : 1);
  if (list != NULL && GetLogicalProcessorInformationEx(RelationAll, list, &bytes)) {
    note_list(cpus, list, bytes);
  }
  free(list);
  for (size_t i = 0; i < count; ++i) {
    DWORD mhz = 0;
    read_registry(&cpus[i].midr, sizeof cpus[i].midr, i, "CP 4000", RRF_RT_REG_QWORD);
    read_registry(&mhz, sizeof mhz, i, "~MHz", RRF_RT_REG_DWORD);
    cpus[i].mhz = mhz;
  }
  if (device->name[0] == '\0') {
    read_registry(device->name, sizeof device->name, 0, "ProcessorNameString", RRF_RT_REG_SZ);
  }
  tw_describe_windows(device, cpus, count);
}
#endif
