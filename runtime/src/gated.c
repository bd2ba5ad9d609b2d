/* Two products of the same rows, piece by piece of a slice, in the caller's scratch. */
#include "tilewright/gated.h"

#include "internal.h"

enum { ALIGNMENT = 64 };

/* What both products of a piece are computed of at once: whole tiles, as many columns of all of the
 * slice's rows as a quarter of the L2 cache holds, or else fewer rows of the fewest columns. So the
 * slice's weights pass by once. Behind both is room for a panel that is decoded. False on overflow.
 */
typedef struct piece_size {
  size_t rows, columns;
  size_t bytes, both, scratch; /* of one product, of both, and of all */
} piece_size;
static bool piece_size_of(const tw_plan* plan, const tw_rows* rows, piece_size* found) {
  const size_t value = tw_type_bytes(plan->dst_type);
  const size_t values = tw_l2_bytes(plan) / 4 / (2 * value);
  const size_t column_unit = tw_column_unit(plan, rows), row_unit = tw_row_unit(plan, rows);
  const size_t most_columns = tw_slice_columns(plan, rows);
  found->rows = tw_slice_rows(plan, rows);
  found->columns = values / found->rows / column_unit * column_unit;
  if (found->columns > most_columns) found->columns = most_columns;
  if (found->columns == 0) {
    found->columns = column_unit;
    found->rows = values / column_unit > row_unit ? values / column_unit : row_unit;
  }
  return tw_multiply(found->columns, value, &found->bytes) &&
         tw_multiply(found->rows, found->bytes, &found->bytes) &&
         tw_round_up(found->bytes, ALIGNMENT, &found->bytes) &&
         tw_multiply(2, found->bytes, &found->both) &&
         tw_add(found->both, tw_codes_scratch(plan, rows->m), &found->scratch);
}

static tw_status find_piece_size(const char* function, const tw_plan* plan, const tw_rows* rows,
                                 piece_size* found) {
  if (piece_size_of(plan, rows, found)) return TW_OK;
  return tw_fail(TW_TOO_LARGE, "%s: m = %zu rows overflow the address space", function, rows->m);
}

/* Sets rows, of which there are some. */
static tw_status check_plan(const char* function, const tw_plan* plan, size_t m, tw_rows* rows) {
  rows->m = m; /* clang-tidy does not see that what fails is not read */
  if (plan->taps != 0) {
    return tw_fail(TW_INVALID, "%s: this plan's rows have %zu taps; plans without are legal",
                   function, plan->taps);
  }
  tw_status status = tw_check_readable(function, plan);
  if (status == TW_OK) status = tw_rows_of(plan, m, function, rows);
  if (status != TW_OK || rows->segments[0].kernel->accumulate == 0) return status;
  return tw_fail(TW_INVALID, "%s: this plan's products are added to outputs; others are legal",
                 function);
}

tw_status tw_gated_scratch_bytes(const tw_plan* plan, size_t m, size_t* bytes) {
  tw_rows rows;
  piece_size size = {0, 0, 0, 0, 0};
  if (plan == NULL || bytes == NULL) {
    return tw_fail(TW_INVALID, "tw_gated_scratch_bytes: %s is null",
                   plan == NULL ? "plan" : "bytes");
  }
  *bytes = 0;
  if (m == 0) return TW_OK;
  tw_status status = check_plan("tw_gated_scratch_bytes", plan, m, &rows);
  if (status == TW_OK) status = find_piece_size("tw_gated_scratch_bytes", plan, &rows, &size);
  *bytes = size.scratch;
  return status;
}

static tw_status check_scratch(const tw_run_args* args, size_t needed) {
  if (args->scratch == NULL) return tw_fail(TW_INVALID, "tw_gated_run: args.scratch is null");
  if (args->scratch_bytes >= needed) return TW_OK;
  return tw_fail(TW_TOO_SMALL,
                 "tw_gated_run: args.scratch_bytes is %zu; tw_gated_scratch_bytes, %zu, are needed",
                 args->scratch_bytes, needed);
}

