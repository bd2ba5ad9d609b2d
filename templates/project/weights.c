#include "weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t row_bytes(const layer *of) {
  return (of->k + of->as->values - 1) / of->as->values * of->as->bytes;
}

/* Scales beside the weights; those of outputs are f32. */
static size_t scales_in_row(const layer *of) {
  return of->block == 0 ? 1 : of->k / of->block;
}

static size_t scale_bytes(const layer *of) {
  return of->block == 0 || of->scales == TW_SCALES_F32 ? sizeof(float) : sizeof(uint16_t);
}

/* 1/128 to 1/64. */
static void make_scale(const layer *of, unsigned char *at) {
  const float value = (1 + (float)(random_bits() % 128) / 128) / 128;
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint16_t upper = (uint16_t)(bits >> 16);
  if (of->block == 0 || of->scales == TW_SCALES_F32) memcpy(at, &value, sizeof value);
  else if (of->scales == TW_SCALES_BF16) memcpy(at, &upper, sizeof upper);
  else random_f16(at);
}

static float load_scale(const layer *of, const unsigned char *at) {
  float value;
  if (of->block != 0 && of->scales == TW_SCALES_F16) return load_f16(at);
  if (of->block != 0 && of->scales == TW_SCALES_BF16) return tw_f32_of_bf16(tw_load_u16(at));
  memcpy(&value, at, sizeof value);
  return value;
}

weights make_weights(const layer *of) {
  const format *as = of->as;
  weights made = {.of = of};
  const size_t bytes = of->n * row_bytes(of);
  made.rows = allocate(bytes);
  for (size_t at = 0; at < bytes; at += as->bytes) as->make(made.rows + at, as->bytes);
  const size_t scales = of->n * scales_in_row(of), step = scale_bytes(of);
  if (as->has_scales) made.scales = allocate(scales * step);
  if (as->has_zero_points) made.zero_points = allocate(scales * step);
  for (size_t i = 0; i < scales; ++i) {
    if (as->has_scales) make_scale(of, made.scales + i * step);
    if (as->has_zero_points) make_scale(of, made.zero_points + i * step);
  }
  return made;
}

void free_weights(weights *made) {
  free(made->rows);
  free(made->scales);
  free(made->zero_points);
}

tw_rhs_source source_of(const weights *made) {
  const layer *of = made->of;
  tw_rhs_source source = {.size = sizeof source,
                          .order = of->as->order,
                          .data = made->rows,
                          .data_bytes = of->n * row_bytes(of),
                          .stride = row_bytes(of)};
  if (of->as->has_scales) {
    source.scales = made->scales;
    source.scale_count = of->n * scales_in_row(of);
  }
  if (of->as->has_zero_points) {
    source.zero_points = made->zero_points;
    source.zero_point_count = of->n * scales_in_row(of);
  }
  return source;
}

void decode_row(const weights *made, size_t row, float *decoded) {
  const layer *of = made->of;
  const format *as = of->as;
  const unsigned char *at = made->rows + row * row_bytes(of);
  for (size_t k = 0; k < of->k; k += as->values, at += as->bytes) {
    as->decode(at, decoded + k);
  }
  if (!as->has_scales) return;
  const size_t count = scales_in_row(of), length = of->k / count, step = scale_bytes(of);
  for (size_t k = 0; k < of->k; ++k) {
    const size_t index = (row * count + k / length) * step;
    const float zero = as->has_zero_points ? load_scale(of, made->zero_points + index) : 0;
    decoded[k] = (decoded[k] - zero) * load_scale(of, made->scales + index);
  }
}

void *allocate(size_t bytes) {
  void *memory = aligned_alloc(64, (bytes / 64 + 1) * 64);
  if (memory != NULL) return memory;
  fprintf(stderr, "no memory for %zu bytes\n", bytes);
  exit(1);
}

unsigned random_bits(void) {
  static uint64_t state = 88172645463325252u;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 32);
}

void random_bytes(unsigned char *bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) bytes[i] = (unsigned char)(random_bits() >> 16);
}

void random_f16(unsigned char *at) {
  const unsigned bits = 8u << 10 | (random_bits() >> 16 & 1023);
  at[0] = (unsigned char)bits;
  at[1] = (unsigned char)(bits >> 8);
}

void random_scaled(unsigned char *block, size_t bytes) {
  random_f16(block);
  random_bytes(block + 2, bytes - 2);
}

void random_raised(unsigned char *block, size_t bytes) {
  random_f16(block);
  random_scaled(block + 2, bytes - 2);
}

float load_f16(const unsigned char *at) {
  return tw_f32_of_f16(tw_load_u16(at));
}
