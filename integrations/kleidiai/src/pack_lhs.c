// SPDX-License-Identifier: Apache-2.0
// Rows of activations into panels that other calls write, too: clients pack row by row.
#include "packing.h"

enum { longest_row = 16384 };  // bytes of a packed row that are kept on the stack

static tw_pack_args part_of(const tw_pack_args* args, size_t begin, size_t rows, void* packed) {
  tw_pack_args part = *args;
  part.source = (const uint8_t*)args->source + begin * args->source_stride;
  part.rows = part.row_end = rows;
  part.packed = packed;
  return part;
}

// A panel of one row to place `at` of a panel of so many.
static void put_row(const uint8_t* row, size_t row_bytes, size_t codes, uint8_t* to, size_t panel,
                    size_t at, size_t depth) {
  size_t i = 0;
  for (; i < codes; i += depth) memcpy(to + i * panel + at * depth, row + i, depth);
  for (; i < row_bytes; i += 4) memcpy(to + i * panel + at * 4, row + i, 4);
}

// Likewise of blocks behind their scales.
static void put_blocks(const uint8_t* row, size_t row_bytes, size_t block, uint8_t* to,
                       size_t panel, size_t at, size_t depth) {
  enum { scale_bytes = 2 };
  for (size_t begin = 0; begin < row_bytes; begin += scale_bytes + block) {
    memcpy(to + begin * panel + at * scale_bytes, row + begin, scale_bytes);
    const size_t codes = begin + scale_bytes;
    put_row(row + codes, block, block, to + codes * panel, panel, at, depth);
  }
}

// Some rows of one panel.
static void pack_some(const tw_pack_args* args, size_t panel, size_t depth, size_t first_row,
                      tw_packer_fn row, tw_kai_rows_fn plain) {
  const size_t row_bytes = args->packed_stride / panel;
  const size_t codes = (args->k + 31) / 32 * 32;
  if (row == NULL || row_bytes > longest_row) {
    plain(args, panel, depth, first_row);
    return;
  }
  uint8_t packed[longest_row];
  for (size_t i = 0; i < args->rows; ++i) {
    tw_pack_args one = part_of(args, i, 1, packed);
    one.packed_stride = row_bytes;
    row(&one);
    uint8_t* const to = (uint8_t*)args->packed;
    if (args->block != 0) {
      put_blocks(packed, row_bytes, args->block, to, panel, first_row + i, depth);
    } else {
      put_row(packed, row_bytes, codes, to, panel, first_row + i, depth);
    }
  }
}

void tw_kai_pack_lhs(const tw_pack_args* args, size_t panel, size_t depth, size_t first_row,
                     tw_packer_fn whole, tw_packer_fn row, tw_kai_rows_fn plain) {
  uint8_t* packed = (uint8_t*)args->packed;
  size_t done = 0;
  while (done < args->rows) {
    const size_t left = args->rows - done;
    size_t rows = panel - first_row < left ? panel - first_row : left;
    if (rows == panel && whole != NULL) {
      rows = left / panel * panel;
      const tw_pack_args part = part_of(args, done, rows, packed);
      whole(&part);
    } else {
      const tw_pack_args part = part_of(args, done, rows, packed);
      pack_some(&part, panel, depth, first_row, row, plain);
    }
    packed += (first_row + rows) / panel * args->packed_stride;
    done += rows;
    first_row = 0;
  }
}
