// Attention by the kernels of this tree that the CPU at hand runs, those of C and those of assembly,
// over caches of every type that they read, against plain loops in double.

#include <math.h>

#include "support.h"
#include "tilewright/attention.h"

enum {
  HEADS = 4,
  KV_HEADS = 2,
  SIZE = 64,
  BLOCK = 32, /* of values that share a scale */
  QUERIES = 5,
  POSITIONS = 150,
  ROWS = POSITIONS * KV_HEADS, /* of K, and of V: a position's heads stand together */
  ZERO = 3                     /* of int8: the code of 0 */
};

static float q[QUERIES * HEADS * SIZE], out[QUERIES * HEADS * SIZE];
static int k[ROWS * SIZE], v[ROWS * SIZE]; /* from -8 to 7, in steps that all types have */
static unsigned char cache_of_k[sizeof k], cache_of_v[sizeof v];
static const float step = 1.0f / 8;

static void make_values(void) {
  for (size_t i = 0; i < QUERIES * HEADS * SIZE; ++i) {
    q[i] = (float)((int)(random_bits() % 513) - 256) / 256;
  }
  for (size_t i = 0; i < ROWS * SIZE; ++i) k[i] = (int)(random_bits() % 16) - 8;
  for (size_t i = 0; i < ROWS * SIZE; ++i) v[i] = (int)(random_bits() % 16) - 8;
}

static size_t row_bytes(tw_type type) {
  if (type == TW_TYPE_Q8_0) return SIZE / BLOCK * (2 + BLOCK);
  if (type == TW_TYPE_Q4_0) return SIZE / BLOCK * (2 + BLOCK / 2);
  return SIZE * type_bytes(type);
}

/* A block behind its scale; of nibbles the upper ones are those of its second half. */
static void put_block(tw_type type, const int *values, unsigned char *to) {
  const uint16_t scale = tw_f16_of_f32(step);
  memcpy(to, &scale, sizeof scale);
  for (size_t i = 0; type == TW_TYPE_Q8_0 && i < BLOCK; ++i) to[2 + i] = (unsigned char)values[i];
  for (size_t i = 0; type == TW_TYPE_Q4_0 && i < BLOCK / 2; ++i) {
    to[2 + i] = (unsigned char)(values[i] + 8 + (values[i + BLOCK / 2] + 8) * 16);
  }
}

static void put_rows(tw_type type, const int *values, unsigned char *to) {
  if (type == TW_TYPE_Q8_0 || type == TW_TYPE_Q4_0) {
    const size_t bytes = row_bytes(type) / (SIZE / BLOCK);
    for (size_t i = 0; i < ROWS * SIZE / BLOCK; ++i) {
      put_block(type, values + i * BLOCK, to + i * bytes);
    }
    return;
  }
  for (size_t i = 0; i < ROWS * SIZE; ++i) {
    const float value = (float)values[i] * step;
    uint32_t bits; /* whose upper half is the value as bf16 */
    memcpy(&bits, &value, sizeof bits);
    const uint16_t half = type == TW_F16 ? tw_f16_of_f32(value) : (uint16_t)(bits >> 16);
    if (type == TW_S8) to[i] = (unsigned char)(values[i] + ZERO);
    if (type == TW_F32) memcpy(to + 4 * i, &value, sizeof value);
    if (type == TW_F16 || type == TW_BF16) memcpy(to + 2 * i, &half, sizeof half);
  }
}

static double score(size_t query, size_t head, size_t position) {
  const int *key = k + (position * KV_HEADS + head / (HEADS / KV_HEADS)) * SIZE;
  double sum = 0;
  for (size_t i = 0; i < SIZE; ++i) {
    sum += (double)q[(query * HEADS + head) * SIZE + i] * (double)key[i];
  }
  return sum * (double)step / 8; /* the root of SIZE */
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
      const int *values = v + (p * KV_HEADS + head / (HEADS / KV_HEADS)) * SIZE;
      want += weights[p] / sum * (double)step * (double)values[i];
    }
    const double gap = fabs((double)out[(query * HEADS + head) * SIZE + i] - want);
    if (!(gap <= worst)) worst = gap; /* a NaN too */
  }
  return worst;
}

static void run(const tw_attention_plan *plan, tw_type type) {
  static const int8_t zero = ZERO;
  put_rows(type, k, cache_of_k);
  put_rows(type, v, cache_of_v);
  tw_attention_args args = {.size = sizeof args, .queries = QUERIES, .positions = POSITIONS};
  args.threads = 2;
  args.q = q;
  args.out = out;
  args.q_stride = args.out_stride = HEADS * SIZE * sizeof(float);
  args.q_head_stride = args.out_head_stride = SIZE * sizeof(float);
  args.k = cache_of_k;
  args.v = cache_of_v;
  args.k_stride = args.v_stride = KV_HEADS * row_bytes(type);
  args.k_head_stride = args.v_head_stride = row_bytes(type);
  args.k_scales.scales = args.v_scales.scales = &step; /* of int8: all positions share one */
  args.k_scales.zeros = args.v_scales.zeros = &zero;
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
  static const tw_type types[] = {TW_F32, TW_F16, TW_BF16, TW_S8, TW_TYPE_Q8_0, TW_TYPE_Q4_0};
  enum { TYPES = sizeof types / sizeof types[0] };
  static unsigned char ran[4096];
  int wrong = 0;
  make_values();
  for (size_t i = 0; tw_generated_attention_kernel_count != 0 && i < 2 * TYPES; ++i) {
    const tw_type type = types[i / 2];
    tw_attention attention = {.size = sizeof attention, .heads = HEADS, .kv_heads = KV_HEADS};
    attention.key_size = attention.value_size = SIZE;
    attention.key_type = attention.value_type = type;
    attention.printer = printers[i % 2];
    tw_attention_plan *plan = NULL;
    if (tw_attention_create(device, &attention, &plan) != TW_OK) continue; /* none of that one */
    run(plan, type);
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
