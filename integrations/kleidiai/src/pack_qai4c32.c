// SPDX-License-Identifier: Apache-2.0
// Columns of unsigned int4 in blocks of k, with a scale and what code 0 is worth for each, in
// panels of any shape.
#include "nibbles.h"

enum { value_bytes = 4 };

static float value_at(const void* values, const tw_pack_args* args, size_t column, size_t block) {
  float value;
  memcpy(&value, (const uint8_t*)values + column * args->scale_stride + value_bytes * block,
         value_bytes);
  return value;
}

static void put(uint8_t* to, size_t number, float value) {
  tw_store_i32(to + value_bytes * number, tw_bits_of_f32(value));
}

// For a table of unsigned nibbles that are neighbors in k; else signed, for products of high
// nibbles, which are 16 times too large.
static void pack_column(const tw_pack_args* args, const nibbles* from, uint8_t* to, size_t panel,
                        size_t column, size_t depth, int sequential) {
  const size_t last = column < from->n ? column : from->n - 1;
  const size_t at = column % panel;
  for (size_t b = 0; b < args->k / args->block; ++b) {
    (sequential ? pack_nibbles_in_turn : pack_nibbles)(from, last, b * args->block, args->block, to,
                                                       panel, at, depth);
    to += panel * args->block / 2;
    const float scale = value_at(args->scales, args, last, b);
    put(to, at, value_at(args->zero_points, args, last, b));
    put(to, panel + at, sequential ? scale : scale * 0.0625f);
    to += 2 * value_bytes * panel;
  }
  const int has_bias = args->bias != NULL && !(sequential && column != last);
  put(to, at, has_bias ? ((const float*)args->bias)[last] : 0);
}

static void pack_columns(const tw_pack_args* args, size_t panel, size_t depth, int high_first,
                         int sequential) {
  nibbles from = nibbles_of(args, 0);
  from.flip = sequential ? 0 : 8;
  from.high_first = high_first;
  for (size_t column = 0; column < (from.n + panel - 1) / panel * panel; ++column) {
    pack_column(args, &from, (uint8_t*)args->packed + column / panel * args->packed_stride, panel,
                column, depth, sequential);
  }
}

void tw_kai_pack_qai4c32(const tw_pack_args* args, size_t panel, size_t depth, int high_first) {
  pack_columns(args, panel, depth, high_first, 0);
}

void tw_kai_pack_qai4c32_sequential(const tw_pack_args* args, size_t panel, size_t depth,
                                    int high_first) {
  pack_columns(args, panel, depth, high_first, 1);
}
