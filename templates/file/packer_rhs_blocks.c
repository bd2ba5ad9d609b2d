enum {
  PANEL = @PANEL@,                   // columns of a panel, rows of the source
  BLOCK = @BLOCK@,                   // values of k that share a scale
  BLOCK_BYTES = @BLOCK_BYTES@,       // of all columns of a panel
  SCALES_OFFSET = @SCALES_OFFSET@,   // in a block
  DATA_OFFSET = @DATA_OFFSET@,       // of the codes in a block
  SUMS_OFFSET = @SUMS_OFFSET@,       // of sum(scale * sum of codes), behind the blocks
  BIAS_OFFSET = @BIAS_OFFSET@,       // likewise
  SCALE_BYTES = @SCALE_BYTES@,
  SCALE_PITCH = @SCALE_PITCH@,       // from a row's scale to its next one, in the source
  SOURCE_BLOCK = @SOURCE_BLOCK@,     // bytes from a row's block to its next one, in the source
  SOURCE_CODES = @SOURCE_CODES@,     // of its codes, in that block
  RUN_BLOCKS = @RUN_BLOCKS@          // that the inner loop takes at a time
};

@INNER_LOOPS@
static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

@WRITE_FLOATS@
// Scales of `blocks` blocks, block by block; 0 for columns that do not exist.
static void gather_scales(const uint8_t *from, size_t stride, size_t columns, size_t blocks,
                          uint8_t *to) {
  if (columns < PANEL) memset(to, 0, blocks * PANEL * SCALE_BYTES);
  for (size_t c = 0; c < columns; ++c) {
    for (size_t b = 0; b < blocks; ++b) {
      memcpy(to + (b * PANEL + c) * SCALE_BYTES, from + c * stride + b * SCALE_PITCH, SCALE_BYTES);
    }
  }
}

// `stream`: store past the caches.
static void run_blocks(const tw_args *inner, int stream) {
@RUN@}

// A panel of fewer columns than it has room for: the others are code 0.
static void stage_columns(tw_args *inner, uint8_t *to, size_t columns, int no_codes) {
  const size_t bytes = inner->k * SOURCE_BLOCK;
  memset(to, no_codes, PANEL * bytes);
  for (size_t c = 0; c < columns; ++c) {
    memcpy(to + c * bytes, (const uint8_t *)inner->lhs + c * inner->lhs_stride, bytes);
  }
  inner->lhs = to;
  inner->lhs_stride = bytes;
  inner->rhs_prefetch = 0;
}

static void pack_panel(const tw_pack_args *args, tw_args *inner, size_t row, size_t columns,
                       int is_last) {
  const size_t blocks = args->k / BLOCK;
  const uint8_t *const source = (const uint8_t *)args->source + row * args->source_stride;
  const uint8_t *const scales = @SCALES@;
  uint8_t *const panel = (uint8_t *)args->packed + row / PANEL * args->packed_stride;
  uint8_t *const behind = panel + blocks * BLOCK_BYTES;
  memset(behind + SUMS_OFFSET, 0, PANEL * sizeof(float));
  write_floats(behind + BIAS_OFFSET, args->bias, row, columns, PANEL);
  for (size_t b = 0; b < blocks; b += RUN_BLOCKS) {
    uint8_t run_scales[RUN_BLOCKS * PANEL * SCALE_BYTES];
    uint8_t staged[RUN_BLOCKS * PANEL * SOURCE_BLOCK];
    inner->k = smaller(blocks - b, RUN_BLOCKS);
    gather_scales(scales + b * SCALE_PITCH, @SCALES_STRIDE@, columns, inner->k, run_scales);
    inner->lhs = source + b * SOURCE_BLOCK;
    inner->lhs_stride = args->source_stride;
    // While a panel is packed, the next one's rows are fetched as the contiguous bytes they are.
    const size_t ahead = PANEL * args->source_stride + b * (PANEL - 1) * SOURCE_BLOCK;
    inner->rhs_prefetch = is_last ? 0 : ahead;
    if (columns < PANEL) stage_columns(inner, staged, columns, @NO_CODES@);
    inner->lookup = run_scales;
    inner->dst = panel + b * BLOCK_BYTES;
    inner->dst_stride = (size_t)(behind + SUMS_OFFSET - (uint8_t *)inner->dst);
    run_blocks(inner, @STREAM@);
  }
}

// k is a multiple of the block.
void @SYMBOL@(const tw_pack_args *args) {
  const uint64_t wanted = @FLIP@, given = @GIVEN@;
  tw_args inner;
  memset(&inner, 0, sizeof inner);
  inner.size = sizeof inner;
  inner.flags = (wanted ^ given) * 0x01010101;  // both nibbles of a byte, as the layout wants them
  const size_t end = smaller(args->row_end, args->rows);
  for (size_t row = args->row_begin; row < end; row += PANEL) {
    pack_panel(args, &inner, row, smaller(end - row, PANEL), end - row <= PANEL);
  }
@FINISH@}
