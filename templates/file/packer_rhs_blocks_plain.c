// The inner loop of the packer in plain C: packs args->k blocks, byte after byte.
static void pack_steps(const tw_args *args) {
  const uint8_t *source = (const uint8_t *)args->lhs + SOURCE_CODES;
  const uint8_t *scales = (const uint8_t *)args->lookup;
  const unsigned flip = (unsigned)args->flags & 255;
  uint8_t *block = (uint8_t *)args->dst;
  uint8_t *const sums = block + args->dst_stride;
  for (size_t b = 0; b < args->k; ++b) {
    int32_t codes[PANEL] = {0};
    for (size_t at = 0; at < PANEL * BLOCK / 2; ++at) {
      const size_t group = at / @GROUP_BYTES@, i = at % @GROUP_BYTES@;
      const size_t low_column = @LOW_COLUMN@, high_column = @HIGH_COLUMN@;
      size_t k = @FIRST_K@ + @LOW_K@;
      const uint8_t *const low_from = source + low_column * args->lhs_stride + @SOURCE_BYTE@;
      const unsigned low = (unsigned)*low_from >> @SOURCE_SHIFT@ & 15;
      k = @FIRST_K@ + @HIGH_K@;
      const uint8_t *const high_from = source + high_column * args->lhs_stride + @SOURCE_BYTE@;
      const unsigned high = (unsigned)*high_from >> @SOURCE_SHIFT@ & 15;
      const unsigned byte = (low | high << 4) ^ flip;
      block[DATA_OFFSET + at] = (uint8_t)byte;
      codes[low_column] += (int32_t)((byte & 15) ^ @LOW_SIGN@) - 8;
      codes[high_column] += (int32_t)((byte >> 4) ^ @HIGH_SIGN@) - 8;
    }
    for (size_t c = 0; c < PANEL; ++c) {
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
