/* Deep products of floats: a panel of weights that fills the L2 cache would come from behind it for
 * each tile of rows. Such a segment goes through k in blocks whose part of a panel stays; outputs
 * collect the sums, by kernels that add to them. What is rounded when depends on the numbers of
 * rows, columns and k and on the device, never on how many threads there are. */
#include <math.h>

#include "internal.h"

enum { K_STEP = 64 /* values of k: a multiple of what layouts pad k to */ };

static size_t values_bytes(size_t values, size_t rows, const tw_layout* layout) {
  return values * rows * layout->data_bits / 8;
}

/* Panels are values of k one after the other, with nothing for each row. */
static bool can_be_cut(const tw_plan* plan, const tw_kernel* kernel) {
  return tw_is_float(plan->rhs) && plan->dst_type == TW_F32 && plan->rhs_panel <= TW_BIAS_COLUMNS &&
         K_STEP % plan->rhs->k_multiple == 0 &&
         (plan->lhs_unpacked ||
          (kernel->lhs->per_row_bytes == 0 && K_STEP % kernel->lhs->k_multiple == 0));
}

const tw_kernel* tw_adding_kernel(const tw_plan* plan, const tw_kernel* kernel) {
  if (kernel->dst != TW_F32 || !tw_is_float(kernel->rhs)) return NULL;
  if (kernel->accumulate) return kernel;
  for (size_t i = 0; i < plan->registry.kernel_count; ++i) {
    const tw_kernel* other = &plan->registry.kernels[i];
    if (other->accumulate && other->dst == kernel->dst && other->lhs == kernel->lhs &&
        other->rhs == kernel->rhs && other->tile_m == kernel->tile_m &&
        other->tile_n == kernel->tile_n && strcmp(other->isa, kernel->isa) == 0 &&
        strcmp(other->printer, kernel->printer) == 0 && tw_runnable_kernel(other, &plan->device)) {
      return other;
    }
  }
  return NULL;
}

size_t tw_k_block(const tw_plan* plan, const tw_segment* segment, size_t k) {
  const tw_kernel* kernel = segment->kernel;
  if (segment->rows <= tw_tile_rows(kernel, &plan->device) || !can_be_cut(plan, kernel)) return k;
  const size_t l2 = tw_l2_bytes(plan);
  if (values_bytes(k, plan->rhs_panel, plan->rhs) <= l2 / 8 * 5) return k;
  if (tw_choice_of(&plan->split, kernel)->adding == NULL) return k;
  const size_t values = l2 / 4 / values_bytes(K_STEP, plan->rhs_panel, plan->rhs) * K_STEP;
  return values >= 4 * K_STEP ? values : k;
}

void tw_run_k_blocks(const tw_plan* plan, const tw_segment* segment, const tw_args* args,
                     size_t block) {
  const float zeros[TW_BIAS_COLUMNS] = {0};
  const tw_kernel* kernel = segment->kernel;
  const tw_kernel* adding = tw_choice_of(&plan->split, kernel)->adding;
  const size_t lhs_rows = tw_panel_rows(kernel->lhs, &plan->device);
  tw_args part = *args;
  for (size_t at = 0; at < args->k; at += block) {
    const bool last = args->k - at <= block;
    part.k = last ? args->k - at : block;
    part.min = last ? args->min : -INFINITY;
    part.max = last ? args->max : INFINITY;
    kernel->run(&part);
    if (last) return;
    part.bias = zeros;
    part.rhs = (const char*)part.rhs + values_bytes(block, plan->rhs_panel, plan->rhs);
    part.lhs =
        (const char*)part.lhs + (plan->lhs_unpacked ? block * tw_type_bytes(plan->lhs_type)
                                                    : values_bytes(block, lhs_rows, kernel->lhs));
    kernel = adding;
  }
}
