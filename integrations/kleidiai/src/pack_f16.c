// SPDX-License-Identifier: Apache-2.0
// Floats that are rounded to f16: rows of k values, of which k is whole groups.
#include "packing.h"

static void put(const uint8_t* from, uint8_t* to) {
  float value;
  memcpy(&value, from, sizeof value);
  const uint16_t half = tw_f16_of_f32(value);
  memcpy(to, &half, sizeof half);
}

void tw_kai_pack_f16_rows_f32(const tw_pack_args* args, size_t panel, size_t depth) {
  for (size_t row = 0; row < args->rows; ++row) {
    const uint8_t* from = (const uint8_t*)args->source + row * args->source_stride;
    uint8_t* to = (uint8_t*)args->packed + row / panel * args->packed_stride;
    to += row % panel * depth * sizeof(uint16_t);
    for (size_t k = 0; k < args->k; ++k) {
      put(from + k * sizeof(float),
          to + (k / depth * panel * depth + k % depth) * sizeof(uint16_t));
    }
  }
}
