enum {
  PANEL_VL = @PANEL_VL@,             // columns of a panel for every 16 bytes of vector length
  KR = @KR@,                         // values of k that stand together
  BLOCK = @BLOCK@,                   // values of k that share a scale
  BLOCK_BYTES = @BLOCK_BYTES@,       // of a column
  SCALES_OFFSET = @SCALES_OFFSET@,   // in a block, for each column of a panel
  SUMS_OFFSET = @SUMS_OFFSET@,       // of sum(scale * sum of codes), behind the blocks, likewise
  BIAS_OFFSET = @BIAS_OFFSET@,       // likewise
  SCALE_BYTES = @SCALE_BYTES@,
  SCALE_PITCH = @SCALE_PITCH@,       // from a row's scale to its next one, in the source
  SOURCE_BLOCK = @SOURCE_BLOCK@,     // bytes from a row's block to its next one, in the source
  SOURCE_CODES = @SOURCE_CODES@      // of its codes, in that block
};

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

@WRITE_FLOATS@// The codes of a column's block, KR one after the other. Returns their sum.
static int32_t pack_codes(const uint8_t *source, unsigned flip, uint8_t *to, size_t panel) {
  int32_t sum = 0;
  unsigned low = 0;
  for (size_t k = 0; k < BLOCK; ++k) {
    const unsigned code = ((unsigned)source[@SOURCE_BYTE@] >> @SOURCE_SHIFT@ ^ flip) & 15;
    sum += (int32_t)(code ^ 8) - 8;
    if (k % 2 == 0) low = code;
    if (k % 2 != 0) to[k / KR * panel * (KR / 2) + k % KR / 2] = (uint8_t)(low | code << 4);
  }
  return sum;
}

// Columns that do not exist are code 0, with scales of 0.
static void pack_panel(const tw_pack_args *args, uint8_t *to, size_t panel, size_t row,
                       size_t columns) {
  const unsigned flip = @GIVEN@;  // an offset of 8, in both nibbles
  const size_t blocks = args->k / BLOCK;
  const uint8_t *const source = (const uint8_t *)args->source + row * args->source_stride;
  const uint8_t *const source_scales = @SCALES@;
  uint8_t *const behind = to + blocks * panel * BLOCK_BYTES;
  uint8_t *const sums = behind + panel * SUMS_OFFSET;
  if (columns < panel) memset(to, 0, blocks * panel * BLOCK_BYTES);
  memset(sums, 0, panel * sizeof(float));
  write_floats(behind + panel * BIAS_OFFSET, args->bias, row, columns, panel);
  for (size_t b = 0; b < blocks; ++b) {
    uint8_t *const block = to + b * panel * BLOCK_BYTES;
    uint8_t *const scales = block + panel * SCALES_OFFSET;
    for (size_t c = 0; c < columns; ++c) {
      const uint8_t *const codes =
          source + c * args->source_stride + b * SOURCE_BLOCK + SOURCE_CODES;
      const int32_t codes_sum = pack_codes(codes, flip, block + c * (KR / 2), panel);
      memcpy(scales + c * SCALE_BYTES,
             source_scales + c * @SCALES_STRIDE@ + b * SCALE_PITCH, SCALE_BYTES);
      const float scale = @SCALE@;
      uint8_t *const sum = sums + c * sizeof(float);
      const float total = tw_fma_f32((float)codes_sum, scale, tw_f32_of_bits(tw_load_i32(sum)));
      tw_store_i32(sum, tw_bits_of_f32(total));
    }
  }
}

// k is a multiple of the block. The vector length is the caller's word, not this machine's: weights
// are packed for where they run.
void @SYMBOL@(const tw_pack_args *args) {
  const size_t panel = args->vector_bytes / 16 * PANEL_VL;
  const size_t end = smaller(args->row_end, args->rows);
  for (size_t row = args->row_begin; row < end; row += panel) {
    pack_panel(args, (uint8_t *)args->packed + row / panel * args->packed_stride, panel, row,
               smaller(end - row, panel));
  }
}
