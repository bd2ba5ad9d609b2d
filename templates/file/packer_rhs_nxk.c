@INNER_LOOPS@
enum {
  PANEL = @PANEL@,            // columns of a panel, rows of the source
  DATA_OFFSET = @DATA_OFFSET@,// of the codes in a panel
  K_MULTIPLE = @K_MULTIPLE@,  // k is padded to a multiple of this
  STEP_BYTES = @STEP_BYTES@,  // of each source row that one step of the inner loop takes
  CODES = @CODES@,            // of a byte
  STEP_K = CODES * STEP_BYTES,
  STEP_PACKED = PANEL * STEP_BYTES
};

@COMMON@
// A step at an edge: rows that @EDGE_TEXT@
static void pack_staged_step(const tw_pack_args *args, tw_args *inner, const uint8_t *source,
                             size_t columns, size_t k, size_t padded, uint8_t *panel) {
  struct {
    uint8_t packed[STEP_PACKED];
    int32_t sums[PANEL];
  } out;
  uint8_t in[PANEL * STEP_BYTES];
  const size_t values = k < args->k ? smaller(args->k - k, STEP_K) : 0;
  memset(in, no_codes(args), sizeof in);
  for (size_t c = 0; c < @FILLED@; ++c) {
    copy_codes(args, in + c * STEP_BYTES, source + @FROM@ * args->source_stride, k, values);
  }
  memset(out.sums, 0, sizeof out.sums);
  inner->lhs = in;
  inner->lhs_stride = STEP_BYTES;
  inner->k = 1;
  inner->rhs_prefetch = 0;
  inner->dst = out.packed;
  inner->dst_stride = STEP_PACKED;
  run_steps(inner, 0);
  const size_t packed_k = smaller(padded - k, STEP_K);
  memcpy(panel + DATA_OFFSET + k / CODES * PANEL, out.packed, packed_k / CODES * PANEL);
  add_sums(panel, padded, out.sums);
}

static void pack_panel(const tw_pack_args *args, tw_args *inner, size_t row, size_t columns,
                       size_t padded, int is_last) {
  const uint8_t *const source = (const uint8_t *)args->source + row * args->source_stride;
  uint8_t *const panel = (uint8_t *)args->packed + row / PANEL * args->packed_stride;
  write_fields(args, panel, padded, row, columns);
  size_t k = 0;
  if (columns == PANEL) {
    inner->lhs = source;
    inner->lhs_stride = args->source_stride;
    inner->k = args->k / STEP_K;
    // While a panel is packed, the next one's rows are fetched as the contiguous bytes they are.
    inner->rhs_prefetch = is_last ? 0 : PANEL * args->source_stride;
    inner->dst = panel + DATA_OFFSET;
    inner->dst_stride = sums_offset(padded) - DATA_OFFSET;
    run_steps(inner, @STREAM@);
    k = inner->k * STEP_K;
  }
  for (; k < padded; k += STEP_K) {
    pack_staged_step(args, inner, source, columns, k, padded, panel);
  }
}

void @SYMBOL@(const tw_pack_args *args) {
  const size_t padded = (args->k + K_MULTIPLE - 1) / K_MULTIPLE * K_MULTIPLE;
  tw_args inner = inner_args(args);
  const size_t end = smaller(args->row_end, args->rows);
  for (size_t row = args->row_begin; row < end; row += PANEL) {
    pack_panel(args, &inner, row, smaller(end - row, PANEL), padded, end - row <= PANEL);
  }
@FINISH@}
