// SPDX-License-Identifier: Apache-2.0
// Columns of int4 with a scale each, in panels of any shape.
#include "packing.h"

// Nibbles of a byte are so far apart in k; as high nibbles they multiply so many times too much.
enum { distance = 16, factor = 16, k_multiple = 32 };

typedef struct nibbles {
  const uint8_t* bytes;
  size_t stride;
  int kxn;
  uint8_t flip;  // 8: codes are unsigned, 8 above what they mean
} nibbles;

// Two's complement, in the low four bits.
static uint8_t nibble(const nibbles* from, size_t column, size_t k) {
  const size_t row = from->kxn ? k : column, at = from->kxn ? column : k;
  return (uint8_t)((from->bytes[row * from->stride + at / 2] >> at % 2 * 4 & 15) ^ from->flip);
}

static int32_t value_of(uint8_t code) {
  return (code ^ 8) - 8;
}

// Of rows of n nibbles the last byte's columns stand in turn beyond the last column.
static size_t column_to_take(const nibbles* from, size_t column, size_t n) {
  if (column < n) return column;
  return from->kxn ? (n - 1) / 2 * 2 + column % 2 : n - 1;
}

static void pack_column(const tw_pack_args* args, const nibbles* from, uint8_t* panel,
                        size_t in_panel, size_t column, size_t depth) {
  const size_t at = column % in_panel, k = args->k;
  const size_t padded = (k + k_multiple - 1) / k_multiple * k_multiple;
  const size_t taken = column_to_take(from, column, args->rows);
  int32_t sum = 0;
  for (size_t i = 0; i < padded / 2; ++i) {
    // The i-th byte of the column: groups of `distance` bytes hold 2 * distance values of k.
    const size_t low = i / distance * (2 * distance) + i % distance, high = low + distance;
    const uint8_t low_code = low < k ? nibble(from, taken, low) : 0;
    const uint8_t high_code = high < k ? nibble(from, taken, high) : 0;
    sum += value_of(low_code) + value_of(high_code);
    panel[(i / depth * in_panel + at) * depth + i % depth] = (uint8_t)(low_code | high_code << 4);
  }
  const size_t last = column < args->rows ? column : args->rows - 1;
  uint8_t* const fields = panel + in_panel * padded / 2 + 4 * at;
  const float scale = ((const float*)args->scales)[last] / factor;
  const float bias = args->bias != NULL ? ((const float*)args->bias)[last] : 0;
  tw_store_i32(fields, sum * factor);
  tw_store_i32(fields + 4 * in_panel, tw_bits_of_f32(scale));
  tw_store_i32(fields + 8 * in_panel, tw_bits_of_f32(bias));
}

void tw_kai_pack_qsi4cx(const tw_pack_args* args, size_t panel, size_t depth, int kxn) {
  const nibbles from = {(const uint8_t*)args->source, args->source_stride, kxn,
                        args->flags & TW_PACK_UNSIGNED_NIBBLES ? 8 : 0};
  const size_t columns = (args->rows + panel - 1) / panel * panel;
  for (size_t column = 0; column < columns; ++column) {
    pack_column(args, &from, (uint8_t*)args->packed + column / panel * args->packed_stride, panel,
                column, depth);
  }
}
