// Attention by the kernels of this tree that the CPU at hand runs, those of C and those of assembly,
// against plain loops in double.

#include <math.h>

#include "support.h"
#include "tilewright/attention.h"

enum { HEADS = 4, KV_HEADS = 2, SIZE = 64, QUERIES = 5, POSITIONS = 150, CACHE = KV_HEADS * SIZE };

static float q[QUERIES * HEADS * SIZE], out[QUERIES * HEADS * SIZE];
static uint16_t k[POSITIONS * CACHE], v[POSITIONS * CACHE]; /* f16 */

/* From -1 to 1 in steps that f16 has. */
static float random_value(void) {
  return (float)((int)(random_bits() % 513) - 256) / 256;
}

static void make_values(void) {
  for (size_t i = 0; i < QUERIES * HEADS * SIZE; ++i) q[i] = random_value();
  for (size_t i = 0; i < POSITIONS * CACHE; ++i) k[i] = tw_f16_of_f32(random_value());
  for (size_t i = 0; i < POSITIONS * CACHE; ++i) v[i] = tw_f16_of_f32(random_value());
}

static double score(size_t query, size_t head, size_t position) {
  const uint16_t *key = k + position * CACHE + head / (HEADS / KV_HEADS) * SIZE;
  double sum = 0;
  for (size_t i = 0; i < SIZE; ++i) {
    sum += (double)q[(query * HEADS + head) * SIZE + i] * (double)tw_f32_of_f16(key[i]);
  }
  return sum / 8; /* the root of SIZE */
}

/* The largest error of a head's outputs. */
static double error_of(size_t query, size_t head) {
  static double weights[POSITIONS];
  double largest = -INFINITY, sum = 0, worst = 0;
  for (size_t p = 0; p < POSITIONS; ++p) {
    weights[p] = score(query, head, p);
    largest = fmax(largest, weights[p]);
  }
  for (size_t p = 0; p < POSITIONS; ++p) sum += weights[p] = exp(weights[p] - largest);
  for (size_t i = 0; i < SIZE; ++i) {
    double want = 0;
    for (size_t p = 0; p < POSITIONS; ++p) {
      const uint16_t *values = v + p * CACHE + head / (HEADS / KV_HEADS) * SIZE;
      want += weights[p] / sum * (double)tw_f32_of_f16(values[i]);
    }
    const double gap = fabs((double)out[(query * HEADS + head) * SIZE + i] - want);
    if (!(gap <= worst)) worst = gap; /* a NaN too */
  }
  return worst;
}

static void run(const tw_attention_plan *plan) {
  tw_attention_args args = {.size = sizeof args, .queries = QUERIES, .positions = POSITIONS};
  args.threads = 2;
  args.q = q;
  args.out = out;
  args.q_stride = args.out_stride = HEADS * SIZE * sizeof(float);
  args.q_head_stride = args.out_head_stride = SIZE * sizeof(float);
  args.k = k;
  args.v = v;
  args.k_stride = args.v_stride = CACHE * sizeof(uint16_t);
  args.k_head_stride = args.v_head_stride = SIZE * sizeof(uint16_t);
  args.scale = 1.0f / 8;
  tw_attention_work work = {.size = sizeof work};
  check(tw_attention_divide(plan, &args, &work));
  args.scratch_bytes = work.scratch_bytes;
  args.partial_bytes = work.partial_bytes;
  args.scratch = malloc(work.scratch_bytes + 1);
  args.partials = malloc(work.partial_bytes + 1);
  if (args.scratch == NULL || args.partials == NULL) exit(1);
  for (size_t i = 0; i < sizeof out / sizeof out[0]; ++i) out[i] = NAN;
  for (size_t i = 0; i < work.slices; ++i) check(tw_attention_run(plan, &args, i));
  for (size_t i = 0; i < work.merges; ++i) check(tw_attention_merge(plan, &args, i));
  free(args.partials);
  free(args.scratch);
}

static int is_right(void) {
  double worst = 0;
  for (size_t i = 0; i < QUERIES * HEADS; ++i) {
    const double error = error_of(i / HEADS, i % HEADS);
    if (!(error <= worst)) worst = error;
  }
  if (worst <= 1e-5) return 1;
  printf("WRONG attention: an error of %g\n", worst);
  return 0;
}

int test_attention(const tw_device *device, int *comparisons);

/* Adds to the number of comparisons; returns how many of them are wrong. */
int test_attention(const tw_device *device, int *comparisons) {
  static const char *const printers[] = {"intrinsics", "assembly"};
  static unsigned char ran[4096];
  int wrong = 0;
  make_values();
  for (size_t i = 0; tw_generated_attention_kernel_count != 0 && i < 2; ++i) {
    tw_attention attention = {.size = sizeof attention, .heads = HEADS, .kv_heads = KV_HEADS};
    attention.key_size = attention.value_size = SIZE;
    attention.key_type = attention.value_type = TW_F16;
    attention.printer = printers[i];
    tw_attention_plan *plan = NULL;
    if (tw_attention_create(device, &attention, &plan) != TW_OK) continue; /* none of that one */
    run(plan);
    wrong += !is_right();
    ++*comparisons;
    for (int stage = TW_ATTENTION_SCORES; stage <= TW_ATTENTION_VALUES; ++stage) {
      const tw_attention_kernel *row = tw_attention_chosen(plan, (tw_attention_stage)stage);
      ran[row - tw_generated_attention_kernels] = 1;
    }
    tw_attention_destroy(plan);
  }
  for (size_t i = 0; i < tw_generated_attention_kernel_count; ++i) {
    const tw_kernel *row = &tw_generated_attention_kernels[i].kernel;
    const int runs = row->run != NULL && tw_kernel_supported(row, device);
    printf("%s %s\n", ran[i] != 0 ? "runs " : runs ? "not needed:" : why_not(row), row->name);
  }
  return wrong;
}
