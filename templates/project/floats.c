/* Weights of floats, row after row, from -1 to 1. */
#include <string.h>

#include "weights.h"

static float random_float(void) {
  return (float)(random_bits() >> 16) / 32768 - 1;
}

static void make_f32(unsigned char *block, size_t bytes) {
  const float value = random_float();
  memcpy(block, &value, bytes);
}

static void decode_f32(const unsigned char *block, float *decoded) {
  memcpy(decoded, block, sizeof *decoded);
}

static void make_f16(unsigned char *block, size_t bytes) {
  const uint16_t half = tw_f16_of_f32(random_float());
  memcpy(block, &half, bytes);
}

static void decode_f16(const unsigned char *block, float *decoded) {
  *decoded = load_f16(block);
}

static void make_bf16(unsigned char *block, size_t bytes) {
  const float value = random_float();
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint16_t upper = (uint16_t)(bits >> 16);
  memcpy(block, &upper, bytes);
}

static void decode_bf16(const unsigned char *block, float *decoded) {
  *decoded = tw_f32_of_bf16(tw_load_u16(block));
}

/* Order, values, bytes, make, decode, has_scales, has_zero_points. */
const format f32 = {TW_NXK, 1, 4, make_f32, decode_f32, 0, 0};
const format f16 = {TW_NXK, 1, 2, make_f16, decode_f16, 0, 0};
const format bf16 = {TW_NXK, 1, 2, make_bf16, decode_bf16, 0, 0};
