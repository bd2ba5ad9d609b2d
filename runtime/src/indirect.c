/* Rows that are gathered from tables of pointers, tap by tap. */
#include <stdio.h>

#include "internal.h"

static size_t row_bytes(const tw_plan* plan) {
  return plan->k * tw_type_bytes(plan->lhs_type); /* the plan's layouts have passed: no overflow */
}

/* False on overflow. */
static bool gather_bytes(const tw_plan* plan, const tw_rows* rows, size_t* bytes) {
  size_t most = 0;
  if (plan->taps != 0 && plan->lhs_unpacked) most = tw_slice_rows(plan, rows);
  for (size_t i = 0; plan->taps != 0 && !plan->lhs_unpacked && i < rows->count; ++i) {
    const size_t packed = tw_lhs_slice_rows(plan, &rows->segments[i]);
    if (packed > most) most = packed;
  }
  return tw_multiply(most, row_bytes(plan), bytes);
}

tw_status tw_scratch_bytes(const tw_plan* plan, size_t m, size_t* bytes) {
  if (plan == NULL || bytes == NULL) {
    return tw_fail(TW_INVALID, "tw_scratch_bytes: %s is null", plan == NULL ? "plan" : "bytes");
  }
  tw_rows rows;
  const tw_status status = tw_rows_of(plan, m, "tw_scratch_bytes", &rows);
  if (status != TW_OK) return status;
  if (gather_bytes(plan, &rows, bytes)) {
    if (plan->taps == 0) *bytes = tw_decoded_bytes(plan, m);
    return TW_OK;
  }
  return tw_fail(TW_TOO_LARGE,
                 "tw_scratch_bytes: m = %zu rows of k = %zu overflow the address space", m,
                 plan->k);
}

tw_status tw_check_scratch(const char* who, const tw_plan* plan, const tw_rows* rows,
                           const void* scratch, size_t bytes) {
  if (scratch == NULL) return tw_fail(TW_INVALID, "%s.scratch is null", who);
  size_t needed;
  if (gather_bytes(plan, rows, &needed) && bytes >= needed) return TW_OK;
  return tw_fail(TW_TOO_SMALL,
                 "%s.scratch_bytes is %zu; m = %zu rows need what tw_scratch_bytes says", who,
                 bytes, rows->m);
}

tw_status tw_take_indirect(const char* who, const tw_plan* plan, const tw_rows* rows,
                           const tw_indirect* theirs, tw_indirect* own) {
  if (plan->taps == 0) {
    if (theirs == NULL) return TW_OK;
    return tw_fail(TW_INVALID, "%s.indirect is set; this plan's rows have no taps, null is legal",
                   who);
  }
  if (theirs == NULL) {
    return tw_fail(TW_INVALID, "%s.indirect is null; this plan's rows have %zu taps", who,
                   plan->taps);
  }
  char member[64];
  snprintf(member, sizeof member, "%s.indirect", who);
  const tw_status status = tw_take(member, "tw_indirect", theirs, own, sizeof *own);
  if (status != TW_OK) return status;
  if (own->rows == NULL) return tw_fail(TW_INVALID, "%s.rows is null", member);
  if (own->tile == 0) {
    return tw_fail(TW_INVALID, "%s.tile is 0; at least 1 row is legal", member);
  }
  size_t needed;
  if (!tw_round_up(rows->m, own->tile, &needed) || !tw_multiply(needed, plan->taps, &needed)) {
    return tw_fail(TW_TOO_LARGE,
                   "%s.tile is %zu; tiles of m = %zu rows of %zu taps overflow the address space",
                   member, own->tile, rows->m, plan->taps);
  }
  if (own->row_count < needed) {
    return tw_fail(TW_TOO_SMALL,
                   "%s.row_count is %zu; m = %zu rows of %zu taps in tiles of %zu need %zu", member,
                   own->row_count, rows->m, plan->taps, own->tile, needed);
  }
  return TW_OK;
}

/* Copies a row whose taps' pointers are a tile apart; neighbors in memory, pixels of a line, at
 * once. Returns its first tap that is null, or else how many there are. */
static size_t gather_row(const tw_indirect* indirect, const void* const* entry, size_t taps,
                         size_t length, char* to) {
  const char *from = NULL, *end = NULL;
  for (size_t t = 0; t < taps; ++t, entry += indirect->tile) {
    const char* tap = *entry;
    if (tap == NULL) return t;
    if (tap != indirect->pad) tap += indirect->offset;
    if (tap != end) {
      if (t != 0) {
        memcpy(to, from, (size_t)(end - from));
        to += end - from;
      }
      from = end = tap;
    }
    end += length;
  }
  memcpy(to, from, (size_t)(end - from));
  return taps;
}

tw_status tw_gather(const char* who, const tw_plan* plan, const tw_indirect* indirect, size_t begin,
                    size_t end, void* to) {
  const size_t bytes = row_bytes(plan), tile = indirect->tile;
  size_t entry = begin / tile * plan->taps * tile + begin % tile;
  char* at = to;
  for (size_t row = begin, left = tile - begin % tile; row < end; ++row) {
    const size_t done =
        gather_row(indirect, indirect->rows + entry, plan->taps, bytes / plan->taps, at);
    if (done < plan->taps) {
      return tw_fail(TW_INVALID,
                     "%s.indirect.rows[%zu] is null, tap %zu of row %zu; a row, or pad, is legal",
                     who, entry + done * tile, done, row);
    }
    at += bytes;
    ++entry;
    if (--left != 0) continue;
    left = tile;
    entry += (plan->taps - 1) * tile;
  }
  return TW_OK;
}
