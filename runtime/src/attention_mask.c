/* Attention's masks, as the caller has them, and what heads multiply them by. */
#include <math.h>

#include "attention.h"

size_t tw_mask_bytes(const tw_attention_args* args) {
  return args->mask_type == TW_F16 ? sizeof(uint16_t) : sizeof(float);
}

bool tw_is_masked(tw_type type, const char* values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (type == TW_F16 ? tw_load_u16(values + 2 * i) != 0xfc00
                       : tw_load_i32(values + 4 * i) != (int32_t)0xff800000) {
      return false;
    }
  }
  return true;
}

const char* tw_mask_row(const tw_attention_args* args, size_t head, size_t query, size_t position) {
  return (const char*)args->mask + head * args->mask_head_stride + query * args->mask_stride +
         position * tw_mask_bytes(args);
}

/* As ggml has them: powers of two below the number of heads, then those between. */
float tw_slope_of(const tw_attention_plan* plan, const tw_attention_args* args, size_t head) {
  if (!(args->max_bias > 0)) return 1;
  size_t power = 1;
  while (power * 2 <= plan->shape.heads) power *= 2;
  const bool first = head < power;
  const float step = (first ? args->max_bias : args->max_bias / 2) / (float)power;
  const size_t number = first ? head + 1 : 2 * (head - power) + 1;
  return exp2f(-step * (float)number);
}
