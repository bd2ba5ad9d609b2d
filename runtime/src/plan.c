/* A plan: for one weight matrix, its layout and the kernel for every number of rows.
 *
 * Every RHS layout that some runnable kernel of the family reads is tried; the one with the lowest
 *   sum over the mix of calls * cycles of the split for m
 * is taken. Of one ISA, what stands further back in the registry must be better by as much as the
 * model can tell: specs have such kernels in the order in which they are preferred. split.c has the
 * cycles of a split. */
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

enum {
  CALL_CYCLES = 100 /* to enter a kernel and set up its pointers */
};

static const double CLEARLY_BETTER = 0.99;

static const tw_mix default_mix[] = {{1, 128}, {128, 1}};

static tw_status check_mix(const tw_matmul* matmul) {
  if (matmul->mix == NULL) return TW_OK;
  if (matmul->mix_count == 0) {
    return tw_fail(TW_INVALID,
                   "tw_plan_create: matmul.mix_count is 0; a mix has entries, or is "
                   "null for the default");
  }
  for (size_t i = 0; i < matmul->mix_count; ++i) {
    const tw_mix* mix = &matmul->mix[i];
    if (mix->m == 0 || mix->m > SIZE_MAX / 4 || !(mix->calls > 0)) {
      return tw_fail(TW_INVALID,
                     "tw_plan_create: matmul.mix[%zu] is %zu rows, %g calls; both are "
                     "above 0",
                     i, mix->m, mix->calls);
    }
  }
  return TW_OK;
}

static tw_status check_device(const tw_device* device) {
  const struct {
    const char* name;
    size_t bytes;
  } lengths[] = {{"vector_bytes", device->vector_bytes},
                 {"streaming_vector_bytes", device->streaming_vector_bytes}};
  for (size_t i = 0; i < 2; ++i) {
    if (lengths[i].bytes % 16 == 0 && lengths[i].bytes <= 256) continue;
    return tw_fail(TW_INVALID,
                   "tw_plan_create: device.%s is %zu; multiples of 16 up to 256 are legal, 0 for "
                   "none",
                   lengths[i].name, lengths[i].bytes);
  }
  if (memchr(device->isa, '\0', sizeof device->isa) == NULL) {
    return tw_fail(TW_INVALID, "tw_plan_create: device.isa is not terminated");
  }
  return TW_OK;
}

static tw_status check_matmul(const tw_matmul* matmul) {
  if (matmul->family == NULL) return tw_fail(TW_INVALID, "tw_plan_create: matmul.family is null");
  if (matmul->n == 0) {
    return tw_fail(TW_INVALID, "tw_plan_create: matmul.n is 0; at least 1 output column is legal");
  }
  if (matmul->k == 0) {
    return tw_fail(TW_INVALID, "tw_plan_create: matmul.k is 0; a depth of at least 1 is legal");
  }
  if (!tw_is_order(matmul->tuning.order)) {
    return tw_fail(TW_INVALID, "tw_plan_create: matmul.tuning.order is %d; %d to %d are legal",
                   (int)matmul->tuning.order, TW_ORDER_UNSET, TW_ROWS_FIRST);
  }
  if (!tw_is_decode(matmul->tuning.decode)) {
    return tw_fail(TW_INVALID, "tw_plan_create: matmul.tuning.decode is %d; %d to %d are legal",
                   (int)matmul->tuning.decode, TW_DECODE_UNSET, TW_DECODE_ALWAYS);
  }
  if (matmul->taps != 0 && matmul->k % matmul->taps != 0) {
    return tw_fail(TW_INVALID,
                   "tw_plan_create: matmul.k is %zu; multiples of matmul.taps, %zu, are legal",
                   matmul->k, matmul->taps);
  }
  return check_mix(matmul);
}

/* Operands in another library's layout may keep no bias, or zero points as no more than offsets:
 * they are for those who ask for them. */
