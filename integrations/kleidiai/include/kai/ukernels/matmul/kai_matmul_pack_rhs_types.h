// SPDX-License-Identifier: Apache-2.0
// What KleidiAI's newer packers of weights are told: a shape, and operands with their strides.
// Sizes and offsets, which are not served here, are left out.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kai_matmul_pack_rhs_uker_format_config {
  size_t nr, kr, sr, bl;
};

struct kai_matmul_pack_rhs_uker_config {
  struct kai_matmul_pack_rhs_uker_format_config format;
};

struct kai_matmul_pack_rhs_uker_dim_args {
  size_t n, k;
};

// From a column to the next one, and from a value of k.
struct kai_matmul_pack_rhs_uker_rhs_stride_args {
  size_t n, k;
};

struct kai_matmul_pack_rhs_uker_rhs_args {
  const void* ptr;
  struct kai_matmul_pack_rhs_uker_rhs_stride_args stride;
};

struct kai_matmul_pack_rhs_uker_rhs_packed_stride_args {
  size_t n;  // from panel to panel
};

struct kai_matmul_pack_rhs_uker_rhs_packed_args {
  void* ptr;
  struct kai_matmul_pack_rhs_uker_rhs_packed_stride_args stride;
};

struct kai_matmul_pack_rhs_uker_bias_n_args {
  const void* ptr;
};

struct kai_matmul_pack_rhs_uker_k_sum_scale_global_args {
  const void* ptr;  // one: what the sums of columns are multiplied by
};

struct kai_matmul_pack_rhs_uker_scale_n_args {
  const void* ptr;
};

struct kai_matmul_pack_rhs_uker_scale_global_args {
  const void* ptr;  // one, for all columns
};

struct kai_matmul_pack_rhs_uker_scale_nk_stride_args {
  size_t n, k;
};

struct kai_matmul_pack_rhs_uker_scale_nk_args {
  const void* ptr;
  struct kai_matmul_pack_rhs_uker_scale_nk_stride_args stride;
};

struct kai_matmul_pack_rhs_uker_operand_args {
  struct kai_matmul_pack_rhs_uker_rhs_args rhs;
  struct kai_matmul_pack_rhs_uker_rhs_packed_args rhs_packed;
  struct kai_matmul_pack_rhs_uker_bias_n_args bias_n;
  struct kai_matmul_pack_rhs_uker_k_sum_scale_global_args k_sum_scale_global;
  struct kai_matmul_pack_rhs_uker_scale_n_args scale_n;
  struct kai_matmul_pack_rhs_uker_scale_global_args scale_global;
  struct kai_matmul_pack_rhs_uker_scale_nk_args scale_nk;
};

struct kai_matmul_pack_rhs_uker_args {
  uint64_t flags;
  struct kai_matmul_pack_rhs_uker_dim_args shape;
  struct kai_matmul_pack_rhs_uker_operand_args operand;
};

#ifdef __cplusplus
}
#endif
