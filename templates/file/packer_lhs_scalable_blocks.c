@INNER_LOOPS@
enum {
  PANEL_VL = @PANEL_VL@,       // rows of a panel for every 16 bytes of vector length
  KR = @KR@,                   // neighbours in k of a row that stay together
  K_MULTIPLE = @K_MULTIPLE@,   // what blocks are multiples of
  STEP = @STEP@,               // floats of one step of the inner loops
  LANES = @LANES@,             // of the vectors that they leave behind
  CHUNK = @CHUNK@,             // values of k that are quantized at a time
  BLOCK = CHUNK,               // and that share fields
  BLOCK_BYTES = @BLOCK_BYTES@  // of a row
};

@QUANTIZE@
// A row's groups of KR codes to their places between those of the panel's other rows.
static void put_groups(uint8_t *to, const int8_t *codes, size_t groups, size_t panel) {
  for (size_t g = 0; g < groups; ++g) memcpy(to + g * panel * KR, codes + g * KR, KR);
}

@FIELDS@
static void pack_panel(const tw_pack_args *args, tw_args *inner, size_t row, size_t rows,
                       size_t panel, uint8_t *to) {
  const uint8_t *const source = (const uint8_t *)args->source + row * args->source_stride;
  const size_t blocks = args->k / BLOCK;
  if (rows < panel) memset(to, 0, blocks * panel * BLOCK_BYTES);
  for (size_t b = 0; b < blocks; ++b) {
    uint8_t *const block = to + b * panel * BLOCK_BYTES;
    for (size_t r = 0; r < rows; ++r) {
      const uint8_t *const floats = source + r * args->source_stride + b * BLOCK * sizeof(float);
      const quantization how = quantization_of(inner, floats, BLOCK);
      code_chunk chunk;
      const int32_t sum = quantize_chunk(inner, floats, BLOCK, &how, &chunk);
      put_groups(block + r * KR, chunk.codes, BLOCK / KR, panel);
      write_block_fields(block, panel, r, sum, &how);
    }
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
