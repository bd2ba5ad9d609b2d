// SPDX-License-Identifier: Apache-2.0
// What one of KleidiAI's packers of floats leaves where there are no columns.
#include "packing.h"

// It takes so many columns of a panel together, then the others, and four values of k. The first
// column's last four begin with what stands everywhere else.
enum { columns_at_once = 24, values_at_once = 4 };

void tw_kai_repeat_value(const tw_pack_args* args, size_t panel, size_t bytes) {
  const size_t columns = args->rows % panel;
  if (columns == 0 || args->k == 0) return;
  const size_t column = args->rows - columns + (columns > columns_at_once ? columns_at_once : 0);
  const size_t k = (args->k - 1) / values_at_once * values_at_once;
  const uint8_t* const value =
      (const uint8_t*)args->source + column * args->source_stride + k * bytes;
  uint8_t* line = (uint8_t*)args->packed + args->rows / panel * args->packed_stride;
  for (size_t i = 0; i < args->k; ++i) {
    line += panel * bytes;  // the first one are biases
    for (size_t j = columns; j < panel; ++j) memcpy(line + j * bytes, value, bytes);
  }
}
