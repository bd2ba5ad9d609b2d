enum { CHUNK = @CHUNK@ };  // values of k that are quantized at a time

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