static bool asked_for(const tw_kernel* kernel, const tw_matmul* matmul) {
  const tw_axes* axes = kernel->rhs->axes;
  const bool offsets = axes != NULL && axes->offsets.type != TW_TYPE_NONE;
  return (tw_keeps_bias(kernel->rhs) && !offsets) || matmul->kernel != NULL ||
         matmul->rhs_layout != 0;
}

/* Thousands of rows are asked, several times for a plan: numbers first, names at the end. */
static bool fits(const tw_kernel* kernel, const tw_matmul* matmul) {
  return kernel->dst == matmul->dst_type && kernel->lhs != NULL && kernel->rhs != NULL &&
         kernel->tile_m + kernel->tile_m_scalable >= 1 && kernel->tile_m <= TW_MAX_TILE_M &&
         (matmul->block == 0 || matmul->block == kernel->rhs->block) &&
         (matmul->scales == TW_SCALES_UNSET || matmul->scales == kernel->rhs->block_scales) &&
         (matmul->rhs_layout == 0 || matmul->rhs_layout == kernel->rhs->id) &&
         strcmp(kernel->family, matmul->family) == 0 &&
         (matmul->kernel == NULL || strcmp(matmul->kernel, kernel->name) == 0);
}

static bool wanted(const tw_kernel* kernel, const tw_matmul* matmul) {
  return fits(kernel, matmul) && asked_for(kernel, matmul);
}

/* Its sums over all of k fit in 32 bits, or are floats. */
static bool is_exact(const tw_kernel* kernel, const tw_matmul* matmul) {
  return tw_is_rows(kernel->lhs) || kernel->rhs->exact_k == 0 || matmul->k <= kernel->rhs->exact_k;
}

static bool usable(const tw_kernel* kernel, const tw_matmul* matmul, const tw_device* device) {
  return tw_runnable_kernel(kernel, device) && wanted(kernel, matmul) && is_exact(kernel, matmul);
}

/* Why no kernel is left: walks the conditions from the weakest to the strongest. */
static tw_status nothing_runs(const tw_registry* registry, const tw_device* device,
                              const tw_matmul* matmul) {
  tw_text families = {.length = 0}, layouts = {.length = 0}, isas = {.length = 0};
  const tw_kernel *named = NULL, *blocked = NULL;
  for (size_t i = 0; i < registry->kernel_count; ++i) {
    const tw_kernel* kernel = &registry->kernels[i];
    tw_append_word(&families, kernel->family);
    if (strcmp(kernel->family, matmul->family) != 0 || kernel->rhs == NULL) continue;
    if (matmul->kernel != NULL && strcmp(matmul->kernel, kernel->name) == 0) named = kernel;
    char id[24];
    snprintf(id, sizeof id, "0x%016llx", (unsigned long long)kernel->rhs->id);
    tw_append_word(&layouts, id);
    if (!wanted(kernel, matmul)) continue;
    blocked = kernel;
    tw_append_word(&isas, kernel->isa);
  }
  if (layouts.length == 0) {
    return tw_fail(TW_INVALID, "tw_plan_create: matmul.family \"%.80s\" is unknown; legal: %s",
                   matmul->family, families.text);
  }
  if (matmul->kernel != NULL && named == NULL) {
    return tw_fail(TW_INVALID,
                   "tw_plan_create: matmul.kernel \"%.120s\" names no kernel of %s; "
                   "tw_list_kernels has the legal names",
                   matmul->kernel, matmul->family);
  }
  if (blocked == NULL) {
    return tw_fail(TW_INVALID,
                   "tw_plan_create: matmul.rhs_layout 0x%016llx is read by no such "
                   "kernel; legal: %s",
                   (unsigned long long)matmul->rhs_layout,
                   named == NULL ? layouts.text : "that kernel's own");
  }
  if (tw_is_given(blocked)) {
    return tw_fail(
        TW_UNSUPPORTED,
        "tw_plan_create: kernels of %s are told what codes stand for by each call, which "
        "no plan can",
        matmul->family);
  }
  if (named != NULL && named->run == NULL) {
    return tw_fail(TW_UNSUPPORTED,
                   "tw_plan_create: matmul.kernel %s is not built for this "
                   "architecture",
                   named->name);
  }
  const tw_features missing = blocked->features & ~device->features;
  if (named != NULL && missing != 0) {
    char names[128];
    tw_feature_names(missing, names, sizeof names);
    return tw_fail(TW_UNSUPPORTED,
                   "tw_plan_create: matmul.kernel %s needs %s, which the device "
                   "lacks",
                   named->name, names);
  }
  return tw_fail(TW_UNSUPPORTED,
                 "tw_plan_create: device \"%.40s\"%s%.31s runs no kernel of %s with "
                 "its LHS packer; this build has them for: %s",
                 device->name, device->isa[0] != '\0' ? " limited to " : "", device->isa,
                 matmul->family, isas.text);
}

