/* Attention: out[query] = sum over positions of softmax(scale * q[query] . k[position] + slope *
 * mask[query][position]) * v[position], for each head. heads / kv_heads heads share one of K and V
 * (grouped heads). K and V are read where they are, a block of positions at a time: nothing of a
 * cache is copied, and no row of scores is kept as a whole.
 *
 *   tw_attention_create(&device, &attention, &plan);
 *   tw_attention_divide(plan, &args, &work);            slices, and how much memory they want
 *   tw_attention_run(plan, &args, slice);               any thread, any order, each with scratch
 *                                                       of its own
 *   a barrier, where work.merges is not 0
 *   tw_attention_merge(plan, &args, merge);             likewise
 *
 * q and outputs are f32, and so are all sums. K and V become f32 exactly, codes times their block's
 * scale, too: q is not rounded for them. Of TW_S8 sums are of codes; scales and zero points enter
 * scores and weights. Weights are exact to a few units in the last place;
 * one that is less than e^-88 of its row's largest is 0. Products are summed up in an order of the
 * kernels' own, so that outputs of two ISAs may differ, and where positions are divided among
 * threads (few queries) those of two numbers of threads. A row of which all
 * positions are masked, by -infinity, has outputs of 0. A NaN in what a row is made of, or a score
 * of +infinity, makes its outputs NaNs, if it is masked or not: K and V are numbers there, too. */
#ifndef TILEWRIGHT_ATTENTION_H
#define TILEWRIGHT_ATTENTION_H

#include "tilewright/tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_attention {
  size_t size;                  /* sizeof(tw_attention) */
  size_t heads, kv_heads;       /* of q and outputs, a multiple of those of K and V */
  size_t key_size, value_size;  /* values of a head, of q and K, and of V and outputs */
  tw_type key_type, value_type; /* TW_F32, TW_F16, TW_BF16, TW_S8 (tw_position_scales), or
                                   TW_TYPE_Q8_0 and TW_TYPE_Q4_0 (sizes: multiples of 32) */
  const char* printer; /* only kernels of this one, "assembly" or "intrinsics"; null: choose */
} tw_attention;

typedef struct tw_attention_plan tw_attention_plan;

TW_API tw_status tw_attention_create(const tw_device* device, const tw_attention* attention,
                                     tw_attention_plan** plan);
TW_API void tw_attention_destroy(tw_attention_plan* plan); /* null is legal */
/* The row that runs; null for a null plan. */
TW_API const tw_attention_kernel* tw_attention_chosen(const tw_attention_plan* plan,
                                                      tw_attention_stage stage);
/* Rows of the registry: writes up to `capacity`, returns how many there are. */
TW_API size_t tw_list_attention_kernels(const tw_attention_kernel** rows, size_t capacity);

/* Of K or V of TW_S8: a value is (code - zero) * scale, with one of each for a position of a head.
 * Strides are bytes, of a position to the next one and of a head to the next one, 0 where all share
 * one. Nothing need be aligned. */
typedef struct tw_position_scales {
  const void* scales; /* f32 */
  size_t scale_stride, scale_head_stride;
  const int8_t* zeros; /* null: all are 0 */
  size_t zero_stride, zero_head_stride;
} tw_position_scales;

/* Strides are bytes: of a query or a position to the next one, and of a head to the next one. A
 * head's values stand one right after the other. Nothing need be aligned. */
typedef struct tw_attention_args {
  size_t size;               /* sizeof(tw_attention_args) */
  size_t queries, positions; /* 0 is legal: no outputs, or outputs of 0 */
  size_t threads;            /* that will run slices; 0: 1 */
  const void* q;
  size_t q_stride, q_head_stride;
  const void* k;
  size_t k_stride, k_head_stride;
  const void* v;
  size_t v_stride, v_head_stride;
  void* out;
  size_t out_stride, out_head_stride;
  const void* mask;                     /* a row of positions for each query; null: none */
  tw_type mask_type;                    /* TW_F16 or TW_F32 */
  size_t mask_stride, mask_head_stride; /* of a query, of a head: 0 where heads share it */
  float scale;
  float softcap;      /* not 0: softcap * tanh(score / softcap) is in the place of scores that are
                         not -infinity */
  float max_bias;     /* above 0: heads have slopes (ALiBi); else all slopes are 1 */
  const float* sinks; /* a score for each head that only enters the sum of weights; null: none */
  void* scratch;      /* of this call */
  size_t scratch_bytes;
  void* partials; /* of all calls; null where there are no merges */
  size_t partial_bytes;
  tw_position_scales k_scales, v_scales; /* of TW_S8 alone */
} tw_attention_args;

typedef struct tw_attention_work {
  size_t size; /* sizeof(tw_attention_work) */
  size_t slices, merges;
  size_t scratch_bytes; /* of each thread's own; nothing in it outlives a call */
  size_t partial_bytes; /* from the first slice to the last merge; 0: no merges */
} tw_attention_work;

/* Of args the numbers of queries, positions and threads. */
TW_API tw_status tw_attention_divide(const tw_attention_plan* plan, const tw_attention_args* args,
                                     tw_attention_work* work);
TW_API tw_status tw_attention_run(const tw_attention_plan* plan, const tw_attention_args* args,
                                  size_t slice);
TW_API tw_status tw_attention_merge(const tw_attention_plan* plan, const tw_attention_args* args,
                                    size_t merge);

#ifdef __cplusplus
}
#endif
#endif
