/* Scales and zero points of positions of TW_S8, in the order in which kernels read them. */
#include "attention.h"

bool tw_has_position_scales(const tw_attention* shape) {
  return shape->key_type == TW_S8 || shape->value_type == TW_S8;
}

/* So many positions of a head, from `first` on: scales, and `lanes` floats behind those zero
 * points. Of a vector's other positions what changes nothing. */
static void put_vector(const tw_position_scales* from, size_t head, size_t first, size_t count,
                       size_t lanes, float* to) {
  static const int8_t no_zero = 0;
  const char* scale =
      (const char*)from->scales + head * from->scale_head_stride + first * from->scale_stride;
  const bool has_zeros = from->zeros != NULL;
  const int8_t* zero = &no_zero;
  if (has_zeros) zero = from->zeros + head * from->zero_head_stride + first * from->zero_stride;
  const size_t zero_stride = has_zeros ? from->zero_stride : 0;
  for (size_t i = 0; i < count; ++i) {
    memcpy(&to[i], scale + i * from->scale_stride, sizeof *to);
    to[lanes + i] = zero[i * zero_stride];
  }
  for (size_t i = count; i < lanes; ++i) {
    to[i] = 1;
    to[lanes + i] = 0;
  }
}

void tw_put_position_scales(const tw_attention_plan* plan, const tw_attention_args* args,
                            size_t head, size_t first, size_t count, float* to) {
  static const float one = 1; /* of all positions of floats, and of blocks */
  const tw_position_scales none = {.scales = &one};
  const tw_attention* shape = &plan->shape;
  const tw_position_scales* of_k = shape->key_type == TW_S8 ? &args->k_scales : &none;
  const tw_position_scales* of_v = shape->value_type == TW_S8 ? &args->v_scales : &none;
  const size_t lanes = plan->lanes;
  for (size_t i = 0; i < count; i += lanes, to += TW_POSITION_FLOATS * lanes) {
    const size_t some = tw_least(lanes, count - i);
    put_vector(of_k, head, first + i, some, lanes, to);
    put_vector(of_v, head, first + i, some, lanes, to + 2 * lanes);
  }
}
