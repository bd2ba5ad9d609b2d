@COMMON@
enum {
  BLOCK_BYTES = @BLOCK_BYTES@, // of all rows of a panel
  ROW_FIELDS = @ROW_FIELDS@    // bytes of a panel behind its blocks
};

@FIELDS@
// Row r of a panel.
static void pack_row(tw_args *inner, const uint8_t *floats, size_t blocks, size_t r,
                     uint8_t *panel) {
  quantization how[AT_ONCE];
@FOR_ROW@  for (size_t b = 0; b < blocks; b += AT_ONCE) {
    const size_t count = smaller(blocks - b, AT_ONCE);
@FOR_BLOCKS@    code_chunk chunk;
    quantize_chunk(inner, floats, count, how, &chunk);
    for (size_t i = 0; i < count; ++i) {
      uint8_t *const block = panel + (b + i) * BLOCK_BYTES;
      put_groups(block + DATA_OFFSET + r * GROUP_BYTES, chunk.codes + i * BLOCK, BLOCK / KR);
      write_block_fields(block, r, chunk.sums[i], &how[i]);
    }
    floats += count * BLOCK * sizeof(float);
  }
@WRITE_ROW_FIELDS@}

static void pack_panel(const tw_pack_args *args, tw_args *inner, size_t row, size_t rows,
                       uint8_t *panel) {
  const uint8_t *const source = (const uint8_t *)args->source + row * args->source_stride;
  const size_t blocks = args->k / BLOCK;
  if (rows < PANEL) memset(panel, 0, blocks * BLOCK_BYTES + ROW_FIELDS);
  for (size_t r = 0; r < rows; ++r) {
    pack_row(inner, source + r * args->source_stride, blocks, r, panel);
  }
}

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
