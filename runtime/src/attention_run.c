/* Attention, a slice: blocks of positions outside, heads inside. */
#include <float.h>
#include <math.h>

#include "attention.h"

enum { STATE_VECTORS = 3, LINE_FLOATS = 16 };

/* Where the parts of a slice's scratch begin. Rows of a head stand together, head by head of those
 * that share one of K and V, each with its queries one after the other. */
typedef struct scratch_parts {
  float *queries, *sums;
  float* scores; /* behind each row's state */
  void* mask;    /* a block's, whole vectors */
  size_t bytes;
} scratch_parts;

/* What a slice is. */
typedef struct slice_range {
  size_t head, heads;    /* of K and V */
  size_t query, queries; /* first one, and how many */
  size_t position, end;  /* first one, and behind the last one */
  size_t part, rows;     /* rows: of a head of K and V */
} slice_range;

/* ---- scratch ---- */

/* Adds `count` times `values` floats, from a line of the cache on; false on overflow. */
static bool add_floats(size_t count, size_t values, size_t* floats) {
  size_t more;
  return tw_multiply(count, values, &more) && tw_add(*floats, more, floats) &&
         tw_round_up(*floats, LINE_FLOATS, floats);
}

/* Of a state and the scores behind it. */
static size_t row_floats(const tw_attention_plan* plan) {
  return STATE_VECTORS * plan->lanes + TW_ATTENTION_BLOCK;
}

static float* state_of(const tw_attention_plan* plan, const scratch_parts* parts, size_t row) {
  return parts->scores + row * row_floats(plan);
}

static float* scores_of(const tw_attention_plan* plan, const scratch_parts* parts, size_t row) {
  return state_of(plan, parts, row) + STATE_VECTORS * plan->lanes;
}

/* Sets the parts' places in bytes from `base` on; null: only how many there are. */
static bool lay_out(const tw_attention_plan* plan, const tw_attention_cut* cut, void* base,
                    scratch_parts* parts) {
  const tw_attention* shape = &plan->shape;
  size_t at[4], rows, floats = 0;
  if (!tw_multiply(cut->heads, cut->rows, &rows)) return false;
  const size_t counts[4] = {rows, rows, rows, cut->queries};
  const size_t values[4] = {shape->key_size, shape->value_size, row_floats(plan),
                            TW_ATTENTION_BLOCK};
  for (size_t i = 0; i < 4; ++i) {
    at[i] = floats;
    if (!add_floats(counts[i], values[i], &floats)) return false;
  }
  if (!tw_multiply(floats + LINE_FLOATS, sizeof(float), &parts->bytes)) return false;
  if (base == NULL) return true;
  const size_t line = LINE_FLOATS * sizeof(float);
  float* first = (float*)((char*)base + (line - (uintptr_t)base % line) % line);
  parts->queries = first + at[0];
  parts->sums = first + at[1];
  parts->scores = first + at[2];
  parts->mask = first + at[3];
  return true;
}

bool tw_attention_scratch(const tw_attention_plan* plan, const tw_attention_cut* cut,
                          size_t* bytes) {
  scratch_parts parts;
  if (!lay_out(plan, cut, NULL, &parts)) return false;
  *bytes = parts.bytes;
  return true;
}

/* ---- rows ---- */

static slice_range range_of(const tw_attention_plan* plan, const tw_attention_args* args,
                            const tw_attention_cut* cut, size_t slice) {
  slice_range range;
  const size_t head_group = slice / cut->parts / cut->query_groups;
  range.part = slice % cut->parts;
  range.head = head_group * cut->heads;
  range.heads = tw_least(cut->heads, plan->shape.kv_heads - range.head);
  range.query = slice / cut->parts % cut->query_groups * cut->queries;
  range.queries = tw_least(cut->queries, args->queries - range.query);
  range.position = range.part * cut->positions;
  range.end = tw_least(range.position + cut->positions, args->positions);
  range.rows = range.queries * (plan->shape.heads / plan->shape.kv_heads);
  return range;
}

/* Of the row of q that is number `row` of a head of K and V. */
static size_t head_of(const tw_attention_plan* plan, const slice_range* range, size_t head,
                      size_t row) {
  return head * (plan->shape.heads / plan->shape.kv_heads) + row / range->queries;
}

