/* Rows to kernels: 12 rows are 8 + 4.
 *
 * Cost model, in cycles of one core:
 *   all = sum of segments + max(0, stream_cycles - cycles of the first that hide it)
 *   segment = ceil(rows / tile_m) * tile_cycles + segment_cycles
 *   tile_cycles = ceil(n / tile_n) * (tile_m * tile_n * k / macs_per_cycle + TILE_CYCLES)
 *   segment_cycles = blocks of columns * CALL_CYCLES
 *   stream_cycles = bytes of the weights / TW_STREAM_BYTES: the first segment waits for memory, the
 *                   others find the weights in a cache
 * macs_per_cycle is the registry row's, 1 where it is not known; the constants are plan.c's
 * and candidates.c's.
 * Fewer rows than 2 * the tallest tile, or than FEW_ROWS, are covered by dynamic programming over
 * the first segment; what is above is whole tiles of the kernel with the fewest cycles per row,
 * those that it waits for memory included. */
#include "internal.h"

enum { FEW_ROWS = 32 /* of which it matters that the first ones wait for memory */ };

static double segment_cost(const tw_choice* choice, size_t rows, double segment_cycles) {
  const size_t tiles = tw_divide_up(rows, choice->tile_m);
  return (double)tiles * choice->tile_cycles + segment_cycles;
}

/* Behind what is done meanwhile, which is the first tile row, and of kernels that prefetch the next
 * panel most of the others. A little is left, so that of two kernels that wait the one that
 * multiplies less is cheaper. */
static double waiting(const tw_choice* first, size_t tiles, double stream_cycles) {
  const double others = first->kernel->prefetches_panels ? (double)(tiles - 1) * 3 / 4 : 0;
  const double hidden = (0.999 + others) * first->tile_cycles;
  return stream_cycles > hidden ? stream_cycles - hidden : 0;
}

/* Memory decides about a single row, and kernels of one row read it best: measured (Granite
 * Rapids), these 94 to 99 % of what it streams, tiles of 16 rows 84 %, though by cycles they are
 * ahead. */
static bool is_left_to_one_row(const tw_split* split, size_t rows, double stream) {
  for (size_t c = 0; rows == 1 && c < split->count; ++c) {
    if (split->choices[c].tile_m == 1 && split->choices[c].tile_cycles < stream) return true;
  }
  return false;
}

/* The segment that is chosen waits for `stream`: the first one does, others for 0 cycles. */
static tw_tail best_cover(const tw_split* split, size_t rows, double stream) {
  tw_tail best = {0, 0, 0, 0};
  const bool left_to_one_row = is_left_to_one_row(split, rows, stream);
  for (size_t c = 0; c < split->count; ++c) {
    if (left_to_one_row && split->choices[c].tile_m != 1) continue;
    /* Segments of whole tiles, or all rows: others cost the same as one of these. */
    const tw_choice* choice = &split->choices[c];
    const size_t tile = choice->tile_m;
    for (size_t taken = tile < rows ? tile : rows; taken <= rows; taken += tile) {
      const tw_tail* rest = &split->tail[rows - taken];
      const double cycles = rest->cycles + segment_cost(choice, taken, split->segment_cycles) +
                            waiting(choice, tw_divide_up(taken, tile), stream);
      if (rest->segments + 1 < TW_MAX_SEGMENTS && (best.rows == 0 || cycles < best.cycles)) {
        best = (tw_tail){cycles, (unsigned char)c, (unsigned char)taken,
                         (unsigned char)(rest->segments + 1)};
      }
      if (taken < rows && taken + tile > rows) taken = rows - tile;
    }
  }
  return best;
}

/* Of many rows. Kernels that do not prefetch panels leave memory idle behind their first tile row:
 * measured (Zen 5), 128 rows of int8 take 7 % longer by them than the model says. */
static double cycles_of_row(const tw_choice* choice) {
  const double waits = choice->kernel->prefetches_panels ? 1 : 1.05;
  return choice->tile_cycles / (double)choice->tile_m * waits;
}

