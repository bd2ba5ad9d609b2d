// SPDX-License-Identifier: Apache-2.0
// Kernels read pixels by pointers. Their table is on the stack, so that lines are cut; so are
// channels, for which there are only so many zeros.
#include "depthwise.h"

#include <stdint.h>

enum { most_pointers = 384, most_bytes = 4096 };

static const uint8_t zeros[most_bytes];

// Outputs and channels of one call.
typedef struct piece {
  size_t row, col, count;
  size_t channel, channels;
} piece;

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

static const void* pixel(const tw_kai_plane* plane, size_t row, size_t col, size_t channel) {
  const size_t y = row - plane->top, x = col - plane->left;  // far beyond in front of the first
  if (y >= plane->rows || x >= plane->cols) return zeros;
  return (const uint8_t*)plane->src + y * plane->row_stride + x * plane->col_stride +
         channel * plane->bytes;
}

static void run_piece(const tw_kai_plane* plane, const tw_args* args, size_t panel,
                      tw_kernel_fn kernel, const piece* it) {
  const void* table[most_pointers];
  const size_t columns = it->count + plane->width - 1;
  for (size_t y = 0; y < plane->height; ++y) {
    for (size_t x = 0; x < columns; ++x) {
      table[y * columns + x] = pixel(plane, it->row + y, it->col + x, it->channel);
    }
  }
  tw_args part = *args;
  part.m = it->count;
  part.n = it->channels;
  part.lhs = table;
  part.lhs_stride = columns * sizeof *table;
  part.rhs = (const uint8_t*)args->rhs + it->channel / panel * args->rhs_stride;
  part.dst = (uint8_t*)args->dst + it->row * plane->dst_row_stride + it->col * args->dst_stride +
             it->channel * plane->bytes;
  kernel(&part);
}

void tw_kai_run_depthwise(const tw_kai_plane* plane, const tw_args* args, size_t panel,
                          tw_kernel_fn kernel) {
  const size_t channels = most_bytes / plane->bytes / panel * panel;
  const size_t count = most_pointers / plane->height - plane->width + 1;
  piece it;
  for (it.row = 0; it.row < plane->dst_rows; ++it.row) {
    for (it.col = 0; it.col < plane->dst_cols; it.col += count) {
      it.count = smaller(count, plane->dst_cols - it.col);
      for (it.channel = 0; it.channel < args->n; it.channel += channels) {
        it.channels = smaller(channels, args->n - it.channel);
        run_piece(plane, args, panel, kernel, &it);
      }
    }
  }
}
