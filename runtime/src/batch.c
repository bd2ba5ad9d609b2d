/* Batches: slices of all their matrices are numbered through, matrix after matrix, and a slice of
 * the batch is some of those in a row. */
#include "tilewright/batch.h"

#include <stdio.h>
#include <string.h>

#include "internal.h"

/* More would be the same work by shorter slices, each of which is checked. */
enum { SLICES_PER_THREAD = 16 };

static tw_status take_batch(const char* function, const tw_plan* plan, const tw_batch* theirs,
                            tw_batch* own) {
  memset(own, 0, sizeof *own); /* clang-tidy does not see that what fails is not read */
  if (plan == NULL) return tw_fail(TW_INVALID, "%s: plan is null", function);
  if (theirs == NULL) return tw_fail(TW_INVALID, "%s: batch is null", function);
  char member[64];
  snprintf(member, sizeof member, "%s: batch", function);
  const tw_status status = tw_take(member, "tw_batch", theirs, own, sizeof *own);
  if (status == TW_OK && own->rhs_repeat == 0) own->rhs_repeat = 1;
  return status;
}

/* Of the batch, if a matrix has `each`. False on overflow. */
static bool slices_of(const tw_plan* plan, size_t each, size_t matrices, size_t* slices) {
  if (!tw_multiply(each, matrices, slices)) return false;
  const size_t enough = SLICES_PER_THREAD * plan->threads;
  if (*slices > enough) *slices = enough;
  return true;
}

static tw_status too_many(const char* function, size_t matrices) {
  return tw_fail(TW_TOO_LARGE,
                 "%s: batch.count is %zu; so many matrices overflow the address space", function,
                 matrices);
}

/* Bytes of `matrices` matrices that are `stride` apart, each of `one`. `name` is theirs in
 * messages.
 */
static tw_status check_bytes(const char* function, const char* name, size_t matrices, size_t one,
                             size_t stride, size_t bytes) {
  size_t needed;
  if (!tw_matrix_bytes(matrices, one, stride, &needed)) return too_many(function, matrices);
  if (bytes >= needed) return TW_OK;
  return tw_fail(TW_TOO_SMALL, "%s: %s is %zu; %zu matrices of %zu bytes, %zu apart, need %zu",
                 function, name, bytes, matrices, one, stride, needed);
}

/* Packed ones do not overlap. */
static tw_status check_stride(const char* function, const char* name, size_t stride, size_t one) {
  if (stride == 0 || stride >= one) return TW_OK;
  return tw_fail(TW_TOO_SMALL,
                 "%s: batch.%s is %zu; a packed matrix has %zu bytes, 0 is legal for a single one",
                 function, name, stride, one);
}

/* One after the other, or side by side: rows of one between those of another. */
static tw_status check_outputs(const char* function, const tw_plan* plan, const tw_batch* batch,
                               const tw_run_args* args) {
  const size_t row = args->n * tw_type_bytes(plan->dst_type); /* is checked */
  size_t one, side_by_side;
  tw_matrix_bytes(args->m, row, args->dst_stride, &one);
  const bool apart = batch->dst_stride >= one;
  const bool between = batch->dst_stride >= row &&
                       tw_matrix_bytes(batch->count, row, batch->dst_stride, &side_by_side) &&
                       side_by_side <= args->dst_stride;
  if (batch->count > 1 && !apart && !between) {
    return tw_fail(TW_TOO_SMALL,
                   "%s: batch.dst_stride is %zu; %zu matrices of %zu bytes overlap, with rows of "
                   "%zu that are %zu apart",
                   function, batch->dst_stride, batch->count, one, row, args->dst_stride);
  }
  return check_bytes(function, "args.dst_bytes", batch->count, one, batch->dst_stride,
                     args->dst_bytes);
}

