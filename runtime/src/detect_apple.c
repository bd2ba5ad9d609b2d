/* macOS and iOS: everything by sysctl, whose names and numbers are asked through a function, so
 * that answers of machines that are not at hand can be tested. */
#include <stdio.h>

#include "internal.h"

static const struct {
  const char* name;
  tw_features bit;
} features_by_name[] = {
    {"hw.optional.arm.AdvSIMD", TW_FEATURE_NEON}, /* all have it, old systems say so elsewhere */
    {"hw.optional.neon", TW_FEATURE_NEON},
    {"hw.optional.arm.FEAT_DotProd", TW_FEATURE_DOTPROD},
    {"hw.optional.arm.FEAT_I8MM", TW_FEATURE_I8MM},
    {"hw.optional.arm.FEAT_FP16", TW_FEATURE_FP16},
    {"hw.optional.neon_fp16", TW_FEATURE_FP16}, /* before macOS 12 */
    {"hw.optional.arm.FEAT_BF16", TW_FEATURE_BF16},
    {"hw.optional.arm.FEAT_FHM", TW_FEATURE_FHM},
    {"hw.optional.armv8_2_fhm", TW_FEATURE_FHM}, /* before macOS 12 */
    {"hw.optional.arm.FEAT_SME", TW_FEATURE_SME},
    {"hw.optional.arm.FEAT_SME2", TW_FEATURE_SME2},
};

/* 0 when the system does not know the name. */
static size_t number(const tw_sysctl* system, const char* name) {
  uint64_t value = 0;
  return system->number(system->context, name, &value) ? (size_t)value : 0;
}

static size_t level_number(const tw_sysctl* system, size_t level, const char* name) {
  char text[64];
  snprintf(text, sizeof text, "hw.perflevel%zu.%s", level, name);
  return number(system, text);
}

/* Cores of one level of performance; the system names levels "Performance", "Efficiency". */
static void add_level(tw_device* device, const tw_sysctl* system, size_t level) {
  char key[64], name[32] = {0};
  if (device->cluster_count == TW_MAX_CLUSTERS) return;
  tw_cluster* cluster = &device->clusters[device->cluster_count++];
  snprintf(key, sizeof key, "hw.perflevel%zu.name", level);
  system->text(system->context, key, name, sizeof name);
  snprintf(cluster->name, sizeof cluster->name, name[0] != '\0' ? "%.28s %c" : "%.28s",
           device->name, name[0]);
  cluster->count = level_number(system, level, "logicalcpu");
  cluster->l1_bytes = level_number(system, level, "l1dcachesize");
  cluster->l2_bytes = level_number(system, level, "l2cachesize");
  const size_t share = level_number(system, level, "cpusperl2"); /* they share an SME unit, too */
  const bool sme = (device->features & TW_FEATURE_SME) != 0 && share != 0;
  if (sme) cluster->sme_units = tw_divide_up(cluster->count, share);
}

/* Cores of one kind, as in Macs with x86, whose name cpuid has told. */
static void describe_alike(tw_device* device, const tw_sysctl* system) {
  tw_cluster* cluster = &device->clusters[0];
  device->cluster_count = 1;
  cluster->count = number(system, "hw.logicalcpu");
  if (cluster->count == 0) cluster->count = 1;
  if (cluster->name[0] == '\0') {
    snprintf(cluster->name, sizeof cluster->name, "%.31s", device->name);
  }
  device->l1_bytes = number(system, "hw.l1dcachesize");
  device->l2_bytes = number(system, "hw.l2cachesize");
  device->l3_bytes = number(system, "hw.l3cachesize");
  tw_describe_only_cluster(device, 0);
}

void tw_describe_apple(tw_device* device, const tw_sysctl* system) {
  for (size_t i = 0; i < sizeof features_by_name / sizeof features_by_name[0]; ++i) {
    if (number(system, features_by_name[i].name) != 0) device->features |= features_by_name[i].bit;
  }
  device->streaming_vector_bytes = number(system, "hw.optional.arm.sme_max_svl_b");
  device->virtual_machine = number(system, "kern.hv_vmm_present") != 0;
  if (device->name[0] == '\0') {
    system->text(system->context, "machdep.cpu.brand_string", device->name, sizeof device->name);
  }
  const size_t levels = number(system, "hw.nperflevels");
  if (levels < 2) {
    describe_alike(device, system);
    return;
  }
  device->cluster_count = 0;
  for (size_t level = 0; level < levels; ++level) add_level(device, system, level);
  device->l1_bytes = device->clusters[0].l1_bytes; /* the first level is the fastest one */
  device->l2_bytes = device->clusters[0].l2_bytes;
}

#if defined(__APPLE__)
#include <sys/sysctl.h>
#include <sys/types.h>

static bool ask_number(void* context, const char* name, uint64_t* value) {
  uint64_t answer = 0; /* of 4 or 8 bytes, little-endian */
  size_t bytes = sizeof answer;
  (void)context;
  if (sysctlbyname(name, &answer, &bytes, NULL, 0) != 0) return false;
  *value = answer;
  return true;
}

static bool ask_text(void* context, const char* name, char* text, size_t bytes) {
  (void)context;
  if (sysctlbyname(name, text, &bytes, NULL, 0) == 0) return true;
  text[0] = '\0';
  return false;
}

void tw_detect_system(tw_device* device) {
  const tw_sysctl system = {ask_number, ask_text, NULL};
  tw_describe_apple(device, &system);
}
#endif
