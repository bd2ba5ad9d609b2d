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

static quantization choose_quantization(float lowest, float highest) {
  quantization out;
  out.factor = choose_factor(lowest, highest);
  const float low = lowest * out.factor;
  const float high = highest * out.factor;
  const float zero = (-128.0f + low) + (127.0f + high) > 0 ? -128.0f - low : 127.0f - high;
  const float rounded = round_f32(tw_min_f32(tw_max_f32(zero, -128.0f), 127.0f));
  out.zero_point = (int32_t)rounded;
  out.lowest = -128.0f - rounded;
  out.highest = 127.0f - rounded;
  out.scale = 1.0f / out.factor;
  return out;
}

// Of `count` values. With an infinity or a NaN among them codes are 0 and the scale is a NaN, as
// the row's outputs will be.
static quantization quantization_of(tw_args *inner, const uint8_t *floats, size_t count) {
  const quantization none = {0, 0, 0, 0, tw_f32_of_bits(0x7fc00000)};
  float lowest, highest;
  const int finite = find_range(inner, floats, count, &lowest, &highest);
  return finite ? choose_quantization(lowest, highest) : none;
}
