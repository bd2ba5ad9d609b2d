/* Kernels that may cover rows: what they would take, and the best of each tile height. */
#include "internal.h"

enum {
  TILE_CYCLES = 30, /* to fill and drain a tile's chain of multiply-adds */
  UNLIKE_CORE = 4   /* times slower than predicted: a kernel scheduled for unlike cores */
};

bool tw_is_given(const tw_kernel* kernel) {
  const tw_axes* axes = kernel->rhs->axes;
  return axes != NULL && axes->codes != NULL && axes->codes->given != 0;
}

/* Number of a row of its table; where it stands in another one, beyond its end. */
static size_t row_in(const tw_kernel* kernel, const tw_kernel* table) {
  return ((uintptr_t)kernel - (uintptr_t)table) / sizeof *kernel;
}

double tw_plan_rate(const tw_plan* plan, const tw_kernel* kernel) {
  const tw_registry* registry = &plan->registry;
  size_t row = row_in(kernel, registry->kernels);
  if (row >= registry->kernel_count) {
    row = registry->kernel_count + row_in(kernel, registry->parts);
  }
  if (plan->core != NULL && plan->core->rates[row] > 0) return plan->core->rates[row];
  return kernel->macs_per_cycle > 0 ? kernel->macs_per_cycle : 1;
}

static double tile_cycles(const tw_choice* choice, const tw_plan* plan) {
  const tw_kernel* kernel = choice->kernel;
  double rate = tw_plan_rate(plan, kernel);
  /* What is predicted for cores that issue in order does not compare with what is for others. */
  if ((kernel->in_order != 0) != tw_device_in_order(&plan->device)) rate /= UNLIKE_CORE;
  /* The prediction is for vectors of 16 bytes. */
  const double times = (double)(tw_vector_bytes(kernel->rhs, &plan->device) / 16);
  if (kernel->tile_n_scalable != 0) rate *= times;
  if (kernel->tile_m_scalable != 0) rate *= times;
  const double macs = (double)choice->tile_m * (double)choice->tile_n * (double)plan->k;
  return (double)tw_divide_up(plan->n, choice->tile_n) * (macs / rate + TILE_CYCLES);
}

/* False when this plan can not run it. */
bool tw_make_choice(const tw_plan* plan, const tw_kernel* kernel, tw_choice* choice) {
  *choice = (tw_choice){.kernel = kernel, .adding = tw_adding_kernel(plan, kernel)};
  choice->sums = tw_part_kernel(plan, kernel, TW_S32);
  choice->last = tw_part_kernel(plan, kernel, TW_F32);
  choice->tile_m = tw_tile_rows(kernel, &plan->device);
  choice->tile_n = tw_tile_columns(kernel, &plan->device);
  if (tw_is_given(kernel)) return false;
  if (choice->tile_m < 1 || choice->tile_m > TW_MAX_TILE_M || choice->tile_n < 1) return false;
  choice->tile_cycles = tile_cycles(choice, plan);
  choice->lhs_panel = tw_panel_rows(kernel->lhs, &plan->device);
  if (!tw_reads_rows(kernel, plan->lhs_type)) {
    choice->lhs_packer = tw_choose_packer(&plan->registry, &plan->device, kernel->lhs->id,
                                          tw_type_text(plan->lhs_type));
    if (choice->lhs_packer == NULL || choice->lhs_panel == 0) return false;
  }
  return tw_panel_bytes(kernel->lhs, &plan->device, plan->k, &choice->lhs_stride);
}

static bool reads_as_core_likes(const tw_plan* plan, const tw_choice* choice) {
  return choice->tile_n == plan->core->row_panels * plan->rhs_panel;
}

/* Memory decides about one row, so that how it is read does; else cycles. */
static bool is_better(const tw_plan* plan, const tw_choice* a, const tw_choice* b) {
  if (a->tile_m == 1 && plan->core != NULL &&
      reads_as_core_likes(plan, a) != reads_as_core_likes(plan, b)) {
    return reads_as_core_likes(plan, a);
  }
  return a->tile_cycles < b->tile_cycles;
}

/* Keeps the best kernel of each tile height; the first when equal. */
void tw_add_choice(const tw_plan* plan, tw_split* split, const tw_choice* choice) {
  for (size_t i = 0; i < split->count; ++i) {
    if (split->choices[i].tile_m != choice->tile_m) continue;
    if (is_better(plan, choice, &split->choices[i])) split->choices[i] = *choice;
    return;
  }
  if (split->count < TW_MAX_HEIGHTS) split->choices[split->count++] = *choice;
}
