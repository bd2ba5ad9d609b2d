// SPDX-License-Identifier: Apache-2.0
// Columns of int4 with a scale of bf16 for each block of k, in panels of any shape.
#include "nibbles.h"

// Which codes share a byte, and whose stand beyond the last column.
typedef struct panel_order {
  int32_t (*pack_codes)(const nibbles* from, size_t column, size_t first_k, size_t values,
                        uint8_t* to, size_t panel, size_t at, size_t depth);
  size_t (*column_of_codes)(const nibbles* from, size_t column);
} panel_order;

static size_t last_column(const nibbles* from, size_t column) {
  return column < from->n ? column : from->n - 1;
}

static void pack_column(const tw_pack_args* args, const nibbles* from, uint8_t* to, size_t panel,
                        size_t column, size_t depth, panel_order order) {
  const size_t at = column % panel;
  const size_t taken = order.column_of_codes(from, column);
  const size_t last = last_column(from, column);
  const uint8_t* const scales = (const uint8_t*)args->scales + last * args->scale_stride;
  const size_t block_codes = panel * args->block / 2;
  float total = 0;  // of what the codes are worth
  for (size_t b = 0; b < args->k / args->block; ++b) {
    const int32_t sum =
        order.pack_codes(from, taken, b * args->block, args->block, to, panel, at, depth);
    const uint16_t scale = tw_load_u16(scales + 2 * b);
    tw_store_u16(to + block_codes + 2 * at, scale);
    total = tw_fma_f32((float)sum, tw_f32_of_bf16(scale), total);
    to += block_codes + 2 * panel;
  }
  const float bias = args->bias != NULL ? ((const float*)args->bias)[last] : 0;
  tw_store_i32(to + 4 * at, tw_bits_of_f32(total));
  tw_store_i32(to + 4 * (panel + at), tw_bits_of_f32(bias));
}

static void pack_columns(const tw_pack_args* args, size_t panel, size_t depth, int kxn,
                         panel_order order) {
  const nibbles from = nibbles_of(args, kxn);
  const size_t columns = (from.n + panel - 1) / panel * panel;
  for (size_t column = 0; column < columns; ++column) {
    pack_column(args, &from, (uint8_t*)args->packed + column / panel * args->packed_stride, panel,
                column, depth, order);
  }
}

void tw_kai_pack_qsi4c32(const tw_pack_args* args, size_t panel, size_t depth, int kxn) {
  pack_columns(args, panel, depth, kxn, (panel_order){pack_nibbles, column_of_codes});
}

void tw_kai_pack_qsi4c32_sequential(const tw_pack_args* args, size_t panel, size_t depth, int kxn) {
  pack_columns(args, panel, depth, kxn, (panel_order){pack_nibbles_in_turn, last_column});
}
