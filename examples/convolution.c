/* A convolution of an image of f32, 3 x 3 with padding 1: the table of its rows, then pack and run
 * as for any matrix. For threads see matmul.c: scratch is each one's own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tilewright/convolution.h"

enum { HEIGHT = 12, WIDTH = 10, IN = 5, OUT = 20, SIDE = 3 };

static float image[HEIGHT][WIDTH][IN], weights[OUT][SIDE][SIDE][IN], y[HEIGHT][WIDTH][OUT];
static const float zeros[IN];

/* Kernels need no alignment. From a cache line on they read faster, Intel's tiles several times. */
static void* lines(size_t bytes) {
  return aligned_alloc(64, (bytes / 64 + 1) * 64);
}

static void check(tw_status status) {
  if (status == TW_OK) return;
  fprintf(stderr, "convolution: %s\n", tw_error_message());
  exit(1);
}

static void fill(float* values, size_t count) {
  for (size_t i = 0; i < count; ++i) values[i] = (float)(i * 37 % 101) / 50 - 1;
}

static double expected(int line, int column, int out) {
  double sum = 0;
  for (int tap = 0; tap < SIDE * SIDE; ++tap) {
    const int from = line + tap / SIDE - 1, at = column + tap % SIDE - 1;
    if (from < 0 || from >= HEIGHT || at < 0 || at >= WIDTH) continue;
    for (int c = 0; c < IN; ++c) {
      sum += (double)image[from][at][c] * weights[out][tap / SIDE][tap % SIDE][c];
    }
  }
  return sum;
}

int main(void) {
  fill(&image[0][0][0], sizeof image / sizeof(float));
  fill(&weights[0][0][0][0], sizeof weights / sizeof(float));

  const tw_convolution convolution = {.size = sizeof convolution,
                                      .height = HEIGHT,
                                      .width = WIDTH,
                                      .pixel_bytes = sizeof image[0][0],
                                      .kernel_height = SIDE,
                                      .kernel_width = SIDE,
                                      .top = 1,
                                      .bottom = 1,
                                      .left = 1,
                                      .right = 1};
  tw_convolution_outputs outputs = {.size = sizeof outputs};
  check(tw_convolution_part(&convolution, 0, &outputs));
  const size_t m = outputs.lines * outputs.columns, entries = m * outputs.taps;
  const void** rows = malloc(entries * sizeof *rows);
  check(tw_convolution_rows(&convolution, 0, image, zeros, 1, rows, entries));

  tw_device device = {.size = sizeof device};
  check(tw_device_detect(&device));
  const tw_matmul matmul = {.size = sizeof matmul,
                            .family = "matmul_clamp_f32_f32_f32p",
                            .n = OUT,
                            .k = outputs.taps * IN,
                            .taps = outputs.taps};
  tw_plan* plan;
  check(tw_plan_create(&device, &matmul, &plan));
  const tw_rhs_source source = {.size = sizeof source,
                                .order = TW_NXK,
                                .data = weights,
                                .data_bytes = sizeof weights,
                                .stride = sizeof weights[0]};
  const size_t rhs_bytes = tw_rhs_bytes(plan);
  void* rhs = lines(rhs_bytes);
  size_t slices, lhs_bytes, scratch_bytes;
  check(tw_rhs_slices(plan, &slices));
  for (size_t s = 0; s < slices; ++s) check(tw_pack_rhs(plan, &source, rhs, rhs_bytes, s));

  check(tw_lhs_bytes(plan, m, &lhs_bytes));
  check(tw_scratch_bytes(plan, m, &scratch_bytes));
  void *lhs = lines(lhs_bytes), *scratch = lines(scratch_bytes);
  const tw_indirect indirect = {
      .size = sizeof indirect, .rows = rows, .row_count = entries, .tile = 1, .pad = zeros};
  const tw_lhs_source activations = {.size = sizeof activations,
                                     .indirect = &indirect,
                                     .scratch = scratch,
                                     .scratch_bytes = scratch_bytes};
  check(tw_lhs_slices(plan, m, &slices));
  for (size_t s = 0; s < slices; ++s) {
    check(tw_pack_lhs(plan, m, &activations, lhs, lhs_bytes, s));
  }
  const tw_run_args run = {.size = sizeof run,
                           .m = m,
                           .lhs = lhs,
                           .lhs_bytes = lhs_bytes,
                           .rhs = rhs,
                           .rhs_bytes = rhs_bytes,
                           .dst = y,
                           .dst_bytes = sizeof y,
                           .dst_stride = sizeof y[0][0],
                           .indirect = &indirect,
                           .scratch = scratch,
                           .scratch_bytes = scratch_bytes};
  check(tw_run_slices(plan, m, &slices));
  for (size_t s = 0; s < slices; ++s) check(tw_run(plan, &run, s));

  double most = 0;
  for (int line = 0; line < HEIGHT; ++line) {
    for (int column = 0; column < WIDTH; ++column) {
      for (int out = 0; out < OUT; ++out) {
        most = fmax(most, fabs((double)y[line][column][out] - expected(line, column, out)));
      }
    }
  }
  printf("%s: %d x %d pixels, %d to %d channels, error %.1e\n", device.name, HEIGHT, WIDTH, IN, OUT,
         most);
  tw_plan_destroy(plan);
  free(rows);
  free(rhs);
  free(lhs);
  free(scratch);
  return most < 1e-4 ? 0 : 1;
}