/* ---- one RHS layout ---- */

size_t tw_l2_bytes(const tw_plan* plan) {
  if (plan->device.l2_bytes != 0) return plan->device.l2_bytes;
  return plan->core != NULL && plan->core->l2_bytes != 0 ? plan->core->l2_bytes : 256 * 1024;
}

/* A run has one LHS: all its kernels read the caller's rows, or none does. Those that settings name
 * decide, else the first. */
static void add_choices(tw_plan* plan, const tw_matmul* matmul) {
  const tw_kernel* named = tw_first_named(&plan->registry, matmul);
  if (named != NULL) plan->lhs_unpacked = tw_reads_rows(named, plan->lhs_type);
  for (size_t i = 0; i < plan->registry.kernel_count; ++i) {
    const tw_kernel* kernel = &plan->registry.kernels[i];
    tw_choice choice;
    if (kernel->rhs == NULL || kernel->rhs->id != plan->rhs->id) continue;
    if (!usable(kernel, matmul, &plan->device)) continue;
    if (!tw_make_choice(plan, kernel, &choice)) continue;
    const bool unpacked = tw_reads_rows(kernel, plan->lhs_type);
    if (named == NULL && plan->split.count == 0) plan->lhs_unpacked = unpacked;
    if (plan->lhs_unpacked == unpacked) tw_add_choice(plan, &plan->split, &choice);
  }
}

/* Behind the others. False when one reads another layout or can not run. */
static bool add_named_choices(tw_plan* plan, const tw_matmul* matmul) {
  for (size_t i = 0; i < matmul->setting_count; ++i) {
    const char* name = matmul->settings[i].kernel;
    if (name == NULL) continue;
    const tw_kernel* kernel = tw_kernel_named(&plan->registry, matmul->family, name);
    tw_choice* choice = &plan->split.choices[plan->split.count + plan->split.named];
    if (kernel == NULL || kernel->rhs->id != plan->rhs->id) return false;
    if (!usable(kernel, matmul, &plan->device) || !tw_make_choice(plan, kernel, choice))
      return false;
    ++plan->split.named;
  }
  return true;
}

/* False when sizes overflow. */
static bool set_layout(tw_plan* plan, const tw_layout* layout) {
  plan->rhs = layout;
  plan->split.count = plan->split.named = 0;
  plan->rhs_panel = tw_panel_rows(layout, &plan->device);
  return plan->rhs_panel != 0 &&
         tw_panel_bytes(layout, &plan->device, plan->k, &plan->rhs_stride) &&
         tw_multiply(tw_divide_up(plan->n, plan->rhs_panel), plan->rhs_stride, &plan->rhs_bytes);
}

/* To have a kernel read a panel. */
static double panel_cycles(const tw_plan* plan) {
  return (double)(tw_divide_up(plan->n, plan->rhs_panel) * CALL_CYCLES);
}

/* To have the weights from memory. */
static double stream_cycles(const tw_plan* plan) {
  return (double)plan->rhs_bytes / TW_STREAM_BYTES;
}

