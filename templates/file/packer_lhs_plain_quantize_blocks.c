// In plain C.
static void quantize_blocks(const tw_args *args) {
  const quantization *const how = (const quantization *)args->lookup;
  const uint8_t *floats = (const uint8_t *)args->lhs;
  int8_t *codes = (int8_t *)args->dst;
  int32_t *const sums = (int32_t *)(void *)(codes + args->dst_stride);
  const float shift = 12582912.0f;  // rounds to nearest even
  for (size_t b = 0; b < args->n; ++b) {
    sums[b] = 0;
    for (size_t i = 0; i < args->block; ++i, floats += sizeof(float)) {
      const float scaled = tw_f32_of_bits(tw_load_i32(floats)) * how[b].factor;
      const float clamped = tw_min_f32(tw_max_f32(scaled, how[b].lowest), how[b].highest);
      const int32_t code = (int32_t)((clamped + shift) - shift) + how[b].zero_point;
      *codes++ = (int8_t)code;
      sums[b] += code;
    }
  }
}
