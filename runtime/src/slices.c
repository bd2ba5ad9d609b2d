/* Slices of a run: blocks of columns times blocks of rows. Unless a tuning says otherwise columns
 * are fastest, so that slices taken one after the other share a block of the packed LHS, and the
 * RHS passes by once for each block of rows. */
#include "internal.h"

enum {
  ALIGNMENT = 64,
  GATHER_COLUMNS = 256, /* of a slice that gathers its rows, so that they are worth it */
  SINGLE_PASS_PREFETCH = 16384,
  L2_PREFETCH = 2048,     /* of what a kernel before left there */
  STREAM_SLICE = 1 << 20, /* bytes: the hardware prefetches beyond the end of a shorter run, too */
  CACHE_BYTES = 32        /* a cycle, from caches behind L2 where the next lines are foreseen */
};

tw_status tw_rows_of(const tw_plan* plan, size_t m, const char* who, tw_rows* rows) {
  rows->m = m;
  rows->count = 0;
  rows->lhs_bytes = 0;
  rows->tuning = plan->tuning;
  const size_t largest = SIZE_MAX / 4;
  if (m > largest) return tw_fail(TW_TOO_LARGE, "%s: m is %zu; at most %zu", who, m, largest);
  const tw_range* range = tw_plan_range(plan, m);
  if (range != NULL) rows->tuning = range->tuning;
  const size_t main = range != NULL ? range->main : TW_NO_CHOICE;
  rows->count = tw_split_rows(&plan->split, m, main, rows->segments);
  for (size_t i = 0; i < rows->count; ++i) {
    tw_segment* segment = &rows->segments[i];
    const size_t panel = tw_panel_rows(segment->kernel->lhs, &plan->device);
    size_t bytes;
    segment->lhs_offset = rows->lhs_bytes;
    if (plan->lhs_unpacked) continue;
    if (!tw_multiply(tw_divide_up(segment->rows, panel), segment->lhs_stride, &bytes) ||
        !tw_round_up(bytes, ALIGNMENT, &bytes) ||
        !tw_add(rows->lhs_bytes, bytes, &rows->lhs_bytes)) {
      return tw_fail(TW_TOO_LARGE, "%s: m = %zu rows of k = %zu overflow the address space", who, m,
                     plan->k);
    }
  }
  return TW_OK;
}

tw_status tw_plan_segments(const tw_plan* plan, size_t m, tw_segment* segments, size_t* count) {
  if (plan == NULL || segments == NULL || count == NULL) {
    return tw_fail(TW_INVALID, "tw_plan_segments: %s is null",
                   plan == NULL       ? "plan"
                   : segments == NULL ? "segments"
                                      : "count");
  }
  tw_rows rows;
  const tw_status status = tw_rows_of(plan, m, "tw_plan_segments", &rows);
  if (status != TW_OK) return status;
  memcpy(segments, rows.segments, rows.count * sizeof *segments);
  *count = rows.count;
  return TW_OK;
}

/* ---- columns: what a plan chooses for all numbers of rows ---- */

/* Whole panels and tiles of all kernels. */
static size_t column_unit(const tw_plan* plan) {
  size_t unit = plan->rhs_panel;
  for (size_t i = 0; i < plan->split.count; ++i) {
    const size_t tile_n = plan->split.choices[i].tile_n;
    if (tile_n > 1) unit = tw_common_multiple(unit, tile_n);
  }
  return unit;
}

/* Whole units, a quarter of the L2 cache at most (the packed LHS has half of it). */
static size_t choose_near_columns(const tw_plan* plan, size_t unit) {
  const size_t fit = tw_l2_bytes(plan) / 4 / plan->rhs_stride * plan->rhs_panel / unit;
  return (fit > 0 ? fit : 1) * unit;
}

/* Columns of a slice: as many as leave all cores several slices. Weights are prefetched for the
 * core that multiplies by the columns before them: at the beginning of a slice that was another.
 * Cores of unlike speed take shorter ones, since a slow one may be last. */
