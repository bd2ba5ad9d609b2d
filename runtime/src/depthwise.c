/* Depthwise convolutions. What is known of a matrix's weights and outputs is true of these: a plan
 * for a matrix of channels by taps packs the one and checks the other. */
#include "tilewright/depthwise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

enum { EDGE_TIMES = 4 }; /* channels that fill no tile take so many times longer */

struct tw_depthwise_plan {
  tw_plan matrix;
  const tw_depthwise_kernel* row;
  tw_convolution pixels;         /* 1 x 1: its table is that of the padded input's pixels */
  size_t lines, columns;         /* of outputs */
  size_t pointers, line_columns; /* of the table, and of a line of it */
};

size_t tw_list_depthwise_kernels(const tw_depthwise_kernel** rows, size_t capacity) {
  for (size_t i = 0; i < capacity && i < tw_generated_depthwise_kernel_count; ++i) {
    rows[i] = &tw_generated_depthwise_kernels[i];
  }
  return tw_generated_depthwise_kernel_count;
}

/* ---- which kernel ---- */

static bool is_wanted(const tw_depthwise_kernel* row, const tw_depthwise* wanted) {
  const tw_convolution* c = wanted->convolution;
  return strcmp(row->kernel.family, wanted->family) == 0 && row->height == c->kernel_height &&
         row->width == c->kernel_width && row->stride == c->stride_height &&
         (wanted->kernel == NULL || strcmp(wanted->kernel, row->kernel.name) == 0);
}

/* Cycles of a pixel's channels, taps apart. */
static double cycles(const tw_kernel* kernel, size_t channels) {
  const double rate = kernel->macs_per_cycle > 0 ? kernel->macs_per_cycle : 1;
  const size_t tiles = channels / kernel->tile_n, rest = channels % kernel->tile_n;
  return (double)(tiles + (rest != 0 ? EDGE_TIMES : 0)) * (double)kernel->tile_n / rate;
}

/* Of kernels of one cost those of wider tiles load fewer pointers. */
static bool is_better(const tw_kernel* a, const tw_kernel* b, size_t channels) {
  const double mine = cycles(a, channels), other = cycles(b, channels);
  return mine < other || (mine <= other && a->tile_n > b->tile_n);
}

/* The best that runs, the first of equals; null: none. */
static const tw_depthwise_kernel* choose(const tw_device* device, const tw_depthwise* wanted) {
  const tw_depthwise_kernel* best = NULL;
  for (size_t i = 0; i < tw_generated_depthwise_kernel_count; ++i) {
    const tw_depthwise_kernel* row = &tw_generated_depthwise_kernels[i];
    if (!is_wanted(row, wanted) || !tw_runnable_kernel(&row->kernel, device)) continue;
    if (best == NULL || is_better(&row->kernel, &best->kernel, wanted->channels)) best = row;
  }
  return best;
}

static tw_status nothing_runs(const tw_depthwise* wanted) {
  tw_text families = {.length = 0}, windows = {.length = 0};
  bool named = wanted->kernel == NULL, possible = false;
  for (size_t i = 0; i < tw_generated_depthwise_kernel_count; ++i) {
    const tw_depthwise_kernel* row = &tw_generated_depthwise_kernels[i];
    tw_append_word(&families, row->kernel.family);
    if (strcmp(row->kernel.family, wanted->family) != 0) continue;
    if (!named && strcmp(wanted->kernel, row->kernel.name) == 0) named = true;
    if (is_wanted(row, wanted)) possible = true;
    char window[64];
    snprintf(window, sizeof window, "%zu x %zu by %zu", row->height, row->width, row->stride);
    tw_append_word(&windows, window);
  }
  if (windows.length == 0) {
    return tw_fail(TW_INVALID,
                   "tw_depthwise_create: depthwise.family \"%.80s\" is unknown; legal: %s",
                   wanted->family, families.text);
  }
  if (!named) {
    return tw_fail(TW_INVALID,
                   "tw_depthwise_create: depthwise.kernel \"%.120s\" names no kernel of %s",
                   wanted->kernel, wanted->family);
  }
  const tw_convolution* c = wanted->convolution;
  if (possible) {
    return tw_fail(TW_UNSUPPORTED, "tw_depthwise_create: device runs no such kernel of %s",
                   wanted->family);
  }
  return tw_fail(TW_UNSUPPORTED,
                 "tw_depthwise_create: depthwise.convolution has %zu x %zu taps by strides of %zu; "
                 "%s of %s: %s",
                 c->kernel_height, c->kernel_width, c->stride_height,
                 wanted->kernel == NULL ? "there are kernels" : "that is not the named kernel, one",
                 wanted->family, windows.text);
}

