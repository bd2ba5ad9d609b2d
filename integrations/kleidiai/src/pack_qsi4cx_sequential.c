// SPDX-License-Identifier: Apache-2.0
// Columns of int4 with a scale each, neighbors in k in a byte, in panels of any shape. Beyond the
// last column there are zeros.
#include "nibbles.h"

enum { k_multiple = 32 };

static void pack_column(const tw_pack_args* args, const nibbles* from, uint8_t* to, size_t panel,
                        size_t column, size_t depth) {
  const size_t at = column % panel;
  const size_t padded = (args->k + k_multiple - 1) / k_multiple * k_multiple;
  const int32_t sum = pack_nibbles_in_turn(from, column, 0, padded, to, panel, at, depth);
  uint8_t* const fields = to + panel * padded / 2 + 4 * at;
  const float scale = ((const float*)args->scales)[column];
  const float bias = args->bias != NULL ? ((const float*)args->bias)[column] : 0;
  tw_store_i32(fields, sum);
  tw_store_i32(fields + 4 * panel, tw_bits_of_f32(scale));
  tw_store_i32(fields + 8 * panel, tw_bits_of_f32(bias));
}

void tw_kai_pack_qsi4cx_sequential(const tw_pack_args* args, size_t panel, size_t depth, int kxn) {
  const nibbles from = nibbles_of(args, kxn);
  uint8_t* to = (uint8_t*)args->packed;
  for (size_t column = 0; column < from.n; ++column) {
    if (column % panel == 0) {
      to = (uint8_t*)args->packed + column / panel * args->packed_stride;
      memset(to, 0, args->packed_stride);
    }
    pack_column(args, &from, to, panel, column, depth);
  }
}