/* As ggml has them: powers of two below the number of heads, then those between. */
static float slope_of(const tw_attention_plan* plan, const tw_attention_args* args, size_t head) {
  if (!(args->max_bias > 0)) return 1;
  size_t power = 1;
  while (power * 2 <= plan->shape.heads) power *= 2;
  const bool first = head < power;
  const float step = (first ? args->max_bias : args->max_bias / 2) / (float)power;
  const size_t number = first ? head + 1 : 2 * (head - power) + 1;
  return exp2f(-step * (float)number);
}

/* Rows of q times the scale, sums of 0, and states that have seen a sink, if there is one. */
static void begin_rows(const tw_attention_plan* plan, const tw_attention_args* args,
                       const slice_range* range, const scratch_parts* parts) {
  const tw_attention* shape = &plan->shape;
  const size_t lanes = plan->lanes;
  const float scale = args->softcap != 0 ? args->scale / args->softcap : args->scale;
  for (size_t i = 0; i < range->heads * range->rows; ++i) {
    const size_t row = i % range->rows, query = range->query + row % range->queries;
    const size_t head = head_of(plan, range, range->head + i / range->rows, row);
    const char* from = (const char*)args->q + query * args->q_stride + head * args->q_head_stride;
    float* to = parts->queries + i * shape->key_size;
    memcpy(to, from, shape->key_size * sizeof *to);
    for (size_t k = 0; k < shape->key_size; ++k) to[k] *= scale;
    float* state = state_of(plan, parts, i);
    const float sink = args->sinks != NULL && range->part == 0 ? args->sinks[head] : -INFINITY;
    memset(state, 0, STATE_VECTORS * lanes * sizeof *state);
    for (size_t j = 0; j < lanes; ++j) state[j] = sink < -FLT_MAX ? -FLT_MAX : sink;
    state[lanes] = sink < -FLT_MAX ? 0 : 1;
  }
  memset(parts->sums, 0, range->heads * range->rows * shape->value_size * sizeof *parts->sums);
}

/* ---- masks ---- */

static size_t mask_bytes(const tw_attention_args* args) {
  return args->mask_type == TW_F16 ? sizeof(uint16_t) : sizeof(float);
}

static bool is_masked(tw_type type, const char* values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (type == TW_F16 ? tw_load_u16(values + 2 * i) != 0xfc00
                       : tw_load_i32(values + 4 * i) != (int32_t)0xff800000) {
      return false;
    }
  }
  return true;
}

static const char* mask_row(const tw_attention_args* args, size_t head, size_t query,
                            size_t position) {
  return (const char*)args->mask + head * args->mask_head_stride + query * args->mask_stride +
         position * mask_bytes(args);
}

/* Whether no row of the slice has a weight in the block. */
static bool block_is_masked(const tw_attention_args* args, const slice_range* range, size_t first,
                            size_t count) {
  if (args->mask == NULL || args->mask_head_stride != 0) return false;
  for (size_t i = 0; i < range->queries; ++i) {
    if (!is_masked(args->mask_type, mask_row(args, 0, range->query + i, first), count)) {
      return false;
    }
  }
  return true;
}

/* Copies a head's rows, which end in the middle of a vector, to where whole ones may be read. */
static void pad_mask(const tw_attention_args* args, const slice_range* range, size_t head,
                     size_t first, size_t count, const scratch_parts* parts) {
  const size_t row_bytes = TW_ATTENTION_BLOCK * mask_bytes(args);
  for (size_t i = 0; i < range->queries; ++i) {
    char* to = (char*)parts->mask + i * row_bytes;
    memset(to, 0, row_bytes);
    memcpy(to, mask_row(args, head, range->query + i, first), count * mask_bytes(args));
  }
}

/* ---- a block ---- */

/* From a block of K or V to the one that comes next, in bytes, where the first one of many waits
 * for memory; 0: to none, or backwards, where C's pointers cannot be moved by a count of bytes. */
static size_t ahead(const tw_attention_plan* plan, const slice_range* range, size_t head,
                    size_t first, size_t stride, size_t head_stride) {
  const size_t group = plan->shape.heads / plan->shape.kv_heads;
  if (range->rows > group) return 0; /* not of one query: rows stay long enough */
  if (head + 1 < range->head + range->heads) return head_stride;
  if (first + TW_ATTENTION_BLOCK >= range->end) return 0;
  const size_t forward = TW_ATTENTION_BLOCK * stride, back = (range->heads - 1) * head_stride;
  return forward > back ? forward - back : 0;
}