/* ---- plan ---- */

/* Takes the convolution; strides of 0 become 1. */
static tw_status take_convolution(const tw_convolution* theirs, tw_convolution* own) {
  const char* who = "tw_depthwise_create: depthwise.convolution";
  if (theirs == NULL) return tw_fail(TW_INVALID, "%s is null", who);
  const tw_status status = tw_take(who, "tw_convolution", theirs, own, sizeof *own);
  if (status != TW_OK) return status;
  if (own->transposed) return tw_fail(TW_UNSUPPORTED, "%s.transposed is set; 0 is legal", who);
  if (own->dilation_height > 1 || own->dilation_width > 1) {
    return tw_fail(TW_UNSUPPORTED, "%s.dilation_height is %zu, dilation_width is %zu; 1 is legal",
                   who, own->dilation_height, own->dilation_width);
  }
  if (own->stride_height == 0) own->stride_height = 1;
  if (own->stride_width == 0) own->stride_width = 1;
  if (own->stride_height != own->stride_width) {
    return tw_fail(TW_UNSUPPORTED,
                   "%s.stride_height is %zu, stride_width is %zu; equal ones are legal", who,
                   own->stride_height, own->stride_width);
  }
  return TW_OK;
}

static tw_status check(const tw_depthwise* depthwise) {
  if (sizeof(void*) != 8) { /* as kernels read tables */
    return tw_fail(TW_UNSUPPORTED, "tw_depthwise_create: pointers have %zu bytes; 8 are legal",
                   sizeof(void*));
  }
  if (depthwise->family == NULL) {
    return tw_fail(TW_INVALID, "tw_depthwise_create: depthwise.family is null");
  }
  if (depthwise->channels == 0) {
    return tw_fail(TW_INVALID, "tw_depthwise_create: depthwise.channels is 0; at least 1 is legal");
  }
  return TW_OK;
}

/* The matrix that the weights are; false on overflow. */
static bool set_matrix(tw_plan* matrix, const tw_device* device, const tw_kernel* kernel,
                       size_t channels, size_t taps) {
  matrix->registry = tw_generated_registry();
  matrix->device = *device;
  matrix->n = matrix->n_block = channels;
  matrix->k = taps;
  matrix->lhs_type = kernel->lhs->type;
  matrix->dst_type = kernel->dst;
  matrix->rhs = kernel->rhs;
  matrix->rhs_panel = tw_panel_rows(kernel->rhs, device);
  return tw_panel_bytes(kernel->rhs, device, taps, &matrix->rhs_stride) &&
         tw_multiply(tw_divide_up(channels, matrix->rhs_panel), matrix->rhs_stride,
                     &matrix->rhs_bytes);
}

/* Of the outputs and of the padded input's pixels. */
static tw_status set_sizes(tw_depthwise_plan* plan, const tw_depthwise* depthwise) {
  tw_convolution_outputs outputs = {.size = sizeof outputs}, pixels = outputs;
  tw_status status = tw_convolution_part(depthwise->convolution, 0, &outputs);
  if (status != TW_OK) return status;
  plan->pixels = *depthwise->convolution;
  plan->pixels.kernel_height = plan->pixels.kernel_width = 1;
  plan->pixels.stride_height = plan->pixels.stride_width = 1;
  status = tw_convolution_part(&plan->pixels, 0, &pixels);
  if (status != TW_OK) return status;
  size_t bytes, least;
  if (!tw_multiply(depthwise->channels, tw_type_bytes(plan->matrix.lhs_type), &least) ||
      !tw_multiply(pixels.lines, pixels.columns, &plan->pointers) ||
      !tw_multiply(plan->pointers, sizeof(void*), &bytes)) {
    return tw_fail(
        TW_TOO_LARGE,
        "tw_depthwise_create: %zu channels of %zu x %zu pixels overflow the address space",
        depthwise->channels, pixels.lines, pixels.columns);
  }
  if (plan->pixels.pixel_bytes < least) {
    return tw_fail(TW_TOO_SMALL,
                   "tw_depthwise_create: depthwise.convolution.pixel_bytes is %zu; %zu channels "
                   "have %zu",
                   plan->pixels.pixel_bytes, depthwise->channels, least);
  }
  plan->lines = outputs.lines;
  plan->columns = outputs.columns;
  plan->line_columns = pixels.columns;
  return TW_OK;
}

