// What test.c multiplies: activations, and weights of any kind as callers have them, with what they
// mean.

#include <math.h>

#include "support.h"
#include "tilewright/choices.h"

enum { N = 70, MOST_M = 33, MOST_K = 512, MOST_ROWS = 4096 };
enum { PART = 16 }; /* values of k: no scale is of fewer */
static const size_t rows_tried[] = {1, 2, 5, MOST_M};

/* Weights and outputs of one kind, and one number of values of k. */
typedef struct problem {
  const tw_kernel *kernel; /* one of the family, with its blocks and their scales */
  size_t k;
} problem;

static float activations[MOST_M * MOST_K], bias[N], row_scales[N], zero_points[N];
/* Static activations and outputs: codes with a scale and a zero point. Where outputs are sums,
 * activations are the same codes. */
static const float lhs_scale = 0.5f, dst_scale = 8;
enum { LHS_ZERO = 3, DST_ZERO = -5 };
static int8_t lhs_codes[MOST_M * MOST_K];
static int32_t code_bias[N];
static unsigned char output[MOST_M * N * sizeof(float)]; /* of the kernel's type */
static unsigned char weights[N * MOST_K * 4], block_scales[N * MOST_K * 4];
static unsigned char block_zeros[N * MOST_K * 4]; /* zero points, or minimums */
static int8_t block_codes[N * MOST_K]; /* of ggml_rows */
static unsigned char ggml_rows[N * MOST_K];
static double values[N * MOST_K]; /* what the weights mean */
static int failures, comparisons;

static int is_static(const problem *p) {
  return p->kernel->dst == TW_S8;
}

static int gives_sums(const problem *p) {
  return p->kernel->dst == TW_S32;
}

static int takes_codes(const problem *p) {
  return is_static(p) || gives_sums(p);
}

static int has_zero_points(const problem *p) {
  return p->kernel->rhs->axes->zero_points.type != TW_TYPE_NONE;
}

static int has_minimums(const problem *p) {
  return p->kernel->rhs->axes->minimums.type != TW_TYPE_NONE;
}

static int has_steps(const problem *p) {
  return p->kernel->rhs->axes->scale_steps.type != TW_TYPE_NONE;
}

/* Bits of a code that stand elsewhere than the others. */
static unsigned top_bits(const problem *p) {
  const tw_type type = p->kernel->rhs->axes->tops.type;
  return type == TW_S1 ? 1 : type == TW_S2 ? 2 : 0;
}

/* Packers read ggml's blocks only: scales are not the only numbers in them. */
static int has_own_rows(const problem *p) {
  return has_minimums(p) || top_bits(p) != 0 || p->kernel->rhs->axes->codes != NULL;
}

/* Rows of whole numbers whose range is that of the codes: their scales are 1. */
static void make_activations(const problem *p) {
  const tw_layout *layout = p->kernel->lhs;
  const int symmetric = layout->block != 0 && layout->per_row_bytes == 0; /* scales per block */
  for (size_t i = 0; i < MOST_M * p->k; ++i) {
    activations[i] = (float)((int)(random_bits() % 255) - 127);
  }
  for (size_t row = 0; row < MOST_M; ++row) {
    float *at = activations + row * p->k;
    at[0] = symmetric ? 127 : -128;
    at[1] = 127;
    for (size_t k = 0; symmetric && k < p->k; k += layout->block) at[k] = 127;
  }
  for (size_t i = 0; i < MOST_M * p->k; ++i) lhs_codes[i] = (int8_t)activations[i];
}

static const tw_source *find_blocks(const problem *p);

/* (1 + m / 2^mantissa) / 32 in the type's own bits; returns its value. */
static double make_scale(const problem *p, unsigned char *at) {
  const tw_scales type = p->kernel->rhs->block_scales;
  const int has_few = has_own_rows(p) && find_blocks(p)->axes.scales.type == TW_E5M3;
  const unsigned mantissa = random_bits() & (has_few ? ~0x7fu : ~0u);
  if (type == TW_SCALES_F32) {
    const float value = (1 + (float)(mantissa % 1024) / 1024) / 32;
    memcpy(at, &value, sizeof value);
    return value;
  }
  if (type == TW_SCALES_E8M0) {
    *at = (unsigned char)(122 + mantissa % 2);
    return mantissa % 2 == 0 ? 1.0 / 32 : 1.0 / 16;
  }
  const unsigned length = type == TW_SCALES_F16 ? 1024 : 128;
  const uint16_t bits = (uint16_t)((type == TW_SCALES_F16 ? 10u * 1024 : 122u * 128) +
                                   mantissa % length);
  memcpy(at, &bits, sizeof bits);
  return (1 + (double)(mantissa % length) / length) / 32;
}

