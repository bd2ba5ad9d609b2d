// SPDX-License-Identifier: Apache-2.0
// A client that knows nothing of us: the products of a layer as llama.cpp's KleidiAI backend
// computes them. Weights are packed once; then every thread packs whole panels of rows, and
// multiplies all rows by its own columns; one row has a micro-kernel of its own. The threads run
// one after the other here. The same numbers in every run.
//
//   llama TYPE PROCESSOR M N K OUT
//
// TYPE: q4_0, q8_0, f16 or q2; PROCESSOR: dotprod, i8mm, sve, sme, sme2 or sme2_f16.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"
#include "products.h"

enum { threads = 2, block = 32 };

static float* reals(size_t count, float low, float high) {
  float* const result = malloc(count * sizeof *result);
  for (size_t i = 0; i < count; ++i) result[i] = real(low, high);
  return result;
}

// Rows of weights as the type's packer takes them, and their scales where those stand apart.
static struct weights make_weights(const char* type, size_t n, size_t k) {
  struct weights weights = {.n = n, .k = k, .block = block};
  if (strcmp(type, "q4_0") == 0) {
    enum { block_bytes = 2 + block / 2 };
    uint8_t* const blocks = random_bytes(n * (k / block) * block_bytes);
    for (size_t i = 0; i < n * (k / block); ++i) {
      // From 2^-9 to 2^-5, f16.
      const uint16_t scale = (uint16_t)(0x1800 + next_random() % 0x1000);
      memcpy(blocks + i * block_bytes, &scale, sizeof scale);
    }
    weights.codes = blocks;
  } else if (strcmp(type, "f16") == 0) {
    weights.codes = reals(n * k, -1, 1);
  } else {
    weights.codes = random_bytes(n * k);
    weights.scales = reals(n, 0.001F, 0.02F);
  }
  weights.bias = calloc(n, sizeof(float));
  return weights;
}

// The part of `count` things, in whole steps, that a thread has.
static size_t begin_of(size_t thread, size_t count, size_t step) {
  if (thread == threads) return count;
  return thread * (count / threads / step * step);
}

static void multiply(const struct product* product, const struct weights* weights, size_t m,
                     const float* rows, float* out) {
  const struct kernel* const kernel = m == 1 ? product->gemv : product->gemm;
  const struct lhs* const lhs = m == 1 ? product->gemv_lhs : product->gemm_lhs;
  const size_t n = weights->n, k = weights->k;
  const size_t mr = kernel->mr(), kr = kernel->kr(), sr = kernel->sr();
  void* const packed_weights = malloc(product->rhs->size(weights, product->gemm));
  product->rhs->pack(weights, product->gemm, packed_weights);
  char* const packed = malloc(lhs->size(m, k, block, mr, kr, sr));
  for (size_t i = 0; i < threads; ++i) {
    const size_t first = begin_of(i, m, mr), last = begin_of(i + 1, m, mr);
    if (first == last) continue;
    lhs->pack(last - first, k, block, mr, kr, sr, 0, rows + first * k, k * sizeof *rows,
              packed + lhs->offset(first, k, block, mr, kr, sr));
  }
  for (size_t i = 0; i < threads; ++i) {
    const size_t first = begin_of(i, n, kernel->n_step()),
                 last = begin_of(i + 1, n, kernel->n_step());
    if (first == last) continue;
    kernel->run(m, last - first, k, block, packed + kernel->lhs_offset(0, k, block),
                (const char*)packed_weights + kernel->rhs_offset(first, k, block),
                (float*)((char*)out + kernel->dst_offset(0, first, n * sizeof *out)),
                n * sizeof *out);
  }
}

int main(int count, char** arguments) {
  const struct product* const product =
      count == 7 ? find_product(arguments[1], arguments[2]) : NULL;
  if (product == NULL) {
    fprintf(stderr, "llama TYPE PROCESSOR M N K OUT: no such product\n");
    return 2;
  }
  const size_t m = strtoul(arguments[3], NULL, 10), n = strtoul(arguments[4], NULL, 10);
  const size_t k = strtoul(arguments[5], NULL, 10);
  const struct weights weights = make_weights(arguments[1], n, k);
  const float* const rows = reals(m * k, -2, 3);
  float* const out = calloc(m * n, sizeof *out);
  multiply(product, &weights, m, rows, out);
  return write_floats(arguments[6], out, m * n);
}
