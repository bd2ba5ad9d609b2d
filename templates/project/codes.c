/* Weights of signed codes, row after row, whose scales lie elsewhere: in bytes, two to a byte, or
 * four, the first in the lowest bits. */
#include "weights.h"

static void decode_bits(const unsigned char *block, unsigned bits, float *decoded) {
  const int half = 1 << (bits - 1);
  for (unsigned i = 0; i < 8 / bits; ++i) {
    const int code = *block >> (i * bits) & (2 * half - 1);
    decoded[i] = (float)((code ^ half) - half);
  }
}

static void decode_int2(const unsigned char *block, float *decoded) {
  decode_bits(block, 2, decoded);
}

static void decode_int4(const unsigned char *block, float *decoded) {
  decode_bits(block, 4, decoded);
}

static void decode_int8(const unsigned char *block, float *decoded) {
  decode_bits(block, 8, decoded);
}

/* Order, values, bytes, make, decode, has_scales, has_zero_points. */
const format int2 = {TW_NXK, 4, 1, random_bytes, decode_int2, 1, 0};
const format int2_zero = {TW_NXK, 4, 1, random_bytes, decode_int2, 1, 1};
const format int4 = {TW_NXK, 2, 1, random_bytes, decode_int4, 1, 0};
const format int4_zero = {TW_NXK, 2, 1, random_bytes, decode_int4, 1, 1};
const format int8 = {TW_NXK, 1, 1, random_bytes, decode_int8, 1, 0};
const format int8_zero = {TW_NXK, 1, 1, random_bytes, decode_int8, 1, 1};
