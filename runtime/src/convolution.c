/* Tables of convolutions. Height and width are alike: a part is a pair of sides. */
#include "tilewright/convolution.h"

#include <stdio.h>

#include "internal.h"

/* Lines or columns of a part. */
typedef struct side {
  size_t input, kernel, stride, dilation, before;
  bool transposed;
  size_t output;             /* of the whole convolution */
  size_t first, step, count; /* of the part's outputs */
  size_t taps;               /* of the part */
} side;

/* Of output `at`: whether it takes kernel tap `tap`, and from which input. */
static bool takes(const side* s, size_t at, size_t tap) {
  return !s->transposed ||
         (at + s->before + s->stride - tap * s->dilation % s->stride) % s->stride == 0;
}

/* False: from none, it is padding. The tap is one that the output takes. */
static bool input_of(const side* s, size_t at, size_t tap, size_t* input) {
  const size_t ahead = tap * s->dilation;
  if (s->transposed) {
    if (at + s->before < ahead) return false;
    *input = (at + s->before - ahead) / s->stride;
  } else {
    if (at * s->stride + ahead < s->before) return false;
    *input = at * s->stride + ahead - s->before;
  }
  return *input < s->input;
}

/* The part's tap number t, a tap of the kernel. */
static size_t kernel_tap(const side* s, size_t t) {
  size_t tap = 0;
  while (!takes(s, s->first, tap) || t-- != 0) ++tap;
  return tap;
}

/* As long as what the kernel covers, dilated. */
static bool covered(const side* s, size_t* length) {
  return tw_multiply(s->kernel - 1, s->dilation, length) && tw_add(*length, 1, length);
}

/* The whole output. False: there is none, or it overflows. */
static bool set_output(side* s, size_t after, size_t more) {
  size_t length, all;
  if (s->input == 0 || s->kernel == 0 || !covered(s, &length)) return false;
  if (s->transposed) {
    if (!tw_multiply(s->input - 1, s->stride, &all) || !tw_add(all, length, &all)) return false;
    if (!tw_add(all, more, &all) || !tw_add(s->before, after, &length)) return false;
    if (all <= length) return false;
    s->output = all - length;
    return true;
  }
  if (!tw_add(s->input, s->before, &all) || !tw_add(all, after, &all) || all < length) return false;
  s->output = (all - length) / s->stride + 1;
  return true;
}

static void set_part(side* s, size_t part) {
  s->first = part;
  s->step = s->transposed ? s->stride : 1;
  s->count = s->output > part ? tw_divide_up(s->output - part, s->step) : 0;
  s->taps = 0;
  for (size_t tap = 0; tap < s->kernel; ++tap) s->taps += takes(s, part, tap) ? 1 : 0;
}

static size_t or_one(size_t count) {
  return count == 0 ? 1 : count;
}

/* The part's lines and columns. `who` begins the message. */
static tw_status sides_of(const char* who, const tw_convolution* theirs, size_t part,
                          tw_convolution* own, side* y, side* x) {
  char member[64];
  snprintf(member, sizeof member, "%s: convolution", who);
  if (theirs == NULL) return tw_fail(TW_INVALID, "%s is null", member);
  const tw_status status = tw_take(member, "tw_convolution", theirs, own, sizeof *own);
  if (status != TW_OK) return status;
  const bool transposed = own->transposed != 0;
  *y = (side){own->height,
              own->kernel_height,
              or_one(own->stride_height),
              or_one(own->dilation_height),
              own->top,
              transposed,
              0,
              0,
              0,
              0,
              0};
  *x = (side){own->width,
              own->kernel_width,
              or_one(own->stride_width),
              or_one(own->dilation_width),
              own->left,
              transposed,
              0,
              0,
              0,
              0,
              0};
  size_t line = own->line_bytes, bytes, parts = 1;
  const bool fits = (line != 0 || tw_multiply(own->width, own->pixel_bytes, &line)) &&
                    tw_multiply(line, own->height, &bytes) && own->pixel_bytes != 0 &&
                    (!transposed || tw_multiply(y->stride, x->stride, &parts)) &&
                    set_output(y, own->bottom, own->more_height) &&
                    set_output(x, own->right, own->more_width);
  if (!fits) {
    return tw_fail(TW_INVALID,
                   "%s has no outputs, or too many: %zu x %zu pixels of %zu bytes, kernel %zu x "
                   "%zu, padding %zu %zu %zu %zu (top, bottom, left, right)",
                   member, own->height, own->width, own->pixel_bytes, own->kernel_height,
                   own->kernel_width, own->top, own->bottom, own->left, own->right);
  }
  own->line_bytes = line;
  if (part >= parts) {
    return tw_fail(TW_INVALID, "%s: part is %zu; the convolution has %zu", who, part, parts);
  }
  set_part(y, transposed ? part / x->stride : 0);
  set_part(x, transposed ? part % x->stride : 0);
  return TW_OK;
}

