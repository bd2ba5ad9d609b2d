/* A feed-forward layer's gate and up in one call: silu(x gate) * (x up), f32 by int8 weights. For
 * threads see matmul.c: scratch is each one's own. */
#include "tilewright/gated.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 5, N = 300, K = 64 };

static float x[M][K], y[M][N], scales[N];
static int8_t gate[N][K], up[N][K];

/* Kernels need no alignment. From a cache line on they read faster, Intel's tiles several times. */
static void* lines(size_t bytes) {
  return aligned_alloc(64, (bytes / 64 + 1) * 64);
}

static void check(tw_status status) {
  if (status == TW_OK) return;
  fprintf(stderr, "gated: %s\n", tw_error_message());
  exit(1);
}

static float silu(float value) {
  return value / (1 + expf(-value));
}

/* Called for some columns of a row at a time. */
static void multiply(const tw_gated_values* values) {
  const float *gates = values->gate, *ups = values->up;
  float* out = &y[values->row][values->column];
  for (size_t i = 0; i < values->count; ++i) out[i] = silu(gates[i]) * ups[i];
}

static void* pack_weights(const tw_plan* plan, const void* weights) {
  const tw_rhs_source source = {.size = sizeof source,
                                .order = TW_NXK,
                                .data = weights,
                                .data_bytes = sizeof gate,
                                .stride = sizeof gate[0],
                                .scales = scales,
                                .scale_count = N};
  void* packed = lines(tw_rhs_bytes(plan));
  size_t slices;
  check(tw_rhs_slices(plan, &slices));
  for (size_t i = 0; i < slices; ++i) {
    check(tw_pack_rhs(plan, &source, packed, tw_rhs_bytes(plan), i));
  }
  return packed;
}

static double expected(const int8_t* weights, const float* row) {
  double sum = 0;
  for (int i = 0; i < K; ++i) sum += (double)weights[i] * row[i];
  return sum * scales[0];
}

int main(void) {
  for (int i = 0; i < M * K; ++i) x[i / K][i % K] = (float)(i * 37 % 101) / 50 - 1;
  for (int i = 0; i < N * K; ++i) {
    gate[i / K][i % K] = (int8_t)(i * 29 % 251 - 125);
    up[i / K][i % K] = (int8_t)(i * 31 % 251 - 125);
  }
  for (size_t i = 0; i < N; ++i) scales[i] = 0.002f;

  tw_device device = {.size = sizeof device};
  check(tw_device_detect(&device));
  const tw_matmul matmul = {
      .size = sizeof matmul, .family = "matmul_clamp_f32_qai8dxp_qsi8cxp", .n = N, .k = K};
  tw_plan* plan;
  check(tw_plan_create(&device, &matmul, &plan));
  void *gates = pack_weights(plan, gate), *ups = pack_weights(plan, up);

  size_t lhs_bytes, scratch_bytes, slices;
  check(tw_lhs_bytes(plan, M, &lhs_bytes));
  void* lhs = lines(lhs_bytes);
  const tw_lhs_source source = {
      .size = sizeof source, .data = x, .data_bytes = sizeof x, .stride = sizeof x[0]};
  check(tw_lhs_slices(plan, M, &slices));
  for (size_t i = 0; i < slices; ++i) check(tw_pack_lhs(plan, M, &source, lhs, lhs_bytes, i));

  check(tw_gated_scratch_bytes(plan, M, &scratch_bytes));
  const tw_gated gated = {.size = sizeof gated, .up = ups, .each = multiply};
  const tw_run_args args = {.size = sizeof args,
                            .m = M,
                            .lhs = lhs,
                            .lhs_bytes = lhs_bytes,
                            .rhs = gates,
                            .rhs_bytes = tw_rhs_bytes(plan),
                            .scratch = lines(scratch_bytes),
                            .scratch_bytes = scratch_bytes};
  check(tw_run_slices(plan, M, &slices));
  for (size_t i = 0; i < slices; ++i) check(tw_gated_run(plan, &gated, &args, i));

  double worst = 0;
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      const double gate_value = expected(gate[j], x[i]);
      const double wanted = gate_value / (1 + exp(-gate_value)) * expected(up[j], x[i]);
      worst = fmax(worst, fabs(wanted - y[i][j]));
    }
  }
  printf("%d x %d outputs, largest difference to exact ones %.4f\n", M, N, worst);
  tw_plan_destroy(plan);
  free(gates);
  free(ups);
  free(lhs);
  free(args.scratch);
  return worst < 0.1 ? 0 : 1;
}
