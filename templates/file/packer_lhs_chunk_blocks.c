typedef struct code_chunk {
  int8_t codes[MOST_CODES];
  int32_t sums[AT_ONCE + LANES];  // of each block's codes; the inner loop writes whole vectors
} code_chunk;

// Quantizes `count` blocks, at most AT_ONCE, each as `how` says.
static void quantize_chunk(tw_args *inner, const uint8_t *floats, size_t count,
                           const quantization *how, code_chunk *chunk) {
  inner->lhs = floats;
  inner->n = count;
  inner->lookup = how;
  inner->dst = chunk->codes;
  inner->dst_stride = offsetof(code_chunk, sums);
  @CODES@;
}
