/* Two products of the same rows, put together by the caller: gate and up of a feed-forward layer.
 * Both are computed a piece at a time into scratch that stays in the caches, and the caller's
 * function makes outputs of it: neither product goes through memory, and no barrier is between
 * them and what is made of them.
 *
 *   static void silu(const tw_gated_values* v) {
 *     const float *gate = v->gate, *up = v->up;
 *     float* out = (float*)((char*)v->context + v->row * stride) + v->column;
 *     for (size_t i = 0; i < v->count; ++i) out[i] = gate[i] / (1 + expf(-gate[i])) * up[i];
 *   }
 *   tw_gated gated = {.size = sizeof gated, .up = up_weights, .each = silu, .context = dst};
 *   tw_run_args args = {.size = sizeof args, .m = m, .lhs = ..., .rhs = gate_weights, ...};
 *   tw_gated_run(plan, &gated, &args, slice);
 *
 * Both matrices are packed by one plan; the rows once, by tw_pack_lhs. Threads, slices and errors
 * are those of tilewright.h, slices those of tw_run_slices. */
#ifndef TILEWRIGHT_GATED_H
#define TILEWRIGHT_GATED_H

#include "tilewright/tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Columns [column, column + count) of a row, of both products: bit for bit what tw_run would write,
 * of tw_matmul.dst_type. They are gone when the caller's function returns. */
typedef struct tw_gated_values {
  const void *gate, *up;
  size_t row, column, count;
  void* context; /* tw_gated.context */
} tw_gated_values;

typedef struct tw_gated {
  size_t size;         /* sizeof(tw_gated) */
  const void* up;      /* packed like args.rhs, which is the gate's; as many bytes */
  const void* up_bias; /* like args.bias; null: the packed one */
  /* Makes outputs of these values, of any type: where they go is its own business. Every column of
   * every row comes once; several threads call it at the same time, each with its own slices. */
  void (*each)(const tw_gated_values* values);
  void* context;
} tw_gated;

/* Of each thread, as tw_run_args.scratch, for tw_gated_run; nothing in it outlives a call. */
TW_API tw_status tw_gated_scratch_bytes(const tw_plan* plan, size_t m, size_t* bytes);

/* args: dst, dst_bytes and dst_stride are 0; clamp is of both products. Plans with taps and those
 * that add to outputs are refused. */
TW_API tw_status tw_gated_run(const tw_plan* plan, const tw_gated* gated, const tw_run_args* args,
                              size_t slice);

#ifdef __cplusplus
}
#endif
#endif
