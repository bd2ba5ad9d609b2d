// SPDX-License-Identifier: Apache-2.0
// Floats that are rounded to f16: rows of k values, of which k is whole groups.
#include "packing.h"

/// To nearest even, as the processor does it.
static void put(const uint8_t* from, uint8_t* to) {
  float value;
  memcpy(&value, from, sizeof value);
  const __fp16 half = (__fp16)value;
  memcpy(to, &half, sizeof half);
}

void tw_kai_pack_f16_rows_f32(const tw_pack_args* args, size_t panel, size_t depth) {
  for (size_t row = 0; row < args->rows; ++row) {
    const uint8_t* from = (const uint8_t*)args->source + row * args->source_stride;
    uint8_t* to = (uint8_t*)args->packed + row / panel * args->packed_stride;
    to += row % panel * depth * sizeof(__fp16);
    for (size_t k = 0; k < args->k; ++k) {
      put(from + k * sizeof(float), to + (k / depth * panel * depth + k % depth) * sizeof(__fp16));
    }
  }
}
