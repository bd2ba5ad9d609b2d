/* Shipped sources without the runtime: one kernel and its two packers, compiled with kernel.h.
 * The head of each generated file says how its panels lie in memory; their sizes follow. */
#include <stdio.h>
#include <string.h>

#include "tilewright/generated.h"

enum { M = 2, N = 16, K = 64, PANEL = 4, LHS_PANEL = K + 12, RHS_PANEL = PANEL * (K / 2 + 12) };

static float x[M * K], y[M * N], scales[N];
static unsigned char weights[N * K / 2], lhs[M * LHS_PANEL], rhs[N / PANEL * RHS_PANEL];

int main(void) {
  for (int i = 0; i < M * K; ++i) x[i] = i < K ? 1 : -1;
  for (int i = 0; i < N; ++i) scales[i] = 0.5F;
  memset(weights, 0x33, sizeof weights); /* every code is 3 */
  /* clang-format off */
  const tw_pack_args pack_weights = {
      .size = sizeof pack_weights, .rows = N, .k = K, .row_begin = 0, .row_end = N,
      .source = weights, .source_stride = K / 2, .scales = scales,
      .packed = rhs, .packed_stride = RHS_PANEL};
  tw_rhs_pack_nxk_qsi4cxp4x4_scalar(&pack_weights);
  const tw_pack_args pack_rows = {
      .size = sizeof pack_rows, .rows = M, .k = K, .row_begin = 0, .row_end = M,
      .source = x, .source_stride = K * sizeof(float), .packed = lhs, .packed_stride = LHS_PANEL,
      .sum_factor = -8, .sum_copies = 1}; /* its layout's "sums:i32*-8" */
  tw_lhs_pack_f32_qai8dxp1x4_scalar(&pack_rows);
  const tw_args args = {
      .size = sizeof args, .m = M, .n = N, .k = K, .lhs = lhs, .lhs_stride = LHS_PANEL,
      .rhs = rhs, .rhs_stride = RHS_PANEL, .dst = y, .dst_stride = N * sizeof(float),
      .min = -1000, .max = 1000};
  /* clang-format on */
  tw_matmul_clamp_f32_qai8dxp1x4_qsi4cxp4x4_1x4_scalar(&args);
  printf("%g %g, expected 96 -96\n", (double)y[0], (double)y[M * N - 1]);
  return (int)(y[0] + 0.5F) != 96 || (int)(y[M * N - 1] - 0.5F) != -96;
}