static size_t choose_n_block(const tw_plan* plan, size_t unit) {
  size_t block;
  if (plan->tuning.n_block != 0) {
    if (!tw_round_up(plan->tuning.n_block, unit, &block))
      block = tw_divide_up(plan->n, unit) * unit;
    return block;
  }
  const size_t units = tw_divide_up(plan->n, unit);
  size_t fair = units / (TW_SLICES_PER_THREAD * plan->threads);
  const size_t few = plan->near_columns / unit;
  if (plan->device.cluster_count > 1 && few < fair) fair = few;
  const size_t least = tw_divide_up(GATHER_COLUMNS, unit);
  if (plan->taps != 0 && plan->lhs_unpacked && fair < least) fair = least;
  const size_t blocks = tw_divide_up(units, fair > 0 ? fair : 1);
  return tw_divide_up(units, blocks) * unit; /* of like size */
}

void tw_choose_columns(tw_plan* plan) {
  const size_t unit = column_unit(plan);
  plan->near_columns = choose_near_columns(plan, unit);
  plan->n_block = choose_n_block(plan, unit);
}

/* ---- blocks of rows ---- */

/* Rows between which a segment may be cut: whole panels and tiles. */
static size_t cut_unit(const tw_plan* plan, const tw_segment* segment) {
  const size_t panel = tw_panel_rows(segment->kernel->lhs, &plan->device);
  const size_t tile = tw_tile_rows(segment->kernel, &plan->device);
  return panel > tile ? panel : tile;
}

size_t tw_cut(const tw_plan* plan, const tw_rows* rows, size_t row) {
  for (size_t i = 0; i < rows->count; ++i) {
    const tw_segment* segment = &rows->segments[i];
    const size_t inside = row - segment->row_begin;
    if (inside >= segment->rows) continue;
    const size_t unit = cut_unit(plan, segment);
    return segment->row_begin + inside / unit * unit;
  }
  return rows->m;
}

static size_t row_bytes(const tw_plan* plan, const tw_rows* rows) {
  return plan->lhs_unpacked ? rows->segments[0].lhs_stride : tw_divide_up(rows->lhs_bytes, rows->m);
}

/* Bytes of the caches behind L2 that rows may take. */
static size_t far_bytes(const tw_plan* plan) {
  return plan->device.l3_bytes != 0 ? plan->device.l3_bytes / 2 : 4 * tw_l2_bytes(plan);
}

/* Bytes of L2 that are left for rows beside a panel; 0: none. */
static size_t near_bytes(const tw_plan* plan) {
  const size_t room = tw_l2_bytes(plan) / 4 * 3;
  return room > plan->rhs_stride ? room - plan->rhs_stride : 0;
}

/* Cycles that memory takes for one row and column, with blocks of so many rows: for each block the
 * weights come from memory, for each tile of columns the block comes from where it fits. L2 costs
 * nothing: tiles are chosen so that it does not. */
static double memory_cycles(const tw_plan* plan, const tw_rows* rows, size_t block) {
  const size_t row = row_bytes(plan, rows);
  const size_t columns = tw_tile_columns(rows->segments[0].kernel, &plan->device);
  const double weights = (double)plan->rhs_stride / (double)plan->rhs_panel / (double)block;
  const double lhs = (double)row / (double)columns;
  if (block * row <= near_bytes(plan)) return weights / TW_STREAM_BYTES;
  const bool fits = block * row <= far_bytes(plan);
  return weights / TW_STREAM_BYTES + lhs / (fits ? CACHE_BYTES : TW_STREAM_BYTES);
}

size_t tw_cached_rows(const tw_plan* plan, const tw_rows* rows) {
  const size_t deep = tw_part_rows(plan, &rows->segments[0]);
  if (deep != 0) return deep;
  const size_t unit = cut_unit(plan, &rows->segments[0]);
  const size_t rooms[] = {near_bytes(plan), far_bytes(plan)};
  size_t best = rows->m;
  for (size_t i = 0; i < 2; ++i) {
    const size_t block = rooms[i] / row_bytes(plan, rows) / unit * unit;
    if (block == 0 || block >= rows->m) continue;
    if (memory_cycles(plan, rows, block) < memory_cycles(plan, rows, best)) best = block;
  }
  return best;
}

/* Of a slice; where weights are decoded more of them share that. */
static size_t choose_row_block(const tw_plan* plan, const tw_rows* rows) {
  return tw_decodes(plan, rows->m) ? tw_decoded_rows(plan, rows) : tw_cached_rows(plan, rows);
}

