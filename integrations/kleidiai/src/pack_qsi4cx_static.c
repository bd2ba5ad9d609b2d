// SPDX-License-Identifier: Apache-2.0
// int4 for static activations in panels as wide as streaming vectors: biases, from which sums of
// columns are taken, then codes, 4 of a column together, then scales. k ends in zeros.
#include "kai/kai_common.h"
#include "nibbles.h"
#include "pack_structs.h"

enum { group = 4, k_multiple = 32 };

static void pack_column(const nibbles* from, const struct kai_matmul_pack_rhs_uker_operand_args* it,
                        size_t column, uint8_t* to, size_t panel, size_t at) {
  const size_t padded = (from->k + k_multiple - 1) / k_multiple * k_multiple;
  uint8_t* const codes = to + panel * sizeof(int32_t);
  const int32_t sum = pack_nibbles_in_turn(from, column, 0, padded, codes, panel, at, group);
  const int32_t taken = tw_mul_i32(*(const int32_t*)it->k_sum_scale_global.ptr, sum);
  const int32_t bias = tw_add_i32(((const int32_t*)it->bias_n.ptr)[column], taken);
  const float scale = ((const float*)it->scale_n.ptr)[column] * *(const float*)it->scale_global.ptr;
  tw_store_i32(to + at * sizeof bias, bias);
  tw_store_i32(codes + padded / 2 * panel + at * sizeof scale, tw_bits_of_f32(scale));
}

void tw_kai_pack_qsi4cx_static(const struct kai_matmul_pack_rhs_uker_args* args, size_t panel,
                               int32_t zero_point, int kxn) {
  const struct kai_matmul_pack_rhs_uker_operand_args* const it = &args->operand;
  KAI_ASSERT(args->flags == 0);
  KAI_ASSERT(it->rhs.ptr != NULL);
  KAI_ASSERT(it->rhs_packed.ptr != NULL);
  KAI_ASSERT(it->bias_n.ptr != NULL);
  KAI_ASSERT(it->k_sum_scale_global.ptr != NULL);
  KAI_ASSERT(it->scale_n.ptr != NULL);
  KAI_ASSERT(it->scale_global.ptr != NULL);
  KAI_ASSERT(zero_point == 0 || zero_point == 8);
  const size_t n = args->shape.n, k = args->shape.k;
  if (n == 0 || k == 0) return;
  const nibbles from = {(const uint8_t*)it->rhs.ptr,
                        kxn ? it->rhs.stride.k : it->rhs.stride.n,
                        n,
                        k,
                        kxn,
                        (uint8_t)zero_point,
                        0};
  const size_t padded = (k + k_multiple - 1) / k_multiple * k_multiple;
  for (size_t first = 0; first < n; first += panel) {
    uint8_t* const to = (uint8_t*)it->rhs_packed.ptr + first / panel * it->rhs_packed.stride.n;
    memset(to, 0, panel * (sizeof(int32_t) + padded / 2 + sizeof(float)));
    for (size_t at = 0; at < panel && first + at < n; ++at) {
      pack_column(&from, it, first + at, to, panel, at);
    }
  }
}
