/* Settings: what measuring has found best for ranges of rows, in place of the cost model. */
#include "internal.h"

const tw_kernel* tw_kernel_named(const tw_registry* registry, const char* family,
                                 const char* name) {
  for (size_t i = 0; i < registry->kernel_count; ++i) {
    const tw_kernel* kernel = &registry->kernels[i];
    if (strcmp(kernel->family, family) == 0 && strcmp(kernel->name, name) == 0 &&
        kernel->lhs != NULL && kernel->rhs != NULL) {
      return kernel;
    }
  }
  return NULL;
}

const tw_kernel* tw_first_named(const tw_registry* registry, const tw_matmul* matmul) {
  for (size_t i = 0; i < matmul->setting_count; ++i) {
    const char* name = matmul->settings[i].kernel;
    if (name != NULL) return tw_kernel_named(registry, matmul->family, name);
  }
  return NULL;
}

bool tw_is_order(tw_order order) {
  return (int)order >= TW_ORDER_UNSET && (int)order <= TW_ROWS_FIRST;
}

bool tw_is_decode(tw_decode decode) {
  return (int)decode >= TW_DECODE_UNSET && (int)decode <= TW_DECODE_ALWAYS;
}

static tw_status check_range(const tw_matmul* matmul, size_t i) {
  const tw_setting* setting = &matmul->settings[i];
  if (setting->m_first == 0 || setting->m_first > setting->m_last) {
    return tw_fail(TW_INVALID,
                   "tw_plan_create: matmul.settings[%zu] is for %zu to %zu rows; from 1 on, the "
                   "first not above the last, are legal",
                   i, setting->m_first, setting->m_last);
  }
  if (!tw_is_order(setting->tuning.order)) {
    return tw_fail(TW_INVALID,
                   "tw_plan_create: matmul.settings[%zu].tuning.order is %d; %d to %d are legal", i,
                   (int)setting->tuning.order, TW_ORDER_UNSET, TW_ROWS_FIRST);
  }
  if (!tw_is_decode(setting->tuning.decode)) {
    return tw_fail(TW_INVALID,
                   "tw_plan_create: matmul.settings[%zu].tuning.decode is %d; %d to %d are legal",
                   i, (int)setting->tuning.decode, TW_DECODE_UNSET, TW_DECODE_ALWAYS);
  }
  for (size_t j = 0; j < i; ++j) {
    const tw_setting* other = &matmul->settings[j];
    if (setting->m_first > other->m_last || other->m_first > setting->m_last) continue;
    return tw_fail(TW_INVALID,
                   "tw_plan_create: matmul.settings[%zu] and [%zu] overlap: %zu to %zu and %zu to "
                   "%zu rows",
                   j, i, other->m_first, other->m_last, setting->m_first, setting->m_last);
  }
  return TW_OK;
}

static tw_status check_kernel(const tw_registry* registry, const tw_device* device,
                              const tw_matmul* matmul, size_t i) {
  const char* name = matmul->settings[i].kernel;
  if (name == NULL) return TW_OK;
  const tw_kernel* kernel = tw_kernel_named(registry, matmul->family, name);
  if (kernel == NULL) {
    return tw_fail(TW_INVALID,
                   "tw_plan_create: matmul.settings[%zu].kernel \"%.120s\" names no kernel of %s; "
                   "tw_list_kernels has the legal names",
                   i, name, matmul->family);
  }
  if (kernel->dst != matmul->dst_type) {
    return tw_fail(TW_INVALID,
                   "tw_plan_create: matmul.settings[%zu].kernel %s has outputs of %s; "
                   "matmul.dst_type is %s",
                   i, name, tw_type_text(kernel->dst), tw_type_text(matmul->dst_type));
  }
  if (!tw_runnable_kernel(kernel, device)) {
    return tw_fail(TW_UNSUPPORTED,
                   "tw_plan_create: matmul.settings[%zu].kernel %s does not run on this device", i,
                   name);
  }
  const tw_kernel* first = tw_first_named(registry, matmul);
  const uint64_t layout = matmul->rhs_layout != 0 ? matmul->rhs_layout : first->rhs->id;
  const bool unpacked = tw_reads_rows(kernel, matmul->lhs_type);
  const bool wanted = tw_reads_rows(first, matmul->lhs_type);
  if (kernel->rhs->id != layout || unpacked != wanted) {
    return tw_fail(TW_INVALID,
                   "tw_plan_create: matmul.settings[%zu].kernel %s reads weights of layout "
                   "0x%016llx and %s rows; all settings' kernels read one layout, here 0x%016llx, "
                   "and %s rows",
                   i, name, (unsigned long long)kernel->rhs->id, unpacked ? "unpacked" : "packed",
                   (unsigned long long)layout, wanted ? "unpacked" : "packed");
  }
  return TW_OK;
}

tw_status tw_check_settings(const tw_registry* registry, const tw_device* device,
                            const tw_matmul* matmul) {
  if (matmul->setting_count == 0) return TW_OK;
  if (matmul->settings == NULL) {
    return tw_fail(TW_INVALID, "tw_plan_create: matmul.settings is null, setting_count %zu",
                   matmul->setting_count);
  }
  if (matmul->setting_count > TW_MAX_SETTINGS) {
    return tw_fail(TW_TOO_LARGE, "tw_plan_create: matmul.setting_count is %zu; at most %d",
                   matmul->setting_count, TW_MAX_SETTINGS);
  }
  for (size_t i = 0; i < matmul->setting_count; ++i) {
    tw_status status = check_range(matmul, i);
    if (status == TW_OK) status = check_kernel(registry, device, matmul, i);
    if (status != TW_OK) return status;
  }
  return TW_OK;
}

void tw_plan_use_settings(tw_plan* plan, const tw_matmul* matmul) {
  size_t named = 0;
  plan->range_count = 0;
  for (size_t i = 0; i < matmul->setting_count; ++i) {
    const tw_setting* setting = &matmul->settings[i];
    tw_range range = {setting->m_first, setting->m_last, TW_NO_CHOICE, setting->tuning};
    if (setting->kernel != NULL) range.main = plan->split.count + named++;
    size_t at = plan->range_count++;
    for (; at > 0 && plan->ranges[at - 1].m_first > range.m_first; --at) {
      plan->ranges[at] = plan->ranges[at - 1];
    }
    plan->ranges[at] = range;
  }
}

const tw_range* tw_plan_range(const tw_plan* plan, size_t m) {
  for (size_t i = 0; i < plan->range_count; ++i) {
    const tw_range* range = &plan->ranges[i];
    if (m >= range->m_first && m <= range->m_last) return range;
  }
  return NULL;
}
