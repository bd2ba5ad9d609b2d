// Of `count` values: symmetric, codes -127 to 127. With an infinity or a NaN among them codes are 0
// and the scale is a NaN, as the row's outputs will be. Values that are all below 2^-100 count as
// zeros: so every factor is finite, and scales are far from denormal numbers.
static quantization quantization_of(tw_args *inner, const uint8_t *floats, size_t count) {
  quantization out = {0, -127, 127, 0, 0};
  float lowest, highest;
  if (!find_range(inner, floats, count, &lowest, &highest)) {
    out.lowest = out.highest = 0;
    out.scale = tw_f32_of_bits(0x7fc00000);
    return out;
  }
  const float largest = tw_max_f32(highest, -lowest);
  if (largest < 7.888609052e-31f) return out;
  out.factor = 127.0f / largest;
  out.scale = largest / 127.0f;
  return out;
}
