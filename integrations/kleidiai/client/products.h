// SPDX-License-Identifier: Apache-2.0
// The micro-kernels that llama.cpp's KleidiAI backend uses, by type of weights and processor,
// behind functions of one kind each. Lengths are values, strides bytes; `block` is Q4_0's and is
// left out for families that have none.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Weights as a type's packer takes them. Owned by the caller.
struct weights {
  size_t n, k, block;
  const void* codes;
  const float* scales;  // a column's, of q8_0 and q2
  const float* bias;
};

struct kernel {
  size_t (*n_step)(void);
  size_t (*mr)(void);
  size_t (*nr)(void);
  size_t (*kr)(void);
  size_t (*sr)(void);
  size_t (*lhs_offset)(size_t m, size_t k, size_t block);
  size_t (*rhs_offset)(size_t n, size_t k, size_t block);
  size_t (*dst_offset)(size_t m, size_t n, size_t stride);
  void (*run)(size_t m, size_t n, size_t k, size_t block, const void* lhs, const void* rhs,
              float* dst, size_t dst_stride);
};

struct lhs {
  size_t (*size)(size_t m, size_t k, size_t block, size_t mr, size_t kr, size_t sr);
  size_t (*offset)(size_t m, size_t k, size_t block, size_t mr, size_t kr, size_t sr);
  void (*pack)(size_t m, size_t k, size_t block, size_t mr, size_t kr, size_t sr, size_t first,
               const float* rows, size_t stride, void* packed);
};

struct rhs {
  size_t (*size)(const struct weights* weights, const struct kernel* kernel);
  void (*pack)(const struct weights* weights, const struct kernel* kernel, void* packed);
};

struct product {
  const char* type;
  const char* processor;
  const struct kernel *gemm, *gemv;  // of several rows, and of one
  const struct lhs *gemm_lhs, *gemv_lhs;
  const struct rhs* rhs;
};

// NULL where llama.cpp has none.
const struct product* find_product(const char* type, const char* processor);
