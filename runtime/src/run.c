/* Running a slice: all row segments of its block of rows, for its block of columns. `who` begins
 * messages: "tw_run: args". */
#include <math.h>

#include "internal.h"

static tw_status check_dst(const char* who, const tw_plan* plan, const tw_run_args* args) {
  if (args->dst == NULL) return tw_fail(TW_INVALID, "%s.dst is null", who);
  size_t row, needed;
  if (!tw_multiply(args->n, tw_type_bytes(plan->dst_type), &row)) {
    return tw_fail(TW_TOO_LARGE, "%s: n = %zu values overflow the address space", who, args->n);
  }
  if (args->dst_stride < row) {
    return tw_fail(TW_TOO_SMALL,
                   "%s.dst_stride is %zu; a row of n = %zu values has %zu "
                   "bytes",
                   who, args->dst_stride, args->n, row);
  }
  if (!tw_matrix_bytes(args->m, row, args->dst_stride, &needed)) {
    return tw_fail(TW_TOO_LARGE,
                   "%s.dst_stride is %zu; m = %zu rows overflow the "
                   "address space",
                   who, args->dst_stride, args->m);
  }
  if (args->dst_bytes < needed) {
    return tw_fail(TW_TOO_SMALL, "%s.dst_bytes is %zu; m = %zu rows need %zu", who, args->dst_bytes,
                   args->m, needed);
  }
  return TW_OK;
}

tw_status tw_check_unpacked_lhs(const char* who, const tw_plan* plan, const tw_run_args* args) {
  const size_t row =
      args->k * tw_type_bytes(plan->lhs_type); /* the plan's layouts have passed: no overflow */
  size_t needed;
  if (args->lhs_stride < row) {
    return tw_fail(TW_TOO_SMALL,
                   "%s.lhs_stride is %zu; this plan reads unpacked rows, and one of "
                   "k = %zu values has %zu bytes",
                   who, args->lhs_stride, args->k, row);
  }
  if (!tw_matrix_bytes(args->m, row, args->lhs_stride, &needed)) {
    return tw_fail(TW_TOO_LARGE, "%s.lhs_stride is %zu; m = %zu rows overflow the address space",
                   who, args->lhs_stride, args->m);
  }
  if (args->lhs_bytes < needed) {
    return tw_fail(TW_TOO_SMALL, "%s.lhs_bytes is %zu; m = %zu unpacked rows need %zu", who,
                   args->lhs_bytes, args->m, needed);
  }
  return TW_OK;
}

static tw_status check_packed_lhs(const char* who, const tw_run_args* args, const tw_rows* rows) {
  if (args->lhs_stride != 0) {
    return tw_fail(TW_INVALID,
                   "%s.lhs_stride is %zu; this plan reads what tw_pack_lhs packed, 0 is "
                   "legal",
                   who, args->lhs_stride);
  }
  if (args->lhs_bytes < rows->lhs_bytes) {
    return tw_fail(TW_TOO_SMALL, "%s.lhs_bytes is %zu; m = %zu rows need %zu", who, args->lhs_bytes,
                   args->m, rows->lhs_bytes);
  }
  return TW_OK;
}

static bool is_whole(float value) {
  return value == (float)(int)value;
}

static tw_status check_bias(const char* who, const tw_plan* plan, const tw_run_args* args) {
  if (args->bias == NULL || tw_keeps_bias(plan->rhs)) return TW_OK;
  return tw_fail(TW_INVALID, "%s.bias is set; kernels for layout '%s' add none, null is legal", who,
                 plan->rhs->text);
}

