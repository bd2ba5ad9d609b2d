/* Groups of rows: each is a multiplication by itself, whose slices gather its rows and scatter its
 * outputs, unless those are neighbors. */
#include "tilewright/groups.h"

#include <stdio.h>
#include <string.h>

#include "internal.h"

enum {
  STAGED_BYTES = 65536, /* of rows and outputs that are copied, so that they stay in the cache */
  ALIGNMENT = 64
};

/* ---- lists ---- */

static size_t row_of(const size_t* list, size_t entry) {
  return list != NULL ? list[entry] : entry;
}

static const size_t* outputs_of(const tw_groups* groups) {
  return groups->dst_rows != NULL ? groups->dst_rows : groups->lhs_rows;
}

static bool are_neighbors(const size_t* list, size_t entry, size_t count) {
  for (size_t i = 1; list != NULL && i < count; ++i) {
    if (list[entry + i] != list[entry] + i) return false;
  }
  return true;
}

static size_t rows_in(const tw_groups* groups, size_t group) {
  return groups->starts[group + 1] - groups->starts[group];
}

/* All numbers of a list, or those of the entries themselves, are below `rows`. */
static tw_status check_list(const char* name, const size_t* list, size_t begin, size_t end,
                            const char* limit, size_t rows) {
  for (size_t i = begin; i < end; ++i) {
    if (row_of(list, i) < rows) continue;
    if (list == NULL) {
      return tw_fail(TW_INVALID,
                     "tw_groups_prepare: groups.%s is null, entry %zu is a row of its own; "
                     "groups.%s is %zu",
                     name, i, limit, rows);
    }
    return tw_fail(TW_INVALID,
                   "tw_groups_prepare: groups.%s[%zu] is %zu; groups.%s, %zu, is above all", name,
                   i, list[i], limit, rows);
  }
  return TW_OK;
}

static tw_status check_lists(const tw_groups* groups) {
  for (size_t g = 0; g < groups->count; ++g) {
    if (groups->starts[g] <= groups->starts[g + 1]) continue;
    return tw_fail(TW_INVALID,
                   "tw_groups_prepare: groups.starts[%zu] is %zu, below groups.starts[%zu], %zu; "
                   "ascending ones are legal",
                   g + 1, groups->starts[g + 1], g, groups->starts[g]);
  }
  const size_t begin = groups->starts[0], end = groups->starts[groups->count];
  if ((groups->lhs_rows != NULL || groups->dst_rows != NULL) && groups->list_count < end) {
    return tw_fail(TW_TOO_SMALL,
                   "tw_groups_prepare: groups.list_count is %zu; groups.starts ends with %zu",
                   groups->list_count, end);
  }
  const tw_status status =
      check_list("lhs_rows", groups->lhs_rows, begin, end, "lhs_row_count", groups->lhs_row_count);
  if (status != TW_OK) return status;
  return check_list(groups->dst_rows != NULL ? "dst_rows" : "lhs_rows", outputs_of(groups), begin,
                    end, "dst_row_count", groups->dst_row_count);
}

/* ---- scratch ---- */

static size_t lhs_row(const tw_plan* plan) {
  return plan->k * tw_type_bytes(plan->lhs_type); /* the plan's layouts have passed: no overflow */
}

/* Rows and columns that a slice runs at once: where it copies, whole tiles, few enough for the
 * cache, and a panel that is decoded for all of its rows. Their inputs, if those are copied then,
 * their outputs, and behind both what is decoded, of so many bytes. False on overflow. */
