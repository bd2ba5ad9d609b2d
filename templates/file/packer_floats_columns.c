enum { BYTES = @BYTES@ };  // of a value

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

@WRITE_FLOATS@static void pack_values(const tw_pack_args *args, size_t row, size_t rows, size_t panel,
                        uint8_t *to) {
  const uint8_t *from = (const uint8_t *)args->source + row * BYTES;
  for (size_t k = 0; k < args->k; ++k) {
    if (rows == panel) {
      memcpy(to, from, panel * BYTES);  // of a size that compilers know, unless it is of vectors
    } else {
      memcpy(to, from, rows * BYTES);
      memset(to + rows * BYTES, 0, (panel - rows) * BYTES);
    }
    from += args->source_stride;
    to += panel * BYTES;
  }
}

void @SYMBOL@(const tw_pack_args *args) {
  const size_t panel = @PANEL@;
  const size_t end = smaller(args->row_end, args->rows);
  for (size_t row = args->row_begin; row < end; row += panel) {
    uint8_t *const to = (uint8_t *)args->packed + row / panel * args->packed_stride;
    const size_t rows = smaller(end - row, panel);
    pack_values(args, row, rows, panel, to);
@BIAS@  }
}