/* Outputs that are integers: codes, or sums, which nothing limits. */
static tw_status check_integers(const char* who, const tw_plan* plan, const tw_run_args* args) {
  const bool codes = plan->dst_type == TW_S8;
  const int lowest = codes ? INT8_MIN : 0, highest = codes ? INT8_MAX : 0;
  if (args->dst_zero_point < lowest || args->dst_zero_point > highest) {
    return tw_fail(TW_INVALID, "%s.dst_zero_point is %d; %d to %d are legal", who,
                   (int)args->dst_zero_point, lowest, highest);
  }
  if (plan->dst_type == TW_S32 && args->clamp) {
    return tw_fail(TW_INVALID, "%s.clamp is %d; sums of s32 are not clamped, 0 is legal", who,
                   args->clamp);
  }
  if (!codes) return TW_OK;
  if (args->bias != NULL) {
    return tw_fail(TW_INVALID,
                   "%s.bias is set; for static activations it is packed with the "
                   "weights, null is legal",
                   who);
  }
  const bool within = args->min >= INT8_MIN && args->max <= INT8_MAX;
  if (args->clamp && !(within && is_whole(args->min) && is_whole(args->max))) {
    return tw_fail(TW_INVALID,
                   "%s.min is %g, args.max is %g; whole numbers from %d to %d are legal", who,
                   (double)args->min, (double)args->max, INT8_MIN, INT8_MAX);
  }
  return TW_OK;
}

bool tw_gathers(const tw_plan* plan) {
  return plan->lhs_unpacked && plan->taps != 0;
}

/* Of plans that cannot do without. */
static tw_status check_decoding(const char* who, const tw_plan* plan, const tw_run_args* args,
                                const tw_rows* rows) {
  const size_t needed = plan->decoding.always ? tw_decoded_bytes(plan, rows->m) : 0;
  if (needed == 0 || (args->scratch != NULL && args->scratch_bytes >= needed)) return TW_OK;
  if (args->scratch == NULL) return tw_fail(TW_INVALID, "%s.scratch is null", who);
  return tw_fail(TW_TOO_SMALL,
                 "%s.scratch_bytes is %zu; for m = %zu rows weights become floats in %zu bytes of "
                 "it (tw_scratch_bytes)",
                 who, args->scratch_bytes, rows->m, needed);
}

static tw_status check_lhs(const char* who, const tw_plan* plan, const tw_run_args* args,
                           const tw_rows* rows) {
  if (tw_gathers(plan)) {
    return tw_check_scratch(who, plan, rows, args->scratch, args->scratch_bytes);
  }
  if (args->lhs == NULL) return tw_fail(TW_INVALID, "%s.lhs is null", who);
  return plan->lhs_unpacked ? tw_check_unpacked_lhs(who, plan, args)
                            : check_packed_lhs(who, args, rows);
}

tw_status tw_check_weights(const char* who, const tw_plan* plan, const tw_run_args* args) {
  if (args->rhs_bytes < plan->rhs_bytes) {
    return tw_fail(TW_TOO_SMALL, "%s.rhs_bytes is %zu; this plan needs %zu", who, args->rhs_bytes,
                   plan->rhs_bytes);
  }
  return TW_OK;
}

tw_status tw_check_outputs(const char* who, const tw_plan* plan, const tw_run_args* args) {
  if (args->bias != NULL && args->bias_count < args->n) {
    return tw_fail(TW_TOO_SMALL,
                   "%s.bias_count is %zu; one of each of n = %zu columns "
                   "is needed",
                   who, args->bias_count, args->n);
  }
  if (args->clamp && !(args->min <= args->max)) {
    return tw_fail(TW_INVALID, "%s.min is %g, args.max is %g; min must not be above max", who,
                   (double)args->min, (double)args->max);
  }
  tw_status status = check_bias(who, plan, args);
  if (status == TW_OK) status = check_integers(who, plan, args);
  return status != TW_OK ? status : check_dst(who, plan, args);
}