typedef struct staging {
  size_t rows, columns, lhs_bytes, dst_bytes, decoded_bytes;
} staging;
static bool staging_of(const tw_plan* plan, const tw_groups* groups, size_t group,
                       const tw_rows* rows, staging* found) {
  const size_t entry = groups->starts[group];
  const bool gathers = plan->lhs_unpacked && !are_neighbors(groups->lhs_rows, entry, rows->m);
  *found = (staging){.rows = rows->m, .columns = plan->n};
  found->decoded_bytes = tw_codes_scratch(plan, rows->m);
  if (!gathers && are_neighbors(outputs_of(groups), entry, rows->m)) return true;
  const size_t lhs = plan->lhs_unpacked ? lhs_row(plan) : 0;
  const size_t unit = tw_row_unit(plan, rows);
  const bool panels = found->decoded_bytes != 0;
  size_t dst, both;
  found->columns = tw_least(panels ? plan->rhs_panel : tw_slice_columns(plan, rows), plan->n);
  if (!tw_multiply(found->columns, tw_type_bytes(plan->dst_type), &dst)) return false;
  if (!tw_add(lhs, dst, &both)) return false;
  found->rows = STAGED_BYTES / both > unit ? STAGED_BYTES / both : unit;
  if (found->rows > rows->m) found->rows = rows->m;
  return tw_multiply(found->rows, lhs, &found->lhs_bytes) &&
         tw_round_up(found->lhs_bytes, ALIGNMENT, &found->lhs_bytes) &&
         tw_multiply(found->rows, dst, &found->dst_bytes);
}

/* What packing or running a group needs. False on overflow. */
static bool scratch_of(const tw_plan* plan, const tw_groups* groups, size_t group,
                       const tw_rows* rows, size_t* bytes) {
  const bool gathers = !are_neighbors(groups->lhs_rows, groups->starts[group], rows->m);
  *bytes = 0;
  for (size_t i = 0; gathers && !plan->lhs_unpacked && i < rows->count; ++i) {
    size_t packs;
    const size_t most = tw_lhs_slice_rows(plan, &rows->segments[i]);
    if (!tw_multiply(most, lhs_row(plan), &packs)) return false;
    if (packs > *bytes) *bytes = packs;
  }
  staging staged;
  size_t runs;
  if (!staging_of(plan, groups, group, rows, &staged)) return false;
  if (!tw_add(staged.lhs_bytes, staged.dst_bytes, &runs)) return false;
  if (!tw_add(runs, staged.decoded_bytes, &runs)) return false;
  if (runs > *bytes) *bytes = runs;
  return true;
}

static tw_status check_scratch(const char* who, const tw_groups* groups, const void* scratch,
                               size_t bytes) {
  if (groups->scratch_bytes == 0) return TW_OK;
  if (scratch == NULL) return tw_fail(TW_INVALID, "%s.scratch is null", who);
  if (bytes >= groups->scratch_bytes) return TW_OK;
  return tw_fail(TW_TOO_SMALL, "%s.scratch_bytes is %zu; groups.scratch_bytes, %zu, are needed",
                 who, bytes, groups->scratch_bytes);
}

/* ---- prepare ---- */

static tw_status take_groups(const char* function, const tw_plan* plan, const tw_groups* theirs,
                             tw_groups* own) {
  char member[64];
  snprintf(member, sizeof member, "%s: groups", function);
  memset(own, 0, sizeof *own); /* clang-tidy does not see that what fails is not read */
  if (plan == NULL) return tw_fail(TW_INVALID, "%s: plan is null", function);
  if (theirs == NULL) return tw_fail(TW_INVALID, "%s is null", member);
  return tw_take(member, "tw_groups", theirs, own, sizeof *own);
}

/* Adds a group to the sums. False on overflow. */
static bool add_group(const tw_plan* plan, tw_groups* groups, size_t group, const tw_rows* rows) {
  size_t scratch;
  groups->parts[group] = (tw_group_part){groups->lhs_bytes, groups->lhs_slices, groups->run_slices};
  if (rows->m == 0) return true;
  if (!scratch_of(plan, groups, group, rows, &scratch)) return false;
  if (scratch > groups->scratch_bytes) groups->scratch_bytes = scratch;
  return tw_add(groups->lhs_bytes, rows->lhs_bytes, &groups->lhs_bytes) &&
         tw_add(groups->lhs_slices, tw_lhs_slices_of(plan, rows, true), &groups->lhs_slices) &&
         tw_add(groups->run_slices, tw_slices_of(plan, rows), &groups->run_slices);
}

