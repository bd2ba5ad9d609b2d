@COMMON@
@FIELDS@
static void pack_panel(const tw_pack_args *args, tw_args *inner, size_t row, size_t rows,
                       size_t padded, uint8_t *panel) {
  const uint8_t *const source = (const uint8_t *)args->source + row * args->source_stride;
  quantization how[PANEL];
  int32_t sums[PANEL] = {0};
  for (size_t r = 0; r < @FILLED@; ++r) {
    how[r] = quantization_of(inner, source + @FROM@ * args->source_stride, args->k);
  }
  uint8_t *const codes = panel + DATA_OFFSET;
  if (rows < PANEL) memset(panel, 0, panel_bytes(padded));
  for (size_t k = 0; k < padded; k += CHUNK) {
    const size_t values = smaller(args->k - k, CHUNK);
    const size_t groups = (values + K_MULTIPLE - 1) / K_MULTIPLE * K_MULTIPLE / KR;
    for (size_t r = 0; r < @FILLED@; ++r) {
      code_chunk chunk;
      const uint8_t *const floats = source + @FROM@ * args->source_stride + k * sizeof(float);
      sums[r] += quantize_chunk(inner, floats, values, &how[r], &chunk);
      put_groups(codes + k / KR * PANEL * GROUP_BYTES + r * GROUP_BYTES, chunk.codes, groups);
    }
  }
  write_fields(panel, padded, @FILLED@, how, sums);
}

void @SYMBOL@(const tw_pack_args *args) {
  const size_t padded = (args->k + K_MULTIPLE - 1) / K_MULTIPLE * K_MULTIPLE;
  tw_args inner;
  memset(&inner, 0, sizeof inner);
  inner.size = sizeof inner;
  const size_t end = smaller(args->row_end, args->rows);
  for (size_t row = args->row_begin; row < end; row += PANEL) {
    pack_panel(args, &inner, row, smaller(end - row, PANEL), padded,
               (uint8_t *)args->packed + row / PANEL * args->packed_stride);
  }
}
