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
        const size_t column = panel * @PANEL@ + i / @KR@, k = group * @GROUP_K@ + i % @KR@;
        const unsigned code = source[@SOURCE_BYTE@];
        *packed++ = (uint8_t)(code ^ flip);
        uint8_t *const sum = sums + i / @KR@ * sizeof(int32_t);
        tw_store_i32(sum, tw_load_i32(sum) + (int32_t)(code ^ 128) - 128);
      }
    }
  }
}
