// The inner loop of the packer in plain C: packs args->k steps, byte after byte.
static void pack_steps(const tw_args *args) {
  const uint8_t *const source = (const uint8_t *)args->lhs;
  const size_t stride = args->lhs_stride;
  const unsigned flip = (unsigned)args->flags & 255;
  for (size_t panel = 0; panel < @CALL_PANELS@; ++panel) {
    uint8_t *packed = (uint8_t *)args->dst + panel * args->rhs_stride;
    uint8_t *const sums = packed + args->dst_stride;
    for (size_t group = 0; group < args->k * @STEP_K@ / @GROUP_K@; ++group) {
      for (size_t i = 0; i < @GROUP_BYTES@; ++i) {
        const size_t low_column = @LOW_COLUMN@, high_column = @HIGH_COLUMN@;
        size_t column = panel * @PANEL@ + low_column, k = group * @GROUP_K@ + @LOW_K@;
        const unsigned low = source[@SOURCE_BYTE@] >> (@SOURCE_ODD@ * 4) & 15;
        column = panel * @PANEL@ + high_column;
        k = group * @GROUP_K@ + @HIGH_K@;
        const unsigned high = source[@SOURCE_BYTE@] >> (@SOURCE_ODD@ * 4) & 15;
        const unsigned byte = (low | high << 4) ^ flip;
        *packed++ = (uint8_t)byte;
        uint8_t *const low_sum = sums + low_column * sizeof(int32_t);
        tw_store_i32(low_sum, tw_load_i32(low_sum) + (int32_t)((byte & 15) ^ @LOW_SIGN@) - 8);
        uint8_t *const high_sum = sums + high_column * sizeof(int32_t);
        tw_store_i32(high_sum, tw_load_i32(high_sum) + (int32_t)((byte >> 4) ^ @HIGH_SIGN@) - 8);
      }
    }
  }
}
