// SPDX-License-Identifier: Apache-2.0
// Floats that are rounded to bf16: columns from rows of n values, behind their biases, which are
// kept as they are, and rows of k values.
#include "packing.h"

/// What is read.
typedef struct source_type {
  size_t bytes;
  float (*value)(const uint8_t* from);
} source_type;

static float f32_at(const uint8_t* from) {
  float value;
  memcpy(&value, from, sizeof value);
  return value;
}

static float f16_at(const uint8_t* from) {
  uint16_t half;
  memcpy(&half, from, sizeof half);
  return tw_f32_of_f16(half);
}

static const source_type f32_values = {4, f32_at};
static const source_type f16_values = {2, f16_at};

/// To nearest even. A NaN becomes a quiet one with its sign.
static uint16_t bf16_of_f32(float value) {
  const uint32_t bits = (uint32_t)tw_bits_of_f32(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void put(const source_type* type, const uint8_t* from, uint8_t* to) {
  const uint16_t value = bf16_of_f32(type->value(from));
  memcpy(to, &value, sizeof value);
}

static size_t padded(size_t k, size_t depth) {
  return (k + depth - 1) / depth * depth;
}

/// Of a panel, which begin with its value i of row or column j.
static uint8_t* place(uint8_t* panel_at, size_t panel, size_t depth, size_t i, size_t j) {
  return panel_at + 2 * ((i / depth * panel + j) * depth + i % depth);
}

static void pack_columns(const tw_pack_args* args, const source_type* type, size_t first,
                         uint8_t* to, size_t panel, size_t depth, size_t bias_bytes,
                         int first_again) {
  const size_t left = args->rows - first, columns = left < panel ? left : panel;
  const size_t end = first_again && args->k != 0 ? padded(args->k, depth) : args->k;
  memset(to, 0, panel * (bias_bytes + 2 * padded(args->k, depth)));
  const uint8_t* const bias = (const uint8_t*)args->bias;
  if (bias != NULL) memcpy(to, bias + first * bias_bytes, columns * bias_bytes);
  to += panel * bias_bytes;
  const uint8_t* const source = (const uint8_t*)args->source + first * type->bytes;
  for (size_t i = 0; i < end; ++i) {
    const uint8_t* const row = source + (i < args->k ? i : 0) * args->source_stride;
    for (size_t j = 0; j < columns; ++j) {
      put(type, row + j * type->bytes, place(to, panel, depth, i, j));
    }
  }
}

static void pack_weights(const tw_pack_args* args, const source_type* type, size_t panel,
                         size_t depth, size_t bias_bytes, int first_again) {
  uint8_t* to = (uint8_t*)args->packed;
  for (size_t first = 0; first < args->rows; first += panel) {
    pack_columns(args, type, first, to, panel, depth, bias_bytes, first_again);
    to += args->packed_stride;
  }
}

void tw_kai_pack_bf16_f32(const tw_pack_args* args, size_t panel, size_t depth, size_t bias_bytes,
                          int first_again) {
  pack_weights(args, &f32_values, panel, depth, bias_bytes, first_again);
}

void tw_kai_pack_bf16_f16(const tw_pack_args* args, size_t panel, size_t depth, size_t bias_bytes,
                          int first_again) {
  pack_weights(args, &f16_values, panel, depth, bias_bytes, first_again);
}

void tw_kai_pack_bf16_rows_f16(const tw_pack_args* args, size_t panel, size_t depth) {
  const size_t panels = (args->rows + panel - 1) / panel;
  memset(args->packed, 0, panels * args->packed_stride);
  for (size_t row = 0; row < args->rows; ++row) {
    const uint8_t* const from = (const uint8_t*)args->source + row * args->source_stride;
    uint8_t* const to = (uint8_t*)args->packed + row / panel * args->packed_stride;
    for (size_t i = 0; i < args->k; ++i) {
      put(&f16_values, from + i * f16_values.bytes, place(to, panel, depth, i, row % panel));
    }
  }
}

void tw_kai_repeat_row(const tw_pack_args* args, size_t panel, size_t bytes) {
  const size_t rows = args->rows % panel;
  if (rows == 0) return;
  uint8_t* group = (uint8_t*)args->packed + args->rows / panel * args->packed_stride;
  const uint8_t* const end = group + args->packed_stride;
  for (; group < end; group += panel * bytes) {
    for (size_t j = rows; j < panel; ++j) memcpy(group + j * bytes, group, bytes);
  }
}
