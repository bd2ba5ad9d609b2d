@INNER_LOOPS@
enum {
  PANEL = @PANEL@,            // rows of a panel
  DATA_OFFSET = @DATA_OFFSET@,// of the codes in a panel
  KR = @KR@,                  // neighbours in k of a row that stay together
  GROUP_BYTES = KR * @CODE_BYTES@,
  K_MULTIPLE = @K_MULTIPLE@,  // k is padded to a multiple of this
  STEP = @STEP@,              // floats of one step of the inner loops
  LANES = @LANES@,            // of the vectors that they leave behind
  CHUNK = @CHUNK@             // values of k that are quantized at a time
};

// code = round(x * factor) + zero_point; the bounds keep codes within int8.
typedef struct row_quantization {
  float factor, lowest, highest;
  int32_t zero_point;
} row_quantization;

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
  for (int part = 0; part < 2; ++part) {
    float range[3 * LANES];  // lowest, highest, and zeros unless there are infinities or NaNs
    inner->lhs = part == 0 ? (const void *)row : tail;
    inner->n = part == 0 ? whole / STEP : 1;
    inner->dst = range;
    row_range(inner);
    for (int lane = 0; lane < LANES; ++lane) {
      *lowest = tw_min_f32(range[lane], *lowest);
      *highest = tw_max_f32(range[LANES + lane], *highest);
      finite &= range[2 * LANES + lane] == 0;
    }
  }
  return finite;
}

// To nearest even; for |x| below 2^22.
static float round_f32(float x) {
  const float shift = 12582912.0f;
  return (x + shift) - shift;
}

// Values per code, inverted. Ranges that a float cannot hold are taken by halves; where the inverse
// is more than a float can hold, the largest one is near enough to make codes of denormals.
static float choose_factor(float lowest, float highest) {
  const float largest = 3.402823466e+38f;
  const float range = highest - lowest;
  if (range == 0) return 1;
  const float factor =
      range <= largest ? 255.0f / range : 127.5f / (0.5f * highest - 0.5f * lowest);
  return tw_min_f32(factor, largest);
}

static row_quantization choose_quantization(float lowest, float highest) {
  row_quantization out;
  out.factor = choose_factor(lowest, highest);
  const float low = lowest * out.factor;
  const float high = highest * out.factor;
  const float zero = (-128.0f + low) + (127.0f + high) > 0 ? -128.0f - low : 127.0f - high;
  const float rounded = round_f32(tw_min_f32(tw_max_f32(zero, -128.0f), 127.0f));
  out.zero_point = (int32_t)rounded;
  out.lowest = -128.0f - rounded;
  out.highest = 127.0f - rounded;
  return out;
}

// A row with an infinity or a NaN: its codes are 0 and its scale is a NaN, as its outputs will be.
static row_quantization no_quantization(void) {
  const row_quantization out = {tw_f32_of_bits(0x7fc00000), 0, 0, 0};
  return out;
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
                              const row_quantization *how, code_chunk *chunk) {
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

@PUT_GROUP@// A row's groups of KR codes to their places between those of the panel's other rows.
static void put_groups(uint8_t *to, const int8_t *codes, size_t groups) {
@PUT_ALL@  for (size_t g = 0; g < groups; g += 4) {  // K_MULTIPLE is a multiple of 4 groups
    put_group(to, codes);
    put_group(to + PANEL * GROUP_BYTES, codes + KR);
    put_group(to + 2 * PANEL * GROUP_BYTES, codes + 2 * KR);
    put_group(to + 3 * PANEL * GROUP_BYTES, codes + 3 * KR);
    to += 4 * PANEL * GROUP_BYTES;
    codes += 4 * KR;
  }
}

@FIELDS@
static void pack_panel(const tw_pack_args *args, tw_args *inner, size_t row, size_t rows,
                       size_t padded, uint8_t *panel) {
  const uint8_t *const source = (const uint8_t *)args->source + row * args->source_stride;
  row_quantization how[PANEL];
  int32_t sums[PANEL] = {0};
  for (size_t r = 0; r < @FILLED@; ++r) {
    float lowest, highest;
    const uint8_t *const values = source + @FROM@ * args->source_stride;
    const int finite = find_range(inner, values, args->k, &lowest, &highest);
    how[r] = finite ? choose_quantization(lowest, highest) : no_quantization();
  }
  uint8_t *const codes = panel + DATA_OFFSET;
  if (rows < PANEL) memset(panel, 0, panel_bytes(padded));
  for (size_t k = 0; k < padded; k += CHUNK) {
    const size_t values = smaller(args->k - k, CHUNK);
    const size_t groups = (values + K_MULTIPLE - 1) / K_MULTIPLE * K_MULTIPLE / KR;
    for (size_t r = 0; r < @FILLED@; ++r) {
      code_chunk chunk;
      const uint8_t *const floats = source + @FROM@ * args->source_stride + k * sizeof(float);
      sums[r] += quantize_chunk(inner, floats, values, &how[r], &chunk);
      put_groups(codes + k / KR * PANEL * GROUP_BYTES + r * GROUP_BYTES, chunk.codes, groups);
    }
  }
  write_fields(panel, padded, @FILLED@, how, sums);
}

void @SYMBOL@(const tw_pack_args *args) {
  const size_t padded = (args->k + K_MULTIPLE - 1) / K_MULTIPLE * K_MULTIPLE;
  tw_args inner;
  memset(&inner, 0, sizeof inner);
  inner.size = sizeof inner;
  const size_t end = smaller(args->row_end, args->rows);
  for (size_t row = args->row_begin; row < end; row += PANEL) {
    pack_panel(args, &inner, row, smaller(end - row, PANEL), padded,
               (uint8_t *)args->packed + row / PANEL * args->packed_stride);
  }
}