/* All arguments are of this version. */
static tw_status create(const tw_device* device, const tw_depthwise* depthwise,
                        tw_depthwise_plan** plan) {
  const tw_depthwise_kernel* row = choose(device, depthwise);
  if (row == NULL) return nothing_runs(depthwise);
  tw_depthwise_plan* made = calloc(1, sizeof *made);
  if (made == NULL) return tw_fail(TW_NO_MEMORY, "tw_depthwise_create: out of memory");
  made->row = row;
  tw_status status = TW_OK;
  if (!set_matrix(&made->matrix, device, &row->kernel, depthwise->channels,
                  row->height * row->width)) {
    status = tw_fail(TW_TOO_LARGE,
                     "tw_depthwise_create: depthwise.channels is %zu; their weights overflow the "
                     "address space",
                     depthwise->channels);
  }
  if (status == TW_OK) status = set_sizes(made, depthwise);
  if (status != TW_OK) {
    free(made);
    return status;
  }
  if (tw_log_enabled()) {
    fprintf(stderr, "tilewright: %s of %zu channels: %s\n", depthwise->family, depthwise->channels,
            row->kernel.name);
  }
  *plan = made;
  return TW_OK;
}

tw_status tw_depthwise_create(const tw_device* device, const tw_depthwise* depthwise,
                              tw_depthwise_plan** plan) {
  if (plan == NULL) return tw_fail(TW_INVALID, "tw_depthwise_create: plan is null");
  *plan = NULL;
  if (device == NULL || depthwise == NULL) {
    return tw_fail(TW_INVALID, "tw_depthwise_create: %s is null",
                   device == NULL ? "device" : "depthwise");
  }
  tw_device own_device;
  tw_depthwise own;
  tw_convolution convolution = {0}; /* clang-tidy does not see that what fails is not read */
  tw_status status =
      tw_take("tw_depthwise_create: device", "tw_device", device, &own_device, sizeof own_device);
  if (status == TW_OK) {
    status = tw_take("tw_depthwise_create: depthwise", "tw_depthwise", depthwise, &own, sizeof own);
  }
  if (status == TW_OK) status = check(&own);
  if (status == TW_OK) status = take_convolution(own.convolution, &convolution);
  own.convolution = &convolution;
  return status == TW_OK ? create(&own_device, &own, plan) : status;
}

void tw_depthwise_destroy(tw_depthwise_plan* plan) {
  free(plan);
}

const tw_depthwise_kernel* tw_depthwise_chosen(const tw_depthwise_plan* plan) {
  return plan == NULL ? NULL : plan->row;
}

/* ---- weights and table ---- */

size_t tw_depthwise_weight_bytes(const tw_depthwise_plan* plan) {
  return plan == NULL ? 0 : plan->matrix.rhs_bytes;
}

tw_status tw_depthwise_pack(const tw_depthwise_plan* plan, const tw_rhs_source* weights,
                            void* packed, size_t packed_bytes) {
  if (plan == NULL) return tw_fail(TW_INVALID, "tw_depthwise_pack: plan is null");
  return tw_pack_rhs(&plan->matrix, weights, packed, packed_bytes, 0);
}

size_t tw_depthwise_pointers(const tw_depthwise_plan* plan) {
  return plan == NULL ? 0 : plan->pointers;
}

tw_status tw_depthwise_table(const tw_depthwise_plan* plan, const void* input, const void* pad,
                             const void** table, size_t table_count) {
  if (plan == NULL) return tw_fail(TW_INVALID, "tw_depthwise_table: plan is null");
  if (input == NULL || table == NULL) {
    return tw_fail(TW_INVALID, "tw_depthwise_table: %s is null", input == NULL ? "input" : "table");
  }
  if (table_count < plan->pointers) {
    return tw_fail(TW_TOO_SMALL, "tw_depthwise_table: table_count is %zu; %zu pointers are needed",
                   table_count, plan->pointers);
  }
  const tw_convolution* c = &plan->pixels;
  if (pad == NULL && c->top + c->bottom + c->left + c->right != 0) {
    return tw_fail(TW_INVALID, "tw_depthwise_table: pad is null; the convolution has padding");
  }
  return tw_convolution_rows(c, 0, input, pad, 1, table, table_count);
}

/* ---- run ---- */

