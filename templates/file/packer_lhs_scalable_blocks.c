enum {
  PANEL_VL = @PANEL_VL@,      // rows of a panel for every 16 bytes of vector length
  KR = @KR@,                  // neighbours in k of a row that stay together
  LANES = @LANES@,            // of the vectors that inner loops leave behind
  BLOCK_BYTES = @BLOCK_BYTES@ // of a row
};

@QUANTIZE@// A row's groups of KR codes to their places between those of the panel's other rows.
static void put_groups(uint8_t *to, const int8_t *codes, size_t groups, size_t panel) {
  for (size_t g = 0; g < groups; ++g) memcpy(to + g * panel * KR, codes + g * KR, KR);
}

@FIELDS@
// Row r of a panel.
static void pack_row(tw_args *inner, const uint8_t *floats, size_t blocks, size_t panel, size_t r,
                     uint8_t *to) {
  quantization how[AT_ONCE];
  for (size_t b = 0; b < blocks; b += AT_ONCE) {
    const size_t count = smaller(blocks - b, AT_ONCE);
    choose_quantizations(inner, floats, count, how);
    code_chunk chunk;
    quantize_chunk(inner, floats, count, how, &chunk);
    for (size_t i = 0; i < count; ++i) {
      uint8_t *const block = to + (b + i) * panel * BLOCK_BYTES;
      put_groups(block + r * KR, chunk.codes + i * BLOCK, BLOCK / KR, panel);
      write_block_fields(block, panel, r, chunk.sums[i], &how[i]);
    }
    floats += count * BLOCK * sizeof(float);
  }
}

static void pack_panel(const tw_pack_args *args, tw_args *inner, size_t row, size_t rows,
                       size_t panel, uint8_t *to) {
  const uint8_t *const source = (const uint8_t *)args->source + row * args->source_stride;
  const size_t blocks = args->k / BLOCK;
  if (rows < panel) memset(to, 0, blocks * panel * BLOCK_BYTES);
  for (size_t r = 0; r < rows; ++r) {
    pack_row(inner, source + r * args->source_stride, blocks, panel, r, to);
  }
}

// k is a multiple of the block. The vector length is the caller's word, not this machine's.
void @SYMBOL@(const tw_pack_args *args) {
  const size_t panel = args->vector_bytes / 16 * PANEL_VL;
  tw_args inner;
  memset(&inner, 0, sizeof inner);
  inner.size = sizeof inner;
  const size_t end = smaller(args->row_end, args->rows);
  for (size_t row = args->row_begin; row < end; row += panel) {
    pack_panel(args, &inner, row, smaller(end - row, panel), panel,
               (uint8_t *)args->packed + row / panel * args->packed_stride);
  }
}
