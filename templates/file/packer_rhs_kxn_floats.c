enum {
  PANEL = @PANEL@,  // columns of a panel
  DATA_OFFSET = @DATA_OFFSET@,
  K_MULTIPLE = @K_MULTIPLE@,
  BYTES = @BYTES@,  // of a value
  ROW = PANEL * BYTES
};

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

@FIELDS@
static void pack_values(const tw_pack_args *args, size_t row, size_t columns, uint8_t *to) {
  const uint8_t *from = (const uint8_t *)args->source + row * BYTES;
  for (size_t k = 0; k < args->k; ++k) {
    if (columns == PANEL) {
      memcpy(to, from, ROW);  // of a size that compilers know
    } else {
      memcpy(to, from, columns * BYTES);
      memset(to + columns * BYTES, 0, ROW - columns * BYTES);
    }
    from += args->source_stride;
    to += ROW;
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
