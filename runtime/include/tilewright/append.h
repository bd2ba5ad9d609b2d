/* Weights that come at run time, some columns or some values of k at a time: the keys and values of
 * an attention. A plan has room for as many positions as there may be; packed weights begin as
 * zeros, positions are written as they come, and a product uses those that are there.
 *
 *   keys, a column each (n = most positions, k = head size):
 *     memset(keys, 0, tw_rhs_bytes(plan));
 *     tw_rhs_part part = {.size = sizeof part, .order = TW_NXK, .data = key, .data_bytes = ...,
 *                         .stride = ..., .n_begin = position, .n_end = position + 1, .k_end =
 * size}; tw_append_rhs(plan, &part, keys, tw_rhs_bytes(plan)); tw_run_args.n = position + 1;
 *   values, a row of k each (n = head size, k = most positions):
 *     tw_rhs_part part = {... .order = TW_KXN, .n_end = size, .k_begin = position,
 *                         .k_end = position + 1};
 *     tw_run_args.k = position + 1;    and tw_lhs_source.k, where activations are packed
 *
 * What is packed is, bit for bit, what tw_pack_rhs makes of all that was written and zeros
 * elsewhere. Errors are those of tilewright.h; nothing is allocated. */
#ifndef TILEWRIGHT_APPEND_H
#define TILEWRIGHT_APPEND_H

#include "tilewright/tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Columns [n_begin, n_end) of values [k_begin, k_end) of k: any part of the weights, also within a
 * panel. */
typedef struct tw_rhs_part {
  size_t size;        /* sizeof(tw_rhs_part) */
  tw_rhs_order order; /* TW_NXK: a source row is a column; TW_KXN: a value of k of each column */
  const void* data;   /* the part's first value; values are of the layout's type (f32, f16, bf16) */
  size_t data_bytes;
  size_t stride; /* bytes from source row to source row */
  size_t n_begin, n_end, k_begin, k_end;
} tw_rhs_part;

/* Layouts of floats; others are TW_UNSUPPORTED, as their scales belong to all of k. Writes the
 * part's values and no other byte: parts may be written in any order, again, and by several threads
 * at once if they do not overlap. Values behind those that a product uses need not be zeros, but
 * numbers: fewer than 16 of them may be multiplied by zeros. Many positions are written as fast as
 * they come from memory, though whole matrices are packed faster by tw_pack_rhs. */
TW_API tw_status tw_append_rhs(const tw_plan* plan, const tw_rhs_part* part, void* packed,
                               size_t packed_bytes);

#ifdef __cplusplus
}
#endif
#endif
