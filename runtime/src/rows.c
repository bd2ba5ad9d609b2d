/* The rows of the registry: which are built, which a device supports, finding them. */
#include <stdio.h>

#include "internal.h"

tw_registry tw_generated_registry(void) {
  const tw_registry registry = {tw_generated_kernels,  tw_generated_kernel_count,
                                tw_generated_packers,  tw_generated_packer_count,
                                tw_generated_cores,    tw_generated_core_count,
                                tw_generated_decoders, tw_generated_decoder_count,
                                tw_generated_parts,    tw_generated_part_count};
  return registry;
}

/* A row that needs no feature runs on every device: no limit takes the fallback away. */
static bool supported(tw_features needed, const char* isa, const tw_device* device) {
  if ((needed & ~device->features) != 0) return false;
  return needed == 0 || device->isa[0] == '\0' || strcmp(device->isa, isa) == 0;
}

int tw_kernel_supported(const tw_kernel* kernel, const tw_device* device) {
  return kernel != NULL && device != NULL && supported(kernel->features, kernel->isa, device);
}

int tw_packer_supported(const tw_packer* packer, const tw_device* device) {
  return packer != NULL && device != NULL && supported(packer->features, packer->isa, device);
}

/* What callers give as biases is f32. */
static bool has_half_biases(const tw_layout* rhs) {
  return rhs != NULL && rhs->axes != NULL && rhs->axes->bias.type == TW_F16;
}

bool tw_runnable_kernel(const tw_kernel* kernel, const tw_device* device) {
  return kernel->run != NULL && !has_half_biases(kernel->rhs) &&
         tw_kernel_supported(kernel, device);
}

int tw_bit_count(tw_features features) {
  int count = 0;
  for (; features != 0; features &= features - 1) ++count;
  return count;
}

static bool better_packer(const tw_packer* a, const tw_packer* b) {
  if ((a->vectorized != 0) != (b->vectorized != 0)) return a->vectorized != 0;
  return tw_bit_count(a->features) > tw_bit_count(b->features);
}

const tw_packer* tw_choose_packer(const tw_registry* registry, const tw_device* device,
                                  uint64_t layout, const char* source) {
  const tw_packer* best = NULL;
  for (size_t i = 0; i < registry->packer_count; ++i) {
    const tw_packer* packer = &registry->packers[i];
    if (packer->layout->id != layout || strcmp(packer->source, source) != 0) continue;
    if (packer->run == NULL || !tw_packer_supported(packer, device)) continue;
    if (best == NULL || better_packer(packer, best)) best = packer;
  }
  return best;
}

size_t tw_list_kernels(const tw_device* device, const tw_kernel** rows, size_t capacity) {
  size_t count = 0;
  for (size_t i = 0; i < tw_generated_kernel_count; ++i) {
    const tw_kernel* kernel = &tw_generated_kernels[i];
    if (device != NULL && !tw_runnable_kernel(kernel, device)) continue;
    if (rows != NULL && count < capacity) rows[count] = kernel;
    ++count;
  }
  return count;
}

size_t tw_list_packers(const tw_device* device, const tw_packer** rows, size_t capacity) {
  size_t count = 0;
  for (size_t i = 0; i < tw_generated_packer_count; ++i) {
    const tw_packer* packer = &tw_generated_packers[i];
    if (device != NULL && (packer->run == NULL || !tw_packer_supported(packer, device))) continue;
    if (rows != NULL && count < capacity) rows[count] = packer;
    ++count;
  }
  return count;
}

const tw_kernel* tw_find_kernel(const char* name) {
  for (size_t i = 0; name != NULL && i < tw_generated_kernel_count; ++i) {
    if (strcmp(tw_generated_kernels[i].name, name) == 0) return &tw_generated_kernels[i];
  }
  return NULL;
}

const tw_packer* tw_find_packer(const char* name) {
  for (size_t i = 0; name != NULL && i < tw_generated_packer_count; ++i) {
    if (strcmp(tw_generated_packers[i].name, name) == 0) return &tw_generated_packers[i];
  }
  return NULL;
}

const tw_layout* tw_find_layout(uint64_t id) {
  for (size_t i = 0; i < tw_generated_kernel_count; ++i) {
    const tw_kernel* kernel = &tw_generated_kernels[i];
    if (kernel->lhs != NULL && kernel->lhs->id == id) return kernel->lhs;
    if (kernel->rhs != NULL && kernel->rhs->id == id) return kernel->rhs;
  }
  return NULL;
}

tw_status tw_device_limit_from(const tw_registry* registry, tw_device* device, const char* isa) {
  if (device == NULL) return tw_fail(TW_INVALID, "tw_device_limit: device is null");
  if (isa == NULL) return tw_fail(TW_INVALID, "tw_device_limit: isa is null; \"\" is no limit");
  const tw_status status = tw_check_size("tw_device_limit: device", "tw_device", device,
                                         TW_LEAST_DEVICE, sizeof *device);
  if (status != TW_OK) return status;
  tw_device unlimited = *device;
  unlimited.isa[0] = '\0';
  tw_text legal = {.length = 0};
  const tw_kernel* known = NULL;
  bool runnable = isa[0] == '\0';
  for (size_t i = 0; i < registry->kernel_count; ++i) {
    const tw_kernel* kernel = &registry->kernels[i];
    const bool named = strcmp(kernel->isa, isa) == 0;
    if (named) known = kernel;
    if (!tw_runnable_kernel(kernel, &unlimited)) continue;
    runnable = runnable || named;
    tw_append_word(&legal, kernel->isa);
  }
  if (runnable && strlen(isa) < sizeof device->isa) {
    memcpy(device->isa, isa, strlen(isa) + 1);
    return TW_OK;
  }
  if (known == NULL) {
    return tw_fail(TW_INVALID, "isa \"%.40s\" is unknown; legal here: %s", isa, legal.text);
  }
  if (known->run == NULL) {
    return tw_fail(TW_UNSUPPORTED, "isa %s is not built for this architecture; legal here: %s", isa,
                   legal.text);
  }
  char missing[128];
  tw_feature_names(known->features & ~device->features, missing, sizeof missing);
  return tw_fail(TW_UNSUPPORTED, "isa %s needs %s, which this device lacks; legal here: %s", isa,
                 missing, legal.text);
}
