// In plain C.
static void quantize_row(const tw_args *args) {
  const float *const how = (const float *)args->lookup;  // factor, lowest, highest, zero point
  const int32_t zero_point = tw_load_i32(how + 3);
  const uint8_t *const floats = (const uint8_t *)args->lhs;
  int8_t *const codes = (int8_t *)args->dst;
  const float shift = 12582912.0f;  // rounds to nearest even
  int32_t sum = 0;
  for (size_t i = 0; i < args->n * @STEP@; ++i) {
    const float scaled = tw_f32_of_bits(tw_load_i32(floats + i * sizeof(float))) * how[0];
    const float clamped = tw_min_f32(tw_max_f32(scaled, how[1]), how[2]);
    const int32_t code = (int32_t)((clamped + shift) - shift) + zero_point;
    codes[i] = (int8_t)code;
    sum += code;
  }
  tw_store_i32(codes + args->dst_stride, sum);
}