tw_status tw_check_run(const char* who, const tw_plan* plan, const tw_run_args* args,
                       const tw_rows* rows) {
  tw_status status = check_lhs(who, plan, args, rows);
  if (status == TW_OK) status = check_decoding(who, plan, args, rows);
  if (status != TW_OK) return status;
  if (args->rhs == NULL) return tw_fail(TW_INVALID, "%s.rhs is null", who);
  status = tw_check_weights(who, plan, args);
  return status != TW_OK ? status : tw_check_outputs(who, plan, args);
}

tw_status tw_take_depth(const char* who, const tw_plan* plan, size_t* k) {
  if (*k == 0) *k = plan->k;
  if (*k == plan->k) return TW_OK;
  if (*k > plan->k) {
    return tw_fail(TW_TOO_LARGE, "%s.k is %zu; this plan's k, %zu, is the most", who, *k, plan->k);
  }
  if (plan->taps != 0) {
    return tw_fail(TW_INVALID, "%s.k is %zu; rows with taps have this plan's k, %zu", who, *k,
                   plan->k);
  }
  if (tw_is_float(plan->rhs) && plan->rhs_panel <= TW_BIAS_COLUMNS && !plan->decoding.always) {
    return TW_OK;
  }
  return tw_fail(TW_UNSUPPORTED, "%s.k is %zu; of layout %s all k are used, %zu", who, *k,
                 plan->rhs->text, plan->k);
}

tw_status tw_take_run(const char* who, const tw_plan* plan, const tw_run_args* theirs,
                      tw_run_args* own) {
  const tw_status status = tw_take(who, "tw_run_args", theirs, own, sizeof *own);
  if (status != TW_OK) return status;
  if (own->n == 0) own->n = plan->n;
  if (own->n <= plan->n) return tw_take_depth(who, plan, &own->k);
  return tw_fail(TW_TOO_LARGE, "%s.n is %zu; this plan's n, %zu, is the most", who, own->n,
                 plan->n);
}

/* ---- parts ---- */

void tw_copy_bias(const tw_plan* plan, const char* panels, size_t columns, float* bias) {
  const tw_field* field = &plan->rhs->axes->bias;
  const int64_t vectors = (int64_t)(tw_vector_bytes(plan->rhs, &plan->device) / 16);
  int64_t at = tw_length_at(field->base, vectors) / 8;
  if (at < 0) at += (int64_t)plan->rhs_stride; /* behind values of k: from the panel's end */
  for (size_t i = 0; i < columns; i += plan->rhs_panel, panels += plan->rhs_stride) {
    const size_t left = columns - i;
    memcpy(bias + i, panels + at, (left < plan->rhs_panel ? left : plan->rhs_panel) * sizeof *bias);
  }
}

/* Kernels look for the packed bias behind as many values of k as they add up. Where panels hold
 * more it is handed over, of some columns at a time. */
static void run_by_columns(const tw_plan* plan, const tw_segment* segment, tw_args args,
                           size_t k_block) {
  float packed[TW_BIAS_COLUMNS];
  const float* bias = args.bias;
  const size_t tile = tw_tile_columns(segment->kernel, &plan->device);
  size_t most = TW_BIAS_COLUMNS / plan->rhs_panel * plan->rhs_panel;
  if (most > tile) most -= most % tile;
  for (size_t left = args.n; left > 0; left -= args.n) {
    args.n = left < most ? left : most;
    if (bias == NULL) tw_copy_bias(plan, args.rhs, args.n, packed);
    args.bias = bias == NULL ? packed : bias;
    tw_run_k_blocks(plan, segment, &args, k_block);
    if (bias != NULL) bias += args.n;
    args.rhs = (const char*)args.rhs + args.n / plan->rhs_panel * plan->rhs_stride;
    args.dst = (char*)args.dst + args.n * tw_type_bytes(plan->dst_type);
  }
}

