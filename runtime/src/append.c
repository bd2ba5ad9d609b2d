/* Writing a part of packed floats: the axes of the layout, two digits of a dimension at most, are
 * walked a line of equal steps at a time. */
#include "tilewright/append.h"

#include <string.h>

#include "internal.h"

/* One dimension of packed floats: lines of `length` coordinates, neighbors `step` bytes apart, from
 * line to line `line` bytes. */
typedef struct walk {
  size_t length;
  int64_t step, line;
} walk;

/* Adds what an axis says of its dimension. Digits of floats are whole lines, or steps in one. */
static void add_axis(const tw_axis* axis, int64_t stride, int64_t vectors, walk* dims) {
  walk* dim = &dims[axis->dim];
  const int64_t extent = tw_length_at(axis->extent, vectors);
  if (tw_length_at(axis->step, vectors) != 1) {
    dim->line = stride;
    return;
  }
  dim->step = stride;
  dim->length = extent != 0 ? (size_t)extent : SIZE_MAX;
}

/* Of both dimensions, by tw_dim. Returns where the first value lies. */
static size_t find_walks(const tw_plan* plan, walk* dims) {
  const tw_axes* axes = plan->rhs->axes;
  const int64_t vectors = (int64_t)(tw_vector_bytes(plan->rhs, &plan->device) / 16);
  add_axis(&axes->rows, (int64_t)plan->rhs_stride, vectors, dims);
  for (size_t i = 0; i < axes->data.axis_count; ++i) {
    const tw_axis* axis = &axes->data.axes[i];
    add_axis(axis, tw_length_at(axis->stride, vectors) / 8, vectors, dims);
  }
  return (size_t)tw_length_at(axes->data.base, vectors) / 8;
}

static char* place(const walk* dim, size_t at, char* packed) {
  return packed + (int64_t)(at / dim->length) * dim->line + (int64_t)(at % dim->length) * dim->step;
}

/* Values of a source row to places that are `step` apart. */
static void copy_values(char* to, int64_t step, const char* from, size_t count, size_t bytes) {
  if (step == (int64_t)bytes) {
    memcpy(to, from, count * bytes);
  } else if (bytes == 4) {
    for (size_t i = 0; i < count; ++i) memcpy(to + (int64_t)i * step, from + i * 4, 4);
  } else {
    for (size_t i = 0; i < count; ++i) memcpy(to + (int64_t)i * step, from + i * 2, 2);
  }
}

/* A source row, coordinates [begin, end) of `dim`; `to` is where coordinate 0 would be. */
static void write_row(const walk* dim, size_t begin, size_t end, const char* from, size_t bytes,
                      char* to) {
  int64_t line = (int64_t)(begin / dim->length) * dim->line;
  size_t before = begin % dim->length;
  for (size_t left = end - begin; left > 0; line += dim->line, before = 0) {
    const size_t room = dim->length - before, count = left < room ? left : room;
    copy_values(to + line + (int64_t)before * dim->step, dim->step, from, count, bytes);
    from += count * bytes;
    left -= count;
  }
}

static tw_status check_range(const char* name, size_t begin, size_t end, size_t most) {
  if (begin <= end && end <= most) return TW_OK;
  return tw_fail(TW_INVALID,
                 "tw_append_rhs: part.%s_begin is %zu and part.%s_end %zu; ascending ones up to "
                 "%zu, this plan's %s, are legal",
                 name, begin, name, end, most, name);
}

static tw_status check_part(const tw_plan* plan, const tw_rhs_part* part) {
  if (!tw_is_float(plan->rhs)) {
    return tw_fail(TW_UNSUPPORTED, "tw_append_rhs: layout %s is not of floats; those are legal",
                   plan->rhs->text);
  }
  if (part->order != TW_NXK && part->order != TW_KXN) {
    return tw_fail(TW_INVALID,
                   "tw_append_rhs: part.order is %d; TW_NXK, %d, and TW_KXN, %d, are legal",
                   (int)part->order, TW_NXK, TW_KXN);
  }
  const tw_status status = check_range("n", part->n_begin, part->n_end, plan->n);
  return status == TW_OK ? check_range("k", part->k_begin, part->k_end, plan->k) : status;
}

tw_status tw_append_rhs(const tw_plan* plan, const tw_rhs_part* theirs, void* packed,
                        size_t packed_bytes) {
  if (plan == NULL) return tw_fail(TW_INVALID, "tw_append_rhs: plan is null");
  if (theirs == NULL) return tw_fail(TW_INVALID, "tw_append_rhs: part is null");
  tw_rhs_part part;
  tw_status status = tw_take("tw_append_rhs: part", "tw_rhs_part", theirs, &part, sizeof part);
  if (status == TW_OK) status = check_part(plan, &part);
  if (status == TW_OK) {
    status = tw_check_packed("tw_append_rhs: packed", packed, packed_bytes, plan->rhs_bytes);
  }
  if (status != TW_OK || part.n_begin == part.n_end || part.k_begin == part.k_end) return status;
  if (part.data == NULL) return tw_fail(TW_INVALID, "tw_append_rhs: part.data is null");
  const bool columns = part.order == TW_NXK; /* are source rows */
  const size_t begin = columns ? part.n_begin : part.k_begin;
  const size_t end = columns ? part.n_end : part.k_end;
  const size_t first = columns ? part.k_begin : part.n_begin;
  const size_t last = columns ? part.k_end : part.n_end;
  const size_t bytes = tw_type_bytes(plan->rhs->axes->data.type);
  status = tw_check_matrix("tw_append_rhs: part", end - begin, (last - first) * bytes, part.stride,
                           part.data_bytes);
  if (status != TW_OK) return status;
  walk dims[2] = {{1, 0, 0}, {1, 0, 0}};
  char* const values = (char*)packed + find_walks(plan, dims);
  const walk* outer = &dims[columns ? TW_DIM_N : TW_DIM_K];
  const walk* inner = &dims[columns ? TW_DIM_K : TW_DIM_N];
  for (size_t i = begin; i < end; ++i) {
    write_row(inner, first, last, (const char*)part.data + (i - begin) * part.stride, bytes,
              place(outer, i, values));
  }
  return TW_OK;
}