/* Sets all that depends on the layout. False when nothing runs or sizes overflow. */
static bool use_layout(tw_plan* plan, const tw_layout* layout, const tw_matmul* matmul) {
  if (!set_layout(plan, layout)) return false;
  add_choices(plan, matmul);
  if (plan->split.count == 0 || !add_named_choices(plan, matmul)) return false;
  tw_choose_columns(plan);
  const size_t turn = plan->near_columns < plan->n_block ? plan->near_columns : plan->n_block;
  const size_t blocks = tw_divide_up(plan->n, turn);
  tw_split_build(&plan->split, (double)(blocks * CALL_CYCLES), stream_cycles(plan));
  tw_choose_decoding(plan, matmul, panel_cycles(plan));
  tw_plan_use_settings(plan, matmul);
  return true;
}

/* The same of weights that become floats for any number of rows. */
static bool use_decoder(tw_plan* plan, const tw_kernel* decoder, const tw_matmul* matmul) {
  if (!set_layout(plan, decoder->rhs)) return false;
  if (!tw_decode_always(plan, decoder, matmul, panel_cycles(plan))) return false;
  tw_choose_columns(plan);
  tw_plan_use_settings(plan, matmul);
  return true;
}

double tw_plan_cycles(const tw_plan* plan, size_t m) {
  if (plan == NULL || m == 0) return 0;
  const tw_range* range = tw_plan_range(plan, m);
  if (tw_decodes(plan, m)) return tw_decoded_cycles(plan, m);
  return tw_split_cycles(&plan->split, m, range != NULL ? range->main : TW_NO_CHOICE);
}

static double mix_cycles(const tw_plan* plan, const tw_matmul* matmul) {
  const tw_mix* mix = matmul->mix != NULL ? matmul->mix : default_mix;
  const size_t count = matmul->mix != NULL ? matmul->mix_count : 2;
  double cycles = 0;
  for (size_t i = 0; i < count; ++i) cycles += mix[i].calls * tw_plan_cycles(plan, mix[i].m);
  return cycles;
}

/* ---- all layouts ---- */

/* Sums over k that are not exact in any layout that this device has kernels for. */
static tw_status check_depth(const tw_registry* registry, const tw_device* device,
                             const tw_matmul* matmul) {
  size_t deepest = 0;
  for (size_t i = 0; i < registry->kernel_count; ++i) {
    const tw_kernel* kernel = &registry->kernels[i];
    if (usable(kernel, matmul, device)) return TW_OK;
    if (!tw_runnable_kernel(kernel, device) || !wanted(kernel, matmul)) continue;
    if (kernel->rhs->exact_k > deepest) deepest = kernel->rhs->exact_k;
  }
  if (deepest == 0) return TW_OK; /* nothing runs, for other reasons */
  return tw_fail(TW_TOO_LARGE, "tw_plan_create: matmul.k is %zu; integer sums are exact up to %zu",
                 matmul->k, deepest);
}

/* Blocks and their scales are the weights' own, so they are never a choice of the plan's. */
static tw_status check_blocks(const tw_registry* registry, const tw_matmul* matmul) {
  const tw_layout* found = NULL;
  bool several = false, known = false, fitting = false;
  tw_text legal = {.length = 0};
  for (size_t i = 0; i < registry->kernel_count; ++i) {
    const tw_kernel* kernel = &registry->kernels[i];
    if (kernel->rhs == NULL || strcmp(kernel->family, matmul->family) != 0) continue;
    known = true;
    if (kernel->rhs->block != 0) {
      char text[32];
      snprintf(text, sizeof text, "%zu of %s", kernel->rhs->block,
               tw_scales_text(kernel->rhs->block_scales));
      tw_append_word(&legal, text);
    }
    fitting |= fits(kernel, matmul);
    if (!wanted(kernel, matmul)) continue;
    several |= found != NULL && (found->block != kernel->rhs->block ||
                                 found->block_scales != kernel->rhs->block_scales);
    found = kernel->rhs;
  }
  if (found != NULL && found->block != 0 && matmul->k % found->block != 0 && !several) {
    return tw_fail(TW_INVALID,
                   "tw_plan_create: matmul.k is %zu; multiples of the block, %zu, are legal",
                   matmul->k, found->block);
  }
  if (found == NULL && fitting) {
    return tw_fail(
        TW_UNSUPPORTED,
        "tw_plan_create: layouts of %s keep no bias, or no zero points; matmul.kernel or "
        "matmul.rhs_layout asks for one",
        matmul->family);
  }
  const bool asked = matmul->block != 0 || matmul->scales != TW_SCALES_UNSET;
  if (!known || (found != NULL ? !several : !asked)) return TW_OK;
  return tw_fail(TW_INVALID, "tw_plan_create: matmul.block is %zu and matmul.scales %s; %s has: %s",
                 matmul->block, tw_scales_text(matmul->scales), matmul->family,
                 legal.length != 0 ? legal.text : "no blocks");
}

