@COMMON@
enum {
  BLOCK = CHUNK,               // values of k that share fields
  BLOCK_BYTES = @BLOCK_BYTES@, // of all rows of a panel
  ROW_FIELDS = @ROW_FIELDS@    // bytes of a panel behind its blocks
};

@FIELDS@
static void pack_panel(const tw_pack_args *args, tw_args *inner, size_t row, size_t rows,
                       uint8_t *panel) {
  const uint8_t *const source = (const uint8_t *)args->source + row * args->source_stride;
  const size_t blocks = args->k / BLOCK;
  quantization how[PANEL];
  if (rows < PANEL) memset(panel, 0, blocks * BLOCK_BYTES + ROW_FIELDS);
@FOR_ROWS@  for (size_t b = 0; b < blocks; ++b) {
    uint8_t *const block = panel + b * BLOCK_BYTES;
    for (size_t r = 0; r < rows; ++r) {
      const uint8_t *const floats = source + r * args->source_stride + b * BLOCK * sizeof(float);
@FOR_BLOCKS@      code_chunk chunk;
      const int32_t sum = quantize_chunk(inner, floats, BLOCK, &how[r], &chunk);
      put_groups(block + DATA_OFFSET + r * GROUP_BYTES, chunk.codes, BLOCK / KR);
      write_block_fields(block, r, sum, &how[r]);
    }
  }
@WRITE_ROW_FIELDS@}

// k is a multiple of the block.
void @SYMBOL@(const tw_pack_args *args) {
  tw_args inner;
  memset(&inner, 0, sizeof inner);
  inner.size = sizeof inner;
  const size_t end = smaller(args->row_end, args->rows);
  for (size_t row = args->row_begin; row < end; row += PANEL) {
    pack_panel(args, &inner, row, smaller(end - row, PANEL),
               (uint8_t *)args->packed + row / PANEL * args->packed_stride);
  }
}
