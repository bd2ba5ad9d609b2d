/* Weights of floats of 8 bits, row after row, whose scales lie elsewhere. */
#include "weights.h"

/* Without the codes of infinities and of what is no number. */
static void make_finite(unsigned char *block, size_t bytes) {
  random_bytes(block, bytes);
  for (size_t i = 0; i < bytes; ++i) block[i] &= 0xfb;
}

/* One bit of exponent fewer than f16 has: those are counted from 2^-8 of the value on. */
static void decode_e4m3(const unsigned char *block, float *decoded) {
  const unsigned bits = (*block & 0x80u) << 8 | (*block & 0x7fu) << 7;
  *decoded = 256 * tw_f32_of_f16((uint16_t)bits);
}

static void decode_e5m2(const unsigned char *block, float *decoded) {
  *decoded = tw_f32_of_f16((uint16_t)(*block << 8));
}

/* Order, values, bytes, make, decode, has_scales, has_zero_points. */
const format e4m3 = {TW_NXK, 1, 1, make_finite, decode_e4m3, 1, 0};
const format e5m2 = {TW_NXK, 1, 1, make_finite, decode_e5m2, 1, 0};
