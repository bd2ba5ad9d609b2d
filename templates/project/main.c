/* The layers of layers.h, as an engine runs them: plan, pack the weights once, then for each call
 * pack the activations and multiply. Some outputs are compared with a plain loop.
 *
 *   engine [THREADS]      default: one for each core */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "layers.h"
#include "pool.h"
#include "weights.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* What all threads work at: each takes the next slice, so that slow cores take fewer. */
typedef struct work {
  const tw_plan *plan;
  size_t slices;
  atomic_size_t next;
  tw_rhs_source weights;
  void *rhs; /* packed weights */
  tw_lhs_source activations;
  void *lhs; /* packed activations */
  size_t lhs_bytes;
  tw_run_args run;
} work;

static void check(tw_status status) {
  if (status == TW_OK) return;
  fprintf(stderr, "%s\n", tw_error_message());
  exit(1);
}

static void pack_weights(void *argument) {
  work *w = argument;
  for (size_t slice; (slice = atomic_fetch_add(&w->next, 1)) < w->slices;) {
    check(tw_pack_rhs(w->plan, &w->weights, w->rhs, w->run.rhs_bytes, slice));
  }
}

static void pack_activations(void *argument) {
  work *w = argument;
  for (size_t slice; (slice = atomic_fetch_add(&w->next, 1)) < w->slices;) {
    check(tw_pack_lhs(w->plan, w->run.m, &w->activations, w->lhs, w->lhs_bytes, slice));
  }
}

static void multiply(void *argument) {
  work *w = argument;
  for (size_t slice; (slice = atomic_fetch_add(&w->next, 1)) < w->slices;) {
    check(tw_run(w->plan, &w->run, slice));
  }
}