static tw_status check_groups(const tw_plan* plan, const tw_groups* groups) {
  if (plan->taps != 0) {
    return tw_fail(TW_INVALID,
                   "tw_groups_prepare: this plan's rows have %zu taps; plans without are legal",
                   plan->taps);
  }
  const tw_status status = tw_check_readable("tw_groups_prepare", plan);
  if (status != TW_OK) return status;
  if (groups->starts == NULL || groups->parts == NULL) {
    return tw_fail(TW_INVALID, "tw_groups_prepare: groups.%s is null",
                   groups->starts == NULL ? "starts" : "parts");
  }
  return check_lists(groups);
}

tw_status tw_groups_prepare(const tw_plan* plan, tw_groups* theirs) {
  tw_groups groups;
  tw_status status = take_groups("tw_groups_prepare", plan, theirs, &groups);
  if (status != TW_OK) return status;
  groups.plan = plan;
  groups.lhs_bytes = groups.scratch_bytes = groups.lhs_slices = groups.run_slices = 0;
  if (groups.count != 0) status = check_groups(plan, &groups);
  for (size_t g = 0; status == TW_OK && g < groups.count; ++g) {
    tw_rows rows;
    status = tw_rows_of(plan, rows_in(&groups, g), "tw_groups_prepare", &rows);
    if (status == TW_OK && !add_group(plan, &groups, g, &rows)) {
      status =
          tw_fail(TW_TOO_LARGE, "tw_groups_prepare: %zu rows of k = %zu overflow the address space",
                  groups.starts[g + 1] - groups.starts[0], plan->k);
    }
  }
  if (status == TW_OK) tw_give(&groups, sizeof groups, theirs);
  return status;
}

static tw_status take_prepared(const char* function, const tw_plan* plan, const tw_groups* theirs,
                               tw_groups* own) {
  const tw_status status = take_groups(function, plan, theirs, own);
  if (status != TW_OK || own->plan == plan) return status;
  return tw_fail(TW_INVALID, "%s: groups are not prepared for this plan", function);
}

/* Groups use all of their weights. */
static tw_status check_whole(const char* who, const tw_plan* plan, size_t n, size_t k) {
  if (n == plan->n && k == plan->k) return TW_OK;
  return tw_fail(TW_INVALID,
                 "%s: n = %zu and k = %zu are asked for; groups have this plan's, %zu "
                 "and %zu",
                 who, n, k, plan->n, plan->k);
}

/* The one that has the slice: the last that does not begin beyond it. */
static size_t group_of(const tw_groups* groups, bool run, size_t slice) {
  size_t first = 0, end = groups->count;
  while (end - first > 1) {
    const size_t middle = first + (end - first) / 2;
    const tw_group_part* part = &groups->parts[middle];
    if ((run ? part->run_slice : part->lhs_slice) <= slice) {
      first = middle;
    } else {
      end = middle;
    }
  }
  return first;
}

/* ---- copies ---- */

/* Rows of entries [entry, entry + count), where they lie if they are neighbors, else copied to
 * `scratch` one right after the other. Sets their stride. */
static const void* gather(const size_t* list, size_t entry, size_t count, const void* base,
                          size_t row_bytes, void* scratch, size_t* stride) {
  const char* from = base;
  if (are_neighbors(list, entry, count)) return from + row_of(list, entry) * *stride;
  for (size_t i = 0; i < count; ++i) {
    memcpy((char*)scratch + i * row_bytes, from + list[entry + i] * *stride, row_bytes);
  }
  *stride = row_bytes;
  return scratch;
}

/* ---- pack ---- */

