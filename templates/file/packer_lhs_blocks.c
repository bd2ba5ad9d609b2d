@COMMON@
// Where a block's fields begin, in bytes from its start, and what all of it takes.
typedef struct places {
  size_t panel, data, sums, scales, bytes;
} places;

static places places_of(const tw_pack_args *args) {
  places at = {@PANEL@, 0, 0, 0, 0};
@PLACES@  return at;
}

// Of row r, whose codes add up to `sum`.
static void write_block_fields(const tw_pack_args *args, const places *at, uint8_t *to, size_t r,
                               int32_t sum, const quantization *how) {
@BLOCK_FIELDS@}

// Row r of a panel.
static void pack_row(const tw_pack_args *all, tw_args *inner, const places *where,
                     const uint8_t *floats, size_t r, uint8_t *to) {
  // Copies, which no store of bytes can change: compilers keep them in registers.
  const tw_pack_args own = *all, *const args = &own;
  const places places_own = *where, *const at = &places_own;
  const size_t block = args->block, blocks = args->k / block;
  const size_t at_once = smaller(MOST_CODES / block, AT_ONCE);
  quantization how[AT_ONCE];
@FOR_ROW@  for (size_t b = 0; b < blocks; b += at_once) {
    const size_t count = smaller(blocks - b, at_once);
@FOR_BLOCKS@    code_chunk chunk;
    quantize_chunk(inner, floats, count, how, &chunk);
    for (size_t i = 0; i < count; ++i) {
      uint8_t *const its = to + (b + i) * at->bytes;
      uint8_t *const to_codes = its + at->data + r * GROUP_BYTES;
      const int8_t *const codes = chunk.codes + i * block;
      if (block == 32) {  // a constant, for compilers
        put_groups(to_codes, codes, 32 / KR, at->panel);
      } else {
        put_groups(to_codes, codes, block / KR, at->panel);
      }
      write_block_fields(args, at, its, r, chunk.sums[i], &how[i]);
    }
    floats += count * block * sizeof(float);
  }
@WRITE_ROW_FIELDS@}

static void pack_panel(const tw_pack_args *args, tw_args *inner, const places *at, size_t row,
                       size_t rows, uint8_t *to) {
  const uint8_t *const source = (const uint8_t *)args->source + row * args->source_stride;
  if (rows < at->panel) {
    memset(to, 0, args->k / args->block * at->bytes + at->panel * @ROW_FIELD_BYTES@);
  }
  for (size_t r = 0; r < rows; ++r) {
    pack_row(args, inner, at, source + r * args->source_stride, r, to);
  }
}

// k is a multiple of the block.
void @SYMBOL@(const tw_pack_args *args) {
  const places at = places_of(args);
  tw_args inner;
  memset(&inner, 0, sizeof inner);
  inner.size = sizeof inner;
  inner.block = args->block;
  const size_t end = smaller(args->row_end, args->rows);
  for (size_t row = args->row_begin; row < end; row += at.panel) {
    pack_panel(args, &inner, &at, row, smaller(end - row, at.panel),
               (uint8_t *)args->packed + row / at.panel * args->packed_stride);
  }
}
