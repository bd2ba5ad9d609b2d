@COMMON@
// What stands behind the codes of a panel's rows.
static void write_fields(const tw_pack_args *args, uint8_t *at, size_t panel, size_t rows,
                         const quantization *how, const int32_t *sums) {
@FIELDS@}

static void pack_panel(const tw_pack_args *args, tw_args *inner, size_t panel, size_t row,
                       size_t rows, size_t padded, uint8_t *to) {
  const uint8_t *const source = (const uint8_t *)args->source + row * args->source_stride;
  const size_t field_bytes = 4 * (@FIXED_FIELDS@ + args->sum_copies);
  quantization how[MOST_ROWS];
  int32_t sums[MOST_ROWS] = {0};
  for (size_t r = 0; r < @FILLED@; ++r) {
    how[r] = quantization_of(inner, source + @FROM@ * args->source_stride, args->k);
  }
  if (rows < panel) memset(to, 0, panel * (padded * CODE_BYTES + field_bytes));
  for (size_t k = 0; k < padded; k += CHUNK) {
    const size_t values = smaller(args->k - k, CHUNK);
    const size_t groups = (values + K_MULTIPLE - 1) / K_MULTIPLE * K_MULTIPLE / KR;
    for (size_t r = 0; r < @FILLED@; ++r) {
      code_chunk chunk;
      const uint8_t *const floats = source + @FROM@ * args->source_stride + k * sizeof(float);
      sums[r] += quantize_chunk(inner, floats, values, &how[r], &chunk);
      put_groups(to + k * panel * CODE_BYTES + r * GROUP_BYTES, chunk.codes, groups, panel);
    }
  }
  write_fields(args, to + padded * panel * CODE_BYTES, panel, @FILLED@, how, sums);
}

void @SYMBOL@(const tw_pack_args *args) {
  const size_t panel = @PANEL@;
  const size_t padded = (args->k + K_MULTIPLE - 1) / K_MULTIPLE * K_MULTIPLE;
  tw_args inner;
  memset(&inner, 0, sizeof inner);
  inner.size = sizeof inner;
  const size_t end = smaller(args->row_end, args->rows);
  for (size_t row = args->row_begin; row < end; row += panel) {
    pack_panel(args, &inner, panel, row, smaller(end - row, panel), padded,
               (uint8_t *)args->packed + row / panel * args->packed_stride);
  }
}