static tw_status check_inputs(const char* function, const tw_plan* plan, const tw_batch* batch,
                              const tw_run_args* args, const tw_rows* rows) {
  const size_t weights = tw_divide_up(batch->count, batch->rhs_repeat);
  tw_status status = check_stride(function, "rhs_stride", batch->rhs_stride, plan->rhs_bytes);
  if (status == TW_OK) {
    status = check_bytes(function, "args.rhs_bytes", weights, plan->rhs_bytes, batch->rhs_stride,
                         args->rhs_bytes);
  }
  if (status != TW_OK || tw_gathers(plan)) return status;
  size_t one = rows->lhs_bytes;
  if (plan->lhs_unpacked) {
    tw_matrix_bytes(args->m, args->k * tw_type_bytes(plan->lhs_type), args->lhs_stride, &one);
  } else {
    status = check_stride(function, "lhs_stride", batch->lhs_stride, one);
  }
  if (status != TW_OK) return status;
  return check_bytes(function, "args.lhs_bytes", batch->count, one, batch->lhs_stride,
                     args->lhs_bytes);
}

/* ---- run ---- */

tw_status tw_batch_slices(const tw_plan* plan, size_t m, const tw_batch* theirs, size_t* slices) {
  tw_batch batch;
  tw_rows rows;
  tw_status status = take_batch("tw_batch_slices", plan, theirs, &batch);
  if (status != TW_OK) return status;
  if (slices == NULL) return tw_fail(TW_INVALID, "tw_batch_slices: slices is null");
  status = tw_rows_of(plan, m, "tw_batch_slices", &rows);
  if (status != TW_OK) return status;
  return slices_of(plan, tw_slices_of(plan, &rows), batch.count, slices)
             ? TW_OK
             : too_many("tw_batch_slices", batch.count);
}

static tw_status run_matrix(const tw_plan* plan, const tw_rows* rows, const tw_batch* batch,
                            const tw_run_args* args, size_t matrix, size_t slice) {
  tw_run_args own = *args;
  const size_t before = matrix * batch->lhs_stride;
  if (!tw_gathers(plan)) own.lhs = (const char*)args->lhs + before;
  own.rhs = (const char*)args->rhs + matrix / batch->rhs_repeat * batch->rhs_stride;
  own.dst = (char*)args->dst + matrix * batch->dst_stride;
  return tw_run_slice("tw_batch_run: args", plan, rows, &own, before, slice);
}

tw_status tw_batch_run(const tw_plan* plan, const tw_batch* theirs, const tw_run_args* their_args,
                       size_t slice) {
  tw_batch batch;
  tw_run_args args;
  tw_rows rows;
  size_t slices;
  tw_status status = take_batch("tw_batch_run", plan, theirs, &batch);
  if (status != TW_OK) return status;
  if (their_args == NULL) return tw_fail(TW_INVALID, "tw_batch_run: args is null");
  status = tw_take_run("tw_batch_run: args", plan, their_args, &args);
  if (status != TW_OK || args.m == 0 || batch.count == 0) return status;
  status = tw_rows_of(plan, args.m, "tw_batch_run", &rows);
  if (status == TW_OK) status = tw_check_run("tw_batch_run: args", plan, &args, &rows);
  if (status == TW_OK) status = check_inputs("tw_batch_run", plan, &batch, &args, &rows);
  if (status == TW_OK) status = check_outputs("tw_batch_run", plan, &batch, &args);
  if (status != TW_OK) return status;
  const size_t each = tw_slices_of(plan, &rows);
  if (!slices_of(plan, each, batch.count, &slices)) return too_many("tw_batch_run", batch.count);
  if (slice >= slices) return TW_OK;
  const size_t end = tw_share(each * batch.count, slice + 1, slices);
  for (size_t i = tw_share(each * batch.count, slice, slices); status == TW_OK && i < end; ++i) {
    status = run_matrix(plan, &rows, &batch, &args, i / each, i % each);
  }
  return status;
}

/* ---- pack ---- */

/* That are packed. */
static size_t lhs_count(const tw_batch* batch) {
  return batch->lhs_stride == 0 && batch->count != 0 ? 1 : batch->count;
}

