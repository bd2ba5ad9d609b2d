/* Many multiplications of one shape, n, k and kernels of one plan: a batch of matrices, such as the
 * heads of an attention, whose work is divided as a whole.
 *
 *   tw_batch_pack_lhs(plan, m, &batch, &source, lhs, bytes, slice)  slice by slice; a barrier
 *   tw_batch_run(plan, &batch, &args, slice)                         slice by slice
 *
 * Threads, slices and errors are those of tilewright.h: any thread takes any slice, each exactly
 * once, a slice beyond the count does nothing. Slices are few and of like size however many
 * matrices there are; a small matrix is not divided where the batch keeps all cores busy.
 * Outputs are those of tw_pack_lhs and tw_run for each matrix by itself, bit for bit. All memory is
 * the caller's, nothing is kept. */
#ifndef TILEWRIGHT_BATCH_H
#define TILEWRIGHT_BATCH_H

#include "tilewright/tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Strides are bytes from a matrix to the next one; pointers and sizes of tw_lhs_source and
 * tw_run_args are those of the whole batch, m, its rows' strides, bias and clamp those of each
 * matrix. */
typedef struct tw_batch {
  size_t size;          /* sizeof(tw_batch) */
  size_t count;         /* matrices; 0 is legal and does nothing */
  size_t source_stride; /* of the rows that tw_batch_pack_lhs reads; 0: the same */
  /* Of tw_run_args.lhs: packed ones, at least tw_lhs_bytes; or rows that kernels read where they
   * are. 0: all matrices have the same, which is packed once. */
  size_t lhs_stride;
  size_t rhs_stride; /* at least tw_rhs_bytes; 0: all matrices have the same weights */
  /* Matrices lie one after the other, or side by side in the rows of a larger one. */
  size_t dst_stride;
  size_t rhs_repeat; /* so many in a row have the same weights (heads that share keys); 0: 1 */
} tw_batch;

/* With taps a matrix is an image: its stride (source_stride where rows are packed, else lhs_stride)
 * is added to tw_indirect.offset, for the same table. Scratch is what tw_scratch_bytes says. */

/* lhs of all: count * lhs_stride bytes. */
TW_API tw_status tw_batch_lhs_slices(const tw_plan* plan, size_t m, const tw_batch* batch,
                                     size_t* slices);
TW_API tw_status tw_batch_pack_lhs(const tw_plan* plan, size_t m, const tw_batch* batch,
                                   const tw_lhs_source* source, void* packed, size_t packed_bytes,
                                   size_t slice);

TW_API tw_status tw_batch_slices(const tw_plan* plan, size_t m, const tw_batch* batch,
                                 size_t* slices);
TW_API tw_status tw_batch_run(const tw_plan* plan, const tw_batch* batch, const tw_run_args* args,
                              size_t slice);

#ifdef __cplusplus
}
#endif
#endif
