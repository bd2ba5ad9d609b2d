/* Choices: which row of a table of measured settings is for a matrix on a device. */
#include "tilewright/choices.h"

#include <stddef.h>

#include "internal.h"

enum {
  CLOCK_STEP = 400,                              /* MHz: bins of one chip are alike */
  LEAST_MATMUL = offsetof(tw_matmul, accumulate) /* what is read and set here */
};

tw_core_kind tw_core_kind_of(const tw_device* device, const tw_cluster* cluster) {
  const tw_cluster* of = cluster != NULL ? cluster : tw_fastest_cluster(device);
  const tw_core_kind kind = {.midr = of->midr,
                             .family = device->family,
                             .model = device->model,
                             .stepping = device->stepping,
                             .max_mhz = of->max_mhz,
                             .capacity = of->capacity,
                             .l1_bytes = of->l1_bytes,
                             .l2_bytes = of->l2_bytes,
                             .l3_bytes = device->l3_bytes,
                             .features = device->features,
                             .vector_bytes = device->vector_bytes,
                             .streaming_vector_bytes = device->streaming_vector_bytes};
  return kind;
}

static uint64_t without_revision(uint64_t midr) {
  return midr & ~(uint64_t)0xf;
}

static bool same_kind(const tw_core_kind* a, const tw_core_kind* b) {
  return without_revision(a->midr) == without_revision(b->midr) && a->family == b->family &&
         a->model == b->model && a->stepping == b->stepping &&
         (a->max_mhz + CLOCK_STEP / 2) / CLOCK_STEP == (b->max_mhz + CLOCK_STEP / 2) / CLOCK_STEP &&
         a->capacity == b->capacity && a->l1_bytes == b->l1_bytes && a->l2_bytes == b->l2_bytes &&
         a->l3_bytes == b->l3_bytes && a->features == b->features &&
         a->vector_bytes == b->vector_bytes &&
         a->streaming_vector_bytes == b->streaming_vector_bytes;
}

/* Implementer and part. */
static uint64_t part_of(uint64_t midr) {
  return midr & UINT64_C(0xff00fff0);
}

static bool same_type(const tw_core_kind* a, const tw_core_kind* b) {
  if (a->midr != 0 || b->midr != 0) return part_of(a->midr) == part_of(b->midr);
  return a->family != 0 && a->family == b->family && a->model == b->model;
}

static bool same_matrix(const tw_chosen* row, const tw_matmul* matmul) {
  return strcmp(row->family, matmul->family) == 0 && row->n == matmul->n && row->k == matmul->k &&
         (matmul->block == 0 || row->block == matmul->block) &&
         (matmul->scales == TW_SCALES_UNSET || row->scales == matmul->scales);
}

static bool runs(const tw_chosen* row, const tw_device* device, const tw_matmul* matmul) {
  if (row->setting_count == 0 || row->setting_count > TW_MAX_SETTINGS) return false;
  for (size_t i = 0; i < row->setting_count; ++i) {
    const tw_kernel* kernel = tw_find_kernel(row->settings[i].kernel);
    if (kernel == NULL || !tw_runnable_kernel(kernel, device)) return false;
    if (kernel->dst != tw_type_or_f32(matmul->dst_type)) return false;
    if (matmul->rhs_layout != 0 && kernel->rhs->id != matmul->rhs_layout) return false;
  }
  return true;
}

static tw_status check_find(const tw_chosen* choices, size_t count, const tw_device* device,
                            size_t threads, const tw_matmul* matmul, const tw_found* found) {
  if (found == NULL) return tw_fail(TW_INVALID, "tw_choice_find: found is null");
  if (choices == NULL && count > 0) return tw_fail(TW_INVALID, "tw_choice_find: choices is null");
  if (device == NULL) return tw_fail(TW_INVALID, "tw_choice_find: device is null");
  if (matmul == NULL || matmul->family == NULL) {
    return tw_fail(TW_INVALID, "tw_choice_find: matmul%s is null", matmul == NULL ? "" : ".family");
  }
  tw_status status =
      tw_check_size("tw_choice_find: found", "tw_found", found, sizeof *found, sizeof *found);
  if (status == TW_OK) {
    status = tw_check_size("tw_choice_find: device", "tw_device", device, TW_LEAST_DEVICE,
                           sizeof *device);
  }
  if (status == TW_OK) {
    status =
        tw_check_size("tw_choice_find: matmul", "tw_matmul", matmul, LEAST_MATMUL, sizeof *matmul);
  }
  if (status != TW_OK) return status;
  if (threads == 0) {
    return tw_fail(TW_INVALID, "tw_choice_find: threads is 0; at least 1 is legal");
  }
  if (matmul->setting_count > 0) {
    return tw_fail(TW_INVALID,
                   "tw_choice_find: matmul.setting_count is %zu; 0 is legal: the settings that are "
                   "found take their place",
                   matmul->setting_count);
  }
  return TW_OK;
}

static void use(const tw_chosen* row, bool exact, tw_matmul* matmul, tw_found* found) {
  const tw_tuning planned = {.n_block = 0};
  found->chosen = row;
  for (size_t i = 0; i < row->setting_count; ++i) {
    found->settings[i] = row->settings[i];
    if (!exact) found->settings[i].tuning = planned;
  }
  matmul->settings = found->settings;
  matmul->setting_count = row->setting_count;
}

tw_status tw_choice_find(const tw_chosen* choices, size_t count, const tw_device* device,
                         const tw_cluster* cluster, size_t threads, tw_matmul* matmul,
                         tw_found* found) {
  const tw_status status = check_find(choices, count, device, threads, matmul, found);
  if (status != TW_OK) return status;
  found->match = TW_MATCH_NONE;
  found->chosen = NULL;
  if (matmul->kernel != NULL) return TW_OK;
  const tw_core_kind here = tw_core_kind_of(device, cluster);
  const tw_chosen* best = NULL;
  bool as_many = false;
  for (size_t i = 0; i < count; ++i) {
    const tw_chosen* row = &choices[i];
    if (!same_matrix(row, matmul) || !runs(row, device, matmul)) continue;
    const tw_match match = same_kind(&row->core, &here)   ? TW_MATCH_CORE
                           : same_type(&row->core, &here) ? TW_MATCH_TYPE
                                                          : TW_MATCH_ISA;
    const bool threads_too = row->threads == threads;
    if (match < found->match || (match == found->match && as_many >= threads_too)) continue;
    found->match = match;
    as_many = threads_too;
    best = row;
  }
  if (best != NULL) use(best, found->match == TW_MATCH_CORE && as_many, matmul, found);
  return TW_OK;
}
