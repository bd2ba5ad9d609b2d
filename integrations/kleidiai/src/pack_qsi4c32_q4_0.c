// SPDX-License-Identifier: Apache-2.0
// Rows of blocks of unsigned int4 behind their scale of f16, the lower half of a block's values in
// the low nibbles, into panels of any shape, where they are signed.
#include "packing.h"

enum { scale_bytes = 2 };

static void pack_block(const uint8_t* from, size_t code_bytes, uint8_t* to, size_t panel, size_t at,
                       size_t depth) {
  memcpy(to + scale_bytes * at, from, scale_bytes);
  from += scale_bytes;
  to += scale_bytes * panel;
  for (size_t i = 0; i < code_bytes; ++i) {
    to[(i / depth * panel + at) * depth + i % depth] = from[i] ^ 0x88;
  }
}

void tw_kai_pack_qsi4c32_q4_0(const tw_pack_args* args, size_t panel, size_t depth) {
  const size_t n = args->rows, code_bytes = args->block / 2, bytes = scale_bytes + code_bytes;
  for (size_t column = 0; column < (n + panel - 1) / panel * panel; ++column) {
    const size_t last = column < n ? column : n - 1;
    const uint8_t* const from = (const uint8_t*)args->source + last * args->source_stride;
    uint8_t* const to = (uint8_t*)args->packed + column / panel * args->packed_stride;
    for (size_t b = 0; b < args->k / args->block; ++b) {
      pack_block(from + b * bytes, code_bytes, to + b * bytes * panel, panel, column % panel,
                 depth);
    }
  }
}
