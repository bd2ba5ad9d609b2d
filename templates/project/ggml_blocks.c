/* Blocks of 32 weights, of one bit 128, as ggml's files have them: a scale, a minimum in some,
 * codes. */
#include "weights.h"

/* Of 16 bytes: low nibbles are codes 0 to 15, high ones codes 16 to 31. */
static int nibble(const unsigned char *bytes, int i) {
  return bytes[i % 16] >> i / 16 * 4 & 15;
}

static int bit(const unsigned char *bytes, int i) {
  return bytes[i / 8] >> i % 8 & 1;
}

static void decode_q4_0(const unsigned char *block, float *decoded) {
  const float scale = load_f16(block);
  for (int i = 0; i < 32; ++i) decoded[i] = scale * (float)(nibble(block + 2, i) - 8);
}

static void decode_q4_1(const unsigned char *block, float *decoded) {
  const float scale = load_f16(block), minimum = load_f16(block + 2);
  for (int i = 0; i < 32; ++i) decoded[i] = scale * (float)nibble(block + 4, i) + minimum;
}

static void decode_q5_0(const unsigned char *block, float *decoded) {
  const float scale = load_f16(block);
  for (int i = 0; i < 32; ++i) {
    decoded[i] = scale * (float)((nibble(block + 6, i) | bit(block + 2, i) << 4) - 16);
  }
}

static void decode_q5_1(const unsigned char *block, float *decoded) {
  const float scale = load_f16(block), minimum = load_f16(block + 2);
  for (int i = 0; i < 32; ++i) {
    decoded[i] = scale * (float)(nibble(block + 8, i) | bit(block + 4, i) << 4) + minimum;
  }
}

static void decode_q8_0(const unsigned char *block, float *decoded) {
  const float scale = load_f16(block);
  for (int i = 0; i < 32; ++i) decoded[i] = scale * (float)(int8_t)block[2 + i];
}

static void decode_q1_0(const unsigned char *block, float *decoded) {
  const float scale = load_f16(block);
  for (int i = 0; i < 128; ++i) decoded[i] = bit(block + 2, i) ? scale : -scale;
}

/* Order, values, bytes, make, decode, has_scales, has_zero_points. */
const format q1_0 = {TW_Q1_0, 128, 18, random_scaled, decode_q1_0, 0, 0};
const format q4_0 = {TW_Q4_0, 32, 18, random_scaled, decode_q4_0, 0, 0};
const format q4_1 = {TW_Q4_1, 32, 20, random_raised, decode_q4_1, 0, 0};
const format q5_0 = {TW_Q5_0, 32, 22, random_scaled, decode_q5_0, 0, 0};
const format q5_1 = {TW_Q5_1, 32, 24, random_raised, decode_q5_1, 0, 0};
const format q8_0 = {TW_Q8_0, 32, 34, random_scaled, decode_q8_0, 0, 0};
