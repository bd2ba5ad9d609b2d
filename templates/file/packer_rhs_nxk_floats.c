enum {
  PANEL = @PANEL@,  // columns of a panel
  DATA_OFFSET = @DATA_OFFSET@,
  K_MULTIPLE = @K_MULTIPLE@,
  BYTES = @BYTES@,  // of a value
  ROW = PANEL * BYTES,
  BLOCK_K = 16      // values of k of all columns that are packed together
};

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

@FIELDS@
// A block of k after the other: the lines that it writes stay in the cache until they are full.
static void pack_values(const tw_pack_args *args, size_t row, size_t columns, uint8_t *to) {
  const uint8_t *const from = (const uint8_t *)args->source + row * args->source_stride;
  if (columns < PANEL) memset(to, 0, args->k * ROW);
  for (size_t k = 0; k < args->k; k += BLOCK_K) {
    const size_t values = smaller(args->k - k, BLOCK_K);
    for (size_t c = 0; c < columns; ++c) {
      const uint8_t *const value = from + c * args->source_stride + k * BYTES;
      uint8_t *const at = to + k * ROW + c * BYTES;
      for (size_t i = 0; i < values; ++i) memcpy(at + i * ROW, value + i * BYTES, BYTES);
    }
  }
}

void @SYMBOL@(const tw_pack_args *args) {
  const size_t end = smaller(args->row_end, args->rows);
  for (size_t row = args->row_begin; row < end; row += PANEL) {
    uint8_t *const panel = (uint8_t *)args->packed + row / PANEL * args->packed_stride;
    const size_t columns = smaller(end - row, PANEL);
    pack_values(args, row, columns, panel + DATA_OFFSET);
    write_fields(args, panel, args->k, row, columns);
  }
}
