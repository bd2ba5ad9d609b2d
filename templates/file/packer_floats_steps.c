enum { STEP_K = @STEP_K@ };  // values of k that a step of the inner loop takes

// As much of a whole panel as is whole steps. Returns how much of k that was.
static size_t pack_whole_steps(const tw_pack_args *args, size_t row, size_t rows, size_t panel,
                               int is_last, uint8_t *to) {
  if (rows < panel) return 0;
  tw_args run;
  tw_args *const inner = &run;
  memset(inner, 0, sizeof run);
  inner->size = sizeof run;
  inner->lhs = (const uint8_t *)args->source + row * args->source_stride;
  inner->lhs_stride = args->source_stride;
  inner->k = args->k / STEP_K;
  // While a panel is packed, the next one's rows are fetched as the contiguous bytes they are.
  inner->rhs_prefetch = is_last ? 0 : panel * args->source_stride;
  inner->dst = to;
  const int stream = @STREAM@;
@RUN@  return inner->k * STEP_K;
}

