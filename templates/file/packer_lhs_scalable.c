enum {
  PANEL_VL = @PANEL_VL@,      // rows of a panel for every 16 bytes of vector length
  MOST_ROWS = 16 * PANEL_VL,  // no vector is longer than 256 bytes
  KR = @KR@,                  // neighbours in k of a row that stay together
  K_MULTIPLE = @K_MULTIPLE@,  // k is padded to a multiple of this
  LANES = @LANES@             // of the vectors that inner loops leave behind
};

@QUANTIZE@// A row's groups of KR codes to their places between those of the panel's other rows.
static void put_groups(uint8_t *to, const int8_t *codes, size_t groups, size_t panel) {
  for (size_t g = 0; g < groups; ++g) memcpy(to + g * panel * KR, codes + g * KR, KR);
}

// `at` is behind the codes.
static void write_fields(uint8_t *at, size_t panel, size_t rows, const quantization *how,
                         const int32_t *sums) {
@FIELDS@}

static void pack_panel(const tw_pack_args *args, tw_args *inner, size_t row, size_t rows,
                       size_t panel, size_t padded, uint8_t *to) {
  const uint8_t *const source = (const uint8_t *)args->source + row * args->source_stride;
  quantization how[MOST_ROWS];
  int32_t sums[MOST_ROWS] = {0};
  for (size_t r = 0; r < rows; ++r) {
    how[r] = quantization_of(inner, source + r * args->source_stride, args->k);
  }
  if (rows < panel) memset(to, 0, panel * (padded + @ROW_BYTES@));
  for (size_t k = 0; k < padded; k += CHUNK) {
    const size_t values = smaller(args->k - k, CHUNK);
    const size_t groups = (values + K_MULTIPLE - 1) / K_MULTIPLE * K_MULTIPLE / KR;
    for (size_t r = 0; r < rows; ++r) {
      code_chunk chunk;
      const uint8_t *const floats = source + r * args->source_stride + k * sizeof(float);
      sums[r] += quantize_chunk(inner, floats, values, &how[r], &chunk);
      put_groups(to + k * panel + r * KR, chunk.codes, groups, panel);
    }
  }
  write_fields(to + padded * panel, panel, rows, how, sums);
}

// The vector length is the caller's word, not this machine's.
void @SYMBOL@(const tw_pack_args *args) {
  const size_t panel = args->vector_bytes / 16 * PANEL_VL;
  const size_t padded = (args->k + K_MULTIPLE - 1) / K_MULTIPLE * K_MULTIPLE;
  tw_args inner;
  memset(&inner, 0, sizeof inner);
  inner.size = sizeof inner;
  const size_t end = smaller(args->row_end, args->rows);
  for (size_t row = args->row_begin; row < end; row += panel) {
    pack_panel(args, &inner, row, smaller(end - row, panel), panel, padded,
               (uint8_t *)args->packed + row / panel * args->packed_stride);
  }
}
