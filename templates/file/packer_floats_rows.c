@INNER_LOOPS@enum {
  BYTES = @BYTES@,  // of a value
  BLOCK_K = 16      // values of k of all rows that are packed together
};

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

@WRITE_FLOATS@// A block of k after the other: the lines that it writes stay in the cache until they are full.
static void pack_values(const tw_pack_args *args, size_t row, size_t rows, size_t panel, size_t k,
                        uint8_t *to) {
  const uint8_t *const from = (const uint8_t *)args->source + row * args->source_stride;
  if (rows < panel) memset(to, 0, args->k * panel * BYTES);
  for (; k < args->k; k += BLOCK_K) {
    const size_t values = smaller(args->k - k, BLOCK_K);
    for (size_t r = 0; r < rows; ++r) {
      const uint8_t *const value = from + r * args->source_stride + k * BYTES;
      uint8_t *const at = to + (k * panel + r) * BYTES;
      for (size_t i = 0; i < values; ++i) {
        memcpy(at + i * panel * BYTES, value + i * BYTES, BYTES);
      }
    }
  }
}

@WHOLE_STEPS@void @SYMBOL@(const tw_pack_args *args) {
  const size_t panel = @PANEL@;
  const size_t end = smaller(args->row_end, args->rows);
  for (size_t row = args->row_begin; row < end; row += panel) {
    uint8_t *const to = (uint8_t *)args->packed + row / panel * args->packed_stride;
    const size_t rows = smaller(end - row, panel);
    pack_values(args, row, rows, panel, @PACKED_K@, to);
@BIAS@  }
@FINISH@}