/* One weight of floats at `at`; returns its value, of which bf16 keeps 7 bits of 10. */
static double make_float(tw_type type, unsigned char *at) {
  const unsigned mantissa = random_bits() % 1024 & (type == TW_BF16 ? 0x3f8u : 0x3ffu);
  const unsigned exponent = random_bits() % 4;
  const int negative = random_bits() % 2 != 0;
  const double size = ldexp(1 + mantissa / 1024.0, -(int)exponent - 3);
  const float value = (float)(negative ? -size : size);
  const uint16_t half = (uint16_t)((negative ? 0x8000u : 0) | (12 - exponent) << 10 | mantissa);
  uint32_t word = half;
  if (type != TW_F16) memcpy(&word, &value, sizeof word);
  if (type == TW_BF16) word >>= 16;
  if (type == TW_F32) memcpy(at, &word, sizeof word);
  else memcpy(at, &(uint16_t){(uint16_t)word}, 2);
  return value;
}

/* One weight of a float of 8 bits, E4M3 or E5M2. */
static double make_byte_float(tw_type type, unsigned char *at) {
  const int behind_point = type == TW_E4M3 ? 3 : 2, bias = type == TW_E4M3 ? 7 : 15;
  const int whole = 1 << behind_point;
  const unsigned random = random_bits();
  const int mantissa = (int)random & (whole - 1), exponent = bias + (int)(random >> 8 & 3);
  const int negative = random >> 16 & 1;
  const double size = ldexp(whole + mantissa, exponent - bias - behind_point);
  *at = (unsigned char)(negative << 7 | exponent << behind_point | mantissa);
  return negative ? -size : size;
}

/* One code of up to 8 bits, two's complement; several may share a byte. */
static double make_code(size_t bits, size_t column, size_t k, size_t depth) {
  const unsigned code = random_bits();
  if (bits == 8) {
    const int8_t byte = (int8_t)((int)(code % 255) - 127);
    weights[column * depth + k] = (unsigned char)byte;
    return byte;
  }
  const unsigned half = 1u << (bits - 1), kept = code & (2 * half - 1);
  const unsigned shift = (unsigned)(k * bits % 8);
  unsigned char *at = weights + column * ((depth * bits + 7) / 8) + k * bits / 8;
  *at = (unsigned char)((shift == 0 ? 0u : *at) | kept << shift);
  return (int)(kept ^ half) - (int)half;
}

/* One code of ggml_rows, in a byte. */
static double make_block_code(const problem *p, size_t index) {
  const unsigned bits = (unsigned)p->kernel->rhs->data_bits + top_bits(p);
  const tw_code_table *table = p->kernel->rhs->axes->codes;
  block_codes[index] = (int8_t)((int)(random_bits() >> 3 & ((1u << bits) - 1)) - (1 << (bits - 1)));
  return table == NULL ? block_codes[index] : table->values[block_codes[index] + (1 << (bits - 1))];
}

static void make_weights(const problem *p) {
  const tw_layout *layout = p->kernel->rhs;
  const size_t bits = layout->data_bits, blocks = layout->block != 0 ? p->k / layout->block : 0;
  const size_t scale_bytes = layout->block_scales == TW_SCALES_F32    ? 4
                             : layout->block_scales == TW_SCALES_E8M0 ? 1
                                                                      : 2;
  for (size_t column = 0; column < N; ++column) {
    double scale = 1, zero = 0;
    bias[column] = (float)((int)(random_bits() % 200) - 100);
    code_bias[column] = (int32_t)bias[column];
    zero_points[column] = (float)(random_bits() % 8) / (gives_sums(p) ? 1 : 4) - 1;
    if (has_zero_points(p)) zero = (double)zero_points[column];
    row_scales[column] = (1 + (float)(random_bits() % 1024) / 1024) / 32;
    if (gives_sums(p)) row_scales[column] = 1;
    for (size_t k = 0; k < p->k; ++k) {
      double *value = values + column * p->k + k;
      if (layout->scales == 0) {
        *value = make_float(layout->type, weights + (column * p->k + k) * bits / 8);
        continue;
      }
      if (layout->block == 0) scale = row_scales[column];
      if (layout->block != 0 && k % layout->block == 0) {
        const size_t index = column * blocks + k / layout->block;
        scale = make_scale(p, block_scales + index * scale_bytes);
        if (has_zero_points(p))
          zero = make_scale(p, block_zeros + index * scale_bytes);
        if (has_minimums(p)) { /* scale * (code - zero) is minimum + scale * (code + half) */
          const double size = make_scale(p, block_zeros + index * scale_bytes);
          const int half = 1 << (bits + top_bits(p) - 1);
          zero = -half - (has_steps(p) ? -size : size) / scale;
        }
      }
      const int is_float = layout->type == TW_E4M3 || layout->type == TW_E5M2;
      const double code = has_own_rows(p) ? make_block_code(p, column * p->k + k)
                          : is_float ? make_byte_float(layout->type, weights + column * p->k + k)
                                     : make_code(bits, column, k, p->k);
      *value = scale * (code - zero);
    }
  }
}

