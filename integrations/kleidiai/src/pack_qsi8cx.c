// SPDX-License-Identifier: Apache-2.0
// Columns of int8 with a scale each, in panels of any shape.
#include "packing.h"

enum { k_multiple = 32 };

static void pack_column(const tw_pack_args* args, uint8_t* to, size_t panel, size_t column,
                        size_t depth, int kxn) {
  const size_t at = column % panel, k = args->k;
  const size_t last = column < args->rows ? column : args->rows - 1;
  const size_t padded = (k + k_multiple - 1) / k_multiple * k_multiple;
  const int8_t* const codes = (const int8_t*)args->source;
  int32_t sum = 0;
  for (size_t i = 0; i < padded; ++i) {
    const size_t from = kxn ? i * args->source_stride + last : last * args->source_stride + i;
    const int8_t code = i < k ? codes[from] : 0;
    sum += code;
    to[(i / depth * panel + at) * depth + i % depth] = (uint8_t)code;
  }
  const float bias = args->bias != NULL ? ((const float*)args->bias)[last] : 0;
  uint8_t* const fields = to + panel * padded + 4 * at;
  tw_store_i32(fields, sum);
  tw_store_i32(fields + 4 * panel, tw_bits_of_f32(((const float*)args->scales)[last]));
  tw_store_i32(fields + 8 * panel, tw_bits_of_f32(bias));
}

void tw_kai_pack_qsi8cx(const tw_pack_args* args, size_t panel, size_t depth, int kxn) {
  const size_t columns = (args->rows + panel - 1) / panel * panel;
  for (size_t column = 0; column < columns; ++column) {
    pack_column(args, (uint8_t*)args->packed + column / panel * args->packed_stride, panel, column,
                depth, kxn);
  }
}
