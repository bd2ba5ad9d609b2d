// SPDX-License-Identifier: Apache-2.0
// Columns of int4 with a scale each, in panels of any shape.
#include "nibbles.h"

// As high nibbles codes multiply so many times too much.
enum { factor = 16, k_multiple = 32 };

static void pack_column(const tw_pack_args* args, const nibbles* from, uint8_t* to, size_t panel,
                        size_t column, size_t depth) {
  const size_t at = column % panel;
  const size_t padded = (args->k + k_multiple - 1) / k_multiple * k_multiple;
  const int32_t sum =
      pack_nibbles(from, column_of_codes(from, column), 0, padded, to, panel, at, depth);
  const size_t last = column < from->n ? column : from->n - 1;
  const float scale = ((const float*)args->scales)[last] / factor;
  const float bias = args->bias != NULL ? ((const float*)args->bias)[last] : 0;
  uint8_t* const fields = to + panel * padded / 2 + 4 * at;
  tw_store_i32(fields, sum * factor);
  tw_store_i32(fields + 4 * panel, tw_bits_of_f32(scale));
  tw_store_i32(fields + 8 * panel, tw_bits_of_f32(bias));
}

void tw_kai_pack_qsi4cx(const tw_pack_args* args, size_t panel, size_t depth, int kxn) {
  const nibbles from = nibbles_of(args, kxn);
  const size_t columns = (from.n + panel - 1) / panel * panel;
  for (size_t column = 0; column < columns; ++column) {
    pack_column(args, &from, (uint8_t*)args->packed + column / panel * args->packed_stride, panel,
                column, depth);
  }
}