static void run_scores(const tw_attention_plan* plan, const tw_attention_args* args,
                       const slice_range* range, const scratch_parts* parts, size_t head,
                       size_t first, size_t count) {
  const size_t key_size = plan->shape.key_size, row = (head - range->head) * range->rows;
  tw_args kernel = {.size = sizeof kernel};
  kernel.m = range->rows;
  kernel.n = count;
  kernel.k = key_size;
  kernel.lhs = parts->queries + row * key_size;
  kernel.lhs_stride = key_size * sizeof(float);
  kernel.rhs = (const char*)args->k + head * args->k_head_stride + first * args->k_stride;
  kernel.rhs_stride = args->k_stride;
  kernel.rhs_prefetch = ahead(plan, range, head, first, args->k_stride, args->k_head_stride);
  kernel.dst = scores_of(plan, parts, row);
  kernel.dst_stride = row_floats(plan) * sizeof(float);
  plan->stages[TW_ATTENTION_SCORES]->kernel.run(&kernel);
  const size_t vectors = tw_divide_up(count, plan->lanes) * plan->lanes;
  for (size_t i = 0; i < range->rows; ++i) {
    float* scores = scores_of(plan, parts, row + i);
    for (size_t j = 0; args->softcap != 0 && j < count; ++j) {
      scores[j] = args->softcap * tanhf(scores[j]);
    }
    for (size_t j = count; j < vectors; ++j) scores[j] = -INFINITY;
  }
}

/* Of rows that share a slope, from number `row` of the slice's on. */
static void weigh(const tw_attention_plan* plan, const scratch_parts* parts, size_t row,
                  size_t rows, tw_args* kernel) {
  kernel->m = rows;
  kernel->dst = state_of(plan, parts, row);
  kernel->dst_stride = row_floats(plan) * sizeof(float);
  plan->stages[TW_ATTENTION_WEIGHTS]->kernel.run(kernel);
}

static void run_weights(const tw_attention_plan* plan, const tw_attention_args* args,
                        const slice_range* range, const scratch_parts* parts, size_t head,
                        size_t first, size_t count) {
  const size_t first_row = (head - range->head) * range->rows;
  tw_args kernel = {.size = sizeof kernel};
  kernel.n = count;
  if (args->mask == NULL) {
    kernel.lhs = parts->mask; /* not read; but C's null must not be moved, not even by 0 */
    weigh(plan, parts, first_row, range->rows, &kernel);
    return;
  }
  kernel.flags = args->mask_type == TW_F16 ? 1 : 2;
  const bool padded = count % plan->lanes != 0;
  for (size_t row = 0; row < range->rows; row += range->queries) {
    const size_t its_head = head_of(plan, range, head, row);
    kernel.min = slope_of(plan, args, its_head);
    kernel.lhs = mask_row(args, its_head, range->query, first);
    kernel.lhs_stride = args->mask_stride;
    if (padded) {
      if (row == 0 || args->mask_head_stride != 0) {
        pad_mask(args, range, its_head, first, count, parts);
      }
      kernel.lhs = parts->mask;
      kernel.lhs_stride = TW_ATTENTION_BLOCK * mask_bytes(args);
    }
    weigh(plan, parts, first_row + row, range->queries, &kernel);
  }
}

static void run_values(const tw_attention_plan* plan, const tw_attention_args* args,
                       const slice_range* range, const scratch_parts* parts, size_t head,
                       size_t first, size_t count) {
  const size_t value_size = plan->shape.value_size, row = (head - range->head) * range->rows;
  tw_args kernel = {.size = sizeof kernel};
  kernel.m = range->rows;
  kernel.n = value_size;
  kernel.k = count;
  kernel.lhs = state_of(plan, parts, row);
  kernel.lhs_stride = row_floats(plan) * sizeof(float);
  kernel.rhs = (const char*)args->v + head * args->v_head_stride + first * args->v_stride;
  kernel.rhs_stride = args->v_stride;
  kernel.rhs_prefetch = ahead(plan, range, head, first, args->v_stride, args->v_head_stride);
  kernel.dst = parts->sums + row * value_size;
  kernel.dst_stride = value_size * sizeof(float);
  plan->stages[TW_ATTENTION_VALUES]->kernel.run(&kernel);
}