/* Weights are decoded in whole blocks, floats in whole iterations. */
static tw_status check_decoded_depth(const tw_kernel* decoder, const tw_matmul* matmul) {
  const size_t unit = decoder->rhs->block != 0 ? decoder->rhs->block : decoder->unroll_k;
  if (matmul->k % unit == 0) return TW_OK;
  return tw_fail(TW_INVALID,
                 "tw_plan_create: matmul.k is %zu; multiples of %zu are legal for weights of "
                 "layout %s that become floats",
                 matmul->k, unit, decoder->rhs->text);
}

/* Sizes that overflow for every layout: even one bit a value would not fit. */
static tw_status check_sizes(const tw_registry* registry, const tw_device* device,
                             const tw_matmul* matmul) {
  for (size_t i = 0; i < registry->kernel_count; ++i) {
    const tw_kernel* kernel = &registry->kernels[i];
    if (!wanted(kernel, matmul)) continue;
    const size_t panel = tw_panel_rows(kernel->rhs, device);
    size_t stride, bytes;
    if (panel != 0 && (!tw_panel_bytes(kernel->rhs, device, matmul->k, &stride) ||
                       !tw_multiply(tw_divide_up(matmul->n, panel), stride, &bytes))) {
      return tw_fail(TW_TOO_LARGE,
                     "tw_plan_create: matmul.n = %zu times matmul.k = %zu overflows "
                     "the address space",
                     matmul->n, matmul->k);
    }
  }
  return TW_OK;
}

static void log_plan(const tw_plan* plan, const tw_matmul* matmul) {
  const tw_mix* mix = matmul->mix != NULL ? matmul->mix : default_mix;
  const size_t count = matmul->mix != NULL ? matmul->mix_count : 2;
  fprintf(stderr, "tilewright: %s n=%zu k=%zu: rhs layout %016llx, %zu columns a slice\n",
          matmul->family, plan->n, plan->k, (unsigned long long)plan->rhs->id, plan->n_block);
  for (size_t i = 0; i < count; ++i) {
    tw_rows rows;
    if (tw_rows_of(plan, mix[i].m, "tw_plan_create", &rows) != TW_OK) continue;
    for (size_t s = 0; s < rows.count; ++s) {
      const tw_segment* segment = &rows.segments[s];
      fprintf(stderr, "tilewright:   m=%zu rows %zu..%zu: %s\n", mix[i].m, segment->row_begin,
              segment->row_begin + segment->rows - 1, segment->kernel->name);
    }
  }
}

