/* Types of what callers keep themselves: rows of activations, outputs. */
#include "internal.h"

static const struct {
  const char* text; /* as packers' sources are called */
  size_t bits;
} types[] = {[TW_F32] = {"f32", 32},  [TW_F16] = {"f16", 16},  [TW_BF16] = {"bf16", 16},
             [TW_S32] = {"s32", 32},  [TW_S8] = {"s8", 8},     [TW_U8] = {"u8", 8},
             [TW_S4] = {"s4", 4},     [TW_S2] = {"s2", 2},     [TW_S1] = {"s1", 1},
             [TW_E8M0] = {"e8m0", 8}, [TW_E5M3] = {"e5m3", 8}, [TW_TYPE_Q4_0] = {"", 0},
             [TW_E4M3] = {"e4m3", 8}, [TW_E5M2] = {"e5m2", 8}};

size_t tw_type_bits(tw_type type) {
  return types[type].bits;
}

size_t tw_type_bytes(tw_type type) {
  return types[type].bits / 8;
}

const char* tw_type_text(tw_type type) {
  return types[type].text;
}

tw_type tw_type_or_f32(tw_type type) {
  return type == TW_TYPE_NONE ? TW_F32 : type;
}

static tw_status check_type(const char* member, tw_type type) {
  if ((int)type >= TW_TYPE_NONE && (int)type <= TW_U8) return TW_OK;
  return tw_fail(TW_INVALID, "tw_plan_create: matmul.%s is %d; %d to %d are legal", member,
                 (int)type, TW_TYPE_NONE, TW_U8);
}

/* From rows of this type to what the kernel reads. */
static bool is_read(const tw_registry* registry, const tw_kernel* kernel, tw_type type) {
  if (tw_reads_rows(kernel, type)) return true;
  for (size_t i = 0; i < registry->packer_count; ++i) {
    const tw_packer* packer = &registry->packers[i];
    if (packer->layout->id == kernel->lhs->id && strcmp(packer->source, types[type].text) == 0) {
      return true;
    }
  }
  return false;
}

static void append_read(tw_text* list, const tw_registry* registry, const tw_kernel* kernel) {
  for (tw_type type = TW_F32; type <= TW_U8; ++type) {
    if (is_read(registry, kernel, type)) tw_append_word(list, types[type].text);
  }
}

/* All kernels of a family add to what dst holds, or none does. */
static tw_status check_accumulate(const tw_registry* registry, const tw_matmul* matmul) {
  bool is_known = false;
  for (size_t i = 0; i < registry->kernel_count; ++i) {
    const tw_kernel* kernel = &registry->kernels[i];
    if (strcmp(kernel->family, matmul->family) != 0) continue;
    if ((kernel->accumulate != 0) == (matmul->accumulate != 0)) return TW_OK;
    is_known = true;
  }
  if (!is_known) return TW_OK; /* others say so */
  if (matmul->accumulate == 0) {
    return tw_fail(TW_UNSUPPORTED,
                   "tw_plan_create: matmul.accumulate is 0; %s adds to what dst holds",
                   matmul->family);
  }
  tw_text adding = {.length = 0};
  for (size_t i = 0; i < registry->kernel_count; ++i) {
    const tw_kernel* kernel = &registry->kernels[i];
    if (kernel->accumulate != 0) tw_append_word(&adding, kernel->family);
  }
  return tw_fail(TW_UNSUPPORTED,
                 "tw_plan_create: matmul.accumulate is %d; %s does not add to what dst holds; "
                 "families that do: %s",
                 matmul->accumulate, matmul->family, adding.length == 0 ? "none" : adding.text);
}

tw_status tw_check_types(const tw_registry* registry, const tw_device* device, tw_matmul* matmul) {
  tw_status status = check_type("lhs_type", matmul->lhs_type);
  if (status == TW_OK) status = check_type("dst_type", matmul->dst_type);
  if (status == TW_OK) status = check_accumulate(registry, matmul);
  if (status != TW_OK) return status;
  matmul->lhs_type = tw_type_or_f32(matmul->lhs_type);
  matmul->dst_type = tw_type_or_f32(matmul->dst_type);
  tw_text written = {.length = 0}, read = {.length = 0}, here = {.length = 0};
  bool is_written = false, elsewhere = false;
  for (size_t i = 0; i < registry->kernel_count; ++i) {
    const tw_kernel* kernel = &registry->kernels[i];
    if (strcmp(kernel->family, matmul->family) != 0 || kernel->lhs == NULL) continue;
    if (matmul->kernel != NULL && strcmp(kernel->name, matmul->kernel) != 0) continue;
    tw_append_word(&written, types[kernel->dst].text);
    if (kernel->dst != matmul->dst_type) continue;
    is_written = true;
    const bool runs = tw_runnable_kernel(kernel, device);
    if (is_read(registry, kernel, matmul->lhs_type)) {
      if (runs) return TW_OK;
      elsewhere = true;
    }
    append_read(runs ? &here : &read, registry, kernel);
  }
  const char* who = matmul->kernel != NULL ? matmul->kernel : matmul->family;
  if (written.length != 0 && !is_written) {
    return tw_fail(TW_UNSUPPORTED, "tw_plan_create: matmul.dst_type is %s; %s has outputs of: %s",
                   tw_type_text(matmul->dst_type), who, written.text);
  }
  const tw_text* legal = here.length != 0 ? &here : &read;
  /* No such kernel, no packer at all, nothing that this device runs: others say so. */
  if (legal->length == 0 || (elsewhere && here.length == 0)) return TW_OK;
  return tw_fail(TW_UNSUPPORTED, "tw_plan_create: matmul.lhs_type is %s; %s reads rows of: %s%s",
                 tw_type_text(matmul->lhs_type), who, legal->text,
                 elsewhere ? ", on this device" : "");
}
