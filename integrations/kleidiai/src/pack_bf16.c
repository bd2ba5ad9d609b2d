// SPDX-License-Identifier: Apache-2.0
// Columns of floats that are rounded to bf16, from rows of n values, behind their biases, which are
// kept as they are.
#include "packing.h"

/// To nearest even. A NaN becomes a quiet one with its sign.
static uint16_t bf16_of_f32(float value) {
  const uint32_t bits = (uint32_t)tw_bits_of_f32(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float f32_at(const uint8_t* from) {
  float value;
  memcpy(&value, from, sizeof value);
  return value;
}

static void pack_panel(const tw_pack_args* args, uint8_t* to, size_t first, size_t panel,
                       size_t depth, int first_again) {
  enum { source_bytes = 4, bias_bytes = 4 };
  const size_t left = args->rows - first, columns = left < panel ? left : panel;
  const size_t padded = (args->k + depth - 1) / depth * depth;
  memset(to, 0, panel * (bias_bytes + 2 * padded));
  memcpy(to, (const uint8_t*)args->bias + first * bias_bytes, columns * bias_bytes);
  to += panel * bias_bytes;
  const uint8_t* const source = (const uint8_t*)args->source + first * source_bytes;
  for (size_t i = 0; i < padded; ++i) {
    if (i >= args->k && !first_again) break;
    const uint8_t* const row = source + (i < args->k ? i : 0) * args->source_stride;
    for (size_t j = 0; j < columns; ++j) {
      const uint16_t value = bf16_of_f32(f32_at(row + j * source_bytes));
      memcpy(to + 2 * ((i / depth * panel + j) * depth + i % depth), &value, sizeof value);
    }
  }
}

void tw_kai_pack_bf16(const tw_pack_args* args, size_t panel, size_t depth, int first_again) {
  if (args->k == 0) first_again = 0;
  uint8_t* to = (uint8_t*)args->packed;
  for (size_t first = 0; first < args->rows; first += panel) {
    pack_panel(args, to, first, panel, depth, first_again);
    to += args->packed_stride;
  }
}