/* Where the kernel has no tap for the part, there is one of zeros. */
static bool has_taps(const side* y, const side* x) {
  return y->taps != 0 && x->taps != 0;
}
static size_t taps_of(const side* y, const side* x) {
  return has_taps(y, x) ? y->taps * x->taps : 1;
}

tw_status tw_convolution_part(const tw_convolution* convolution, size_t part,
                              tw_convolution_outputs* outputs) {
  tw_convolution own;
  side y = {0}, x = {0};
  if (outputs == NULL) return tw_fail(TW_INVALID, "tw_convolution_part: outputs is null");
  tw_status status = tw_check_size("tw_convolution_part: outputs", "tw_convolution_outputs",
                                   outputs, sizeof(size_t), sizeof *outputs);
  if (status == TW_OK) status = sides_of("tw_convolution_part", convolution, part, &own, &y, &x);
  if (status != TW_OK) return status;
  tw_convolution_outputs found = {.size = sizeof found};
  found.height = y.output;
  found.width = x.output;
  found.parts = y.transposed ? y.stride * x.stride : 1;
  found.line = y.first;
  found.column = x.first;
  found.lines = y.count;
  found.columns = x.count;
  found.line_step = y.step;
  found.column_step = x.step;
  found.taps = taps_of(&y, &x);
  const bool one = y.kernel == 1 && x.kernel == 1 && y.stride == 1 && x.stride == 1;
  found.plain = one && y.output == y.input && x.output == x.input && y.before == 0 &&
                x.before == 0 && own.line_bytes == own.width * own.pixel_bytes;
  tw_give(&found, sizeof found, outputs);
  return TW_OK;
}

/* Whether an output of the part lies on padding. */
static bool meets_padding(const side* s) {
  size_t input;
  for (size_t t = 0; t < s->taps; ++t) {
    const size_t tap = kernel_tap(s, t);
    for (size_t i = 0; i < s->count; ++i) {
      if (!input_of(s, s->first + i * s->step, tap, &input)) return true;
    }
  }
  return false;
}

typedef struct table {
  const char* input;
  const void* pad;
  size_t tile;
  const void** rows;
} table;

/* A tap of all outputs: the part's number t, the kernel's (tap_y, tap_x). */
static void write_tap(const tw_convolution* c, const side* y, const side* x, const size_t taps[2],
                      size_t t, const table* to) {
  const size_t all = taps_of(y, x), m = y->count * x->count;
  const size_t slots = tw_divide_up(m, to->tile) * to->tile;
  for (size_t i = 0; i < slots; ++i) {
    const size_t row = i < m ? i : m - 1;
    size_t line, column;
    const bool inside = has_taps(y, x) &&
                        input_of(y, y->first + row / x->count * y->step, taps[0], &line) &&
                        input_of(x, x->first + row % x->count * x->step, taps[1], &column);
    to->rows[(i / to->tile * all + t) * to->tile + i % to->tile] =
        inside ? to->input + line * c->line_bytes + column * c->pixel_bytes : to->pad;
  }
}