/* ---- outputs ---- */

static char* out_row(const tw_attention_plan* plan, const tw_attention_args* args,
                     const slice_range* range, size_t index) {
  const size_t row = index % range->rows;
  const size_t head = head_of(plan, range, range->head + index / range->rows, row);
  const size_t query = range->query + row % range->queries;
  return (char*)args->out + query * args->out_stride + head * args->out_head_stride;
}

/* 0 where there are no weights; a NaN stays one. */
static float inverse(float sum) {
  return sum <= 0 ? 0 : 1 / sum;
}

/* Outputs need not be aligned. */
static void put(char* to, const float* values, size_t count, float factor) {
  for (size_t i = 0; i < count; ++i) {
    const float value = values[i] * factor;
    memcpy(to + i * sizeof value, &value, sizeof value);
  }
}

static float* partial_of(const tw_attention_plan* plan, const tw_attention_args* args,
                         const tw_attention_cut* cut, size_t slice, size_t index) {
  return (float*)args->partials +
         (slice * cut->heads * cut->rows + index) * tw_partial_floats(plan);
}

static void end_rows(const tw_attention_plan* plan, const tw_attention_args* args,
                     const tw_attention_cut* cut, const slice_range* range,
                     const scratch_parts* parts, size_t slice) {
  const size_t value_size = plan->shape.value_size, lanes = plan->lanes;
  for (size_t i = 0; i < range->heads * range->rows; ++i) {
    const float* state = state_of(plan, parts, i);
    const float* sums = parts->sums + i * value_size;
    float sum = 0;
    for (size_t j = 0; j < lanes; ++j) sum += state[lanes + j];
    if (cut->parts == 1) {
      put(out_row(plan, args, range, i), sums, value_size, inverse(sum));
      continue;
    }
    float* partial = partial_of(plan, args, cut, slice, i);
    memcpy(partial, sums, value_size * sizeof *sums);
    partial[value_size] = state[0];
    partial[value_size + 1] = sum;
  }
}

void tw_attend(const tw_attention_plan* plan, const tw_attention_args* args,
               const tw_attention_cut* cut, size_t slice) {
  const slice_range range = range_of(plan, args, cut, slice);
  scratch_parts parts;
  /* Neither is so: the caller has looked. */
  if (range.queries == 0 || !lay_out(plan, cut, args->scratch, &parts)) return;
  begin_rows(plan, args, &range, &parts);
  for (size_t first = range.position; first < range.end; first += TW_ATTENTION_BLOCK) {
    const size_t count = tw_least(TW_ATTENTION_BLOCK, range.end - first);
    if (block_is_masked(args, &range, first, count)) continue;
    for (size_t head = range.head; head < range.head + range.heads; ++head) {
      run_scores(plan, args, &range, &parts, head, first, count);
      run_weights(plan, args, &range, &parts, head, first, count);
      run_values(plan, args, &range, &parts, head, first, count);
    }
  }
  end_rows(plan, args, cut, &range, &parts, slice);
}

void tw_merge_parts(const tw_attention_plan* plan, const tw_attention_args* args,
                    const tw_attention_cut* cut, size_t merge) {
  const size_t value_size = plan->shape.value_size, slice = merge * cut->parts;
  const slice_range range = range_of(plan, args, cut, slice);
  for (size_t i = 0; i < range.heads * range.rows; ++i) {
    float* all = partial_of(plan, args, cut, slice, i);
    for (size_t part = 1; part < cut->parts; ++part) {
      const float* more = partial_of(plan, args, cut, slice + part, i);
      const float mine = all[value_size], its = more[value_size];
      const float most = mine > its ? mine : its;
      const float by = expf(mine - most), with = expf(its - most);
      for (size_t j = 0; j < value_size; ++j) all[j] = all[j] * by + more[j] * with;
      all[value_size] = most;
      all[value_size + 1] = all[value_size + 1] * by + more[value_size + 1] * with;
    }
    put(out_row(plan, args, &range, i), all, value_size, inverse(all[value_size + 1]));
  }
}
