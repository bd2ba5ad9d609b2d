/* Deep products of floats, or of codes with scales per block on both sides: a panel of weights that
 * fills the L2 cache would come from behind it for each tile of rows. Such a segment goes through k
 * in blocks whose part of a panel stays; outputs collect the sums, by kernels that add to them.
 * What is rounded when depends on the numbers of rows, columns and k and on the device, never on
 * how many threads there are.
 *
 * Deep products of codes: rows that fill the cache would come from behind it for each panel of
 * weights. Their sums wait in dst, as i32, while parts of k go by of which both stay; outputs have
 * the bits of products without parts. */
#include <math.h>

#include "internal.h"

enum {
  K_STEP = 64, /* values of k: a multiple of what layouts pad k to */
  LEAST_BLOCK = 4 * K_STEP,
  LEAST_PART = 2048 /* of them, so that it pays to load and store sums */
};

/* With what stands beside each block. */
static size_t values_bytes(size_t values, size_t rows, const tw_layout* layout) {
  const size_t blocks = layout->block == 0 ? 0 : values / layout->block;
  return rows * (values * layout->data_bits / 8 + blocks * layout->per_row_block_bytes);
}

/* Panels are values of k one after the other, or whole blocks, and their first K_STEP are some. */
static bool ends_with_steps(const tw_layout* layout) {
  return K_STEP % layout->k_multiple == 0 &&
         (layout->block == 0 || (K_STEP % layout->block == 0 && !layout->scales_apart));
}

/* With nothing for each row of the LHS. */
static bool can_be_cut(const tw_plan* plan, const tw_kernel* kernel) {
  return plan->dst_type == TW_F32 && plan->rhs_panel <= TW_BIAS_COLUMNS &&
         ends_with_steps(plan->rhs) &&
         (plan->lhs_unpacked || (kernel->lhs->per_row_bytes == 0 && ends_with_steps(kernel->lhs)));
}

static bool is_of_tile(const tw_kernel* other, const tw_kernel* kernel) {
  return other->lhs == kernel->lhs && other->rhs == kernel->rhs &&
         other->tile_m == kernel->tile_m && other->tile_n == kernel->tile_n &&
         strcmp(other->isa, kernel->isa) == 0 && strcmp(other->printer, kernel->printer) == 0;
}

const tw_kernel* tw_adding_kernel(const tw_plan* plan, const tw_kernel* kernel) {
  if (kernel->dst != TW_F32 || !(tw_is_float(kernel->rhs) || kernel->rhs->block != 0)) return NULL;
  if (kernel->accumulate) return kernel;
  for (size_t i = 0; i < plan->registry.kernel_count; ++i) {
    const tw_kernel* other = &plan->registry.kernels[i];
    if (other->accumulate && other->dst == kernel->dst && is_of_tile(other, kernel) &&
        tw_runnable_kernel(other, &plan->device)) {
      return other;
    }
  }
  return NULL;
}

/* Outputs of the same size as sums, which they take the place of. */
const tw_kernel* tw_part_kernel(const tw_plan* plan, const tw_kernel* kernel, tw_type dst) {
  if (kernel->dst != TW_F32 || kernel->accumulate) return NULL;
  for (size_t i = 0; i < plan->registry.part_count; ++i) {
    const tw_kernel* part = &plan->registry.parts[i];
    if (part->dst == dst && is_of_tile(part, kernel) && tw_runnable_kernel(part, &plan->device)) {
      return part;
    }
  }
  return NULL;
}

/* Beside the rows' the values of a panel and of the one that is fetched. */
static size_t part_bytes(const tw_plan* plan, const tw_segment* segment, size_t k, size_t rows) {
  return values_bytes(k, rows, segment->kernel->lhs) +
         2 * values_bytes(k, plan->rhs_panel, plan->rhs);
}

