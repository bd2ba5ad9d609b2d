// SPDX-License-Identifier: Apache-2.0
// Rows of activations -> int8 in blocks along k, each followed by what its codes are worth together
// and by its scale, f32 both, in panels of any shape.
#include <math.h>

#include "packing.h"

enum { value_bytes = 4 };

// How values are read, and rounded.
typedef struct row_kind {
  float (*value_at)(const uint8_t* row, size_t k);
  int32_t (*rounded)(float value);
} row_kind;

static float f32_at(const uint8_t* row, size_t k) {
  float value;
  memcpy(&value, row + 4 * k, sizeof value);
  return value;
}

static float f16_at(const uint8_t* row, size_t k) {
  return tw_f32_of_f16(tw_load_u16(row + 2 * k));
}

static int32_t ties_away(float value) {
  return (int32_t)roundf(value);
}

static int32_t ties_even(float value) {
  return tw_i32_of_f32(value);
}

// As generated packers do: a block with a value that is none has codes of 0 and a scale that is
// none, one that is next to nothing is 0.
static float factor_of(const uint8_t* row, size_t block, row_kind kind) {
  const float next_to_nothing = 0x1p-100f;
  float largest = 0, finite = 0;
  for (size_t i = 0; i < block; ++i) {
    const float value = kind.value_at(row, i);
    largest = fmaxf(largest, fabsf(value));
    finite += 0 * value;  // NaN of what is not
  }
  if (isnan(finite)) return NAN;
  return largest < next_to_nothing ? 0 : 127 / largest;
}

static void put(uint8_t* to, size_t number, float value) {
  tw_store_i32(to + value_bytes * number, tw_bits_of_f32(value));
}

static void pack_block(const uint8_t* from, size_t block, uint8_t* to, size_t panel, size_t at,
                       size_t depth, row_kind kind) {
  const float factor = factor_of(from, block, kind);
  int32_t sum = 0;
  for (size_t i = 0; i < block; ++i) {
    const int32_t code = isnan(factor) ? 0 : kind.rounded(kind.value_at(from, i) * factor);
    sum += code;
    to[(i / depth * panel + at) * depth + i % depth] = (uint8_t)code;
  }
  const float scale = factor == 0 ? 0 : 1 / factor;
  put(to + panel * block, at, (float)sum * scale);
  put(to + panel * block, panel + at, scale);
}

static void pack_rows(const tw_pack_args* args, size_t panel, size_t depth, size_t first_row,
                      size_t bytes, row_kind kind) {
  const size_t block = args->block, block_bytes = panel * (block + 2 * value_bytes);
  for (size_t i = 0; i < args->rows; ++i) {
    const size_t row = first_row + i;
    const uint8_t* const from = (const uint8_t*)args->source + i * args->source_stride;
    uint8_t* const to = (uint8_t*)args->packed + row / panel * args->packed_stride;
    for (size_t b = 0; b < args->k / block; ++b) {
      pack_block(from + b * block * bytes, block, to + b * block_bytes, panel, row % panel, depth,
                 kind);
    }
  }
}

void tw_kai_pack_qsi8d32_sums_f16(const tw_pack_args* args, size_t panel, size_t depth,
                                  size_t first_row) {
  pack_rows(args, panel, depth, first_row, 2, (row_kind){f16_at, ties_away});
}

void tw_kai_pack_qsi8d32_sums_ties_even(const tw_pack_args* args, size_t panel, size_t depth,
                                        size_t first_row) {
  pack_rows(args, panel, depth, first_row, 4, (row_kind){f32_at, ties_even});
}
