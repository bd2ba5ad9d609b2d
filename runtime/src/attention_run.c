/* Attention, a slice: blocks of positions outside, heads inside. */
#include <float.h>
#include <math.h>

#include "attention.h"

enum {
  MINUS_Q = 3, /* which of a state's vectors (registry.h) */
  SURPLUS = 4,
  STATE_VECTORS = 5,
  LINE_FLOATS = 16,
  LINE_BYTES = 64,
  LEAST_POSITIONS = 8,
  PIECE_BYTES = 32768
};

/* Where the parts of a slice's scratch begin. Rows of a head stand together, head by head of those
 * that share one of K and V, each with its queries one after the other. */
typedef struct scratch_parts {
  float *queries, *sums;
  float* scores; /* behind each row's state */
  void* mask;    /* a block's, whole vectors */
  float* scales; /* of a block of K and V */
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
  size_t at[5], rows, floats = 0;
  if (!tw_multiply(cut->heads, cut->rows, &rows)) return false;
  const size_t positions = tw_has_position_scales(shape) ? TW_ATTENTION_BLOCK : 0;
  const size_t counts[5] = {rows, rows, rows, cut->queries, positions};
  const size_t values[5] = {shape->key_size, shape->value_size, row_floats(plan),
                            TW_ATTENTION_BLOCK, TW_POSITION_FLOATS};
  for (size_t i = 0; i < 5; ++i) {
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
  parts->scales = first + at[4];
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
    float sum = 0;
    for (size_t k = 0; k < shape->key_size; ++k) {
      to[k] *= scale;
      sum += to[k];
    }
    float* state = state_of(plan, parts, i);
    const float sink = args->sinks != NULL && range->part == 0 ? args->sinks[head] : -INFINITY;
    memset(state, 0, STATE_VECTORS * lanes * sizeof *state);
    for (size_t j = 0; j < lanes; ++j) state[j] = sink < -FLT_MAX ? -FLT_MAX : sink;
    for (size_t j = 0; j < lanes; ++j) state[MINUS_Q * lanes + j] = -sum;
    state[lanes] = sink < -FLT_MAX ? 0 : 1;
  }
  memset(parts->sums, 0, range->heads * range->rows * shape->value_size * sizeof *parts->sums);
}

/* ---- masks ---- */

/* Whether no row of the slice has a weight in the block. */
static bool block_is_masked(const tw_attention_args* args, const slice_range* range, size_t first,
                            size_t count) {
  if (args->mask == NULL || args->mask_head_stride != 0) return false;
  for (size_t i = 0; i < range->queries; ++i) {
    if (!tw_is_masked(args->mask_type, tw_mask_row(args, 0, range->query + i, first), count)) {
      return false;
    }
  }
  return true;
}

/* Copies a head's rows, which end in the middle of a vector, to where whole ones may be read. */
static void pad_mask(const tw_attention_args* args, const slice_range* range, size_t head,
                     size_t first, size_t count, const scratch_parts* parts) {
  const size_t row_bytes = TW_ATTENTION_BLOCK * tw_mask_bytes(args);
  for (size_t i = 0; i < range->queries; ++i) {
    char* to = (char*)parts->mask + i * row_bytes;
    memset(to, 0, row_bytes);
    memcpy(to, tw_mask_row(args, head, range->query + i, first), count * tw_mask_bytes(args));
  }
}

/* ---- a block ---- */

/* K or V. */
typedef struct cached_rows {
  const char* first;
  size_t stride, head_stride;
  size_t bytes; /* of a position's values of a head */
  bool blocks;  /* of codes, behind scales */
} cached_rows;

/* A piece of a block: some positions of some heads. */
typedef struct block_piece {
  size_t head, heads;
  size_t first, count; /* positions */
  size_t at;           /* the first one's, in its block */
} block_piece;

/* Floats and int8 of one query wait for memory, of which a position's heads are one piece, unless a
 * head's positions are: then all heads of some positions are read before the next ones. Else a
 * block of one head stays in the first cache. */
static bool reads_all_heads(const slice_range* range, const cached_rows* rows) {
  return range->queries == 1 && !rows->blocks && rows->stride != rows->bytes;
}

/* A position's heads are one piece of memory, behind which the next one's are. */
static bool is_one_piece(const slice_range* range, const cached_rows* rows) {
  return rows->head_stride == rows->bytes && rows->stride == range->heads * rows->bytes;
}

/* From a piece to what is fetched beside it (tw_attention_stage), in bytes. 0: nothing; or
 * backwards, where C's pointers cannot be moved by a count of bytes. */
