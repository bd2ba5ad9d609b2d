// SPDX-License-Identifier: Apache-2.0
// Rows of activations -> int8 in blocks along k, each behind a scale of f16, in panels of any
// shape.
#include <math.h>

#include "packing.h"

enum { scale_bytes = 2 };

// Codes are rounded value * factor; the scale is kept rounded.
typedef struct block_codes {
  float factor;
  uint16_t scale;
} block_codes;

// As generated packers do: a block with a value that is none has a scale that is none and codes of
// 0, and one that is next to nothing is 0.
static block_codes choose_codes(const float* values, size_t block) {
  const float next_to_nothing = 0x1p-100f;
  float largest = 0, finite = 0;
  for (size_t i = 0; i < block; ++i) {
    const float magnitude = fabsf(values[i]);
    largest = magnitude > largest ? magnitude : largest;
    finite += 0 * values[i];  // NaN of what is not
  }
  if (isnan(finite)) return (block_codes){0, 0x7e00};
  if (largest < next_to_nothing) return (block_codes){0, 0};
  const float scale = largest / 127;
  return (block_codes){1 / scale, tw_f16_of_f32(scale)};
}

static int8_t code_of(float value, float factor, int ties_even) {
  if (factor == 0) return 0;
  const float scaled = value * factor;
  const float rounded = ties_even ? (float)tw_i32_of_f32(scaled) : roundf(scaled);
  return (int8_t)fminf(fmaxf(rounded, -127), 127);
}

static void pack_row(const float* row, const tw_pack_args* args, uint8_t* to, size_t panel,
                     size_t at, size_t depth, int ties_even) {
  const size_t block = args->block;
  for (size_t k = 0; k < args->k; k += block) {
    const block_codes codes = choose_codes(row + k, block);
    tw_store_u16(to + scale_bytes * at, codes.scale);
    to += scale_bytes * panel;
    for (size_t i = 0; i < block; ++i) {
      to[(i / depth * panel + at) * depth + i % depth] =
          (uint8_t)code_of(row[k + i], codes.factor, ties_even);
    }
    to += block * panel;
  }
}

static void pack_rows(const tw_pack_args* args, size_t panel, size_t depth, size_t first_row,
                      int ties_even) {
  for (size_t i = 0; i < args->rows; ++i) {
    const size_t row = first_row + i;
    pack_row((const float*)((const uint8_t*)args->source + i * args->source_stride), args,
             (uint8_t*)args->packed + row / panel * args->packed_stride, panel, row % panel, depth,
             ties_even);
  }
}

void tw_kai_pack_qsi8d32(const tw_pack_args* args, size_t panel, size_t depth, size_t first_row) {
  pack_rows(args, panel, depth, first_row, 0);
}

void tw_kai_pack_qsi8d32_ties_even(const tw_pack_args* args, size_t panel, size_t depth,
                                   size_t first_row) {
  pack_rows(args, panel, depth, first_row, 1);
}
