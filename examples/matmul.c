/* One int4 layer on all cores: plan, pack the weights once, then pack and run activations.
 * Threads take slices from shared counters, so that a slow core takes fewer. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "tilewright/tilewright.h"

enum { M = 12, N = 1000, K = 2048, THREADS = 4 };

typedef struct job {
  const tw_plan* plan;
  tw_rhs_source weights;
  void* rhs;
  tw_lhs_source activations;
  void* lhs;
  tw_run_args run;
  atomic_size_t next_rhs, next_lhs, next_run;
  pthread_barrier_t barrier;
} job;

/* Kernels need no alignment. From a cache line on they read faster, Intel's tiles several times. */
static void* lines(size_t bytes) {
  return aligned_alloc(64, (bytes / 64 + 1) * 64);
}

static void check(tw_status status) {
  if (status == TW_OK) return;
  fprintf(stderr, "matmul: %s\n", tw_error_message());
  exit(1);
}

static void* work(void* argument) {
  job* j = argument;
  size_t slice, slices;
  check(tw_rhs_slices(j->plan, &slices));
  while ((slice = atomic_fetch_add(&j->next_rhs, 1)) < slices) {
    check(tw_pack_rhs(j->plan, &j->weights, j->rhs, j->run.rhs_bytes, slice));
  }
  check(tw_lhs_slices(j->plan, M, &slices));
  while ((slice = atomic_fetch_add(&j->next_lhs, 1)) < slices) {
    check(tw_pack_lhs(j->plan, M, &j->activations, j->lhs, j->run.lhs_bytes, slice));
  }
  pthread_barrier_wait(&j->barrier);
  check(tw_run_slices(j->plan, M, &slices));
  while ((slice = atomic_fetch_add(&j->next_run, 1)) < slices) {
    check(tw_run(j->plan, &j->run, slice));
  }
  return NULL;
}

static float x[M * K], y[M * N], scales[N];
static unsigned char codes[N * K / 2];

/* The product of the float activations with the weights that the codes mean. */
static double expected(size_t row, size_t column) {
  double sum = 0;
  for (size_t k = 0; k < K; ++k) {
    const int nibble = codes[(column * K + k) / 2] >> (k % 2 * 4) & 15;
    sum += (double)x[row * K + k] * (nibble - 8) * (double)scales[column];
  }
  return sum;
}

int main(void) {
  for (size_t i = 0; i < sizeof codes; ++i) codes[i] = (unsigned char)(i * 37 + i / 11);
  for (size_t i = 0; i < M * K; ++i) x[i] = (float)((int)(i * 29 % 201) - 100) / 100;
  for (size_t i = 0; i < N; ++i) scales[i] = 0.01F + 0.001F * (float)(i % 7);

  tw_device device = {.size = sizeof device};
  check(tw_device_detect(&device));
  const tw_matmul matmul = {
      .size = sizeof matmul, .family = "matmul_clamp_f32_qai8dxp_qsi4cxp", .n = N, .k = K};
  tw_plan* plan;
  check(tw_plan_create(&device, &matmul, &plan));
  job j = {.plan = plan};
  j.weights = (tw_rhs_source){.size = sizeof j.weights,
                              .order = TW_NXK,
                              .data = codes,
                              .data_bytes = sizeof codes,
                              .stride = K / 2,
                              .unsigned_nibbles = 1,
                              .scales = scales,
                              .scale_count = N};
  j.activations = (tw_lhs_source){
      .size = sizeof j.activations, .data = x, .data_bytes = sizeof x, .stride = K * sizeof(float)};
  j.run = (tw_run_args){.size = sizeof j.run,
                        .m = M,
                        .rhs_bytes = tw_rhs_bytes(plan),
                        .dst = y,
                        .dst_bytes = sizeof y,
                        .dst_stride = N * sizeof(float)};
  check(tw_lhs_bytes(plan, M, &j.run.lhs_bytes));
  j.run.rhs = j.rhs = lines(j.run.rhs_bytes);
  j.run.lhs = j.lhs = lines(j.run.lhs_bytes);
  pthread_barrier_init(&j.barrier, NULL, THREADS);
  pthread_t threads[THREADS];
  for (int t = 0; t < THREADS; ++t) pthread_create(&threads[t], NULL, work, &j);
  for (int t = 0; t < THREADS; ++t) pthread_join(threads[t], NULL);

  double error = 0, size = 0;
  for (size_t row = 0; row < M; ++row) {
    for (size_t column = 0; column < N; ++column) {
      const double want = expected(row, column), gap = (double)y[row * N + column] - want;
      error += gap * gap;
      size += want * want;
    }
  }
  printf("%s: %d x %d x %d, relative squared error %.1e of float activations\n", device.name, M, N,
         K, error / size);
  pthread_barrier_destroy(&j.barrier);
  tw_plan_destroy(plan);
  free(j.rhs);
  free(j.lhs);
  return error < 1e-3 * size ? 0 : 1;
}