tw_status tw_convolution_rows(const tw_convolution* convolution, size_t part, const void* input,
                              const void* pad, size_t tile, const void** rows, size_t row_count) {
  tw_convolution own;
  side y = {0}, x = {0};
  const tw_status status = sides_of("tw_convolution_rows", convolution, part, &own, &y, &x);
  if (status != TW_OK) return status;
  if (input == NULL || rows == NULL) {
    return tw_fail(TW_INVALID, "tw_convolution_rows: %s is null", input == NULL ? "input" : "rows");
  }
  if (tile == 0) return tw_fail(TW_INVALID, "tw_convolution_rows: tile is 0; 1 or more is legal");
  const size_t taps = taps_of(&y, &x);
  size_t needed;
  if (!tw_multiply(y.count, x.count, &needed) || !tw_round_up(needed, tile, &needed) ||
      !tw_multiply(needed, taps, &needed)) {
    return tw_fail(TW_TOO_LARGE, "tw_convolution_rows: %zu x %zu outputs of %zu taps overflow",
                   y.count, x.count, taps);
  }
  if (row_count < needed) {
    return tw_fail(TW_TOO_SMALL,
                   "tw_convolution_rows: row_count is %zu; %zu x %zu outputs of %zu taps in tiles "
                   "of %zu need %zu",
                   row_count, y.count, x.count, taps, tile, needed);
  }
  if (pad == NULL && (!has_taps(&y, &x) || meets_padding(&y) || meets_padding(&x))) {
    return tw_fail(TW_INVALID,
                   "tw_convolution_rows: pad is null; the kernel reaches beyond the input");
  }
  const table to = {input, pad, tile, rows};
  for (size_t t = 0; t < taps; ++t) {
    size_t pair[2] = {0, 0};
    if (has_taps(&y, &x)) {
      pair[0] = kernel_tap(&y, t / x.taps);
      pair[1] = kernel_tap(&x, t % x.taps);
    }
    write_tap(&own, &y, &x, pair, t, &to);
  }
  return TW_OK;
}

tw_status tw_convolution_weights(const tw_convolution* convolution, size_t part,
                                 const void* weights, size_t weight_bytes, size_t columns,
                                 size_t tap_bytes, void* split, size_t split_bytes) {
  tw_convolution own;
  side y = {0}, x = {0};
  const tw_status status = sides_of("tw_convolution_weights", convolution, part, &own, &y, &x);
  if (status != TW_OK) return status;
  if (weights == NULL || split == NULL) {
    return tw_fail(TW_INVALID, "tw_convolution_weights: %s is null",
                   weights == NULL ? "weights" : "split");
  }
  const size_t taps = taps_of(&y, &x);
  size_t tap, whole, kernel;
  if (!tw_multiply(columns, tap_bytes, &tap) || !tw_multiply(y.kernel, x.kernel, &kernel) ||
      !tw_multiply(tap, kernel, &whole)) {
    return tw_fail(TW_TOO_LARGE,
                   "tw_convolution_weights: columns is %zu, tap_bytes is %zu; their product "
                   "overflows the address space",
                   columns, tap_bytes);
  }
  if (weight_bytes < whole || split_bytes < tap * taps) {
    return tw_fail(TW_TOO_SMALL,
                   "tw_convolution_weights: weight_bytes is %zu, split_bytes is %zu; %zu and %zu "
                   "are needed",
                   weight_bytes, split_bytes, whole, tap * taps);
  }
  if (!has_taps(&y, &x)) {
    memset(split, 0, tap);
    return TW_OK;
  }
  char* to = split;
  for (size_t row = 0; row < columns * taps; ++row) {
    const size_t t = row % taps;
    const size_t from = kernel_tap(&y, t / x.taps) * x.kernel + kernel_tap(&x, t % x.taps);
    memcpy(to, (const char*)weights + (row / taps * kernel + from) * tap_bytes, tap_bytes);
    to += tap_bytes;
  }
  return TW_OK;
}
