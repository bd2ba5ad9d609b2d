// Steps of the inner loop: from `source` to `packed`; adds to the sums `sums_distance` behind.
typedef struct run_of_steps {
  const void *source;
  size_t source_stride;
  uint8_t *packed;
  size_t packed_stride;  // from panel to panel
  size_t sums_distance;
  size_t steps;
  size_t prefetch;  // distance in bytes
  int stream;       // store past the caches
} run_of_steps;

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

static tw_args inner_args(const tw_pack_args *args, run_of_steps run) {
  // Both nibbles of a byte, as the layout wants them: with or without an offset of 8.
  const uint64_t wanted = @FLIP@, given = args->flags & TW_PACK_UNSIGNED_NIBBLES ? 0x88 : 0;
  tw_args inner;
  memset(&inner, 0, sizeof inner);
  inner.size = sizeof inner;
  inner.k = run.steps;
  inner.lhs = run.source;
  inner.lhs_stride = run.source_stride;
  inner.rhs_stride = run.packed_stride;
  inner.dst = run.packed;
  inner.dst_stride = run.sums_distance;
  inner.flags = (wanted ^ given) * 0x01010101;
  inner.rhs_prefetch = run.prefetch;
  return inner;
}

// What a source byte holds where there are no codes: two codes 0.
static uint8_t no_codes(const tw_pack_args *args) {
  return args->flags & TW_PACK_UNSIGNED_NIBBLES ? 0x88 : 0x00;
}

// Copies `values` codes; the other half of the last byte becomes code 0.
static void copy_codes(const tw_pack_args *args, uint8_t *to, const uint8_t *from, size_t values) {
  memcpy(to, from, (values + 1) / 2);
  if (values % 2 != 0) {
    uint8_t *const last = to + values / 2;
    *last = (uint8_t)((*last & 0x0f) | (no_codes(args) & 0xf0));
  }
}

@FIELDS@
