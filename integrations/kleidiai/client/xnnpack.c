// SPDX-License-Identifier: Apache-2.0
// A client of XNNPACK that knows nothing of us: floats to int8 rows, multiplied with int4 weights,
// as the graphs of ExecuTorch's 8da4w are. The same numbers in every run.
//
//   xnnpack qc4w M N K OUT         a scale for each output channel
//   xnnpack qb4w M N K OUT BLOCK   a scale for each block of K
//   xnnpack compare OUT OUT        the largest difference, and the largest value
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xnnpack.h>

// Of the node that converts: quantized rows are packed, too, for the micro-kernels of KleidiAI.
enum { packs_for_channels = 0x80, packs_for_blocks = 0x100 };

static void check(enum xnn_status status, const char* what) {
  if (status == xnn_status_success) return;
  fprintf(stderr, "%s: status %d\n", what, (int)status);
  exit(1);
}

static uint32_t next_random(void) {
  static uint32_t state = 1;
  state = state * 1664525U + 1013904223U;
  return state >> 8;
}

static float real(float low, float high) {
  return low + (high - low) * (float)next_random() / 16777216.0F;
}

static uint32_t define_weights(xnn_subgraph_t graph, const size_t dims[2], size_t block) {
  const size_t n = dims[0], k = dims[1];
  uint8_t* const codes = malloc(n * k / 2);
  for (size_t i = 0; i < n * k / 2; ++i) codes[i] = (uint8_t)next_random();
  const size_t scales = block != 0 ? n * k / block : n;
  uint16_t* const halves = malloc(scales * sizeof *halves);
  float* const floats = malloc(scales * sizeof *floats);
  for (size_t i = 0; i < scales; ++i) {
    floats[i] = real(0.001F, 0.02F);
    uint32_t bits;
    memcpy(&bits, floats + i, sizeof bits);
    halves[i] = (uint16_t)(bits >> 16);
  }
  uint32_t id;
  if (block != 0) {
    check(xnn_define_blockwise_quantized_tensor_value(graph, xnn_datatype_qbint4, 8, halves, 2, 0,
                                                      block, dims, codes, XNN_INVALID_VALUE_ID, 0,
                                                      &id),
          "weights");
  } else {
    check(
        xnn_define_channelwise_quantized_tensor_value_v2(
            graph, xnn_datatype_qcint4, 8, floats, 2, 0, dims, codes, XNN_INVALID_VALUE_ID, 0, &id),
        "weights");
  }
  return id;
}

static uint32_t define_bias(xnn_subgraph_t graph, size_t n) {
  float* const values = malloc(n * sizeof *values);
  for (size_t i = 0; i < n; ++i) values[i] = real(-1, 1);
  uint32_t id;
  check(xnn_define_tensor_value(graph, xnn_datatype_fp32, 1, &n, values, XNN_INVALID_VALUE_ID, 0,
                                &id),
        "bias");
  return id;
}

static int multiply(size_t m, size_t n, size_t k, size_t block, const char* path) {
  check(xnn_initialize(NULL), "XNNPACK");
  xnn_subgraph_t graph;
  check(xnn_create_subgraph(2, 0, &graph), "graph");
  const size_t input_dims[2] = {m, k}, output_dims[2] = {m, n}, weight_dims[2] = {n, k};
  uint32_t input, rows, output;
  check(xnn_define_tensor_value(graph, xnn_datatype_fp32, 2, input_dims, NULL, 0,
                                XNN_VALUE_FLAG_EXTERNAL_INPUT, &input),
        "input");
  check(xnn_define_dynamically_quantized_tensor_value(graph, xnn_datatype_qdint8, 2, 1, input_dims,
                                                      XNN_INVALID_VALUE_ID, 0, &rows),
        "rows");
  check(xnn_define_tensor_value(graph, xnn_datatype_fp32, 2, output_dims, NULL, 1,
                                XNN_VALUE_FLAG_EXTERNAL_OUTPUT, &output),
        "output");
  const uint32_t weights = define_weights(graph, weight_dims, block);
  const uint32_t bias = define_bias(graph, n);
  check(xnn_define_unary(graph, xnn_unary_convert, NULL, input, rows,
                         block != 0 ? packs_for_blocks : packs_for_channels),
        "convert");
  check(xnn_define_fully_connected(graph, -INFINITY, INFINITY, rows, weights, bias, output, 0),
        "product");
  xnn_runtime_t runtime;
  check(xnn_create_runtime_v2(graph, NULL, 0, &runtime), "runtime");
  // Rows may be read beyond their ends.
  float* const in = calloc(m * k * sizeof *in + XNN_EXTRA_BYTES, 1);
  float* const out = calloc(m * n * sizeof *out + XNN_EXTRA_BYTES, 1);
  for (size_t i = 0; i < m * k; ++i) in[i] = real(-2, 3);
  const struct xnn_external_value values[] = {{0, in}, {1, out}};
  check(xnn_reshape_runtime(runtime), "shapes");
  check(xnn_setup_runtime_v2(runtime, 2, values), "setup");
  check(xnn_invoke_runtime(runtime), "run");
  FILE* const file = fopen(path, "wb");
  if (file == NULL || fwrite(out, sizeof *out, m * n, file) != m * n || fclose(file) != 0) {
    perror(path);
    return 1;
  }
  return 0;
}

static int compare(const char* first, const char* second) {
  FILE* const a = fopen(first, "rb");
  FILE* const b = fopen(second, "rb");
  if (a == NULL || b == NULL) {
    fprintf(stderr, "cannot read %s or %s\n", first, second);
    return 1;
  }
  float x, y, difference = 0, largest = 0;
  size_t count = 0;
  while (fread(&x, sizeof x, 1, a) == 1 && fread(&y, sizeof y, 1, b) == 1) {
    difference = fmaxf(difference, fabsf(x - y));
    largest = fmaxf(largest, fabsf(x));
    ++count;
  }
  printf("%.2g of %.3g\n", (double)difference, (double)largest);
  // Sums of products of the same codes: what rounding floats in another order may change.
  return count == 0 || !(difference <= 1e-5F * largest);
}

int main(int count, char** arguments) {
  if (count == 4 && strcmp(arguments[1], "compare") == 0)
    return compare(arguments[2], arguments[3]);
  if (count < 6) return 2;
  const size_t m = strtoul(arguments[2], NULL, 10), n = strtoul(arguments[3], NULL, 10);
  const size_t k = strtoul(arguments[4], NULL, 10);
  const size_t block = count > 6 ? strtoul(arguments[6], NULL, 10) : 0;
  return multiply(m, n, k, block, arguments[5]);
}
