/* What packers of weights read and tw_unpack_rhs writes: rows of the registry, and checks of the
 * caller's memory against them. */
#include <string.h>

#include "internal.h"

const char* tw_order_text(tw_rhs_order order) {
  for (size_t i = 0; i < tw_generated_source_count; ++i) {
    if (tw_generated_sources[i].order == order) return tw_generated_sources[i].name;
  }
  return NULL;
}

static int last_order(void) {
  int last = 0;
  for (size_t i = 0; i < tw_generated_source_count; ++i) {
    if ((int)tw_generated_sources[i].order > last) last = (int)tw_generated_sources[i].order;
  }
  return last;
}

const tw_source* tw_find_source(const char* name, tw_type type) {
  const tw_source* found = NULL;
  for (size_t i = 0; i < tw_generated_source_count; ++i) {
    const tw_source* source = &tw_generated_sources[i];
    if (strcmp(source->name, name) != 0) continue;
    if (source->axes.data.type == type) return source;
    if (found == NULL) found = source;
  }
  return found;
}

size_t tw_rhs_row_bytes(const tw_source* source, size_t values) {
  if (source->block != 0) return tw_divide_up(values, source->block) * source->block_bytes;
  const size_t bits = tw_type_bits(source->axes.data.type);
  return bits < 8 ? tw_divide_up(values, 8 / bits) : values * (bits / 8);
}

size_t tw_scale_row_bytes(const tw_plan* plan) {
  const tw_layout* layout = plan->rhs;
  return layout->block == 0 ? 0 : plan->k / layout->block * tw_scale_bytes(layout->block_scales);
}

tw_status tw_check_matrix(const char* who, size_t rows, size_t row_bytes, size_t stride,
                          size_t bytes) {
  if (stride < row_bytes) {
    return tw_fail(TW_TOO_SMALL, "%s.stride is %zu; a row has %zu bytes", who, stride, row_bytes);
  }
  size_t needed;
  if (!tw_matrix_bytes(rows, row_bytes, stride, &needed)) {
    return tw_fail(TW_TOO_LARGE, "%s.stride is %zu; %zu rows overflow the address space", who,
                   stride, rows);
  }
  if (bytes < needed) {
    return tw_fail(TW_TOO_SMALL, "%s.data_bytes is %zu; %zu rows with stride %zu need %zu", who,
                   bytes, rows, stride, needed);
  }
  return TW_OK;
}

tw_status tw_check_packed(const char* who, const void* packed, size_t bytes, size_t needed) {
  if (packed == NULL) return tw_fail(TW_INVALID, "%s is null", who);
  if (bytes < needed) {
    return tw_fail(TW_TOO_SMALL, "%s_bytes is %zu; this plan needs %zu", who, bytes, needed);
  }
  return TW_OK;
}

/* Scales beside the weights, where there are any. */
static tw_status check_scales(const char* who, const tw_plan* plan, size_t columns,
                              const tw_rhs_source* source) {
  if (source->scales == NULL) return TW_OK;
  if (plan->rhs->scales == 0) {
    return tw_fail(TW_INVALID, "%s.scales is set; layout %s has none, null is legal", who,
                   plan->rhs->text);
  }
  const size_t row_bytes = tw_scale_row_bytes(plan);
  if (row_bytes == 0) {
    if (source->scale_count >= columns) return TW_OK;
    return tw_fail(TW_TOO_SMALL, "%s.scale_count is %zu; one of each of %zu columns is needed", who,
                   source->scale_count, columns);
  }
  const size_t blocks = plan->k / plan->rhs->block;
  if (source->scale_count / blocks < columns) {
    return tw_fail(TW_TOO_SMALL,
                   "%s.scale_count is %zu; %zu, one of each block, of each of %zu columns are "
                   "needed",
                   who, source->scale_count, blocks, columns);
  }
  if (source->scale_stride != 0 && source->scale_stride < row_bytes) {
    return tw_fail(TW_TOO_SMALL, "%s.scale_stride is %zu; a row has %zu bytes", who,
                   source->scale_stride, row_bytes);
  }
  return TW_OK;
}

/* Zero points beside them, where the layout keeps some. */
static tw_status check_zero_points(const char* who, const tw_plan* plan, size_t columns,
                                   const tw_rhs_source* source) {
  if (source->zero_points == NULL) return TW_OK;
  const tw_axes* axes = plan->rhs->axes;
  if (axes->zero_points.type == TW_TYPE_NONE && axes->offsets.type == TW_TYPE_NONE) {
    return tw_fail(TW_INVALID, "%s.zero_points is set; layout %s has none, null is legal", who,
                   plan->rhs->text);
  }
  const size_t block = plan->rhs->block, blocks = block == 0 ? 1 : plan->k / block;
  if (source->order == TW_NBITS) {
    const size_t bytes = tw_divide_up(blocks * plan->rhs->data_bits, 8);
    if (source->zero_point_count / bytes >= columns) return TW_OK;
    return tw_fail(TW_TOO_SMALL,
                   "%s.zero_point_count is %zu; %zu bytes, for %zu blocks, of each of %zu columns "
                   "are needed",
                   who, source->zero_point_count, bytes, blocks, columns);
  }
  if (source->zero_point_count / blocks >= columns) return TW_OK;
  return tw_fail(TW_TOO_SMALL, "%s.zero_point_count is %zu; one of each%s of %zu columns is needed",
                 who, source->zero_point_count, block == 0 ? "" : " block, of each", columns);
}

tw_status tw_check_rhs(const char* who, const tw_plan* plan, size_t columns,
                       const tw_rhs_source* source, const tw_source** row) {
  if (source->data == NULL) return tw_fail(TW_INVALID, "%s.data is null", who);
  const char* order = tw_order_text(source->order);
  if (order == NULL) {
    return tw_fail(TW_INVALID, "%s.order is %d; 0 to %d, those of tw_rhs_order, are legal", who,
                   (int)source->order, last_order());
  }
  const size_t bits = plan->rhs->data_bits;
  if (bits != 4 && source->unsigned_nibbles) {
    return tw_fail(TW_INVALID,
                   "%s.unsigned_nibbles is %d; the weights of this plan have %zu bits, so that 0 "
                   "is legal",
                   who, source->unsigned_nibbles, bits);
  }
  *row = tw_find_source(order, plan->rhs->type);
  const bool rows_are_k = (*row)->axes.rows.dim == TW_DIM_K;
  const size_t row_bytes = tw_rhs_row_bytes(*row, rows_are_k ? columns : plan->k);
  tw_status status = tw_check_matrix(who, rows_are_k ? plan->k : columns, row_bytes, source->stride,
                                     source->data_bytes);
  if (status == TW_OK && (*row)->block == 0) status = check_scales(who, plan, columns, source);
  if (status == TW_OK) status = check_zero_points(who, plan, columns, source);
  if (status != TW_OK) return status;
  if (source->bias != NULL && source->bias_count < columns) {
    return tw_fail(TW_TOO_SMALL, "%s.bias_count is %zu; one of each of %zu columns is needed", who,
                   source->bias_count, columns);
  }
  return TW_OK;
}