static size_t next_bytes(const slice_range* range, const cached_rows* rows,
                         const block_piece* piece) {
  const size_t forward = piece->count * rows->stride;
  const size_t back = (range->heads - 1) * rows->head_stride;
  const bool is_last = piece->first + piece->count >= range->end;
  if (range->queries != 1) return 0; /* they take long enough */
  if (reads_all_heads(range, rows)) return is_last || !is_one_piece(range, rows) ? 0 : forward;
  if (piece->head + 1 < range->head + range->heads) return rows->head_stride;
  return is_last || forward <= back ? 0 : forward - back;
}

/* Scores of K, or products by V, of all blocks. */
typedef struct stage_pass {
  cached_rows rows;
  size_t positions; /* of a piece of all heads */
  tw_kernel_fn run;
  tw_args args; /* but what differs from piece to piece */
} stage_pass;

/* Of `rows` all but what the kernel says of them is given. */
static stage_pass make_pass(const tw_attention_plan* plan, const slice_range* range,
                            tw_attention_stage stage, const cached_rows* rows, size_t size) {
  const tw_kernel* kernel = &plan->stages[stage]->kernel;
  stage_pass pass = {.rows = *rows, .positions = TW_ATTENTION_BLOCK, .run = kernel->run};
  pass.rows.bytes = tw_position_bytes(kernel, size);
  pass.rows.blocks = kernel->rhs->block != 0;
  pass.args.size = sizeof pass.args;
  pass.args.m = range->rows;
  pass.args.rhs_stride = rows->stride;
  pass.args.rhs_head_stride = rows->head_stride;
  return pass;
}

/* Of K so many positions that all heads' fill half of a small first cache, in which the same places
 * of rows a page apart find room. Whole tiles of scores, of which blocks are multiples. */
static size_t few_positions(const tw_attention_plan* plan, const cached_rows* keys) {
  const size_t tile = plan->stages[TW_ATTENTION_SCORES]->kernel.tile_n;
  size_t positions = TW_ATTENTION_BLOCK;
  while (positions > LEAST_POSITIONS && positions > tile &&
         positions * keys->stride > PIECE_BYTES) {
    positions /= 2;
  }
  return positions;
}

static stage_pass scores_pass(const tw_attention_plan* plan, const tw_attention_args* args,
                              const slice_range* range) {
  const size_t size = plan->shape.key_size;
  const cached_rows keys = {
      .first = args->k, .stride = args->k_stride, .head_stride = args->k_head_stride};
  stage_pass pass = make_pass(plan, range, TW_ATTENTION_SCORES, &keys, size);
  pass.positions = few_positions(plan, &keys);
  pass.args.k = size;
  pass.args.lhs_stride = size * sizeof(float);
  pass.args.dst_stride = row_floats(plan) * sizeof(float);
  return pass;
}

static stage_pass values_pass(const tw_attention_plan* plan, const tw_attention_args* args,
                              const slice_range* range) {
  const size_t size = plan->shape.value_size;
  const cached_rows values = {
      .first = args->v, .stride = args->v_stride, .head_stride = args->v_head_stride};
  stage_pass pass = make_pass(plan, range, TW_ATTENTION_VALUES, &values, size);
  pass.args.n = size;
  pass.args.lhs_stride = row_floats(plan) * sizeof(float);
  pass.args.dst_stride = size * sizeof(float);
  return pass;
}

/* Sets what a piece reads and writes beside K or V; `row`: its first one. */
typedef void piece_fn(const tw_attention_plan* plan, const scratch_parts* parts, size_t row,
                      const block_piece* piece, tw_args* args);

static void place_scores(const tw_attention_plan* plan, const scratch_parts* parts, size_t row,
                         const block_piece* piece, tw_args* args) {
  args->n = piece->count;
  args->lhs = parts->queries + row * plan->shape.key_size;
  args->dst = scores_of(plan, parts, row) + piece->at;
}

static void place_values(const tw_attention_plan* plan, const scratch_parts* parts, size_t row,
                         const block_piece* piece, tw_args* args) {
  args->k = piece->count;
  args->lhs = state_of(plan, parts, row);
  args->dst = parts->sums + row * plan->shape.value_size;
}

