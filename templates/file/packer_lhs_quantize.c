// code = round(x * factor) + zero_point; the bounds keep codes within int8.
// x = (code - zero_point) * scale
typedef struct quantization {
  float factor, lowest, highest;
  int32_t zero_point;
  float scale;
} quantization;

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

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

typedef struct code_chunk {
  int8_t codes[CHUNK];
  int32_t sums[LANES];
} code_chunk;

static int32_t quantize_steps(tw_args *inner, const void *floats, size_t steps, code_chunk *chunk,
                              size_t at) {
  inner->lhs = floats;
  inner->n = steps;
  inner->dst = chunk->codes + at;
  inner->dst_stride = offsetof(code_chunk, sums) - at;
  quantize_row(inner);
  int32_t sum = 0;
  for (int lane = 0; lane < LANES; ++lane) sum += chunk->sums[lane];
  return sum;
}

// Quantizes `count` floats; codes up to the next multiple of K_MULTIPLE are @PADDING_TEXT@. Returns their sum.
static int32_t quantize_chunk(tw_args *inner, const uint8_t *floats, size_t count,
                              const quantization *how, code_chunk *chunk) {
  const size_t rest = count % STEP;
  const size_t whole = count - rest;
  inner->lookup = how;
  int32_t sum = quantize_steps(inner, floats, whole / STEP, chunk, 0);
  if (rest != 0) {
    float tail[STEP] = {0};
    memcpy(tail, floats + whole * sizeof(float), rest * sizeof(float));
    sum += quantize_steps(inner, tail, 1, chunk, whole);
    sum -= (int32_t)(STEP - rest) * how->zero_point;  // zeros behind the tail
  }
  memset(chunk->codes + count, @PADDING@, (K_MULTIPLE - count % K_MULTIPLE) % K_MULTIPLE);
  return sum;
}

@CHOOSE@