tw_status tw_batch_lhs_slices(const tw_plan* plan, size_t m, const tw_batch* theirs,
                              size_t* slices) {
  tw_batch batch;
  tw_rows rows;
  tw_status status = take_batch("tw_batch_lhs_slices", plan, theirs, &batch);
  if (status != TW_OK) return status;
  if (slices == NULL) return tw_fail(TW_INVALID, "tw_batch_lhs_slices: slices is null");
  status = tw_rows_of(plan, m, "tw_batch_lhs_slices", &rows);
  if (status != TW_OK) return status;
  return slices_of(plan, tw_lhs_slices_of(plan, &rows, plan->taps != 0), lhs_count(&batch), slices)
             ? TW_OK
             : too_many("tw_batch_lhs_slices", batch.count);
}

static tw_status check_source(const tw_plan* plan, const tw_rows* rows, const tw_batch* batch,
                              const tw_lhs_source* source, const void* packed,
                              size_t packed_bytes) {
  const char* function = "tw_batch_pack_lhs";
  const size_t matrices = lhs_count(batch);
  size_t one = 0;
  tw_status status =
      tw_check_packed("tw_batch_pack_lhs: packed", packed, packed_bytes, rows->lhs_bytes);
  if (status == TW_OK) {
    status = check_stride(function, "lhs_stride", batch->lhs_stride, rows->lhs_bytes);
  }
  if (status == TW_OK) {
    status = check_bytes(function, "packed_bytes", matrices, rows->lhs_bytes, batch->lhs_stride,
                         packed_bytes);
  }
  if (status != TW_OK || plan->taps != 0) return status;
  tw_matrix_bytes(rows->m, source->k * tw_type_bytes(plan->lhs_type), source->stride, &one);
  return check_bytes(function, "source.data_bytes", matrices, one, batch->source_stride,
                     source->data_bytes);
}

static tw_status pack_matrix(const tw_plan* plan, const tw_rows* rows, const tw_batch* batch,
                             const tw_lhs_source* source, const tw_indirect* indirect, void* packed,
                             size_t matrix, size_t slice) {
  tw_lhs_source own = *source;
  tw_indirect table;
  const size_t before = matrix * batch->source_stride;
  if (plan->taps != 0) {
    table = *indirect;
    table.offset += before;
  } else {
    own.data = (const char*)source->data + before;
  }
  return tw_pack_lhs_slice("tw_batch_pack_lhs: source", plan, rows, &own, &table,
                           (char*)packed + matrix * batch->lhs_stride, slice);
}

tw_status tw_batch_pack_lhs(const tw_plan* plan, size_t m, const tw_batch* theirs,
                            const tw_lhs_source* their_source, void* packed, size_t packed_bytes,
                            size_t slice) {
  tw_batch batch;
  tw_lhs_source source;
  tw_indirect indirect;
  tw_rows rows;
  size_t slices;
  const char* who = "tw_batch_pack_lhs: source";
  tw_status status = take_batch("tw_batch_pack_lhs", plan, theirs, &batch);
  if (status != TW_OK || m == 0 || batch.count == 0 || plan->lhs_unpacked) return status;
  if (their_source == NULL) return tw_fail(TW_INVALID, "%s is null", who);
  status = tw_take_lhs(who, plan, their_source, &source);
  if (status != TW_OK) return status;
  status = tw_rows_of(plan, m, "tw_batch_pack_lhs", &rows);
  if (status == TW_OK) status = tw_check_lhs(who, plan, &rows, &source, &indirect);
  if (status == TW_OK) status = check_source(plan, &rows, &batch, &source, packed, packed_bytes);
  if (status != TW_OK) return status;
  const size_t each = tw_lhs_slices_of(plan, &rows, plan->taps != 0), matrices = lhs_count(&batch);
  if (!slices_of(plan, each, matrices, &slices)) {
    return too_many("tw_batch_pack_lhs", batch.count);
  }
  if (slice >= slices) return TW_OK;
  const size_t end = tw_share(each * matrices, slice + 1, slices);
  for (size_t i = tw_share(each * matrices, slice, slices); status == TW_OK && i < end; ++i) {
    status = pack_matrix(plan, &rows, &batch, &source, &indirect, packed, i / each, i % each);
  }
  return status;
}