size_t tw_part_rows(const tw_plan* plan, const tw_segment* segment) {
  const tw_kernel* kernel = segment->kernel;
  const tw_choice* choice = tw_choice_of(&plan->split, kernel);
  if (plan->lhs_unpacked || choice->sums == NULL || choice->last == NULL) return 0;
  if (segment->rows <= choice->tile_m || K_STEP % kernel->lhs->k_multiple != 0) return 0;
  const size_t l2 = tw_l2_bytes(plan);
  if (part_bytes(plan, segment, plan->k, segment->rows) <= l2 / 4 * 3) return 0;
  const size_t panels = part_bytes(plan, segment, LEAST_PART, 0);
  if (panels >= l2 / 2 || plan->k <= LEAST_PART) return 0;
  const size_t rows = (l2 / 2 - panels) / values_bytes(LEAST_PART, 1, kernel->lhs);
  return rows < segment->rows ? rows / choice->tile_m * choice->tile_m : segment->rows;
}

/* Parts of k of like size, none of more than `most` values, or all of k. */
static size_t like_parts(size_t k, size_t most) {
  if (k <= most) return k;
  return tw_divide_up(tw_divide_up(k, tw_divide_up(k, most)), K_STEP) * K_STEP;
}

static size_t k_part(const tw_plan* plan, const tw_segment* segment, size_t rows, size_t k) {
  return like_parts(k, tw_l2_bytes(plan) / 2 / part_bytes(plan, segment, K_STEP, rows) * K_STEP);
}

void tw_run_parts(const tw_plan* plan, const tw_segment* segment, const tw_args* args,
                  size_t block) {
  const tw_choice* choice = tw_choice_of(&plan->split, segment->kernel);
  const size_t lhs_rows = tw_panel_rows(segment->kernel->lhs, &plan->device);
  tw_args part = *args;
  for (size_t row = 0; row < args->m; ++row) {
    memset((char*)args->dst + row * args->dst_stride, 0, args->n * sizeof(int32_t));
  }
  for (size_t left = args->k; left > 0; left -= part.k) {
    part.k = left < block ? left : block;
    (part.k == left ? choice->last : choice->sums)->run(&part);
    part.lhs = (const char*)part.lhs + values_bytes(part.k, lhs_rows, segment->kernel->lhs);
    part.rhs = (const char*)part.rhs + values_bytes(part.k, plan->rhs_panel, plan->rhs);
  }
}

/* Bytes of a panel that stays: one that the next one's prefetching pushes out is read again, which
 * products of few rows notice most. Measured (Zen 5), as is what parts take; floats of 16 bits on
 * both sides are done with a part sooner, and what it costs to begin one shows: panels of 0.29 of
 * the cache are 1 to 4 % slower in parts, of 0.38 1 to 5 % faster. */
static size_t most_bytes(const tw_plan* plan, size_t l2) {
  return tw_is_float(plan->rhs) && !plan->lhs_unpacked ? l2 / 3 : l2 / 4;
}

size_t tw_k_block(const tw_plan* plan, const tw_segment* segment, size_t k) {
  const tw_kernel* kernel = segment->kernel;
  const size_t rows = tw_part_rows(plan, segment);
  if (rows != 0) return k_part(plan, segment, rows, k);
  if (segment->rows <= tw_tile_rows(kernel, &plan->device) || !can_be_cut(plan, kernel)) return k;
  const size_t l2 = tw_l2_bytes(plan);
  if (values_bytes(k, plan->rhs_panel, plan->rhs) <= most_bytes(plan, l2)) return k;
  if (tw_choice_of(&plan->split, kernel)->adding == NULL) return k;
  if (values_bytes(LEAST_BLOCK, plan->rhs_panel, plan->rhs) > l2 / 4) return k;
  const size_t values = l2 / 8 / values_bytes(K_STEP, plan->rhs_panel, plan->rhs) * K_STEP;
  return like_parts(k, values > LEAST_BLOCK ? values : LEAST_BLOCK);
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
