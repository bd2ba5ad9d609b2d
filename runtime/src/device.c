/* A device's description: detection of this machine, names of features. */
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

static const struct {
  const char* name;
  tw_features bit;
} features_by_name[] = {
    {"avx2", TW_FEATURE_AVX2},
    {"fma", TW_FEATURE_FMA},
    {"f16c", TW_FEATURE_F16C},
    {"avxvnni", TW_FEATURE_AVXVNNI},
    {"avx512f", TW_FEATURE_AVX512F},
    {"avx512bw", TW_FEATURE_AVX512BW},
    {"avx512dq", TW_FEATURE_AVX512DQ},
    {"avx512vl", TW_FEATURE_AVX512VL},
    {"avx512vnni", TW_FEATURE_AVX512VNNI},
    {"avx512bf16", TW_FEATURE_AVX512BF16},
    {"bmi2", TW_FEATURE_BMI2},
    {"amx_tile", TW_FEATURE_AMX_TILE},
    {"amx_int8", TW_FEATURE_AMX_INT8},
    {"amx_bf16", TW_FEATURE_AMX_BF16},
    {"gfni", TW_FEATURE_GFNI},
    {"neon", TW_FEATURE_NEON},
    {"dotprod", TW_FEATURE_DOTPROD},
    {"i8mm", TW_FEATURE_I8MM},
    {"fp16", TW_FEATURE_FP16},
    {"bf16", TW_FEATURE_BF16},
    {"fhm", TW_FEATURE_FHM},
    {"sve", TW_FEATURE_SVE},
    {"sve2", TW_FEATURE_SVE2},
    {"sme", TW_FEATURE_SME},
    {"sme2", TW_FEATURE_SME2},
};
enum { FEATURE_COUNT = sizeof features_by_name / sizeof features_by_name[0] };

const char* tw_feature_name(tw_features bit) {
  for (size_t i = 0; i < FEATURE_COUNT; ++i) {
    if (features_by_name[i].bit == bit) return features_by_name[i].name;
  }
  return NULL;
}

tw_features tw_feature_from_name(const char* name) {
  for (size_t i = 0; name != NULL && i < FEATURE_COUNT; ++i) {
    if (strcmp(features_by_name[i].name, name) == 0) return features_by_name[i].bit;
  }
  return TW_FEATURE_UNKNOWN;
}

size_t tw_feature_names(tw_features features, char* text, size_t bytes) {
  size_t length = 0;
  if (text != NULL && bytes > 0) text[0] = '\0';
  for (int bit = 0; bit < 64; ++bit) {
    const tw_features mask = (tw_features)1 << bit;
    if ((features & mask) == 0) continue;
    const char* name = tw_feature_name(mask);
    if (name == NULL) name = "unknown";
    const char* blank = length == 0 ? "" : " ";
    if (text != NULL && length < bytes) {
      snprintf(text + length, bytes - length, "%s%s", blank, name);
    }
    length += strlen(blank) + strlen(name);
  }
  return length;
}

size_t tw_device_cores(const tw_device* device) {
  size_t cores = 0;
  for (size_t i = 0; device != NULL && i < device->cluster_count && i < TW_MAX_CLUSTERS; ++i) {
    cores += device->clusters[i].count;
  }
  return cores > 0 ? cores : 1;
}

bool tw_device_in_order(const tw_device* device) {
  for (size_t i = 0; i < device->cluster_count && i < TW_MAX_CLUSTERS; ++i) {
    if (!tw_core_in_order(device->clusters[i].midr)) return false;
  }
  return device->cluster_count > 0;
}

tw_status tw_device_limit(tw_device* device, const char* isa) {
  const tw_registry registry = tw_generated_registry();
  return tw_device_limit_from(&registry, device, isa);
}

const tw_cluster* tw_fastest_cluster(const tw_device* device) {
  const tw_cluster* fastest = &device->clusters[0];
  for (size_t i = 1; i < device->cluster_count; ++i) {
    const tw_cluster* other = &device->clusters[i];
    if (other->capacity > fastest->capacity ||
        (other->capacity == fastest->capacity && other->max_mhz > fastest->max_mhz)) {
      fastest = other;
    }
  }
  return fastest;
}

/* A machine without a name of its own is called by its fastest core. */
static void name_device(tw_device* device) {
  const char* name = tw_fastest_cluster(device)->name;
  if (device->name[0] != '\0') return;
  snprintf(device->name, sizeof device->name, "%s", name[0] != '\0' ? name : "unknown");
}

tw_status tw_device_detect(tw_device* device) {
  if (device == NULL) return tw_fail(TW_INVALID, "tw_device_detect: device is null");
  tw_device found = {.size = sizeof found};
  tw_status status =
      tw_check_size("tw_device_detect: device", "tw_device", device, TW_LEAST_DEVICE, sizeof found);
  if (status != TW_OK) return status;
  tw_detect_x86(&found);
  tw_detect_aarch64(&found);
  tw_detect_system(&found);
  name_device(&found);
  const char* isa = getenv("TILEWRIGHT_ISA");
  if (isa != NULL && isa[0] != '\0') status = tw_device_limit(&found, isa);
  tw_give(&found, sizeof found, device);
  if (status == TW_OK) return TW_OK;
  tw_text text = {.length = 0};
  tw_append(&text, "%s", tw_error_message());
  return tw_fail(status, "environment variable TILEWRIGHT_ISA: %s", text.text);
}
