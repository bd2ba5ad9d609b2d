// In plain C.
static void row_range(const tw_args *args) {
  const uint8_t *const floats = (const uint8_t *)args->lhs;
  float range[3] = {0, 0, 0};  // the last one: 0 times an infinity or a NaN is a NaN
  for (size_t i = 0; i < args->n * @STEP@; ++i) {
    const float x = tw_f32_of_bits(tw_load_i32(floats + i * sizeof(float)));
    range[0] = tw_min_f32(x, range[0]);
    range[1] = tw_max_f32(x, range[1]);
    range[2] += x * 0;
  }
  memcpy(args->dst, range, sizeof range);
}
