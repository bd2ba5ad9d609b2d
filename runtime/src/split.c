/* Rows to kernels: 12 rows are 8 + 4.
 *
 * Cost model, in cycles of one core:
 *   segment = ceil(rows / tile_m) * tile_cycles + segment_cycles
 *   tile_cycles = ceil(n / tile_n) * (tile_m * tile_n * k / macs_per_cycle + TILE_CYCLES)
 *   segment_cycles = blocks of columns * CALL_CYCLES
 * macs_per_cycle is the registry row's, 1 where it is not known; the constants are plan.c's.
 * Fewer rows than 2 * the tallest tile are covered by dynamic programming over the last segment;
 * what is above is whole tiles of the kernel with the fewest cycles per row. */
#include "internal.h"

static double segment_cost(const tw_choice* choice, size_t rows, double segment_cycles) {
  const size_t tiles = tw_divide_up(rows, choice->tile_m);
  return (double)tiles * choice->tile_cycles + segment_cycles;
}

static tw_tail best_tail(const tw_split* split, size_t rows, double segment_cycles) {
  tw_tail best = {0, 0, 0, 0};
  for (size_t c = 0; c < split->count; ++c) {
    /* Last segments of whole tiles, or all rows: others cost the same as one of these. */
    const size_t tile = split->choices[c].tile_m;
    for (size_t last = tile < rows ? tile : rows; last <= rows; last += tile) {
      const tw_tail* rest = &split->tail[rows - last];
      const double cycles = rest->cycles + segment_cost(&split->choices[c], last, segment_cycles);
      if (rest->segments + 1 < TW_MAX_SEGMENTS && (best.rows == 0 || cycles < best.cycles)) {
        best = (tw_tail){cycles, (unsigned char)c, (unsigned char)last,
                         (unsigned char)(rest->segments + 1)};
      }
      if (last < rows && last + tile > rows) last = rows - tile;
    }
  }
  return best;
}

void tw_split_build(tw_split* split, double segment_cycles) {
  split->tallest = 1;
  split->main = 0;
  split->segment_cycles = segment_cycles;
  for (size_t c = 0; c < split->count; ++c) {
    const tw_choice *choice = &split->choices[c], *main = &split->choices[split->main];
    if (choice->tile_m > split->tallest) split->tallest = choice->tile_m;
    if (choice->tile_cycles / (double)choice->tile_m < main->tile_cycles / (double)main->tile_m) {
      split->main = c;
    }
  }
  split->tail[0] = (tw_tail){0, 0, 0, 0};
  for (size_t rows = 1; rows < 2 * split->tallest; ++rows) {
    split->tail[rows] = best_tail(split, rows, segment_cycles);
  }
}

/* Rows of the main kernel before the tail, whole tiles. */
static size_t main_rows(const tw_split* split, size_t m) {
  if (m < 2 * split->tallest) return 0;
  const size_t tile = split->choices[split->main].tile_m;
  return (m - split->tallest) / tile * tile;
}

/* Likewise of a kernel that a setting names: it also takes rows fewer than a tile. */
static size_t named_rows(const tw_choice* named, size_t m) {
  return m < named->tile_m ? m : m / named->tile_m * named->tile_m;
}

static double cycles_by_cost(const tw_split* split, size_t m) {
  const size_t rows = main_rows(split, m);
  const tw_choice* main = &split->choices[split->main];
  const double tiles = (double)(rows / main->tile_m);
  return tiles * main->tile_cycles + split->tail[m - rows].cycles;
}

double tw_split_cycles(const tw_split* split, size_t m, size_t main) {
  if (main == TW_NO_CHOICE) return cycles_by_cost(split, m);
  const tw_choice* named = &split->choices[main];
  const size_t rows = named_rows(named, m);
  return segment_cost(named, rows, split->segment_cycles) + cycles_by_cost(split, m - rows);
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
  for (rest -= rows; rest > 0; rest -= split->tail[rest].rows) {
    const tw_tail* tail = &split->tail[rest];
    count = add_rows(segments, count, &split->choices[tail->choice], tail->rows);
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
