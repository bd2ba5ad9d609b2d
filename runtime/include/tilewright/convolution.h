/* Convolutions and transposed convolutions, of two dimensions, as matrix multiplications: tables
 * for tw_indirect. Pixels are all channels of a place, one after the other (NHWC); a matrix row is
 * an output pixel, its taps are the input pixels that the kernel lies on.
 *
 * A convolution is one multiplication. Its weights are packed as they lie, n rows of
 * [kernel_height][kernel_width][channels of the input]. If it is `plain`, each row is an input
 * pixel: a plan without taps multiplies the input as it lies, with pixel_bytes from row to row.
 *
 *   tw_convolution_part(&convolution, 0, &part);         m = part.lines * part.columns
 *   tw_matmul matmul = {..., .k = part.taps * channels, .taps = part.taps};
 *   tw_convolution_rows(&convolution, 0, input, pad, 1, rows, row_count);
 *
 * A transposed one with a stride is several, as each output pixel meets some of the kernel only:
 * parts (sub-convolutions) whose outputs are a stride apart. Each has weights of its own, which
 * tw_convolution_weights copies from the whole ones. A line of outputs is a multiplication, with
 * tw_run_args.dst_stride = column_step output pixels; in tables of tile 1 its rows begin at
 * rows + line * columns * taps, so that threads can take lines.
 *
 * Groups and other images of the same size use the same tables, by tw_indirect.offset: a group is
 * a plan, weights and columns of its own. */
#ifndef TILEWRIGHT_CONVOLUTION_H
#define TILEWRIGHT_CONVOLUTION_H

#include "tilewright/tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_convolution {
  size_t size;                            /* sizeof(tw_convolution) */
  size_t height, width;                   /* of the input, in pixels */
  size_t pixel_bytes;                     /* from pixel to pixel, all groups' channels */
  size_t line_bytes;                      /* from line to line; 0: of pixels without a gap */
  size_t kernel_height, kernel_width;     /* taps */
  size_t stride_height, stride_width;     /* 0: 1 */
  size_t dilation_height, dilation_width; /* 0: 1 */
  size_t top, bottom, left, right;        /* padding; transposed: so much is cut off the output */
  int transposed; /* 1: an input pixel adds to the outputs that the kernel lies on */
  int reserved;   /* 0 */
  size_t more_height, more_width; /* transposed: what the output is larger by, at its
                                     bottom and right */
} tw_convolution;

/* Outputs that are one matrix: pixels (line + i * line_step, column + j * column_step). */
typedef struct tw_convolution_outputs {
  size_t size;           /* sizeof(tw_convolution_outputs) */
  size_t height, width;  /* of the whole output, in pixels */
  size_t parts;          /* of the convolution: 1, or transposed one of each stride */
  size_t line, column;   /* the part's first pixel */
  size_t lines, columns; /* how many; 0 is possible where there are several parts */
  size_t line_step, column_step;
  size_t taps; /* at least 1: where the kernel has none, one of zeros */
  int plain;   /* 1: row i is the input's pixel i, nothing need be gathered */
  int reserved;
} tw_convolution_outputs;

/* Fills `outputs`, whose size is set, for part 0, 1 ... */
TW_API tw_status tw_convolution_part(const tw_convolution* convolution, size_t part,
                                     tw_convolution_outputs* outputs);

/* Writes the part's table: pointers into an image that begins at `input`, or `pad`, which may be
 * null if the kernel never leaves the input. The last tile's other rows are its last one again.
 * row_count: what `rows` has room for, taps * lines * columns where these are whole tiles. */
TW_API tw_status tw_convolution_rows(const tw_convolution* convolution, size_t part,
                                     const void* input, const void* pad, size_t tile,
                                     const void** rows, size_t row_count);

/* Copies the part's weights from `weights`, `columns` rows of kernel_height * kernel_width taps of
 * tap_bytes each, to `split`: as many rows of the part's taps. */
TW_API tw_status tw_convolution_weights(const tw_convolution* convolution, size_t part,
                                        const void* weights, size_t weight_bytes, size_t columns,
                                        size_t tap_bytes, void* split, size_t split_bytes);

#ifdef __cplusplus
}
#endif
#endif
