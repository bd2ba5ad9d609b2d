@COMMON@
// Where a block's fields begin, in bytes from its start, and what all of it takes.
typedef struct places {
  size_t panel, data, sums, scales, bytes;
} places;

static places places_of(const tw_pack_args *args) {
  places at = {@PANEL@, 0, 0, 0, 0};
@PLACES@  return at;
}

// Row r of `count` blocks: codes, and what stands beside them.
static inline void put_blocks_of(const tw_pack_args *args, const places *where, uint8_t *to,
                                 size_t r, size_t count, const quantization *how,
                                 const code_chunk *chunk, size_t block, size_t sum_copies,
                                 size_t scale_copies) {
@UNUSED@  const places at = *where;  // a copy, which no store of bytes can change
  for (size_t i = 0; i < count; ++i) {
    put_groups(to + at.data + r * GROUP_BYTES, chunk->codes + i * block, block / KR, @ROWS@);
@BLOCK_FIELDS@    to += at.bytes;
  }
}

static void put_blocks(const tw_pack_args *args, const places *at, uint8_t *to, size_t r,
                       size_t count, const quantization *how, const code_chunk *chunk) {
  const size_t block = args->block, sums = args->sum_copies, scales = args->scale_copies;
  if (block == 32 && sums == @USUAL_SUMS@ && scales == @USUAL_SCALES@) {  // constants, for compilers
    put_blocks_of(args, at, to, r, count, how, chunk, 32, @USUAL_SUMS@, @USUAL_SCALES@);
  } else {
    put_blocks_of(args, at, to, r, count, how, chunk, block, sums, scales);
  }
}

// Row r of a panel.
static void pack_row(const tw_pack_args *args, tw_args *inner, const places *at,
                     const uint8_t *floats, size_t r, uint8_t *to) {
  const size_t block = args->block, blocks = args->k / block;
  const size_t at_once = smaller(MOST_CODES / block, AT_ONCE);
  quantization how[AT_ONCE];
@FOR_ROW@  for (size_t b = 0; b < blocks; b += at_once) {
    const size_t count = smaller(blocks - b, at_once);
@FOR_BLOCKS@    code_chunk chunk;
    quantize_chunk(inner, floats, count, how, &chunk);
    put_blocks(args, at, to + b * at->bytes, r, count, how, &chunk);
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
