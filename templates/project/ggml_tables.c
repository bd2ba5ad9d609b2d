/* Weights as ggml's files have them whose codes of 4 bits stand for values of a table. */
#include "weights.h"

static const float iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                              1,    13,   25,  38,  53,  69,  89,  113};
static const float e2m1[16] = {0,  0.5f,  1,  1.5f,  2,  3,  4,  6,
                               0,  -0.5f, -1, -1.5f, -2, -3, -4, -6};
/* What rows of the grids of IQ3_S and IQ3_XXS hold, and the same negated. */
static const float iq3_s[16] = {1, 3, 5, 7, 9, 11, 13, 15, -1, -3, -5, -7, -9, -11, -13, -15};
static const float iq3_xxs[16] = {1,  3,  5,  7,  9,  11,  13,  15.5f,
                                  -1, -3, -5, -7, -9, -11, -13, -15.5f};

/* Of 16 bytes: low nibbles are codes 0 to 15, high ones codes 16 to 31. */
static void look_up(const unsigned char *bytes, const float *table, float scale, float *decoded) {
  for (int i = 0; i < 32; ++i) decoded[i] = scale * table[bytes[i % 16] >> i / 16 * 4 & 15];
}

static void decode_iq4_nl(const unsigned char *block, float *decoded) {
  look_up(block + 2, iq4, load_f16(block), decoded);
}

/* The scale is a power of two. */
static void make_mxfp4(unsigned char *block, size_t bytes) {
  block[0] = (unsigned char)(120 + (random_bits() >> 16) % 3);
  random_bytes(block + 1, bytes - 1);
}

static void decode_mxfp4(const unsigned char *block, float *decoded) {
  const float scale = tw_f32_of_bf16((uint16_t)(block[0] << 7));
  look_up(block + 1, e2m1, scale, decoded);
}

/* Four blocks of 16, whose scales stand before them: bits of f16, 2^-8 of what they are worth. */
static void make_nvfp4(unsigned char *block, size_t bytes) {
  for (int i = 0; i < 4; ++i) block[i] = (unsigned char)(1 + (random_bits() >> 16) % 24);
  random_bytes(block + 4, bytes - 4);
}

static void decode_nvfp4(const unsigned char *block, float *decoded) {
  for (int i = 0; i < 64; ++i) {
    const unsigned bits = (unsigned)block[i / 16] << 7;
    const unsigned char half[2] = {(unsigned char)bits, (unsigned char)(bits >> 8)};
    const int code = block[4 + i / 16 * 8 + i % 8] >> i / 8 % 2 * 4 & 15;
    decoded[i] = 256 * load_f16(half) * e2m1[code];
  }
}

/* Eight blocks of 32, whose scales are whole numbers of steps. */
static void look_up_all(const unsigned char *block, const float *table, float *decoded) {
  for (int i = 0; i < 8; ++i) {
    const int low = block[4 + i / 2] >> i % 2 * 4 & 15, top = block[2 + i / 4] >> i % 4 * 2 & 3;
    const float scale = load_f16(block) * (float)((low | top << 4) - 32);
    look_up(block + 8 + 16 * i, table, scale, decoded + 32 * i);
  }
}

static void decode_iq4_xs(const unsigned char *block, float *decoded) {
  look_up_all(block, iq4, decoded);
}

static void decode_iq3_s(const unsigned char *block, float *decoded) {
  look_up_all(block, iq3_s, decoded);
}

static void decode_iq3_xxs(const unsigned char *block, float *decoded) {
  look_up_all(block, iq3_xxs, decoded);
}

/* Order, values, bytes, make, decode, has_scales, has_zero_points. */
const format iq4_nl = {TW_IQ4_NL, 32, 18, random_scaled, decode_iq4_nl, 0, 0};
const format iq4_xs = {TW_IQ4_XS, 256, 136, random_scaled, decode_iq4_xs, 0, 0};
const format iq3_s_flat = {TW_IQ3_S_FLAT, 256, 136, random_scaled, decode_iq3_s, 0, 0};
const format iq3_xxs_flat = {TW_IQ3_XXS_FLAT, 256, 136, random_scaled, decode_iq3_xxs, 0, 0};
const format mxfp4 = {TW_MXFP4, 32, 17, make_mxfp4, decode_mxfp4, 0, 0};
const format nvfp4 = {TW_NVFP4, 64, 36, make_nvfp4, decode_nvfp4, 0, 0};