static const tw_layout* cheapest_layout(tw_plan* plan, const tw_matmul* matmul) {
  const tw_kernel* best = NULL;
  double best_cycles = 0;
  for (size_t i = 0; i < plan->registry.kernel_count; ++i) {
    const tw_kernel* kernel = &plan->registry.kernels[i];
    if (!usable(kernel, matmul, &plan->device)) continue;
    if (plan->rhs != NULL && plan->rhs->id == kernel->rhs->id) continue; /* rows stand together */
    if (!use_layout(plan, kernel->rhs, matmul)) continue;
    const double cycles = mix_cycles(plan, matmul);
    const bool is_alike = best != NULL && strcmp(best->isa, kernel->isa) == 0;
    if (best == NULL || cycles < (is_alike ? CLEARLY_BETTER : 1) * best_cycles) {
      best = kernel;
      best_cycles = cycles;
    }
  }
  return best != NULL ? best->rhs : NULL;
}

/* All arguments are of this version. */
static tw_status create(const tw_registry* registry, const tw_device* device, tw_matmul* matmul,
                        tw_plan** plan) {
  tw_status status = check_device(device);
  if (status == TW_OK) status = check_matmul(matmul);
  /* Where there is one, the family's kernels read what it writes, whatever layout that has. */
  const tw_kernel* decoder = status == TW_OK ? tw_find_decoder(registry, device, matmul) : NULL;
  if (decoder != NULL) status = check_decoded_depth(decoder, matmul);
  if (decoder != NULL) {
    matmul->rhs_layout = matmul->block = 0;
    matmul->scales = TW_SCALES_UNSET;
  }
  if (status == TW_OK) status = tw_check_types(registry, device, matmul);
  if (status == TW_OK) status = check_blocks(registry, matmul);
  if (status == TW_OK) status = check_depth(registry, device, matmul);
  if (status == TW_OK) status = tw_check_settings(registry, device, matmul);
  if (status == TW_OK) status = check_sizes(registry, device, matmul);
  if (status != TW_OK) return status;

  tw_plan* made = calloc(1, sizeof *made);
  if (made == NULL) return tw_fail(TW_NO_MEMORY, "tw_plan_create: out of memory");
  made->registry = *registry;
  made->device = *device;
  made->threads = matmul->threads != 0 ? matmul->threads : tw_device_cores(device);
  made->core = tw_core_of(registry, device);
  made->n = matmul->n;
  made->k = matmul->k;
  made->taps = matmul->taps;
  made->lhs_type = matmul->lhs_type;
  made->dst_type = matmul->dst_type;
  made->tuning = matmul->tuning;
  const tw_layout* layout = decoder != NULL ? decoder->rhs : cheapest_layout(made, matmul);
  if (layout == NULL || (decoder != NULL && !use_decoder(made, decoder, matmul))) {
    free(made);
    return nothing_runs(registry, device, matmul);
  }
  if (decoder == NULL) use_layout(made, layout, matmul);
  if (tw_log_enabled()) log_plan(made, matmul);
  *plan = made;
  return TW_OK;
}

tw_status tw_plan_create_from(const tw_registry* registry, const tw_device* device,
                              const tw_matmul* matmul, tw_plan** plan) {
  if (plan == NULL) return tw_fail(TW_INVALID, "tw_plan_create: plan is null");
  *plan = NULL;
  if (device == NULL) return tw_fail(TW_INVALID, "tw_plan_create: device is null");
  if (matmul == NULL) return tw_fail(TW_INVALID, "tw_plan_create: matmul is null");
  tw_device own_device;
  tw_matmul own_matmul;
  tw_status status =
      tw_take("tw_plan_create: device", "tw_device", device, &own_device, sizeof own_device);
  if (status == TW_OK) {
    status = tw_take("tw_plan_create: matmul", "tw_matmul", matmul, &own_matmul, sizeof own_matmul);
  }
  return status == TW_OK ? create(registry, &own_device, &own_matmul, plan) : status;
}

tw_status tw_plan_create(const tw_device* device, const tw_matmul* matmul, tw_plan** plan) {
  const tw_registry registry = tw_generated_registry();
  return tw_plan_create_from(&registry, device, matmul, plan);
}

void tw_plan_destroy(tw_plan* plan) {
  free(plan);
}

const tw_layout* tw_plan_rhs_layout(const tw_plan* plan) {
  return plan == NULL ? NULL : plan->rhs;
}
