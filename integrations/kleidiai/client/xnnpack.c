// SPDX-License-Identifier: Apache-2.0
// A client of XNNPACK that knows nothing of us: fully connected layers of f32 and f16, and of f32
// that become int8 rows, by int8 and int4 weights, as the graphs of ExecuTorch's 8da4w are. The
// same numbers in every run.
//
//   xnnpack TYPE M N K OUT         f32, f16, or of weights with a scale a column: qc8w, qc4w
//   xnnpack qb4w M N K OUT BLOCK   a scale for each block of K
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xnnpack.h>

#include "numbers.h"

// Of the node that converts: quantized rows are packed, too, for the micro-kernels of KleidiAI.
enum { packs_for_channels = 0x80, packs_for_blocks = 0x100 };

static void check(enum xnn_status status, const char* what) {
  if (status == xnn_status_success) return;
  fprintf(stderr, "%s: status %d\n", what, (int)status);
  exit(1);
}

typedef __fp16 half;

// The operands of a product, by the name of its type.
struct product {
  enum xnn_datatype rows, weights, output;
  uint32_t convert;  // flags of the node that makes int8 rows of floats
};

static struct product product_of(const char* type) {
  const struct product in_blocks = {xnn_datatype_qdint8, xnn_datatype_qbint4, xnn_datatype_fp32,
                                    packs_for_blocks};
  const struct product int4 = {xnn_datatype_qdint8, xnn_datatype_qcint4, xnn_datatype_fp32,
                               packs_for_channels};
  const struct product int8 = {xnn_datatype_qdint8, xnn_datatype_qcint8, xnn_datatype_fp32, 0};
  const struct product f32 = {xnn_datatype_fp32, xnn_datatype_fp32, xnn_datatype_fp32, 0};
  const struct product f16 = {xnn_datatype_fp16, xnn_datatype_fp16, xnn_datatype_fp16, 0};
  if (strcmp(type, "qb4w") == 0) return in_blocks;
  if (strcmp(type, "qc4w") == 0) return int4;
  if (strcmp(type, "qc8w") == 0) return int8;
  if (strcmp(type, "f32") == 0) return f32;
  if (strcmp(type, "f16") == 0) return f16;
  fprintf(stderr, "%s: no type of products\n", type);
  exit(2);
}

static size_t bytes_of(enum xnn_datatype type) {
  return type == xnn_datatype_fp16 ? 2 : 4;
}

// `count` values from `low` to `high`, in memory that XNNPACK may read a little beyond.
static void* reals(size_t count, enum xnn_datatype type, float low, float high) {
  void* const values = calloc(count * bytes_of(type) + XNN_EXTRA_BYTES, 1);
  for (size_t i = 0; i < count; ++i) {
    if (type == xnn_datatype_fp16) {
      ((half*)values)[i] = (half)real(low, high);
    } else {
      ((float*)values)[i] = real(low, high);
    }
  }
  return values;
}

static uint32_t define_values(xnn_subgraph_t graph, enum xnn_datatype type, size_t count,
                              const size_t* dims, size_t dim_count) {
  uint32_t id;
  check(xnn_define_tensor_value(graph, type, dim_count, dims, reals(count, type, -1, 1),
                                XNN_INVALID_VALUE_ID, 0, &id),
        "values");
  return id;
}

static uint32_t define_codes(xnn_subgraph_t graph, enum xnn_datatype type, const size_t dims[2],
                             size_t block) {
  const size_t n = dims[0], k = dims[1];
  const size_t bytes = type == xnn_datatype_qcint8 ? n * k : n * k / 2;
  const void* const codes = random_bytes(bytes);
  const size_t count = block != 0 ? n * k / block : n;
  float* const scales = reals(count, xnn_datatype_fp32, 0.001F, 0.02F);
  uint32_t id;
  if (block == 0) {
    const int32_t zero = type == xnn_datatype_qcint8 ? 0 : 8;
    check(xnn_define_channelwise_quantized_tensor_value_v2(graph, type, zero, scales, 2, 0, dims,
                                                           codes, XNN_INVALID_VALUE_ID, 0, &id),
          "weights");
    return id;
  }
  uint16_t* const halves = malloc(count * sizeof *halves);  // bf16
  for (size_t i = 0; i < count; ++i) halves[i] = cut_to_bf16(scales[i]);
  check(xnn_define_blockwise_quantized_tensor_value(graph, type, 8, halves, 2, 0, block, dims,
                                                    codes, XNN_INVALID_VALUE_ID, 0, &id),
        "weights");
  return id;
}

// A graph of one product, and its result.
static void* multiply(struct product product, size_t m, size_t n, size_t k, size_t block) {
  check(xnn_initialize(NULL), "XNNPACK");
  xnn_subgraph_t graph;
  check(xnn_create_subgraph(2, 0, &graph), "graph");
  const size_t input_dims[2] = {m, k}, output_dims[2] = {m, n}, weight_dims[2] = {n, k};
  const int is_quantized = product.rows == xnn_datatype_qdint8;
  uint32_t input, rows, output;
  check(xnn_define_tensor_value(graph, product.output, 2, input_dims, NULL, 0,
                                XNN_VALUE_FLAG_EXTERNAL_INPUT, &input),
        "input");
  rows = input;
  if (is_quantized) {
    check(xnn_define_dynamically_quantized_tensor_value(graph, product.rows, 2, 1, input_dims,
                                                        XNN_INVALID_VALUE_ID, 0, &rows),
          "rows");
    check(xnn_define_unary(graph, xnn_unary_convert, NULL, input, rows, product.convert),
          "convert");
  }
  check(xnn_define_tensor_value(graph, product.output, 2, output_dims, NULL, 1,
                                XNN_VALUE_FLAG_EXTERNAL_OUTPUT, &output),
        "output");
  const uint32_t weights = is_quantized
                               ? define_codes(graph, product.weights, weight_dims, block)
                               : define_values(graph, product.weights, n * k, weight_dims, 2);
  const uint32_t bias = define_values(graph, product.output, n, &n, 1);
  check(xnn_define_fully_connected(graph, -INFINITY, INFINITY, rows, weights, bias, output, 0),
        "product");
  xnn_runtime_t runtime;
  check(xnn_create_runtime_v2(graph, NULL, 0, &runtime), "runtime");
  void* const in = reals(m * k, product.output, -2, 3);
  void* const out = reals(m * n, product.output, 0, 0);
  const struct xnn_external_value values[] = {{0, in}, {1, out}};
  check(xnn_reshape_runtime(runtime), "shapes");
  check(xnn_setup_runtime_v2(runtime, 2, values), "setup");
  check(xnn_invoke_runtime(runtime), "run");
  return out;
}

static float* as_floats(void* values, enum xnn_datatype type, size_t count) {
  if (type == xnn_datatype_fp32) return values;
  float* const floats = malloc(count * sizeof *floats);
  for (size_t i = 0; i < count; ++i) floats[i] = (float)((const half*)values)[i];
  return floats;
}

int main(int count, char** arguments) {
  if (count < 6) return 2;
  const struct product product = product_of(arguments[1]);
  const size_t m = strtoul(arguments[2], NULL, 10), n = strtoul(arguments[3], NULL, 10);
  const size_t k = strtoul(arguments[4], NULL, 10);
  const size_t block = count > 6 ? strtoul(arguments[6], NULL, 10) : 0;
  void* const out = multiply(product, m, n, k, block);
  return write_floats(arguments[5], as_floats(out, product.output, m * n), m * n);
}
