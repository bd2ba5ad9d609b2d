/* Weights of signed codes, row after row, whose scales lie elsewhere: in bytes, two to a byte, or
 * four, the first in the lowest bits. */
#include "weights.h"

static void make_byte(unsigned char *block) {
  random_bytes(block, 1);
}

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

const format int2 = {.order = TW_NXK,
                     .values = 4,
                     .bytes = 1,
                     .make = make_byte,
                     .decode = decode_int2,
                     .has_scales = 1};
const format int2_zero = {.order = TW_NXK,
                          .values = 4,
                          .bytes = 1,
                          .make = make_byte,
                          .decode = decode_int2,
                          .has_scales = 1,
                          .has_zero_points = 1};
const format int4 = {.order = TW_NXK,
                     .values = 2,
                     .bytes = 1,
                     .make = make_byte,
                     .decode = decode_int4,
                     .has_scales = 1};
const format int4_zero = {.order = TW_NXK,
                          .values = 2,
                          .bytes = 1,
                          .make = make_byte,
                          .decode = decode_int4,
                          .has_scales = 1,
                          .has_zero_points = 1};
const format int8 = {.order = TW_NXK,
                     .values = 1,
                     .bytes = 1,
                     .make = make_byte,
                     .decode = decode_int8,
                     .has_scales = 1};
const format int8_zero = {.order = TW_NXK,
                          .values = 1,
                          .bytes = 1,
                          .make = make_byte,
                          .decode = decode_int8,
                          .has_scales = 1,
                          .has_zero_points = 1};
