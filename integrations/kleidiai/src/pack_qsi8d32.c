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

// Where a panel's codes and scales are, and how those of a block are far from the next one's.
typedef struct panel_order {
  size_t codes, scales, codes_step, scales_step;
} panel_order;

static panel_order order_of(const tw_pack_args* args, size_t panel, int apart) {
  const size_t codes = panel * args->block, scales = panel * scale_bytes;
  if (apart) return (panel_order){0, panel * args->k, codes, scales};
  return (panel_order){scales, 0, codes + scales, codes + scales};
}

static void pack_row(const float* row, const tw_pack_args* args, uint8_t* to, size_t panel,
                     size_t at, size_t depth, int ties_even, int apart) {
  const size_t block = args->block;
  const panel_order order = order_of(args, panel, apart);
  for (size_t k = 0; k < args->k; k += block) {
    const size_t b = k / block;
    const block_codes codes = choose_codes(row + k, block);
    tw_store_u16(to + order.scales + b * order.scales_step + scale_bytes * at, codes.scale);
    uint8_t* const to_codes = to + order.codes + b * order.codes_step;
    for (size_t i = 0; i < block; ++i) {
      to_codes[(i / depth * panel + at) * depth + i % depth] =
          (uint8_t)code_of(row[k + i], codes.factor, ties_even);
    }
  }
}

static void pack_rows(const tw_pack_args* args, size_t panel, size_t depth, size_t first_row,
                      int ties_even, int apart) {
  for (size_t i = 0; i < args->rows; ++i) {
    const size_t row = first_row + i;
    pack_row((const float*)((const uint8_t*)args->source + i * args->source_stride), args,
             (uint8_t*)args->packed + row / panel * args->packed_stride, panel, row % panel, depth,
             ties_even, apart);
  }
}

void tw_kai_pack_qsi8d32(const tw_pack_args* args, size_t panel, size_t depth, size_t first_row) {
  pack_rows(args, panel, depth, first_row, 0, 0);
}

void tw_kai_pack_qsi8d32_ties_even(const tw_pack_args* args, size_t panel, size_t depth,
                                   size_t first_row) {
  pack_rows(args, panel, depth, first_row, 1, 0);
}

void tw_kai_pack_qsi8d32_apart(const tw_pack_args* args, size_t panel, size_t depth,
                               size_t first_row) {
  pack_rows(args, panel, depth, first_row, 0, 1);
}
