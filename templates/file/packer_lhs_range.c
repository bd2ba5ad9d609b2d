enum { STEP = @STEP@ };  // floats of one step of the inner loops

// Returns whether all values are finite.
static int find_range(tw_args *inner, const uint8_t *row, size_t k, float *lowest,
                      float *highest) {
  float tail[STEP] = {0};
  const size_t whole = k - k % STEP;
  memcpy(tail, row + whole * sizeof(float), (k - whole) * sizeof(float));
  *lowest = 0;
  *highest = 0;
  int finite = 1;
  for (int part = 0; part < (whole < k ? 2 : 1); ++part) {
    float range[3 * LANES];  // lowest, highest, and zeros unless there are infinities or NaNs
    float *const high = range + LANES, *const none = range + 2 * LANES;
    inner->lhs = part == 0 ? (const void *)row : tail;
    inner->n = part == 0 ? whole / STEP : 1;
    inner->dst = range;
    row_range(inner);
    // By halves, which compilers do with vectors.
    for (int half = LANES / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half; ++lane) {
        range[lane] = tw_min_f32(range[lane], range[lane + half]);
        high[lane] = tw_max_f32(high[lane], high[lane + half]);
        none[lane] += none[lane + half];
      }
    }
    *lowest = tw_min_f32(*range, *lowest);
    *highest = tw_max_f32(*high, *highest);
    finite &= *none == 0;
  }
  return finite;
}