/* Where there are too few columns, rows give every thread a slice. */
static size_t row_blocks(const tw_plan* plan, const tw_rows* rows) {
  if (rows->count == 0) return 0;
  const size_t unit = cut_unit(plan, &rows->segments[0]);
  if (rows->tuning.m_block != 0) {
    return tw_divide_up(rows->m, rows->tuning.m_block > unit ? rows->tuning.m_block : unit);
  }
  const size_t blocks = tw_divide_up(rows->m, choose_row_block(plan, rows));
  const size_t across = tw_divide_up(plan->n, tw_slice_columns(plan, rows));
  const size_t wanted = tw_divide_up(plan->threads, across), most = tw_divide_up(rows->m, unit);
  return blocks >= wanted ? blocks : wanted < most ? wanted : most;
}

size_t tw_row_unit(const tw_plan* plan, const tw_rows* rows) {
  size_t unit = 1;
  for (size_t i = 0; i < rows->count; ++i) {
    const size_t each = cut_unit(plan, &rows->segments[i]);
    if (each > unit) unit = each;
  }
  return unit;
}

/* A block begins where rows may be cut, less than a unit early. */
size_t tw_slice_rows(const tw_plan* plan, const tw_rows* rows) {
  const size_t blocks = row_blocks(plan, rows);
  if (blocks == 0) return 0;
  const size_t most = tw_divide_up(rows->m, blocks) + tw_row_unit(plan, rows) - 1;
  return most < rows->m ? most : rows->m;
}

size_t tw_share(size_t m, size_t index, size_t count) {
  const size_t rest = m % count;
  return m / count * index + (index < rest ? index : rest);
}

size_t tw_column_unit(const tw_plan* plan, const tw_rows* rows) {
  size_t unit = plan->rhs_panel;
  for (size_t i = 0; i < rows->count; ++i) {
    unit = tw_common_multiple(unit, tw_tile_columns(rows->segments[i].kernel, &plan->device));
  }
  return unit;
}

/* The kernel eats weights faster than memory gives them. */
static bool waits_for_weights(const tw_plan* plan, const tw_rows* rows) {
  const double macs_per_byte = (double)rows->m * 8 / (double)plan->rhs->data_bits;
  return tw_plan_rate(plan, rows->segments[0].kernel) / macs_per_byte > TW_STREAM_BYTES;
}

/* A run of columns for each thread that only their weights' bytes decide about. */
static size_t stream_columns(const tw_plan* plan, size_t unit) {
  const size_t per_thread = tw_divide_up(plan->rhs_bytes, plan->threads);
  size_t bytes = per_thread < STREAM_SLICE ? per_thread : STREAM_SLICE;
  if (bytes < per_thread / TW_SLICES_PER_THREAD) bytes = per_thread / TW_SLICES_PER_THREAD;
  const size_t units = tw_divide_up(plan->n, unit);
  const size_t slices = tw_divide_up(plan->rhs_bytes, bytes);
  return tw_divide_up(units, slices < units ? slices : units) * unit;
}

size_t tw_slice_columns(const tw_plan* plan, const tw_rows* rows) {
  size_t block;
  const size_t unit = tw_column_unit(plan, rows);
  if (rows->tuning.n_block != 0) {
    return tw_round_up(rows->tuning.n_block, unit, &block) ? block
                                                           : tw_divide_up(plan->n, unit) * unit;
  }
  if (rows->count > 0 && tw_part_rows(plan, &rows->segments[0]) != 0) { /* rows' parts stay */
    return tw_divide_up(tw_divide_up(plan->n, unit), TW_SLICES_PER_THREAD * plan->threads) * unit;
  }
  const bool alike = plan->device.cluster_count <= 1; /* else a slow core would be last */
  const bool streams = rows->count > 0 && !tw_gathers(plan) && waits_for_weights(plan, rows);
  return alike && streams ? stream_columns(plan, unit) : plan->n_block;
}

size_t tw_slices_of(const tw_plan* plan, const tw_rows* rows) {
  return row_blocks(plan, rows) * tw_divide_up(plan->n, tw_slice_columns(plan, rows));
}