/* All positions of a block, some at a time where those of all heads are read together. */
static void run_pieces(const tw_attention_plan* plan, const slice_range* range,
                       const scratch_parts* parts, stage_pass* pass, const block_piece* block,
                       piece_fn* place) {
  const cached_rows* rows = &pass->rows;
  const bool all_heads = reads_all_heads(range, rows);
  const size_t step = all_heads ? pass->positions : block->count;
  block_piece piece = {.heads = all_heads ? block->heads : 1};
  tw_args* args = &pass->args;
  args->heads = piece.heads;
  for (piece.at = 0; piece.at < block->count; piece.at += step) {
    piece.first = block->first + piece.at;
    piece.count = tw_least(step, block->count - piece.at);
    for (size_t i = 0; i < block->heads; i += piece.heads) {
      piece.head = block->head + i;
      place(plan, parts, (piece.head - range->head) * range->rows, &piece, args);
      args->rhs = rows->first + piece.head * rows->head_stride + piece.first * rows->stride;
      args->rhs_prefetch = next_bytes(range, rows, &piece);
      pass->run(args);
    }
  }
}

/* Sets what stands behind a block's last position. */
static void end_scores(const tw_attention_plan* plan, const slice_range* range,
                       const scratch_parts* parts, size_t head, size_t count) {
  const size_t row = (head - range->head) * range->rows;
  const size_t vectors = tw_divide_up(count, plan->lanes) * plan->lanes;
  for (size_t i = 0; i < range->rows; ++i) {
    float* scores = scores_of(plan, parts, row + i);
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
  kernel.max = args->softcap;
  kernel.flags = args->softcap != 0 ? 4 : 0;
  if (tw_has_position_scales(&plan->shape)) {
    tw_put_position_scales(plan, args, head, first, count, parts->scales);
    kernel.rhs = parts->scales;
  }
  if (args->mask == NULL) {
    kernel.lhs = parts->mask; /* not read; but C's null must not be moved, not even by 0 */
    weigh(plan, parts, first_row, range->rows, &kernel);
    return;
  }
  kernel.flags |= args->mask_type == TW_F16 ? 1 : 2;
  const bool padded = count % plan->lanes != 0;
  for (size_t row = 0; row < range->rows; row += range->queries) {
    const size_t its_head = head_of(plan, range, head, row);
    kernel.min = tw_slope_of(plan, args, its_head);
    kernel.lhs = tw_mask_row(args, its_head, range->query, first);
    kernel.lhs_stride = args->mask_stride;
    if (padded) {
      if (row == 0 || args->mask_head_stride != 0) {
        pad_mask(args, range, its_head, first, count, parts);
      }
      kernel.lhs = parts->mask;
      kernel.lhs_stride = TW_ATTENTION_BLOCK * tw_mask_bytes(args);
    }
    weigh(plan, parts, first_row + row, range->queries, &kernel);
  }
}

/* Reads a block that nothing has fetched line by line, which is how memory is fastest. */
static void touch(const slice_range* range, const cached_rows* rows, const block_piece* block) {
  if (!reads_all_heads(range, rows) || !is_one_piece(range, rows)) return;
  const volatile char* at =
      rows->first + block->head * rows->head_stride + block->first * rows->stride;
  for (size_t i = 0; i < block->count * rows->stride; i += LINE_BYTES) (void)at[i];
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
    float* sums = parts->sums + i * value_size;
    float sum = 0, surplus = 0;
    for (size_t j = 0; j < lanes; ++j) {
      sum += state[lanes + j];
      surplus += state[SURPLUS * lanes + j];
    }
    for (size_t j = 0; surplus != 0 && j < value_size; ++j) sums[j] -= surplus;
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
  stage_pass scores = scores_pass(plan, args, &range), values = values_pass(plan, args, &range);
  begin_rows(plan, args, &range, &parts);
  const bool all_heads =
      reads_all_heads(&range, &scores.rows) || reads_all_heads(&range, &values.rows);
  block_piece block = {.heads = all_heads ? range.heads : 1};
  bool is_first = true;
  for (size_t first = range.position; first < range.end; first += TW_ATTENTION_BLOCK) {
    block.first = first;
    block.count = tw_least(TW_ATTENTION_BLOCK, range.end - first);
    if (block_is_masked(args, &range, first, block.count)) continue;
    for (size_t i = 0; i < range.heads; i += block.heads) {
      block.head = range.head + i;
      run_pieces(plan, &range, &parts, &scores, &block, place_scores);
      for (size_t head = block.head; head < block.head + block.heads; ++head) {
        end_scores(plan, &range, &parts, head, block.count);
        run_weights(plan, args, &range, &parts, head, first, block.count);
      }
      if (is_first) touch(&range, &values.rows, &block);
      run_pieces(plan, &range, &parts, &values, &block, place_values);
    }
    is_first = false;
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