/* All about both products, as those of a matrix in scratch. */
static tw_status check_args(const tw_plan* plan, const tw_gated* gated, const tw_run_args* args,
                            const tw_rows* rows) {
  if (gated->up == NULL || gated->each == NULL) {
    return tw_fail(TW_INVALID, "tw_gated_run: gated.%s is null", gated->up == NULL ? "up" : "each");
  }
  if (args->dst != NULL || args->dst_bytes != 0 || args->dst_stride != 0) {
    return tw_fail(TW_INVALID,
                   "tw_gated_run: args.dst, dst_bytes or dst_stride is set; gated.each knows where "
                   "outputs go, 0 is legal");
  }
  tw_run_args matrix = *args;
  matrix.dst = args->scratch;
  matrix.dst_stride = args->n * tw_type_bytes(plan->dst_type);
  matrix.dst_bytes = SIZE_MAX;
  tw_status status = tw_check_run("tw_gated_run: args", plan, &matrix, rows);
  if (status != TW_OK || gated->up_bias == NULL) return status;
  matrix.bias = gated->up_bias;
  return tw_check_outputs("tw_gated_run: up's args", plan, &matrix);
}

/* The piece of one product, `stride` bytes from row to row. */
static void run_product(const tw_plan* plan, const tw_rows* rows, const tw_run_args* args,
                        const tw_part* piece, const void* rhs, const void* bias, size_t stride,
                        void* to, void* decoded) {
  const tw_corner corner = {0, piece->row_begin, piece->column_begin};
  tw_run_args own = *args;
  own.rhs = rhs;
  own.bias = bias;
  own.dst = to;
  own.dst_bytes = (piece->row_end - piece->row_begin) * stride;
  own.dst_stride = stride;
  tw_run_part_in(plan, rows, &own, &corner, piece, decoded);
}

static void run_piece(const tw_plan* plan, const tw_rows* rows, const tw_gated* gated,
                      const tw_run_args* args, const tw_part* piece, const piece_size* size) {
  const size_t count = piece->column_end - piece->column_begin;
  const size_t stride = count * tw_type_bytes(plan->dst_type);
  char *gate = args->scratch, *up = gate + size->bytes;
  char* decoded = size->scratch != size->both ? gate + size->both : NULL;
  run_product(plan, rows, args, piece, args->rhs, args->bias, stride, gate, decoded);
  run_product(plan, rows, args, piece, gated->up, gated->up_bias, stride, up, decoded);
  tw_gated_values values = {gate, up, piece->row_begin, piece->column_begin, count, gated->context};
  for (; values.row < piece->row_end; ++values.row) {
    gated->each(&values);
    values.gate = (const char*)values.gate + stride;
    values.up = (const char*)values.up + stride;
  }
}

static void run_pieces(const tw_plan* plan, const tw_rows* rows, const tw_gated* gated,
                       const tw_run_args* args, const tw_part* part, const piece_size* size) {
  tw_part piece = *part;
  for (; piece.column_begin < part->column_end; piece.column_begin = piece.column_end) {
    const size_t left = part->column_end - piece.column_begin;
    piece.column_end = piece.column_begin + (left < size->columns ? left : size->columns);
    for (piece.row_begin = part->row_begin; piece.row_begin < part->row_end;
         piece.row_begin = piece.row_end) {
      const size_t rest = part->row_end - piece.row_begin;
      piece.row_end =
          rest <= size->rows ? part->row_end : tw_cut(plan, rows, piece.row_begin + size->rows);
      run_piece(plan, rows, gated, args, &piece, size);
    }
  }
}

tw_status tw_gated_run(const tw_plan* plan, const tw_gated* their_gated,
                       const tw_run_args* their_args, size_t slice) {
  tw_gated gated;
  tw_run_args args;
  tw_rows rows;
  piece_size size = {0, 0, 0, 0, 0};
  if (plan == NULL) return tw_fail(TW_INVALID, "tw_gated_run: plan is null");
  if (their_gated == NULL) return tw_fail(TW_INVALID, "tw_gated_run: gated is null");
  if (their_args == NULL) return tw_fail(TW_INVALID, "tw_gated_run: args is null");
  tw_status status = tw_take("tw_gated_run: gated", "tw_gated", their_gated, &gated, sizeof gated);
  if (status == TW_OK) status = tw_take_run("tw_gated_run: args", plan, their_args, &args);
  if (status != TW_OK || args.m == 0) return status;
  status = check_plan("tw_gated_run", plan, args.m, &rows);
  if (status == TW_OK) status = find_piece_size("tw_gated_run", plan, &rows, &size);
  if (status == TW_OK) status = check_scratch(&args, size.scratch);
  if (status == TW_OK) status = check_args(plan, &gated, &args, &rows);
  if (status != TW_OK) return status;
  const tw_part part = tw_run_slice_part(plan, &rows, &args, slice);
  run_pieces(plan, &rows, &gated, &args, &part, &size);
  return TW_OK;
}