bool tw_segment_args(const tw_plan* plan, const tw_run_args* run, const tw_corner* corner,
                     const tw_segment* segment, const tw_part* part, tw_args* segment_args) {
  const size_t end = segment->row_begin + segment->rows;
  const size_t first = part->row_begin > segment->row_begin ? part->row_begin : segment->row_begin;
  const size_t last = part->row_end < end ? part->row_end : end;
  if (first >= last) return false;
  const size_t rhs_at = part->column_begin / plan->rhs_panel * plan->rhs_stride;

  tw_args args = {.size = sizeof args};
  args.m = last - first;
  args.n = part->column_end - part->column_begin;
  args.k = run->k;
  args.block = plan->rhs->block;
  if (plan->lhs_unpacked) {
    args.lhs = (const char*)run->lhs + (first - corner->lhs_row) * run->lhs_stride;
    args.lhs_stride = run->lhs_stride;
  } else {
    const size_t panel = tw_panel_rows(segment->kernel->lhs, &plan->device);
    const size_t panels = (first - segment->row_begin) / panel;
    args.lhs = (const char*)run->lhs + segment->lhs_offset + panels * segment->lhs_stride;
    args.lhs_stride = segment->lhs_stride;
  }
  args.rhs = (const char*)run->rhs + rhs_at;
  args.rhs_stride = plan->rhs_stride;
  args.dst = (char*)run->dst + (first - corner->dst_row) * run->dst_stride +
             (part->column_begin - corner->dst_column) * tw_type_bytes(plan->dst_type);
  args.dst_stride = run->dst_stride;
  if (run->bias != NULL) args.bias = (const float*)run->bias + part->column_begin;
  const bool codes = plan->dst_type == TW_S8;
  args.min = run->clamp ? run->min : codes ? INT8_MIN : -INFINITY;
  args.max = run->clamp ? run->max : codes ? INT8_MAX : INFINITY;
  args.dst_zero_point = run->dst_zero_point;
  *segment_args = args;
  return true;
}

/* Caches further out would have room, at the price of reading what is overwritten. Scratch, from
 * which pieces of outputs are taken right away, has fewer bytes than that. */
static bool leave_l2(const tw_plan* plan, size_t rows, const tw_run_args* run) {
  const size_t l2 = tw_l2_bytes(plan);
  return rows * run->n * tw_type_bytes(plan->dst_type) > l2 && run->dst_bytes > l2;
}

static void run_segment(const tw_plan* plan, const tw_rows* rows, const tw_run_args* run,
                        const tw_corner* corner, const tw_segment* segment, const tw_part* part,
                        size_t prefetch) {
  tw_args args;
  if (!tw_segment_args(plan, run, corner, segment, part, &args)) return;
  args.rhs_prefetch = prefetch;
  const size_t k_block = tw_k_block(plan, segment, run->k);
  if (k_block < run->k && tw_part_rows(plan, segment) != 0) {
    tw_run_parts(plan, segment, &args, k_block);
    return;
  }
  if (k_block < run->k || (run->k != plan->k && run->bias == NULL)) {
    run_by_columns(plan, segment, args, k_block);
  } else {
    if (leave_l2(plan, rows->m, run)) args.flags = TW_STREAM_OUTPUT;
    segment->kernel->run(&args);
  }
}

/* By columns: several segments take turns, each reads the weights that the one before left in L2;
 * and blocks of k follow each other as panels hold them, which is what prefetching takes. */
static void run_rows(const tw_plan* plan, const tw_rows* rows, const tw_run_args* args,
                     const tw_corner* corner, const tw_part* part) {
  const bool deep = rows->count > 0 && tw_part_rows(plan, &rows->segments[0]) == 0 &&
                    tw_k_block(plan, &rows->segments[0], args->k) < args->k;
  const size_t most = rows->count > 1 || deep ? plan->near_columns : plan->n;
  tw_part block = *part;
  for (; block.column_begin < part->column_end; block.column_begin = block.column_end) {
    const bool rest = part->column_end - block.column_begin <= most;
    block.column_end = rest ? part->column_end : block.column_begin + most;
    for (size_t i = 0; i < rows->count; ++i) {
      const size_t prefetch = tw_segment_prefetch(plan, rows, i);
      run_segment(plan, rows, args, corner, &rows->segments[i], &block, prefetch);
    }
  }
}