tw_status tw_groups_pack_lhs(const tw_plan* plan, const tw_groups* theirs,
                             const tw_lhs_source* their_source, void* packed, size_t packed_bytes,
                             size_t slice) {
  const char* who = "tw_groups_pack_lhs: source";
  tw_groups groups;
  tw_lhs_source source;
  tw_indirect none;
  tw_rows rows;
  tw_gathered piece;
  tw_status status = take_prepared("tw_groups_pack_lhs", plan, theirs, &groups);
  if (status != TW_OK || groups.lhs_slices == 0) return status;
  if (their_source == NULL) return tw_fail(TW_INVALID, "%s is null", who);
  status = tw_take_lhs(who, plan, their_source, &source);
  if (status == TW_OK) status = check_whole(who, plan, plan->n, source.k);
  if (status != TW_OK) return status;
  status = tw_rows_of(plan, groups.lhs_row_count, "tw_groups_pack_lhs", &rows);
  if (status == TW_OK) status = tw_check_lhs(who, plan, &rows, &source, &none);
  if (status == TW_OK) status = check_scratch(who, &groups, source.scratch, source.scratch_bytes);
  if (status == TW_OK) {
    status = tw_check_packed("tw_groups_pack_lhs: packed", packed, packed_bytes, groups.lhs_bytes);
  }
  if (status != TW_OK || slice >= groups.lhs_slices) return status;
  const size_t g = group_of(&groups, false, slice);
  status = tw_rows_of(plan, rows_in(&groups, g), "tw_groups_pack_lhs", &rows);
  if (status != TW_OK ||
      !tw_find_gathered(plan, &rows, slice - groups.parts[g].lhs_slice, &piece)) {
    return status;
  }
  source.data = gather(groups.lhs_rows, groups.starts[g] + piece.first, piece.count, source.data,
                       lhs_row(plan), source.scratch, &source.stride);
  tw_pack_gathered(plan, &piece, &source, (char*)packed + groups.parts[g].lhs_offset);
  return TW_OK;
}

/* ---- run ---- */

static tw_status check_args(const tw_plan* plan, const tw_groups* groups, const tw_run_args* args) {
  const char* who = "tw_groups_run: args";
  tw_run_args matrix = *args; /* all rows */
  tw_status status = TW_OK;
  if (args->lhs == NULL) return tw_fail(TW_INVALID, "%s.lhs is null", who);
  matrix.m = groups->lhs_row_count;
  if (plan->lhs_unpacked) {
    status = tw_check_unpacked_lhs(who, plan, &matrix);
  } else if (args->lhs_stride != 0 || args->lhs_bytes < groups->lhs_bytes) {
    status = tw_fail(args->lhs_stride != 0 ? TW_INVALID : TW_TOO_SMALL,
                     "%s.lhs_bytes is %zu, args.lhs_stride is %zu; what tw_groups_pack_lhs packed "
                     "has %zu and 0",
                     who, args->lhs_bytes, args->lhs_stride, groups->lhs_bytes);
  }
  matrix.m = groups->dst_row_count;
  if (status == TW_OK) status = tw_check_weights(who, plan, args);
  if (status == TW_OK) status = tw_check_outputs(who, plan, &matrix);
  if (status == TW_OK) status = check_scratch(who, groups, args->scratch, args->scratch_bytes);
  if (status != TW_OK) return status;
  if (groups->rhs == NULL) return tw_fail(TW_INVALID, "tw_groups_run: groups.rhs is null");
  for (size_t g = 0; g < groups->count; ++g) {
    if (groups->rhs[g] != NULL || rows_in(groups, g) == 0) continue;
    return tw_fail(TW_INVALID, "tw_groups_run: groups.rhs[%zu] is null; the group has %zu rows", g,
                   rows_in(groups, g));
  }
  return TW_OK;
}

static void multiply(const tw_plan* plan, const tw_rows* rows, const tw_run_args* args,
                     const staging* staged, const tw_corner* corner, const tw_part* piece) {
  const size_t before = staged->lhs_bytes + staged->dst_bytes;
  char* decoded = staged->decoded_bytes != 0 ? (char*)args->scratch + before : NULL;
  tw_run_part_in(plan, rows, args, corner, piece, decoded);
}

/* Outputs of a piece whose rows are scattered: in args->scratch, behind the rows that are gathered.
 */
