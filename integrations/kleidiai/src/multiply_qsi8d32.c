// SPDX-License-Identifier: Apache-2.0
// Blocks of more than 32 values whose halves share bytes: llama.cpp's are blocks of 32, so that no
// program is known to multiply these.
#include <string.h>

#include "multiply.h"

// A row's or column's place in its panel, and where the panel's block begins.
typedef struct line {
  const uint8_t* block;
  size_t panel, at, depth;
} line;

static float scale_of(const line* it) {
  return tw_f32_of_f16(tw_load_u16(it->block + 2 * it->at));
}

// The byte that is number i of the line's in this block.
static uint8_t byte_at(const line* it, size_t i) {
  const size_t place = (i / it->depth * it->panel + it->at) * it->depth + i % it->depth;
  return it->block[2 * it->panel + place];
}

static float multiply_block(const line* row, const line* column, size_t block) {
  int32_t sum = 0;
  for (size_t i = 0; i < block / 2; ++i) {
    const uint8_t byte = byte_at(column, i);
    const int32_t low = (int32_t)((byte & 15) ^ 8) - 8, high = (int32_t)((byte >> 4) ^ 8) - 8;
    sum += low * (int8_t)byte_at(row, i) + high * (int8_t)byte_at(row, i + block / 2);
  }
  return (float)sum * (scale_of(row) * scale_of(column));
}

void tw_kai_multiply_qsi8d32_qsi4c32(const tw_args* args, size_t lhs_panel, size_t rhs_panel,
                                     size_t depth) {
  const size_t block = args->block, count = args->k / block;
  for (size_t m = 0; m < args->m; ++m) {
    for (size_t n = 0; n < args->n; ++n) {
      line row = {(const uint8_t*)args->lhs + m / lhs_panel * args->lhs_stride, lhs_panel,
                  m % lhs_panel, depth};
      line column = {(const uint8_t*)args->rhs + n / rhs_panel * args->rhs_stride, rhs_panel,
                     n % rhs_panel, depth};
      float sum = 0;
      for (size_t b = 0; b < count; ++b) {
        sum += multiply_block(&row, &column, block);
        row.block += lhs_panel * (2 + block);
        column.block += rhs_panel * (2 + block / 2);
      }
      sum = sum < args->min ? args->min : sum;
      sum = sum > args->max ? args->max : sum;
      memcpy((char*)args->dst + m * args->dst_stride + n * sizeof sum, &sum, sizeof sum);
    }
  }
}