tw_status tw_depthwise_slices(const tw_depthwise_plan* plan, size_t* slices) {
  if (plan == NULL || slices == NULL) {
    return tw_fail(TW_INVALID, "tw_depthwise_slices: %s is null", plan == NULL ? "plan" : "slices");
  }
  *slices = plan->lines;
  return TW_OK;
}

static tw_status check_run(const tw_depthwise_plan* plan, const tw_depthwise_args* args,
                           const tw_run_args* run) {
  const char* who = "tw_depthwise_run: args.run";
  if (args->table == NULL) return tw_fail(TW_INVALID, "tw_depthwise_run: args.table is null");
  if (args->table_count < plan->pointers) {
    return tw_fail(TW_TOO_SMALL,
                   "tw_depthwise_run: args.table_count is %zu; %zu pointers are needed",
                   args->table_count, plan->pointers);
  }
  const size_t outputs = plan->lines * plan->columns;
  if (run->m != outputs) {
    return tw_fail(TW_INVALID, "%s.m is %zu; all %zu outputs are legal", who, run->m, outputs);
  }
  if (run->n != plan->matrix.n) {
    return tw_fail(TW_INVALID, "%s.n is %zu; all %zu channels are legal", who, run->n,
                   plan->matrix.n);
  }
  if (run->rhs == NULL) return tw_fail(TW_INVALID, "%s.rhs is null", who);
  const tw_status status = tw_check_weights(who, &plan->matrix, run);
  return status == TW_OK ? tw_check_outputs(who, &plan->matrix, run) : status;
}

/* Without a branch for each pointer: it is as many as a narrow layer has vectors. */
static bool has_null(const void* const* pointers, size_t count) {
  size_t nulls = 0;
  for (size_t i = 0; i < count; ++i) nulls += pointers[i] == NULL;
  return nulls != 0;
}

/* All that a line of outputs lies on. */
static tw_status check_line(const tw_depthwise_plan* plan, const void* const* table, size_t first) {
  const size_t columns = (plan->columns - 1) * plan->row->stride + plan->row->width;
  for (size_t y = 0; y < plan->row->height; ++y) {
    size_t at = first + y * plan->line_columns;
    if (!has_null(table + at, columns)) continue;
    while (table[at] != NULL) ++at;
    return tw_fail(TW_INVALID, "tw_depthwise_run: args.table[%zu] is null", at);
  }
  return TW_OK;
}

static void run_line(const tw_depthwise_plan* plan, const void* const* first,
                     const tw_run_args* run, size_t line) {
  const tw_plan* matrix = &plan->matrix;
  const bool codes = matrix->dst_type == TW_S8;
  tw_args args = {.size = sizeof args};
  args.m = plan->columns;
  args.n = matrix->n;
  args.k = matrix->k;
  args.lhs = first;
  args.lhs_stride = plan->line_columns * sizeof *first;
  args.rhs = run->rhs;
  args.rhs_stride = matrix->rhs_stride;
  args.dst = (char*)run->dst + line * plan->columns * run->dst_stride;
  args.dst_stride = run->dst_stride;
  args.bias = run->bias;
  args.min = run->clamp ? run->min : codes ? INT8_MIN : -INFINITY;
  args.max = run->clamp ? run->max : codes ? INT8_MAX : INFINITY;
  args.dst_zero_point = run->dst_zero_point;
  plan->row->kernel.run(&args);
}

tw_status tw_depthwise_run(const tw_depthwise_plan* plan, const tw_depthwise_args* theirs,
                           size_t slice) {
  if (plan == NULL) return tw_fail(TW_INVALID, "tw_depthwise_run: plan is null");
  if (theirs == NULL) return tw_fail(TW_INVALID, "tw_depthwise_run: args is null");
  tw_depthwise_args args;
  tw_run_args run;
  tw_status status =
      tw_take("tw_depthwise_run: args", "tw_depthwise_args", theirs, &args, sizeof args);
  if (status != TW_OK) return status;
  if (args.run == NULL) return tw_fail(TW_INVALID, "tw_depthwise_run: args.run is null");
  status = tw_take_run("tw_depthwise_run: args.run", &plan->matrix, args.run, &run);
  if (status == TW_OK) status = check_run(plan, &args, &run);
  if (status != TW_OK || slice >= plan->lines) return status;
  const size_t first = slice * plan->row->stride * plan->line_columns;
  status = check_line(plan, args.table, first);
  if (status == TW_OK) run_line(plan, args.table + first, &run, slice);
  return status;
}
