enum {
  PANEL_VL = @PANEL_VL@,      // columns of a panel for every 16 bytes of vector length
  KR = @KR@,                  // values of k that stand together
  K_MULTIPLE = @K_MULTIPLE@   // k is padded to a multiple of this
};

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

@WRITE_FLOATS@// Code k of a column, as two's complement in 4 bits; 0 where there is none.
static unsigned code_at(const tw_pack_args *args, size_t column, size_t columns, size_t k) {
  const uint8_t *const source = (const uint8_t *)args->source;
  const size_t stride = args->source_stride;
  if (column >= columns || k >= args->k) return 0;
  const unsigned code = source[@SOURCE_BYTE@] >> (@SOURCE_ODD@ * 4) & 15;
  return args->flags & TW_PACK_UNSIGNED_NIBBLES ? code ^ 8 : code;
}

static void add_sum(uint8_t *at, unsigned code) {
  tw_store_i32(at, tw_load_i32(at) + (int32_t)(code ^ 8) - 8);
}

@PACK_VECTOR@
static void pack_panel(const tw_pack_args *args, uint8_t *to, size_t panel, size_t row,
                       size_t columns, size_t padded) {
  const size_t half = args->vector_bytes / KR;
  uint8_t *at = to + padded / 2 * panel;
@FIELDS@
  for (size_t k = 0; k < padded; k += KR) {
    for (size_t c = 0; c < panel; c += 2 * half) {
      pack_vector(args, to, sums + c * sizeof(int32_t), half, row + c, row + columns, k);
      to += args->vector_bytes;
    }
  }
}

// The vector length is the caller's word, not this machine's: weights are packed for where they run.
void @SYMBOL@(const tw_pack_args *args) {
  const size_t panel = args->vector_bytes / 16 * PANEL_VL;
  const size_t padded = (args->k + K_MULTIPLE - 1) / K_MULTIPLE * K_MULTIPLE;
  const size_t end = smaller(args->row_end, args->rows);
  for (size_t row = args->row_begin; row < end; row += panel) {
    uint8_t *const to = (uint8_t *)args->packed + row / panel * args->packed_stride;
    pack_panel(args, to, panel, row, smaller(end - row, panel), padded);
  }
}
