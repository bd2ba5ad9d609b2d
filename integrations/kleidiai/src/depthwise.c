// SPDX-License-Identifier: Apache-2.0
// Kernels read pixels by pointers, and write lines of outputs by them. The table is on the stack,
// so that lines are cut; so are channels, for which there are only so many zeros.
#include "depthwise.h"

#include <stdbool.h>
#include <stdint.h>

enum { lines = 4, rows = lines + tw_kai_window_height - 1, most_pointers = 384, most_bytes = 4096 };

static const uint8_t zeros[most_bytes];

// Outputs and channels of one call, of `lines` lines from a row on. There may be fewer: then it is
// the last ones that exist, and the row is so far in front of row 0.
typedef struct piece {
  size_t row, col, count;
  size_t channel, channels;
} piece;

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

// Pointers to the pixels of columns, one column after the other; where there are none, to zeros.
static void fill(const tw_kai_plane* plane, const piece* it, size_t columns, const void** table) {
  const size_t behind = plane->left + plane->cols;
  const size_t begin = it->col < plane->left ? smaller(plane->left - it->col, columns) : 0;
  const size_t end = it->col < behind ? smaller(behind - it->col, columns) : begin;
  const uint8_t* pixels[rows];
  size_t steps[rows];
  for (size_t i = 0; i < rows; ++i) {
    const size_t y = it->row + i - plane->top;  // far beyond in front of the first
    const bool exists = y < plane->rows;
    steps[i] = exists ? plane->col_stride : 0;
    pixels[i] = zeros;
    if (!exists) continue;
    pixels[i] = (const uint8_t*)plane->src + y * plane->row_stride +
                (it->col + begin - plane->left) * plane->col_stride + it->channel * plane->bytes;
  }
  for (size_t i = 0; i < begin * rows; ++i) table[i] = zeros;
  for (size_t x = begin; x < end; ++x) {
    for (size_t i = 0; i < rows; ++i) {
      table[x * rows + i] = pixels[i];
      pixels[i] += steps[i];
    }
  }
  for (size_t i = end * rows; i < columns * rows; ++i) table[i] = zeros;
}

static void run_piece(const tw_kai_plane* plane, const tw_args* args, size_t panel,
                      tw_kernel_fn kernel, const piece* it) {
  const void* table[most_pointers];
  void* outs[lines];
  const size_t columns = it->count + plane->width - 1;
  fill(plane, it, columns, table);
  // What lines that do not exist write goes where row 0 writes after them.
  for (size_t y = 0; y < lines; ++y) {
    const size_t row = it->row + y < plane->dst_rows ? it->row + y : 0;
    outs[y] = (uint8_t*)args->dst + row * plane->dst_row_stride + it->col * args->dst_stride +
              it->channel * plane->bytes;
  }
  tw_args part = *args;
  part.m = it->count;
  part.n = it->channels;
  part.lhs = table;
  part.rhs = (const uint8_t*)args->rhs + it->channel / panel * args->rhs_stride;
  part.dst = outs;
  kernel(&part);
}

void tw_kai_run_depthwise(const tw_kai_plane* plane, const tw_args* args, size_t panel,
                          tw_kernel_fn kernel) {
  const size_t channels = most_bytes / plane->bytes / panel * panel;
  const size_t count = most_pointers / rows - plane->width + 1;
  piece it;
  for (size_t done = 0; done < plane->dst_rows; done += lines) {
    // The last lines end where the plane does: some before them are made again.
    it.row = smaller(done + lines, plane->dst_rows) - lines;
    for (it.col = 0; it.col < plane->dst_cols; it.col += count) {
      it.count = smaller(count, plane->dst_cols - it.col);
      for (it.channel = 0; it.channel < args->n; it.channel += channels) {
        it.channels = smaller(channels, args->n - it.channel);
        run_piece(plane, args, panel, kernel, &it);
      }
    }
  }
}
