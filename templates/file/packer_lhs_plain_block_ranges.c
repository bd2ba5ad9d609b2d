// In plain C.
static void block_ranges(const tw_args *args) {
  const uint8_t *floats = (const uint8_t *)args->lhs;
  float *const largest = (float *)args->dst;
  for (size_t b = 0; b < args->n; ++b) {
    // Of numbers without their sign, bits are in the numbers' order, and a NaN's come last.
    int32_t bits = 0;
    for (size_t i = 0; i < args->block; ++i, floats += sizeof(float)) {
      const int32_t magnitude = tw_load_i32(floats) & 0x7fffffff;
      bits = magnitude > bits ? magnitude : bits;
    }
    largest[b] = tw_f32_of_bits(bits < 0x7f800000 ? bits : 0x7f800000);
  }
}