/* Slices for decoding have more rows than stay in a cache; where nothing is decoded they go by in
 * blocks. */
void tw_run_part(const tw_plan* plan, const tw_rows* rows, const tw_run_args* args,
                 const tw_corner* corner, const tw_part* part) {
  if (!tw_decodes(plan, rows->m)) {
    run_rows(plan, rows, args, corner, part);
    return;
  }
  const size_t most = tw_cached_rows(plan, rows);
  tw_part block = *part;
  for (; block.row_begin < part->row_end; block.row_begin = block.row_end) {
    const bool rest = part->row_end - block.row_begin <= most;
    block.row_end = rest ? part->row_end : tw_cut(plan, rows, block.row_begin + most);
    run_rows(plan, rows, args, corner, &block);
  }
}

/* The part's rows become the lhs; other images are `offset` further. */
static tw_status gather_lhs(const char* who, const tw_plan* plan, const tw_rows* rows,
                            const tw_part* part, size_t offset, tw_run_args* args) {
  tw_indirect indirect;
  const tw_status status = tw_take_indirect(who, plan, rows, args->indirect, &indirect);
  if (status != TW_OK) return status;
  indirect.offset += offset;
  args->lhs = args->scratch;
  args->lhs_stride = plan->k * tw_type_bytes(plan->lhs_type);
  return tw_gather(who, plan, &indirect, part->row_begin, part->row_end, args->scratch);
}

tw_part tw_run_slice_part(const tw_plan* plan, const tw_rows* rows, const tw_run_args* args,
                          size_t slice) {
  tw_part part = tw_slice_part(plan, rows, slice);
  if (part.column_end > args->n) part.column_end = args->n;
  if (part.column_begin >= part.column_end) part.row_end = part.row_begin;
  return part;
}

/* Whether weights are to be decoded, and the caller's scratch has room for that. */
static bool decodes(const tw_plan* plan, const tw_rows* rows, const tw_run_args* args) {
  if (plan->decoding.always) return true;
  if (args->scratch == NULL || args->k != plan->k) return false;
  const size_t bytes = tw_decoded_bytes(plan, rows->m);
  return bytes != 0 && args->scratch_bytes >= bytes;
}

tw_status tw_run_slice(const char* who, const tw_plan* plan, const tw_rows* rows,
                       const tw_run_args* args, size_t offset, size_t slice) {
  tw_run_args own = *args;
  tw_status status = TW_OK;
  const tw_part part = tw_run_slice_part(plan, rows, args, slice);
  if (tw_gathers(plan)) status = gather_lhs(who, plan, rows, &part, offset, &own);
  if (status != TW_OK) return status;
  const tw_corner corner = {tw_gathers(plan) ? part.row_begin : 0, 0, 0};
  if (decodes(plan, rows, args)) {
    tw_run_decoded(plan, rows, &own, &corner, &part);
  } else {
    tw_run_part(plan, rows, &own, &corner, &part);
  }
  return TW_OK;
}

tw_status tw_run(const tw_plan* plan, const tw_run_args* theirs, size_t slice) {
  if (plan == NULL) return tw_fail(TW_INVALID, "tw_run: plan is null");
  if (theirs == NULL) return tw_fail(TW_INVALID, "tw_run: args is null");
  tw_run_args args;
  tw_status status = tw_take_run("tw_run: args", plan, theirs, &args);
  if (status != TW_OK || args.m == 0) return status;
  tw_rows rows;
  status = tw_rows_of(plan, args.m, "tw_run", &rows);
  if (status == TW_OK) status = tw_check_run("tw_run: args", plan, &args, &rows);
  return status == TW_OK ? tw_run_slice("tw_run: args", plan, &rows, &args, 0, slice) : status;
}
