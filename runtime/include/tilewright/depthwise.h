/* Depthwise convolutions, of two dimensions: each channel by itself, with taps of its own. Pixels
 * are all channels of a place, one after the other (NHWC), of the input as of the output.
 *
 *   tw_depthwise_create(&device, &depthwise, &plan);
 *   tw_depthwise_pack(plan, &weights, packed, tw_depthwise_weight_bytes(plan));   once
 *   tw_depthwise_table(plan, input, pad, table, tw_depthwise_pointers(plan));     for each input
 *   tw_depthwise_slices(plan, &slices);          a slice is a line of outputs; any thread, any
 * order tw_depthwise_run(plan, &args, slice);
 *
 * Weights are those of a matrix whose columns are the channels and whose depth the taps, line by
 * line: TW_NXK has rows of a channel's taps, TW_KXN rows of a tap's channels, one right after the
 * other as in TFLite's and XNNPACK's. */
#ifndef TILEWRIGHT_DEPTHWISE_H
#define TILEWRIGHT_DEPTHWISE_H

#include "tilewright/convolution.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_depthwise {
  size_t size;        /* sizeof(tw_depthwise) */
  const char* family; /* "dwconv_clamp_f32_f32_f32p" */
  size_t channels;    /* at least 1 */
  /* Not transposed, not dilated, of one stride in both directions; it is copied. What
   * tw_convolution_part says of it are the outputs. */
  const tw_convolution* convolution;
  const char* kernel; /* only this kernel, whatever it costs; null: choose */
} tw_depthwise;

typedef struct tw_depthwise_plan tw_depthwise_plan;

TW_API tw_status tw_depthwise_create(const tw_device* device, const tw_depthwise* depthwise,
                                     tw_depthwise_plan** plan);
TW_API void tw_depthwise_destroy(tw_depthwise_plan* plan); /* null is legal */
/* The row that runs; null for a null plan. */
TW_API const tw_depthwise_kernel* tw_depthwise_chosen(const tw_depthwise_plan* plan);
/* Rows of the registry: writes up to `capacity`, returns how many there are. */
TW_API size_t tw_list_depthwise_kernels(const tw_depthwise_kernel** rows, size_t capacity);

TW_API size_t tw_depthwise_weight_bytes(const tw_depthwise_plan* plan); /* 0: a null plan */
TW_API tw_status tw_depthwise_pack(const tw_depthwise_plan* plan, const tw_rhs_source* weights,
                                   void* packed, size_t packed_bytes);

/* Pointers to all pixels of the padded input. `pad`: so many channels of zeros (codes: of the
 * input's zero point); null is legal without padding. */
TW_API size_t tw_depthwise_pointers(const tw_depthwise_plan* plan); /* 0: a null plan */
TW_API tw_status tw_depthwise_table(const tw_depthwise_plan* plan, const void* input,
                                    const void* pad, const void** table, size_t table_count);

/* Members are those of tw_run; m are all outputs, line by line, dst_stride from one to the next. */
typedef struct tw_depthwise_args {
  size_t size;              /* sizeof(tw_depthwise_args) */
  const void* const* table; /* as tw_depthwise_table has written it */
  size_t table_count;
  const tw_run_args* run; /* m, rhs, dst, bias and clamp; lhs, indirect and scratch are not read */
} tw_depthwise_args;

TW_API tw_status tw_depthwise_slices(const tw_depthwise_plan* plan, size_t* slices);
TW_API tw_status tw_depthwise_run(const tw_depthwise_plan* plan, const tw_depthwise_args* args,
                                  size_t slice);

#ifdef __cplusplus
}
#endif
#endif
