// Every depthwise kernel of this tree that the CPU at hand runs, against plain loops. Pixels and taps
// are small whole numbers, so that sums are exact in every type.

#include "tilewright/depthwise.h"

#include <math.h>

#include "support.h"
#include "tilewright/registry.h"

enum { CHANNELS = 37, HEIGHT = 7, WIDTH = 19, PIXELS = HEIGHT * WIDTH, MOST_TAPS = 25 };
enum { LHS_ZERO = 3, DST_ZERO = -5 };
static const float lhs_scale = 0.5f, dst_scale = 8;
static int pixels[PIXELS * CHANNELS], taps[CHANNELS * MOST_TAPS], sums[CHANNELS];
static float scales[CHANNELS];

/* Of the kernel's types; a bias of f32 or int32. */
static unsigned char input[sizeof pixels], weights[sizeof taps], bias[sizeof sums];
static unsigned char zeros[CHANNELS * 4], output[PIXELS * CHANNELS * 4];

static int small(unsigned *state) {
  *state = *state * 1664525u + 1013904223u;
  return (int)(*state >> 28) - 8;
}

static void put(tw_type type, int value, unsigned char *values, size_t index) {
  unsigned char *at = values + index * type_bytes(type);
  const float real = (float)value;
  const uint16_t half = tw_f16_of_f32(real);
  if (type == TW_F32) memcpy(at, &real, sizeof real);
  else if (type == TW_F16) memcpy(at, &half, sizeof half);
  else *at = (unsigned char)value;
}

static void make_values(const tw_depthwise_kernel *row) {
  const tw_type type = row->kernel.dst;
  unsigned state = 1;
  for (size_t i = 0; i < PIXELS * CHANNELS; ++i) put(type, pixels[i] = small(&state), input, i);
  for (size_t i = 0; i < CHANNELS * row->height * row->width; ++i) {
    put(type, taps[i] = small(&state), weights, i);
  }
  for (size_t i = 0; i < CHANNELS; ++i) {
    const int32_t whole = sums[i] = small(&state);
    scales[i] = 1 / (float)(20 + whole);
    put(type, type == TW_S8 ? LHS_ZERO : 0, zeros, i);
    if (type == TW_S8) memcpy(bias + i * sizeof whole, &whole, sizeof whole);
    else put(TW_F32, whole, bias, i);
  }
}

/* An output that is neither rounded nor clamped. */
static double output_of(const tw_depthwise_kernel *row, size_t line, size_t column,
                        size_t channel) {
  const int codes = row->kernel.dst == TW_S8;
  double sum = sums[channel];
  for (size_t tap = 0; tap < row->height * row->width; ++tap) {
    const size_t y = line * row->stride + tap / row->width - row->height / 2;
    const size_t x = column * row->stride + tap % row->width - row->width / 2;
    if (y >= HEIGHT || x >= WIDTH) continue; /* padding: below 0 it is far above */
    const int pixel = pixels[(y * WIDTH + x) * CHANNELS + channel] - (codes ? LHS_ZERO : 0);
    sum += (double)pixel * taps[channel * row->height * row->width + tap];
  }
  return codes ? sum * (double)(scales[channel] * lhs_scale / dst_scale) + DST_ZERO : sum;
}

/* False after saying what is wrong. */
static int is_right(const tw_depthwise_kernel *row, const tw_convolution_outputs *outputs,
                    double limit) {
  const double allowed = row->kernel.dst == TW_S8 ? 0.501 : 0; /* half a code: rounding */
  double worst = 0;
  for (size_t i = 0; i < outputs->lines * outputs->columns * CHANNELS; ++i) {
    const size_t pixel = i / CHANNELS;
    const double real =
        output_of(row, pixel / outputs->columns, pixel % outputs->columns, i % CHANNELS);
    const double gap = fabs(value_at(row->kernel.dst, output, i) - fmin(fmax(real, -limit), limit));
    if (!(gap <= worst)) worst = gap; /* a NaN too */
  }
  if (worst <= allowed) return 1;
  printf("WRONG %s: an error of %g\n", row->kernel.name, worst);
  return 0;
}

