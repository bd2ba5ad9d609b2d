// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions of stride 1, piece by piece of lines.
#pragma once

#include <stddef.h>

#include "tilewright/kernel.h"

enum { tw_kai_window_height = 3 };  // all of KleidiAI's

// Pixels that are there, what is padded with zeros before them, and outputs, whose window is so
// many pixels wide; channels have so many bytes. Whatever else a window lies on is zeros, too.
typedef struct tw_kai_plane {
  size_t width, bytes;
  size_t top, left;
  const void* src;
  size_t row_stride, col_stride;
  size_t rows, cols;
  size_t dst_row_stride;
  size_t dst_rows, dst_cols;
} tw_kai_plane;

// `args`: of all outputs and channels; weights are in panels of so many channels. The kernel makes
// four lines of outputs at a time.
void tw_kai_run_depthwise(const tw_kai_plane* plane, const tw_args* args, size_t panel,
                          tw_kernel_fn kernel);
