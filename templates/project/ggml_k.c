/* Blocks of 256 weights as ggml's files have them: scales (and minimums) of 16 or 32 weights are
 * whole numbers of steps, which are f16. */
#include "weights.h"

static void make_step_behind(unsigned char *block, size_t bytes) {
  random_bytes(block, bytes - 2);
  random_f16(block + bytes - 2);
}

static void make_steps_behind(unsigned char *block, size_t bytes) {
  make_step_behind(block, bytes - 2);
  random_f16(block + bytes - 2);
}

static void decode_q2_k(const unsigned char *block, float *decoded) {
  const float step = load_f16(block + 80), minimum_step = load_f16(block + 82);
  for (int i = 0; i < 256; ++i) {
    const int code = block[16 + i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
    const int numbers = block[i / 16];
    decoded[i] = step * (float)(numbers & 15) * (float)code - minimum_step * (float)(numbers >> 4);
  }
}

static void look_up(const unsigned char *block, const float *values, float *decoded) {
  const unsigned char *scales = block + 96;
  const float step = load_f16(block + 108);
  for (int i = 0; i < 256; ++i) {
    const int low = block[32 + i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
    const int top = block[i % 32] >> i / 32 & 1, s = i / 16;
    const int scale = (scales[s % 8] >> s / 8 * 4 & 15) | (scales[8 + s % 4] >> s / 4 * 2 & 3) << 4;
    decoded[i] = step * (float)(scale - 32) * values[low + 4 * top];
  }
}

static void decode_q3_k(const unsigned char *block, float *decoded) {
  static const float values[8] = {-4, -3, -2, -1, 0, 1, 2, 3};
  look_up(block, values, decoded);
}

/* What rows of the grids of IQ2 hold, and the same negated. */
static void decode_iq2(const unsigned char *block, float *decoded) {
  static const float values[8] = {1, 3.125f, 5.375f, 0, -1, -3.125f, -5.375f, 0};
  look_up(block, values, decoded);
}

/* Those of IQ1, -1, 0 and 1, an eighth more or less. */
static void decode_iq1(const unsigned char *block, float *decoded) {
  static const float values[8] = {0.125f, 0.875f, 1.125f, 0, -0.125f, -0.875f, -1.125f, 0};
  look_up(block, values, decoded);
}

/* Eight scales and eight minimums of six bits in 12 bytes; `first` is 0 for scales, 4 for
 * minimums. */
static int six_bits(const unsigned char *bytes, int i, int first) {
  if (i < 4) return bytes[first + i] & 63;
  return (bytes[4 + i] >> first & 15) | bytes[first + i - 4] >> 6 << 4;
}

/* Of 128 bytes: two codes 32 apart share one. */
static int far_nibble(const unsigned char *bytes, int i) {
  return bytes[i / 64 * 32 + i % 32] >> i % 64 / 32 * 4 & 15;
}

static float value_of(const unsigned char *block, int i, int code) {
  const float step = load_f16(block), minimum_step = load_f16(block + 2);
  return step * (float)six_bits(block + 4, i / 32, 0) * (float)code -
         minimum_step * (float)six_bits(block + 4, i / 32, 4);
}

static void decode_q4_k(const unsigned char *block, float *decoded) {
  for (int i = 0; i < 256; ++i) decoded[i] = value_of(block, i, far_nibble(block + 16, i));
}

static void decode_q5_k(const unsigned char *block, float *decoded) {
  for (int i = 0; i < 256; ++i) {
    const int top = block[16 + i % 32] >> i / 32 & 1;
    decoded[i] = value_of(block, i, far_nibble(block + 48, i) | top << 4);
  }
}

static void decode_q6_k(const unsigned char *block, float *decoded) {
  const float step = load_f16(block + 208);
  for (int i = 0; i < 256; ++i) {
    const int low = block[i / 128 * 64 + i % 64] >> i % 128 / 64 * 4 & 15;
    const int top = block[128 + i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
    const int scale = (int8_t)block[192 + i / 16];
    decoded[i] = step * (float)scale * (float)((low | top << 4) - 32);
  }
}

/* Order, values, bytes, make, decode, has_scales, has_zero_points. */
const format q2_k = {TW_Q2_K, 256, 84, make_steps_behind, decode_q2_k, 0, 0};
const format q3_k = {TW_Q3_K, 256, 110, make_step_behind, decode_q3_k, 0, 0};
const format iq2_flat = {TW_IQ2_FLAT, 256, 110, make_step_behind, decode_iq2, 0, 0};
const format iq1_flat = {TW_IQ1_FLAT, 256, 110, make_step_behind, decode_iq1, 0, 0};
const format q4_k = {TW_Q4_K, 256, 144, random_raised, decode_q4_k, 0, 0};
const format q5_k = {TW_Q5_K, 256, 176, random_raised, decode_q5_k, 0, 0};
const format q6_k = {TW_Q6_K, 256, 210, make_step_behind, decode_q6_k, 0, 0};