static void run(const tw_depthwise_plan *plan, const tw_depthwise_kernel *row,
                const tw_convolution_outputs *outputs, float limit) {
  const size_t bytes = type_bytes(row->kernel.dst), packed_bytes = tw_depthwise_weight_bytes(plan);
  const size_t pointers = tw_depthwise_pointers(plan);
  void *packed = allocate(packed_bytes);
  const void **table = (const void **)allocate(pointers * sizeof *table);
  tw_rhs_source source = {.size = sizeof source, .order = TW_NXK};
  source.data = weights;
  source.data_bytes = sizeof weights;
  source.stride = row->height * row->width * bytes;
  source.bias = bias;
  source.bias_count = CHANNELS;
  if (row->kernel.dst == TW_S8) {
    source.scales = scales;
    source.scale_count = CHANNELS;
    source.lhs_zero_point = LHS_ZERO;
    source.lhs_scale = lhs_scale;
    source.dst_scale = dst_scale;
  }
  check(tw_depthwise_pack(plan, &source, packed, packed_bytes));
  check(tw_depthwise_table(plan, input, zeros, table, pointers));
  tw_run_args args = {.size = sizeof args};
  args.m = outputs->lines * outputs->columns;
  args.rhs = packed;
  args.rhs_bytes = packed_bytes;
  args.dst = output;
  args.dst_bytes = sizeof output;
  args.dst_stride = CHANNELS * bytes;
  args.dst_zero_point = row->kernel.dst == TW_S8 ? DST_ZERO : 0;
  args.clamp = 1;
  args.min = -limit;
  args.max = limit;
  tw_depthwise_args depthwise = {.size = sizeof depthwise};
  depthwise.table = table;
  depthwise.table_count = pointers;
  depthwise.run = &args;
  size_t slices;
  check(tw_depthwise_slices(plan, &slices));
  memset(output, 0xff, sizeof output);
  for (size_t i = 0; i < slices; ++i) check(tw_depthwise_run(plan, &depthwise, i));
  free(table);
  free(packed);
}

static int test_row(const tw_device *device, const tw_depthwise_kernel *row, float limit) {
  tw_convolution convolution = {.size = sizeof convolution, .height = HEIGHT, .width = WIDTH};
  convolution.pixel_bytes = CHANNELS * type_bytes(row->kernel.dst);
  convolution.kernel_height = row->height;
  convolution.kernel_width = row->width;
  convolution.stride_height = convolution.stride_width = row->stride;
  convolution.top = convolution.bottom = row->height / 2;
  convolution.left = convolution.right = row->width / 2;
  tw_convolution_outputs outputs = {.size = sizeof outputs};
  check(tw_convolution_part(&convolution, 0, &outputs));
  tw_depthwise depthwise = {.size = sizeof depthwise, .channels = CHANNELS};
  depthwise.family = row->kernel.family;
  depthwise.convolution = &convolution;
  depthwise.kernel = row->kernel.name;
  tw_depthwise_plan *plan = NULL;
  check(tw_depthwise_create(device, &depthwise, &plan));
  make_values(row);
  run(plan, row, &outputs, limit);
  tw_depthwise_destroy(plan);
  return is_right(row, &outputs, (double)limit);
}

int test_depthwise(const tw_device *device, int *comparisons);

/* Adds to the number of comparisons; returns how many of them are wrong. */
int test_depthwise(const tw_device *device, int *comparisons) {
  static const float limits[] = {1e4f, 20}; /* of the type's own, and of fewer */
  int wrong = 0;
  for (size_t i = 0; i < tw_generated_depthwise_kernel_count; ++i) {
    const tw_depthwise_kernel *row = &tw_generated_depthwise_kernels[i];
    const int runs = row->kernel.run != NULL && tw_kernel_supported(&row->kernel, device);
    printf("%s %s\n", runs ? "runs " : why_not(&row->kernel), row->kernel.name);
    for (size_t j = 0; runs && j < 2; ++j, ++*comparisons) {
      const float own = row->kernel.dst == TW_S8 ? 127 : limits[0];
      wrong += !test_row(device, row, j == 0 ? own : limits[1]);
    }
  }
  return wrong;
}
