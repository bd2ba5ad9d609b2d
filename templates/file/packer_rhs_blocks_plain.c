// The inner loop of the packer in plain C: packs args->k blocks, byte after byte.
static void pack_steps(const tw_args *args) {
  const uint8_t *source = (const uint8_t *)args->lhs + SOURCE_CODES;
  const uint8_t *scales = (const uint8_t *)args->lookup;
  const unsigned flip = (unsigned)args->flags & 255;
  uint8_t *block = (uint8_t *)args->dst;
  uint8_t *const sums = block + args->dst_stride;
  for (size_t b = 0; b < args->k; ++b) {
    int32_t codes[PANEL] = {0};
@PACK_CODES@    for (size_t c = 0; c < PANEL; ++c) {
      const float scale = @SCALE@;
      uint8_t *const sum = sums + c * sizeof(float);
      const float total = tw_fma_f32((float)codes[c], scale, tw_f32_of_bits(tw_load_i32(sum)));
      tw_store_i32(sum, tw_bits_of_f32(total));
    }
    memcpy(block + SCALES_OFFSET, scales, PANEL * SCALE_BYTES);
    source += SOURCE_BLOCK;
    scales += PANEL * SCALE_BYTES;
    block += BLOCK_BYTES;
  }
}