/* Adds a field's bits of value k of a row. */
static void put(unsigned char *row, const tw_field *field, size_t k, unsigned value) {
  static const size_t widths[] = {[TW_F16] = 16, [TW_S8] = 8, [TW_S4] = 4, [TW_S2] = 2, [TW_S1] = 1,
                                  [TW_E8M0] = 8, [TW_E5M3] = 8};
  size_t at = (size_t)field->base.fixed;
  if (field->type == TW_TYPE_NONE) return;
  for (size_t i = 0; i < field->axis_count; ++i) {
    const tw_axis *axis = &field->axes[i];
    const size_t steps = k / (size_t)axis->step.fixed, extent = (size_t)axis->extent.fixed;
    at += (extent == 0 ? steps : steps % extent) * (size_t)axis->stride.fixed;
  }
  for (size_t bit = 0; bit < widths[field->type]; ++bit, ++at) {
    row[at / 8] = (unsigned char)(row[at / 8] | (value >> bit & 1) << at % 8);
  }
}

/* What packers read of such codes. */
static const tw_source *find_blocks(const problem *p) {
  const tw_axes *axes = p->kernel->rhs->axes;
  for (size_t i = 0; i < tw_generated_source_count; ++i) {
    const tw_source *source = &tw_generated_sources[i];
    const int minimums = source->axes.minimums.type != TW_TYPE_NONE;
    if (source->block == p->kernel->rhs->block && source->axes.data.type == axes->data.type &&
        source->axes.tops.type == axes->tops.type && minimums == has_minimums(p) &&
        source->axes.codes == axes->codes) {
      return source;
    }
  }
  fprintf(stderr, "tilewright_test: no source for %s\n", p->kernel->name);
  exit(1);
}

/* How many steps a block's scale is; its upper bits may stand elsewhere. */
static void put_scale_number(unsigned char *row, const tw_axes *axes, size_t k, int number) {
  const unsigned stored = (unsigned)(number + axes->scales.offset);
  put(row, &axes->scales, k, stored);
  put(row, &axes->scale_tops, k, stored >> (axes->scales.type == TW_S4 ? 4 : 8));
}

/* A block's scale and minimum, the same for each of its parts. Where they are numbers of steps, all
 * numbers are 1. */
static void put_block(unsigned char *row, const tw_axes *axes, size_t k, size_t block) {
  const int steps = axes->scale_steps.type != TW_TYPE_NONE;
  uint16_t scale, minimum;
  memcpy(&scale, block_scales + 2 * block, sizeof scale);
  memcpy(&minimum, block_zeros + 2 * block, sizeof minimum);
  if (axes->scales.type == TW_E8M0) scale = block_scales[block];
  if (axes->scales.type == TW_E5M3) scale >>= 7;
  put(row, steps ? &axes->scale_steps : &axes->scales, k, scale);
  put(row, steps ? &axes->minimum_steps : &axes->minimums, k, minimum);
}

static tw_rhs_source ggml_source(const problem *p) {
  tw_rhs_source source = {.size = sizeof source};
  const tw_source *as = find_blocks(p);
  const tw_axes *axes = &as->axes;
  const unsigned bits = (unsigned)p->kernel->rhs->data_bits, half = 1u << (bits + top_bits(p) - 1);
  const size_t blocks = p->k / as->block;
  source.order = as->order;
  source.stride = blocks * as->block_bytes;
  memset(ggml_rows, 0, sizeof ggml_rows);
  for (size_t i = 0; i < N * p->k; ++i) {
    unsigned char *row = ggml_rows + i / p->k * source.stride;
    const size_t k = i % p->k;
    const unsigned stored = (unsigned)(block_codes[i] + (int)half);
    put(row, &axes->data, k, stored & ((1u << bits) - 1));
    put(row, &axes->tops, k, stored >> bits);
    if (has_steps(p)) put_scale_number(row, axes, k, 1);
    if (has_steps(p)) put(row, &axes->minimums, k, 1);
    if (k % PART == 0) put_block(row, axes, k, i / as->block);
  }
  source.data = ggml_rows;
  source.data_bytes = sizeof ggml_rows;
  source.bias = bias;
  source.bias_count = N;
  return source;
}

static tw_rhs_source source_of(const problem *p) {
  const tw_layout *layout = p->kernel->rhs;
  tw_rhs_source source = {.size = sizeof source};
  if (has_own_rows(p)) return ggml_source(p);
  source.order = TW_NXK;
  source.data = weights;
  source.data_bytes = sizeof weights;
  source.stride = (p->k * layout->data_bits + 7) / 8;
  source.bias = takes_codes(p) ? (const void *)code_bias : (const void *)bias;
  source.bias_count = N;
  if (is_static(p)) {
    source.lhs_zero_point = LHS_ZERO;
    source.lhs_scale = lhs_scale;
    source.dst_scale = dst_scale;
  }
  if (has_zero_points(p)) {
    source.zero_points = layout->block != 0 ? (const void *)block_zeros : (const void *)zero_points;
    source.zero_point_count = layout->block != 0 ? N * (p->k / layout->block) : N;
  }
  if (layout->scales != 0) {
    source.scales = layout->block != 0 ? (const void *)block_scales : (const void *)row_scales;
    source.scale_count = layout->block != 0 ? N * (p->k / layout->block) : N;
  }
  return source;
}
