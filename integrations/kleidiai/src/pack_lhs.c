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

// A panel of one row to place `at` of a panel of so many: `codes` bytes, and fields of so many.
static void put_row(const uint8_t* row, size_t row_bytes, size_t codes, size_t field, uint8_t* to,
                    size_t panel, size_t at, size_t depth) {
  size_t i = 0;
  for (; i < codes; i += depth) memcpy(to + i * panel + at * depth, row + i, depth);
  for (; i < row_bytes; i += field) memcpy(to + i * panel + at * field, row + i, field);
}

enum { scale_bytes = 2, field_bytes = 4 };  // of a block, of a row

// Likewise of blocks behind their scales.
static void put_blocks(const uint8_t* row, size_t row_bytes, size_t block, uint8_t* to,
                       size_t panel, size_t at, size_t depth) {
  for (size_t begin = 0; begin < row_bytes; begin += scale_bytes + block) {
    memcpy(to + begin * panel + at * scale_bytes, row + begin, scale_bytes);
    const size_t codes = begin + scale_bytes;
    put_row(row + codes, block, block, 0, to + codes * panel, panel, at, depth);
  }
}

// How rows are packed one by one, and where the scales of blocks are.
typedef struct row_packer {
  tw_packer_fn row;
  tw_kai_rows_fn plain;
  int scales_apart;
} row_packer;

// Some rows of one panel.
static void pack_some(const tw_pack_args* args, size_t panel, size_t depth, size_t first_row,
                      row_packer how) {
  const size_t row_bytes = args->packed_stride / panel;
  const size_t codes = (args->k + 31) / 32 * 32;
  if (how.row == NULL || row_bytes > longest_row) {
    how.plain(args, panel, depth, first_row);
    return;
  }
  uint8_t packed[longest_row];
  for (size_t i = 0; i < args->rows; ++i) {
    tw_pack_args one = part_of(args, i, 1, packed);
    one.packed_stride = row_bytes;
    how.row(&one);
    uint8_t* const to = (uint8_t*)args->packed;
    if (args->block != 0 && !how.scales_apart) {
      put_blocks(packed, row_bytes, args->block, to, panel, first_row + i, depth);
    } else {
      const size_t field = how.scales_apart ? scale_bytes : field_bytes;
      put_row(packed, row_bytes, codes, field, to, panel, first_row + i, depth);
    }
  }
}

static void pack_rows(const tw_pack_args* args, size_t panel, size_t depth, size_t first_row,
                      tw_packer_fn whole, row_packer how) {
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
      pack_some(&part, panel, depth, first_row, how);
    }
    packed += (first_row + rows) / panel * args->packed_stride;
    done += rows;
    first_row = 0;
  }
}

void tw_kai_pack_lhs(const tw_pack_args* args, size_t panel, size_t depth, size_t first_row,
                     tw_packer_fn whole, tw_packer_fn row, tw_kai_rows_fn plain) {
  pack_rows(args, panel, depth, first_row, whole, (row_packer){row, plain, 0});
}

void tw_kai_pack_lhs_apart(const tw_pack_args* args, size_t panel, size_t depth, tw_packer_fn row,
                           tw_kai_rows_fn plain) {
  pack_rows(args, panel, depth, 0, panel == 1 ? row : NULL, (row_packer){row, plain, 1});
}