void tw_split_build(tw_split* split, double segment_cycles, double stream_cycles) {
  split->tallest = 1;
  split->main = 0;
  split->segment_cycles = segment_cycles;
  split->stream_cycles = stream_cycles;
  for (size_t c = 0; c < split->count; ++c) {
    const tw_choice *choice = &split->choices[c], *main = &split->choices[split->main];
    if (choice->tile_m > split->tallest) split->tallest = choice->tile_m;
    if (cycles_of_row(choice) < cycles_of_row(main)) split->main = c;
  }
  split->covered = 2 * split->tallest > FEW_ROWS ? 2 * split->tallest : FEW_ROWS;
  split->tail[0] = split->all[0] = (tw_tail){0, 0, 0, 0};
  for (size_t rows = 1; rows < split->covered; ++rows) {
    split->tail[rows] = best_cover(split, rows, 0);
    split->all[rows] = best_cover(split, rows, stream_cycles);
  }
}

/* Rows of the main kernel before the tail, whole tiles. */
static size_t main_rows(const tw_split* split, size_t m) {
  if (m < split->covered) return 0;
  const size_t tile = split->choices[split->main].tile_m;
  return (m - split->tallest) / tile * tile;
}

/* Likewise of a kernel that a setting names: it also takes rows fewer than a tile. */
static size_t named_rows(const tw_choice* named, size_t m) {
  return m < named->tile_m ? m : m / named->tile_m * named->tile_m;
}

/* Of rows that are all there are, or that others are before. */
static double cycles_by_cost(const tw_split* split, size_t m, bool all) {
  const size_t rows = main_rows(split, m);
  if (rows == 0) return (all ? split->all : split->tail)[m].cycles;
  const tw_choice* main = &split->choices[split->main];
  const size_t tiles = rows / main->tile_m;
  return (double)tiles * main->tile_cycles +
         (all ? waiting(main, tiles, split->stream_cycles) : 0) + split->tail[m - rows].cycles;
}

double tw_split_cycles(const tw_split* split, size_t m, size_t main) {
  if (main == TW_NO_CHOICE || m == 0) return cycles_by_cost(split, m, true);
  const tw_choice* named = &split->choices[main];
  const size_t rows = named_rows(named, m);
  const size_t tiles = tw_divide_up(rows, named->tile_m);
  return segment_cost(named, rows, split->segment_cycles) +
         waiting(named, tiles, split->stream_cycles) + cycles_by_cost(split, m - rows, false);
}

static size_t add_rows(tw_segment* segments, size_t count, const tw_choice* choice, size_t rows) {
  for (size_t i = 0; i < count; ++i) {
    if (segments[i].kernel == choice->kernel) {
      segments[i].rows += rows;
      return count;
    }
  }
  segments[count] =
      (tw_segment){0, rows, choice->kernel, choice->lhs_packer, 0, choice->lhs_stride};
  return count + 1;
}

const tw_choice* tw_choice_of(const tw_split* split, const tw_kernel* kernel) {
  size_t c = 0;
  while (split->choices[c].kernel != kernel) ++c;
  return &split->choices[c];
}

static size_t tile_of(const tw_split* split, const tw_segment* segment) {
  return tw_choice_of(split, segment->kernel)->tile_m;
}

size_t tw_split_rows(const tw_split* split, size_t m, size_t main, tw_segment* segments) {
  size_t count = 0, rest = m;
  if (main != TW_NO_CHOICE && m > 0) {
    const size_t rows = named_rows(&split->choices[main], m);
    count = add_rows(segments, count, &split->choices[main], rows);
    rest = m - rows;
  }
  const size_t rows = main_rows(split, rest);
  if (rows > 0) count = add_rows(segments, count, &split->choices[split->main], rows);
  for (rest -= rows; rest > 0;) {
    const tw_tail* next = count == 0 ? &split->all[rest] : &split->tail[rest];
    count = add_rows(segments, count, &split->choices[next->choice], next->rows);
    rest -= next->rows;
  }
  for (size_t i = 1; i < count; ++i) { /* tallest tiles first */
    for (size_t j = i; j > 0; --j) {
      if (tile_of(split, &segments[j]) <= tile_of(split, &segments[j - 1])) break;
      const tw_segment swap = segments[j];
      segments[j] = segments[j - 1];
      segments[j - 1] = swap;
    }
  }
  for (size_t i = 1; i < count; ++i) {
    segments[i].row_begin = segments[i - 1].row_begin + segments[i - 1].rows;
  }
  return count;
}
