/* Tokens one after the other against an int8 cache: each token's keys and values are quantized when
 * they come, a scale and a zero point for each head of theirs, and attended to from then on. For
 * threads see matmul.c: scratch is each one's own. */
#include "tilewright/attention.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEADS = 8, KV_HEADS = 2, SIZE = 64, TOKENS = 100 };

/* A token's heads stand together, as most engines keep them. */
typedef struct cache {
  int8_t codes[TOKENS][KV_HEADS][SIZE];
  float scales[TOKENS][KV_HEADS];
  int8_t zeros[TOKENS][KV_HEADS];
} cache;

static cache keys, values;
static float q[HEADS][SIZE], out[HEADS][SIZE];

static void check(tw_status status) {
  if (status == TW_OK) return;
  fprintf(stderr, "attention: %s\n", tw_error_message());
  exit(1);
}

/* What a model's layers would make of a token. */
static void fill(float* row, int count) {
  static unsigned state = 1;
  for (int i = 0; i < count; ++i) {
    state = state * 1103515245u + 12345u;
    row[i] = (float)(state >> 16 & 0xfff) / 2048 - 1;
  }
}

/* The smallest value becomes -128, the largest 127, and 0 is a code. */
static void append(cache* to, int token, float row[KV_HEADS][SIZE]) {
  for (int head = 0; head < KV_HEADS; ++head) {
    float low = 0, high = 0;
    for (int i = 0; i < SIZE; ++i) {
      low = fminf(low, row[head][i]);
      high = fmaxf(high, row[head][i]);
    }
    const float scale = high > low ? (high - low) / 255 : 1;
    const float zero = nearbyintf(-128 - low / scale);
    to->scales[token][head] = scale;
    to->zeros[token][head] = (int8_t)zero;
    for (int i = 0; i < SIZE; ++i) {
      const float code = nearbyintf(row[head][i] / scale) + zero;
      to->codes[token][head][i] = (int8_t)fmaxf(-128, fminf(127, code));
    }
  }
}

static tw_position_scales scales_of(const cache* from) {
  return (tw_position_scales){.scales = from->scales,
                              .scale_stride = sizeof from->scales[0],
                              .scale_head_stride = sizeof from->scales[0][0],
                              .zeros = &from->zeros[0][0],
                              .zero_stride = sizeof from->zeros[0],
                              .zero_head_stride = sizeof from->zeros[0][0]};
}

static void attend(const tw_attention_plan* plan, int tokens) {
  tw_attention_args args = {.size = sizeof args, .queries = 1, .positions = (size_t)tokens};
  args.q = q;
  args.out = out;
  args.q_head_stride = args.out_head_stride = sizeof q[0];
  args.k = keys.codes;
  args.v = values.codes;
  args.k_stride = args.v_stride = sizeof keys.codes[0];
  args.k_head_stride = args.v_head_stride = sizeof keys.codes[0][0];
  args.k_scales = scales_of(&keys);
  args.v_scales = scales_of(&values);
  args.scale = 1 / sqrtf(SIZE);
  tw_attention_work work = {.size = sizeof work};
  check(tw_attention_divide(plan, &args, &work)); /* by one thread: nothing to merge */
  args.scratch = malloc(work.scratch_bytes);
  args.scratch_bytes = work.scratch_bytes;
  for (size_t i = 0; i < work.slices; ++i) check(tw_attention_run(plan, &args, i));
  free(args.scratch);
}

static double value_of(const cache* from, int token, int head, int i) {
  return (from->codes[token][head][i] - from->zeros[token][head]) *
         (double)from->scales[token][head];
}

/* Of the first head's first value. */
static double expected(int tokens) {
  double sum = 0, weights = 0;
  for (int token = 0; token < tokens; ++token) {
    double score = 0;
    for (int i = 0; i < SIZE; ++i) score += q[0][i] * value_of(&keys, token, 0, i);
    const double weight = exp(score / sqrt(SIZE));
    weights += weight;
    sum += weight * value_of(&values, token, 0, 0);
  }
  return sum / weights;
}

int main(void) {
  tw_device device = {.size = sizeof device};
  check(tw_device_detect(&device));
  const tw_attention attention = {.size = sizeof attention,
                                  .heads = HEADS,
                                  .kv_heads = KV_HEADS,
                                  .key_size = SIZE,
                                  .value_size = SIZE,
                                  .key_type = TW_S8,
                                  .value_type = TW_S8};
  tw_attention_plan* plan = NULL;
  check(tw_attention_create(&device, &attention, &plan));
  double worst = 0;
  for (int token = 0; token < TOKENS; ++token) {
    float k[KV_HEADS][SIZE], v[KV_HEADS][SIZE];
    fill(k[0], KV_HEADS * SIZE);
    fill(v[0], KV_HEADS * SIZE);
    fill(q[0], HEADS * SIZE);
    append(&keys, token, k);
    append(&values, token, v);
    attend(plan, token + 1);
    worst = fmax(worst, fabs(out[0][0] - expected(token + 1)));
  }
  printf("%d tokens by %s, largest error %g\n", TOKENS,
         tw_attention_chosen(plan, TW_ATTENTION_SCORES)->kernel.name, worst);
  tw_attention_destroy(plan);
  return worst < 1e-5 ? 0 : 1;
}
