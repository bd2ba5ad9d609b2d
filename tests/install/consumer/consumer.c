/* One row times a matrix of ones, through the installed package. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tilewright/tilewright.h>

enum { N = 40, K = 64 };

static void check(tw_status status) {
  if (status == TW_OK) return;
  fprintf(stderr, "consumer: %s\n", tw_error_message());
  exit(1);
}

int main(void) {
  static float x[K], y[N], scales[N];
  static unsigned char codes[N * K / 2];
  for (int i = 0; i < K; ++i) x[i] = 1;
  for (int i = 0; i < N; ++i) scales[i] = 0.5F;
  memset(codes, 0x11, sizeof codes);

  if (tw_version() != TILEWRIGHT_VERSION_NUMBER) {
    fprintf(stderr, "consumer: the headers are %d, the library is %d\n", TILEWRIGHT_VERSION_NUMBER,
            tw_version());
    return 1;
  }
  tw_device device = {.size = sizeof device};
  check(tw_device_detect(&device));
  const tw_matmul matmul = {
      .size = sizeof matmul, .family = "matmul_clamp_f32_qai8dxp_qsi4cxp", .n = N, .k = K};
  tw_plan* plan;
  check(tw_plan_create(&device, &matmul, &plan));
  tw_run_args run = {
      .size = sizeof run, .m = 1, .dst = y, .dst_bytes = sizeof y, .dst_stride = sizeof y};
  run.rhs_bytes = tw_rhs_bytes(plan);
  check(tw_lhs_bytes(plan, 1, &run.lhs_bytes));
  void* rhs = malloc(run.rhs_bytes);
  void* lhs = malloc(run.lhs_bytes);
  run.rhs = rhs;
  run.lhs = lhs;
  const tw_rhs_source weights = {.size = sizeof weights,
                                 .order = TW_NXK,
                                 .data = codes,
                                 .data_bytes = sizeof codes,
                                 .stride = K / 2,
                                 .scales = scales,
                                 .scale_count = N};
  const tw_lhs_source activations = {
      .size = sizeof activations, .data = x, .data_bytes = sizeof x, .stride = sizeof x};
  size_t slices;
  check(tw_rhs_slices(plan, &slices));
  for (size_t s = 0; s < slices; ++s) check(tw_pack_rhs(plan, &weights, rhs, run.rhs_bytes, s));
  check(tw_lhs_slices(plan, 1, &slices));
  for (size_t s = 0; s < slices; ++s) {
    check(tw_pack_lhs(plan, 1, &activations, lhs, run.lhs_bytes, s));
  }
  check(tw_run_slices(plan, 1, &slices));
  for (size_t s = 0; s < slices; ++s) check(tw_run(plan, &run, s));
  tw_plan_destroy(plan);
  free(rhs);
  free(lhs);
  for (int i = 0; i < N; ++i) {
    if (y[i] < 31.9F || y[i] > 32.1F) {
      fprintf(stderr, "consumer: column %d is %g, not 32\n", i, (double)y[i]);
      return 1;
    }
  }
  return 0;
}
