/* Running a slice: all row segments of its block of rows, for its block of columns. */
#include <math.h>

#include "internal.h"

static tw_status check_dst(const tw_plan* plan, const tw_run_args* args) {
  if (args->dst == NULL) return tw_fail(TW_INVALID, "tw_run: args.dst is null");
  size_t row, needed;
  if (!tw_multiply(plan->n, tw_type_bytes(plan->dst_type), &row)) {
    return tw_fail(TW_TOO_LARGE, "tw_run: n = %zu values overflow the address space", plan->n);
  }
  if (args->dst_stride < row) {
    return tw_fail(TW_TOO_SMALL,
                   "tw_run: args.dst_stride is %zu; a row of n = %zu values has %zu "
                   "bytes",
                   args->dst_stride, plan->n, row);
  }
  if (!tw_matrix_bytes(args->m, row, args->dst_stride, &needed)) {
    return tw_fail(TW_TOO_LARGE,
                   "tw_run: args.dst_stride is %zu; m = %zu rows overflow the "
                   "address space",
                   args->dst_stride, args->m);
  }
  if (args->dst_bytes < needed) {
    return tw_fail(TW_TOO_SMALL, "tw_run: args.dst_bytes is %zu; m = %zu rows need %zu",
                   args->dst_bytes, args->m, needed);
  }
  return TW_OK;
}

/* The caller's own rows. */
static tw_status check_unpacked_lhs(const tw_plan* plan, const tw_run_args* args) {
  const size_t row =
      plan->k * tw_type_bytes(plan->lhs_type); /* the plan's layouts have passed: no overflow */
  size_t needed;
  if (args->lhs_stride < row) {
    return tw_fail(TW_TOO_SMALL,
                   "tw_run: args.lhs_stride is %zu; this plan reads unpacked rows, and one of "
                   "k = %zu values has %zu bytes",
                   args->lhs_stride, plan->k, row);
  }
  if (!tw_matrix_bytes(args->m, row, args->lhs_stride, &needed)) {
    return tw_fail(TW_TOO_LARGE,
                   "tw_run: args.lhs_stride is %zu; m = %zu rows overflow the address space",
                   args->lhs_stride, args->m);
  }
  if (args->lhs_bytes < needed) {
    return tw_fail(TW_TOO_SMALL, "tw_run: args.lhs_bytes is %zu; m = %zu unpacked rows need %zu",
                   args->lhs_bytes, args->m, needed);
  }
  return TW_OK;
}

static tw_status check_packed_lhs(const tw_run_args* args, const tw_rows* rows) {
  if (args->lhs_stride != 0) {
    return tw_fail(TW_INVALID,
                   "tw_run: args.lhs_stride is %zu; this plan reads what tw_pack_lhs packed, 0 is "
                   "legal",
                   args->lhs_stride);
  }
  if (args->lhs_bytes < rows->lhs_bytes) {
    return tw_fail(TW_TOO_SMALL, "tw_run: args.lhs_bytes is %zu; m = %zu rows need %zu",
                   args->lhs_bytes, args->m, rows->lhs_bytes);
  }
  return TW_OK;
}

static tw_status check_args(const tw_plan* plan, const tw_run_args* args, const tw_rows* rows) {
  if (args->lhs == NULL) return tw_fail(TW_INVALID, "tw_run: args.lhs is null");
  const tw_status lhs =
      plan->lhs_unpacked ? check_unpacked_lhs(plan, args) : check_packed_lhs(args, rows);
  if (lhs != TW_OK) return lhs;
  if (args->rhs == NULL) return tw_fail(TW_INVALID, "tw_run: args.rhs is null");
  if (args->rhs_bytes < plan->rhs_bytes) {
    return tw_fail(TW_TOO_SMALL, "tw_run: args.rhs_bytes is %zu; this plan needs %zu",
                   args->rhs_bytes, plan->rhs_bytes);
  }
  if (args->bias != NULL && args->bias_count < plan->n) {
    return tw_fail(TW_TOO_SMALL,
                   "tw_run: args.bias_count is %zu; one of each of n = %zu columns "
                   "is needed",
                   args->bias_count, plan->n);
  }
  if (args->clamp && !(args->min <= args->max)) {
    return tw_fail(TW_INVALID, "tw_run: args.min is %g, args.max is %g; min must not be above max",
                   (double)args->min, (double)args->max);
  }
  return check_dst(plan, args);
}

static void run_segment(const tw_plan* plan, const tw_run_args* run, const tw_segment* segment,
                        const tw_part* part, size_t prefetch) {
  const size_t end = segment->row_begin + segment->rows;
  const size_t first = part->row_begin > segment->row_begin ? part->row_begin : segment->row_begin;
  const size_t last = part->row_end < end ? part->row_end : end;
  if (first >= last) return;
  const size_t rhs_at = part->column_begin / plan->rhs_panel * plan->rhs_stride;

  tw_args args = {.size = sizeof args};
  args.m = last - first;
  args.n = part->column_end - part->column_begin;
  args.k = plan->k;
  args.block = plan->rhs->block;
  if (plan->lhs_unpacked) {
    args.lhs = (const char*)run->lhs + first * run->lhs_stride;
    args.lhs_stride = run->lhs_stride;
  } else {
    const size_t panel = tw_panel_rows(segment->kernel->lhs, &plan->device);
    const size_t panels = (first - segment->row_begin) / panel;
    args.lhs = (const char*)run->lhs + segment->lhs_offset + panels * segment->lhs_stride;
    args.lhs_stride = segment->lhs_stride;
  }
  args.rhs = (const char*)run->rhs + rhs_at;
  args.rhs_stride = plan->rhs_stride;
  args.dst = (char*)run->dst + first * run->dst_stride +
             part->column_begin * tw_type_bytes(plan->dst_type);
  args.dst_stride = run->dst_stride;
  if (run->bias != NULL) args.bias = (const float*)run->bias + part->column_begin;
  args.min = run->clamp ? run->min : -INFINITY;
  args.max = run->clamp ? run->max : INFINITY;
  args.rhs_prefetch = prefetch;
  segment->kernel->run(&args);
}

tw_status tw_run(const tw_plan* plan, const tw_run_args* theirs, size_t slice) {
  if (plan == NULL) return tw_fail(TW_INVALID, "tw_run: plan is null");
  if (theirs == NULL) return tw_fail(TW_INVALID, "tw_run: args is null");
  tw_run_args own;
  const tw_run_args* args = &own;
  tw_status status = tw_take("tw_run: args", "tw_run_args", theirs, &own, sizeof own);
  if (status != TW_OK || args->m == 0) return status;
  tw_rows rows;
  status = tw_rows_of(plan, args->m, "tw_run", &rows);
  if (status == TW_OK) status = check_args(plan, args, &rows);
  if (status != TW_OK) return status;
  const tw_part part = tw_slice_part(plan, &rows, slice);
  const size_t prefetch = tw_rhs_prefetch(plan, &rows);
  for (size_t i = 0; i < rows.count; ++i) {
    run_segment(plan, args, &rows.segments[i], &part, prefetch);
  }
  return TW_OK;
}
