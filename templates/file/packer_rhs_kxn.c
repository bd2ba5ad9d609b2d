@INNER_LOOPS@
enum {
  PANEL = @PANEL@,                    // columns of a panel
  DATA_OFFSET = @DATA_OFFSET@,        // of the codes in a panel
  K_MULTIPLE = @K_MULTIPLE@,          // k is padded to a multiple of this
  STEP_K = @STEP_K@,                  // source rows of one step of the inner loops
  CODES = @CODES@,                    // of a byte
  STEP_PACKED = PANEL * STEP_K / CODES,  // bytes of a panel
  CALLS = @CALLS@,                    // inner loops, one for each vector of columns
  RUN_BYTES = CALLS * @STEP_BYTES@,   // of each source row: whole panels
  RUN_COLUMNS = CODES * RUN_BYTES,
  RUN_PANELS = RUN_COLUMNS / PANEL,
  BLOCK_K = 128,                      // source rows in flight
  PREFETCH = 4 * 64                   // bytes ahead in every source row
};

@COMMON@
// A step at an edge: columns that @EDGE_TEXT@
static void pack_staged_step(const tw_pack_args *args, tw_args *inner, size_t row, size_t columns,
                             size_t k, size_t padded) {
  struct {
    uint8_t packed[STEP_PACKED];
    int32_t sums[PANEL];
  } out[RUN_PANELS];
  uint8_t in[STEP_K * RUN_BYTES];
  memset(in, no_codes(args), sizeof in);
  for (size_t i = 0; i < STEP_K && k + i < args->k; ++i) {
    const uint8_t *const from = (const uint8_t *)args->source + (k + i) * args->source_stride;
    copy_codes(args, in + i * RUN_BYTES, from, row, columns);
@REPEAT@  }
  for (size_t p = 0; p < RUN_PANELS; ++p) memset(out[p].sums, 0, sizeof out[p].sums);
  inner->lhs = in;
  inner->lhs_stride = RUN_BYTES;
  inner->k = 1;
  inner->rhs_prefetch = 0;
  inner->dst = out[0].packed;
  inner->dst_stride = STEP_PACKED;
  inner->rhs_stride = sizeof out[0];
  run_steps(inner, 0);
  for (size_t p = 0; p * PANEL < columns; ++p) {
    uint8_t *const panel = (uint8_t *)args->packed + (row / PANEL + p) * args->packed_stride;
    memcpy(panel + DATA_OFFSET + k / CODES * PANEL, out[p].packed, STEP_PACKED);
    add_sums(panel, padded, out[p].sums);
  }
}

// k .. block_end of the panels from column `row` on.
static void pack_block(const tw_pack_args *args, tw_args *inner, size_t row, size_t columns,
                       size_t k, size_t block_end, size_t padded) {
  if (columns == RUN_COLUMNS && row % CODES == 0) {
    uint8_t *const panel = (uint8_t *)args->packed + row / PANEL * args->packed_stride;
    uint8_t *const packed = panel + DATA_OFFSET + k / CODES * PANEL;
    inner->lhs = (const uint8_t *)args->source + k * args->source_stride + row / CODES;
    inner->lhs_stride = args->source_stride;
    inner->k = smaller(args->k - k, block_end - k) / STEP_K;
    inner->rhs_prefetch = PREFETCH;
    inner->dst = packed;
    inner->dst_stride = (size_t)(panel + sums_offset(padded) - packed);
    inner->rhs_stride = args->packed_stride;
    run_steps(inner, @STREAM@);
    k += inner->k * STEP_K;
  }
  for (; k < block_end; k += STEP_K) pack_staged_step(args, inner, row, columns, k, padded);
}

void @SYMBOL@(const tw_pack_args *args) {
  const size_t padded = (args->k + K_MULTIPLE - 1) / K_MULTIPLE * K_MULTIPLE;
  tw_args inner = inner_args(args);
  const size_t end = smaller(args->row_end, args->rows);
  for (size_t row = args->row_begin; row < end; row += PANEL) {
    uint8_t *const panel = (uint8_t *)args->packed + row / PANEL * args->packed_stride;
    write_fields(args, panel, padded, row, smaller(end - row, PANEL));
  }
  // Blocks of rows, so that neighbouring source lines follow each other soon.
  for (size_t k = 0; k < padded; k += BLOCK_K) {
    const size_t block_end = k + smaller(padded - k, BLOCK_K);
    for (size_t row = args->row_begin; row < end; row += RUN_COLUMNS) {
      const size_t columns = smaller(end - row, RUN_COLUMNS);
      pack_block(args, &inner, row, columns, k, block_end, padded);
    }
  }
@FINISH@}