tw_status tw_run_slices(const tw_plan* plan, size_t m, size_t* slices) {
  if (plan == NULL || slices == NULL) {
    return tw_fail(TW_INVALID, "tw_run_slices: %s is null", plan == NULL ? "plan" : "slices");
  }
  tw_rows rows;
  const tw_status status = tw_rows_of(plan, m, "tw_run_slices", &rows);
  if (status == TW_OK) *slices = tw_slices_of(plan, &rows);
  return status;
}

tw_part tw_slice_part(const tw_plan* plan, const tw_rows* rows, size_t slice) {
  const size_t n_block = tw_slice_columns(plan, rows);
  const size_t down = row_blocks(plan, rows), across = tw_divide_up(plan->n, n_block);
  tw_part part = {0, 0, 0, 0};
  if (down == 0 || slice / across >= down) return part;
  const bool rows_first = rows->tuning.order == TW_ROWS_FIRST;
  const size_t row = rows_first ? slice % down : slice / across;
  const size_t column = rows_first ? slice / down : slice % across;
  part.row_begin = tw_cut(plan, rows, tw_share(rows->m, row, down));
  part.row_end = tw_cut(plan, rows, tw_share(rows->m, row + 1, down));
  part.column_begin = column * n_block;
  part.column_end = plan->n - part.column_begin > n_block ? part.column_begin + n_block : plan->n;
  return part;
}

/* ---- prefetch ---- */

/* One pass over the weights, or prefetches into the first cache: where memory is what it waits for
 * as far ahead as the core's table says, else a little further. Several tile rows prefetch the next
 * panel while they use this one, unless one alone fills the L2 cache: the first of them waits for
 * memory, the others could not. */
size_t tw_rhs_prefetch(const tw_plan* plan, const tw_rows* rows) {
  if (rows->tuning.rhs_prefetch == TW_PREFETCH_OFF || rows->count == 0) return 0;
  if (rows->tuning.rhs_prefetch != 0) return rows->tuning.rhs_prefetch;
  const tw_segment* first = &rows->segments[0];
  const size_t tile_rows = tw_tile_rows(first->kernel, &plan->device);
  if (first->rows <= tile_rows || !first->kernel->prefetches_panels) {
    if (!waits_for_weights(plan, rows)) return SINGLE_PASS_PREFETCH;
    return plan->core != NULL ? plan->core->stream_prefetch : 0;
  }
  const size_t l2 = tw_l2_bytes(plan);
  const size_t k_block = tw_k_block(plan, first, plan->k);
  if (tw_part_rows(plan, first) != 0) return plan->rhs_stride; /* all panels' */
  if (k_block < plan->k)
    return plan->rhs_stride / tw_divide_up(plan->k, k_block); /* the next one */
  return plan->rhs_stride <= l2 / 8 * 5 ? plan->rhs_stride : l2 / 8;
}

size_t tw_segment_prefetch(const tw_plan* plan, const tw_rows* rows, size_t segment) {
  const size_t first = tw_rhs_prefetch(plan, rows);
  const bool into_l1 = !rows->segments[segment].kernel->prefetches_panels;
  const bool chosen = first == 0 || rows->tuning.rhs_prefetch != 0;
  return segment > 0 && into_l1 && !chosen ? L2_PREFETCH : first;
}

tw_status tw_plan_tuning(const tw_plan* plan, size_t m, tw_tuning* tuning) {
  if (plan == NULL || tuning == NULL) {
    return tw_fail(TW_INVALID, "tw_plan_tuning: %s is null", plan == NULL ? "plan" : "tuning");
  }
  tw_rows rows;
  const tw_status status = tw_rows_of(plan, m, "tw_plan_tuning", &rows);
  if (status != TW_OK) return status;
  const size_t blocks = row_blocks(plan, &rows);
  tuning->n_block = tw_slice_columns(plan, &rows);
  tuning->m_block = blocks == 0 ? 0 : tw_divide_up(m, blocks);
  tuning->rhs_prefetch = tw_rhs_prefetch(plan, &rows);
  tuning->order = rows.tuning.order == TW_ROWS_FIRST ? TW_ROWS_FIRST : TW_COLUMNS_FIRST;
  const bool can_choose = plan->decoding.decoder != NULL && !plan->decoding.always && m != 0;
  tuning->decode = !can_choose           ? TW_DECODE_UNSET
                   : tw_decodes(plan, m) ? TW_DECODE_ALWAYS
                                         : TW_DECODE_NEVER;
  return TW_OK;
}