static void run_scattered(const tw_plan* plan, const tw_rows* rows, const size_t* list,
                          const tw_run_args* args, const staging* staged, tw_corner corner,
                          const tw_part* piece) {
  const size_t value = tw_type_bytes(plan->dst_type);
  const size_t bytes = (piece->column_end - piece->column_begin) * value;
  const size_t count = piece->row_end - piece->row_begin;
  tw_run_args own = *args;
  char* outputs = (char*)args->scratch + staged->lhs_bytes;
  char* dst = (char*)args->dst + piece->column_begin * value;
  own.dst = outputs;
  own.dst_bytes = count * bytes;
  own.dst_stride = bytes;
  corner.dst_column = piece->column_begin;
  for (size_t i = 0; rows->segments[0].kernel->accumulate && i < count; ++i) {
    memcpy(outputs + i * bytes, dst + list[i] * args->dst_stride, bytes);
  }
  multiply(plan, rows, &own, staged, &corner, piece);
  for (size_t i = 0; i < count; ++i) {
    memcpy(dst + list[i] * args->dst_stride, outputs + i * bytes, bytes);
  }
}

/* Some rows and columns of a slice; the group's first entry is `entry`. */
static void run_piece(const tw_plan* plan, const tw_rows* rows, const tw_groups* groups,
                      size_t entry, const tw_run_args* args, const staging* staged,
                      const tw_part* piece) {
  const size_t first = entry + piece->row_begin, count = piece->row_end - piece->row_begin;
  const size_t* outputs = outputs_of(groups);
  tw_corner corner = {0, piece->row_begin, 0};
  tw_run_args own = *args;
  if (plan->lhs_unpacked) {
    corner.lhs_row = piece->row_begin;
    own.lhs = gather(groups->lhs_rows, first, count, args->lhs, lhs_row(plan), args->scratch,
                     &own.lhs_stride);
  }
  if (!are_neighbors(outputs, first, count)) {
    run_scattered(plan, rows, outputs + first, &own, staged, corner, piece);
    return;
  }
  own.dst = (char*)args->dst + row_of(outputs, first) * args->dst_stride;
  multiply(plan, rows, &own, staged, &corner, piece);
}

tw_status tw_groups_run(const tw_plan* plan, const tw_groups* theirs, const tw_run_args* their_args,
                        size_t slice) {
  tw_groups groups;
  tw_run_args args;
  tw_rows rows;
  staging staged;
  tw_status status = take_prepared("tw_groups_run", plan, theirs, &groups);
  if (status != TW_OK || groups.run_slices == 0) return status;
  if (their_args == NULL) return tw_fail(TW_INVALID, "tw_groups_run: args is null");
  status = tw_take_run("tw_groups_run: args", plan, their_args, &args);
  if (status == TW_OK) status = check_whole("tw_groups_run: args", plan, args.n, args.k);
  if (status == TW_OK) status = check_args(plan, &groups, &args);
  if (status != TW_OK || slice >= groups.run_slices) return status;
  const size_t g = group_of(&groups, true, slice);
  status = tw_rows_of(plan, rows_in(&groups, g), "tw_groups_run", &rows);
  if (status != TW_OK || !staging_of(plan, &groups, g, &rows, &staged)) {
    return status; /* prepared: it fits */
  }
  if (!plan->lhs_unpacked) args.lhs = (const char*)args.lhs + groups.parts[g].lhs_offset;
  args.rhs = groups.rhs[g];
  const tw_part part = tw_slice_part(plan, &rows, slice - groups.parts[g].run_slice);
  tw_part piece = part;
  for (; piece.column_begin < part.column_end; piece.column_begin = piece.column_end) {
    piece.column_end = tw_least(piece.column_begin + staged.columns, part.column_end);
    for (piece.row_begin = part.row_begin; piece.row_begin < part.row_end;
         piece.row_begin = piece.row_end) {
      piece.row_end = tw_least(tw_cut(plan, &rows, piece.row_begin + staged.rows), part.row_end);
      run_piece(plan, &rows, &groups, groups.starts[g], &args, &staged, &piece);
    }
  }
  return TW_OK;
}
