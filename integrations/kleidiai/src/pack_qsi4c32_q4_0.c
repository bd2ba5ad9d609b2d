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

// A column's code of value k of a block, as it is there.
static uint8_t code_at(const uint8_t* from, size_t block, size_t k) {
  return from[k % (block / 2)] >> (k / (block / 2) * 4) & 15;
}

static void put_neighbors(const uint8_t* from, size_t block, uint8_t* to, size_t panel, size_t at) {
  for (size_t k = 0; k < block; k += 2) {
    const uint8_t low = code_at(from, block, k), high = code_at(from, block, k + 1);
    to[(k / 4 * panel + at) * 2 + k % 4 / 2] = (uint8_t)(low | high << 4);
  }
}

static void put_signed(const uint8_t* from, size_t block, uint8_t* to, size_t panel, size_t at) {
  for (size_t k = 0; k < block; k += 8) {
    for (size_t i = 0; i < 4; ++i) {
      const uint8_t low = code_at(from, block, k + i), high = code_at(from, block, k + 4 + i);
      to[(k / 8 * panel + at) * 4 + i] = (uint8_t)((low | high << 4) ^ 0x88);
    }
  }
}

void tw_kai_pack_qsi4c32_q4_0_apart(const tw_pack_args* args, size_t panel, int sequential) {
  const size_t block = args->block, bytes = scale_bytes + block / 2;
  for (size_t column = 0; column < args->rows; ++column) {
    const uint8_t* from = (const uint8_t*)args->source + column * args->source_stride;
    uint8_t* const codes = (uint8_t*)args->packed + column / panel * args->packed_stride;
    uint8_t* const scales = codes + panel * args->k / 2 + scale_bytes * (column % panel);
    for (size_t b = 0; b < args->k / block; ++b, from += bytes) {
      const uint16_t scale = tw_load_u16(from);
      const uint16_t part = tw_f16_of_f32(tw_f32_of_f16(scale) / 16);
      tw_store_u16(scales + b * panel * scale_bytes, sequential ? scale : part);
      (sequential ? put_neighbors : put_signed)(
          from + scale_bytes, block, codes + b * panel * block / 2, panel, column % panel);
    }
  }
}
