// Symmetric, codes -127 to 127. With an infinity or a NaN among the values, of which `largest` is
// then infinite, codes are 0 and the scale is a NaN, as the row's outputs will be. Values that are
// all below 2^-100 count as zeros: so every factor is finite, and scales are far from denormal
// numbers.
static quantization quantization_of(float largest) {
  quantization out = {0, -127, 127, 0, 0};
  if (largest > 3.402823466e+38f) {
    out.lowest = out.highest = 0;
    out.scale = tw_f32_of_bits(0x7fc00000);
    return out;
  }
  if (largest < 7.888609052e-31f) return out;
  out.factor = 127.0f / largest;
  out.scale = largest / 127.0f;
  return out;
}

// Of each of `count` blocks, at most AT_ONCE.
static void choose_quantizations(tw_args *inner, const uint8_t *floats, size_t count,
                                 quantization *how) {
  float largest[AT_ONCE + LANES];  // the inner loop writes whole vectors
  inner->lhs = floats;
  inner->n = count;
  inner->dst = largest;
  @RANGES@;
  for (size_t b = 0; b < count; ++b) how[b] = quantization_of(largest[b]);
}
