// SPDX-License-Identifier: Apache-2.0
// Weights of int4 as callers have them, and what KleidiAI's panels make of a column.
#pragma once

#include "packing.h"

// Nibbles of a byte are so far apart in k.
enum { nibble_distance = 16 };

typedef struct nibbles {
  const uint8_t* bytes;
  size_t stride, n, k;
  int kxn;
  uint8_t flip;    // 8: codes are unsigned, 8 above what they mean
  int high_first;  // which of a byte's nibbles
} nibbles;

static inline nibbles nibbles_of(const tw_pack_args* args, int kxn) {
  return (nibbles){(const uint8_t*)args->source,
                   args->source_stride,
                   args->rows,
                   args->k,
                   kxn,
                   (uint8_t)(args->flags & TW_PACK_UNSIGNED_NIBBLES ? 8 : 0),
                   0};
}

// The column whose codes stand at `column`: beyond the last one that again, or where a byte has two
// columns, those of the last byte in turn.
static inline size_t column_of_codes(const nibbles* from, size_t column) {
  if (column < from->n) return column;
  return from->kxn ? (from->n - 1) / 2 * 2 + column % 2 : from->n - 1;
}

// Two's complement, in the low four bits; 0 beyond k.
static inline uint8_t nibble(const nibbles* from, size_t column, size_t k) {
  if (k >= from->k) return 0;
  const size_t row = from->kxn ? k : column, at = from->kxn ? column : k;
  const size_t nibble_in_byte = from->high_first ? 1 - at % 2 : at % 2;
  return (uint8_t)((from->bytes[row * from->stride + at / 2] >> nibble_in_byte * 4 & 15) ^
                   from->flip);
}

static inline int32_t nibble_value(uint8_t code) {
  return (code ^ 8) - 8;
}

// Codes of `column` of the source from value first_k on, `values` of them, a multiple of twice the
// distance, to place `at` of panels of so many columns; returns their sum.
static inline int32_t pack_nibbles(const nibbles* from, size_t column, size_t first_k,
                                   size_t values, uint8_t* to, size_t panel, size_t at,
                                   size_t depth) {
  int32_t sum = 0;
  for (size_t i = 0; i < values / 2; ++i) {
    const size_t k = first_k + i / nibble_distance * (2 * nibble_distance) + i % nibble_distance;
    const uint8_t low = nibble(from, column, k);
    const uint8_t high = nibble(from, column, k + nibble_distance);
    sum += nibble_value(low) + nibble_value(high);
    to[(i / depth * panel + at) * depth + i % depth] = (uint8_t)(low | high << 4);
  }
  return sum;
}

// Likewise with neighbors in k in a byte.
static inline int32_t pack_nibbles_in_turn(const nibbles* from, size_t column, size_t first_k,
                                           size_t values, uint8_t* to, size_t panel, size_t at,
                                           size_t depth) {
  const size_t group_bytes = depth / 2;
  int32_t sum = 0;
  for (size_t i = 0; i < values / 2; ++i) {
    const uint8_t low = nibble(from, column, first_k + 2 * i);
    const uint8_t high = nibble(from, column, first_k + 2 * i + 1);
    sum += nibble_value(low) + nibble_value(high);
    to[(i / group_bytes * panel + at) * group_bytes + i % group_bytes] = (uint8_t)(low | high << 4);
  }
  return sum;
}
