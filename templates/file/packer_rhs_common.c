static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

@SOURCE@
// What all runs of the inner loops share. A run sets the rest:
//   lhs, lhs_stride: source; k: steps; rhs_prefetch: distance at which the source is fetched;
//   dst: packed codes; rhs_stride: from panel to panel; dst_stride: from dst to its panel's sums.
static tw_args inner_args(const tw_pack_args *args) {
  tw_args inner;
  memset(&inner, 0, sizeof inner);
  inner.size = sizeof inner;
  inner.flags = bits_to_flip(args) * 0x01010101;
  return inner;
}

@FIELDS@
// `stream`: store past the caches.
static void run_steps(const tw_args *inner, int stream) {
@RUN@}
