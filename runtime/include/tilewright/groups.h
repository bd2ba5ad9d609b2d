/* Rows of one matrix, each multiplied by the weights of its group: a mixture of experts. All
 * groups' weights are packed by one plan. Rows are gathered by their numbers, some at a time, and
 * outputs are scattered, so that nothing need be sorted but the lists of numbers.
 *
 *   tw_groups groups = {.size = sizeof groups, .count = experts, .starts = ..., .lhs_rows = ...};
 *   tw_groups_prepare(plan, &groups)                          checks the lists; one thread
 *   tw_groups_pack_lhs(plan, &groups, &source, lhs, lhs_bytes, slice)    slice by slice, each
 * thread with scratch of its own; then a barrier tw_groups_run(plan, &groups, &args, slice)
 * likewise
 *
 * Threads, slices and errors are those of tilewright.h: any thread takes any slice of groups.
 * lhs_slices or groups.run_slices, each exactly once, a slice beyond the count does nothing;
 * between them threads may share a tw_groups that is prepared. Outputs of a group are those of
 * tw_pack_lhs and tw_run, with its scratch, for its rows as a matrix of their own, bit for bit,
 * with any family. */
#ifndef TILEWRIGHT_GROUPS_H
#define TILEWRIGHT_GROUPS_H

#include "tilewright/tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Written by tw_groups_prepare: where a group begins. Never changes. */
typedef struct tw_group_part {
  size_t lhs_offset; /* bytes from the start of the packed LHS */
  size_t lhs_slice, run_slice;
} tw_group_part;

/* Group g has entries starts[g] to starts[g + 1] - 1 of the lists; none is legal. All memory is the
 * caller's and stays as it is from tw_groups_prepare to the last tw_groups_run. */
typedef struct tw_groups {
  size_t size;          /* sizeof(tw_groups) */
  size_t count;         /* of groups; 0 is legal */
  const size_t* starts; /* count + 1 of them, ascending */
  /* Numbers of rows. lhs_rows null: entry i is row i. Several entries may have the same row.
   * dst_rows null: those of lhs_rows. No two entries have the same one, which is not checked. */
  const size_t* lhs_rows;
  const size_t* dst_rows;
  size_t list_count;                   /* numbers in each list; not read where both are null */
  size_t lhs_row_count, dst_row_count; /* rows that the two matrices have */
  /* Packed weights of each group, tw_rhs_bytes each; of an empty one not read. Only tw_groups_run
   * reads them: other weights may follow with the same packed LHS (gate and up). */
  const void* const* rhs;
  tw_group_part* parts; /* count of them */
  /* Written by tw_groups_prepare. */
  const tw_plan* plan;
  size_t lhs_bytes;     /* of the packed LHS; 0: kernels read rows */
  size_t scratch_bytes; /* of each thread, as tw_lhs_source.scratch and tw_run_args.scratch;
                           nothing in it outlives a call. 0 where each group's rows are neighbors
                           and no weights are decoded (tw_plan_decoder) */
  size_t lhs_slices, run_slices;
} tw_groups;

/* Plans with taps are refused. */
TW_API tw_status tw_groups_prepare(const tw_plan* plan, tw_groups* groups);

/* source: the whole matrix of lhs_row_count rows. Does nothing where kernels read rows. */
TW_API tw_status tw_groups_pack_lhs(const tw_plan* plan, const tw_groups* groups,
                                    const tw_lhs_source* source, void* packed, size_t packed_bytes,
                                    size_t slice);

/* args: m and rhs are not read; rhs_bytes are those of each group's weights; dst has dst_row_count
 * rows, of which only those of the lists are written (or read); a lhs that is not packed has
 * lhs_row_count. */
TW_API tw_status tw_groups_run(const tw_plan* plan, const tw_groups* groups,
                               const tw_run_args* args, size_t slice);

#ifdef __cplusplus
}
#endif
#endif