/* Every slice once, on whichever thread is free. */
static void on_threads(pool *threads, void (*step)(void *), work *w, size_t slices) {
  w->slices = slices;
  atomic_store(&w->next, 0);
  pool_run(threads, step, w);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* What a call of the layer is in an engine. */
static void run_layer(pool *threads, work *w) {
  size_t slices;
  check(tw_lhs_slices(w->plan, w->run.m, &slices));
  if (slices > 0) on_threads(threads, pack_activations, w, slices);
  check(tw_run_slices(w->plan, w->run.m, &slices));
  on_threads(threads, multiply, w, slices);
}

/* The shortest of some calls, in seconds. */
static double time_layer(pool *threads, work *w) {
  double best = INFINITY, spent = 0;
  for (int i = 0; i < 20 && spent < 0.2; ++i) {
    const double begin = now();
    run_layer(threads, w);
    const double took = now() - begin;
    spent += took;
    best = fmin(best, took);
  }
  return best;
}

/* Number i of `count` that are spread over `size`, the first and the last among them. */
static size_t spread(size_t i, size_t count, size_t size) {
  return count == 1 ? 0 : i * (size - 1) / (count - 1);
}

/* The squared error of some outputs, relative to the squares of the products in them. Rounding
 * activations to 8 bits leaves about 1e-5. */
static double error_of(const weights *made, size_t m, const float *x, const float *y) {
  const layer *of = made->of;
  const size_t columns = of->n < 64 ? of->n : 64, some_rows = m < 8 ? m : 8;
  float *row = allocate((of->k + of->as->values) * sizeof(float));
  double error = 0, size = 0;
  for (size_t c = 0; c < columns; ++c) {
    const size_t column = spread(c, columns, of->n);
    decode_row(made, column, row);
    for (size_t r = 0; r < some_rows; ++r) {
      const size_t i = spread(r, some_rows, m);
      double sum = 0;
      for (size_t k = 0; k < of->k; ++k) {
        const double product = (double)x[i * of->k + k] * (double)row[k];
        sum += product;
        size += product * product;
      }
      const double gap = (double)y[i * of->n + column] - sum;
      error += gap * gap;
    }
  }
  free(row);
  return error / size;
}

/* Calls with m rows; whether they are right. */
static int try_rows(pool *threads, work *w, const weights *made, size_t m) {
  const layer *of = made->of;
  const size_t x_bytes = m * of->k * sizeof(float), y_bytes = m * of->n * sizeof(float);
  float *x = allocate(x_bytes), *y = allocate(y_bytes);
  for (size_t i = 0; i < m * of->k; ++i) x[i] = (float)(random_bits() >> 16) / 32768 - 1;
  for (size_t i = 0; i < m * of->n; ++i) y[i] = NAN; /* what nobody writes is wrong */
  check(tw_lhs_bytes(w->plan, m, &w->lhs_bytes));
  w->lhs = allocate(w->lhs_bytes);
  w->activations = (tw_lhs_source){.size = sizeof w->activations,
                                   .data = x,
                                   .data_bytes = x_bytes,
                                   .stride = of->k * sizeof(float)};
  w->run.m = m;
  w->run.dst = y;
  w->run.dst_bytes = y_bytes;
  w->run.dst_stride = of->n * sizeof(float);
  const int packed = w->lhs_bytes > 0; /* else kernels read the rows where they are */
  w->run.lhs = packed ? w->lhs : x;
  w->run.lhs_bytes = packed ? w->lhs_bytes : x_bytes;
  w->run.lhs_stride = packed ? 0 : of->k * sizeof(float);
  const double seconds = time_layer(threads, w), error = error_of(made, m, x, y);
  const int right = error < 1e-4;
  printf("  %6zu rows  %9.3f ms  %7.1f GMAC/s  error %.1e  %s\n", m, seconds * 1e3,
         (double)m * (double)of->n * (double)of->k / seconds * 1e-9, error, right ? "OK" : "WRONG");
  free(w->lhs);
  free(x);
  free(y);
  return right;
}

static int try_layer(pool *threads, size_t thread_count, const tw_device *device,
                     const layer *of) {
  const tw_matmul matmul = {.size = sizeof matmul,
                            .family = of->family,
                            .n = of->n,
                            .k = of->k,
                            .block = of->block,
                            .scales = of->scales,
                            .mix = rows,
                            .mix_count = COUNT(rows),
                            .threads = thread_count};
  tw_plan *plan;
  check(tw_plan_create(device, &matmul, &plan));
  weights made = make_weights(of);
  work w = {.plan = plan, .weights = source_of(&made)};
  w.run = (tw_run_args){.size = sizeof w.run, .rhs_bytes = tw_rhs_bytes(plan)};
  w.run.rhs = w.rhs = allocate(w.run.rhs_bytes);

  size_t slices;
  check(tw_rhs_slices(plan, &slices));
  const double begin = now();
  on_threads(threads, pack_weights, &w, slices);
  printf("%s: %zu outputs of %zu inputs, weights packed in %.3f ms\n", of->name, of->n,
         of->k, (now() - begin) * 1e3);
  /* An engine frees the weights here; this one compares with them. */
  int right = 1;
  for (size_t i = 0; i < COUNT(rows); ++i) right &= try_rows(threads, &w, &made, rows[i].m);
  tw_plan_destroy(plan);
  free(w.rhs);
  free_weights(&made);
  return right;
}

int main(int argc, char **argv) {
  tw_device device = {.size = sizeof device};
  check(tw_device_detect(&device));
  size_t thread_count = tw_device_cores(&device);
  if (argc > 1) thread_count = strtoul(argv[1], NULL, 10);
  if (argc > 2 || thread_count < 1 || thread_count > 1024) {
    fprintf(stderr, "usage: engine [THREADS], 1 to 1024\n");
    return 2;
  }
  pool *threads = pool_create(thread_count);
  if (threads == NULL) return 1;
  printf("%s on %s, %zu threads\n", workload, device.name, thread_count);
  int right = 1;
  for (size_t i = 0; i < COUNT(layers); ++i) {
    right &= try_layer(threads, thread_count, &device, &layers[i]);
  }
  pool_destroy(threads);
  printf("%s\n", right ? "OK" : "WRONG");
  return right ? 0 : 1;
}
