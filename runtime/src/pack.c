/* Packing: checks the source against its stated sizes, then hands a slice to the packer. */
#include <string.h>

#include "internal.h"

enum { LHS_SLICE_ROWS = 16, LHS_SLICE_VALUES = 8192 };

/* ---- rhs ---- */

size_t tw_rhs_bytes(const tw_plan* plan) {
  return plan == NULL ? 0 : plan->rhs_bytes;
}

static size_t rhs_slices(const tw_plan* plan) {
  return tw_divide_up(plan->n, plan->n_block);
}

tw_status tw_rhs_slices(const tw_plan* plan, size_t* slices) {
  if (plan == NULL || slices == NULL) {
    return tw_fail(TW_INVALID, "tw_rhs_slices: %s is null", plan == NULL ? "plan" : "slices");
  }
  *slices = rhs_slices(plan);
  return TW_OK;
}

tw_status tw_pack_rhs(const tw_plan* plan, const tw_rhs_source* theirs, void* packed,
                      size_t packed_bytes, size_t slice) {
  if (plan == NULL) return tw_fail(TW_INVALID, "tw_pack_rhs: plan is null");
  if (theirs == NULL) return tw_fail(TW_INVALID, "tw_pack_rhs: source is null");
  tw_rhs_source own;
  const tw_rhs_source* source = &own;
  const tw_source* row;
  tw_status status = tw_take("tw_pack_rhs: source", "tw_rhs_source", theirs, &own, sizeof own);
  if (status == TW_OK) status = tw_check_rhs("tw_pack_rhs: source", plan, plan->n, source, &row);
  if (status == TW_OK && row->block == 0 && plan->rhs->scales != 0 && source->scales == NULL) {
    status = tw_fail(TW_INVALID, "tw_pack_rhs: source.scales is null");
  }
  if (status != TW_OK) return status;
  status = tw_check_packed("tw_pack_rhs: packed", packed, packed_bytes, plan->rhs_bytes);
  if (status != TW_OK) return status;
  const char* order = tw_order_text(source->order);
  const tw_packer* packer = tw_choose_packer(&plan->registry, &plan->device, plan->rhs->id, order);
  if (packer == NULL) {
    return tw_fail(TW_UNSUPPORTED,
                   "tw_pack_rhs: no packer from source.order %s to layout %s runs "
                   "on this device",
                   order, plan->rhs->text);
  }
  if (slice >= rhs_slices(plan)) return TW_OK;

  const size_t begin = slice * plan->n_block;
  tw_pack_args args = {.size = sizeof args};
  tw_pack_into(&args, plan->rhs);
  args.rows = plan->n;
  args.k = plan->k;
  args.row_begin = begin;
  args.row_end = plan->n - begin > plan->n_block ? begin + plan->n_block : plan->n;
  args.source = source->data;
  args.source_stride = source->stride;
  args.scales = source->scales;
  args.scale_stride = source->scale_stride != 0 ? source->scale_stride : tw_scale_row_bytes(plan);
  args.bias = source->bias;
  args.packed = packed;
  args.packed_stride = plan->rhs_stride;
  args.flags = source->unsigned_nibbles ? TW_PACK_UNSIGNED_NIBBLES : 0;
  args.vector_bytes = tw_vector_bytes(plan->rhs, &plan->device);
  packer->run(&args);
  return TW_OK;
}

/* ---- lhs ---- */

tw_status tw_lhs_bytes(const tw_plan* plan, size_t m, size_t* bytes) {
  if (plan == NULL) return tw_fail(TW_INVALID, "tw_lhs_bytes: plan is null");
  if (bytes == NULL) return tw_fail(TW_INVALID, "tw_lhs_bytes: bytes is null");
  tw_rows rows;
  const tw_status status = tw_rows_of(plan, m, "tw_lhs_bytes", &rows);
  if (status == TW_OK) *bytes = rows.lhs_bytes;
  return status;
}

/* What a slice packs of a segment: rows, whole panels; values of k, whole blocks or all. */
typedef struct lhs_step {
  size_t rows, k;
  size_t across; /* slices beside each other along k */
} lhs_step;

/* Few long rows are cut along k, too, where nothing belongs to a row as a whole. */
static lhs_step lhs_step_of(const tw_plan* plan, const tw_segment* segment) {
  const tw_layout* layout = segment->kernel->lhs;
  const size_t panel = tw_panel_rows(layout, &plan->device);
  lhs_step step = {tw_divide_up(LHS_SLICE_ROWS, panel) * panel, plan->k, 1};
  if (layout->block == 0 || layout->per_row_bytes != 0 || segment->rows >= LHS_SLICE_ROWS) {
    return step;
  }
  const size_t blocks = plan->k / layout->block;
  const size_t parts = plan->k / (LHS_SLICE_VALUES / segment->rows);
  if (parts > 1) step.k = tw_divide_up(blocks, parts < blocks ? parts : blocks) * layout->block;
  step.across = tw_divide_up(plan->k, step.k);
  return step;
}

static size_t segment_slices(const tw_segment* segment, const lhs_step* step) {
  return tw_divide_up(segment->rows, step->rows) * step->across;
}

tw_status tw_lhs_slices(const tw_plan* plan, size_t m, size_t* slices) {
  if (plan == NULL || slices == NULL) {
    return tw_fail(TW_INVALID, "tw_lhs_slices: %s is null", plan == NULL ? "plan" : "slices");
  }
  tw_rows rows;
  const tw_status status = tw_rows_of(plan, m, "tw_lhs_slices", &rows);
  if (status != TW_OK) return status;
  size_t count = 0;
  for (size_t i = 0; i < rows.count && !plan->lhs_unpacked; ++i) {
    const lhs_step step = lhs_step_of(plan, &rows.segments[i]);
    count += segment_slices(&rows.segments[i], &step);
  }
  *slices = count;
  return TW_OK;
}

/* Blocks from one value of k on are to the packer a smaller matrix, whose panels begin where those
 * blocks do. */
static void pack_rows(const tw_plan* plan, const tw_segment* segment, const tw_lhs_source* source,
                      void* packed, const lhs_step* step, size_t slice) {
  const size_t begin = slice / step->across * step->rows, rest = segment->rows - begin;
  const size_t k_begin = slice % step->across * step->k, k_rest = plan->k - k_begin;
  size_t before = 0;
  if (k_begin != 0) tw_panel_bytes(segment->kernel->lhs, &plan->device, k_begin, &before);
  tw_pack_args args = {.size = sizeof args};
  args.rows = segment->rows;
  args.k = k_rest < step->k ? k_rest : step->k;
  args.row_begin = begin;
  args.row_end = begin + (rest < step->rows ? rest : step->rows);
  tw_pack_into(&args, segment->kernel->lhs);
  args.vector_bytes = tw_vector_bytes(segment->kernel->lhs, &plan->device);
  args.source = (const char*)source->data + segment->row_begin * source->stride +
                k_begin * tw_type_bytes(plan->lhs_type);
  args.source_stride = source->stride;
  args.packed = (char*)packed + segment->lhs_offset + before;
  args.packed_stride = segment->lhs_stride;
  segment->lhs_packer->run(&args);
}

tw_status tw_pack_lhs(const tw_plan* plan, size_t m, const tw_lhs_source* theirs, void* packed,
                      size_t packed_bytes, size_t slice) {
  if (plan == NULL) return tw_fail(TW_INVALID, "tw_pack_lhs: plan is null");
  if (m == 0 || plan->lhs_unpacked) return TW_OK;
  if (theirs == NULL) return tw_fail(TW_INVALID, "tw_pack_lhs: source is null");
  tw_lhs_source own;
  const tw_lhs_source* source = &own;
  tw_status status = tw_take("tw_pack_lhs: source", "tw_lhs_source", theirs, &own, sizeof own);
  if (status != TW_OK) return status;
  if (source->data == NULL) return tw_fail(TW_INVALID, "tw_pack_lhs: source.data is null");
  tw_rows rows;
  status = tw_rows_of(plan, m, "tw_pack_lhs", &rows);
  if (status != TW_OK) return status;
  status = tw_check_matrix("tw_pack_lhs: source", m, plan->k * tw_type_bytes(plan->lhs_type),
                           source->stride, source->data_bytes);
  if (status != TW_OK) return status;
  status = tw_check_packed("tw_pack_lhs: packed", packed, packed_bytes, rows.lhs_bytes);
  if (status != TW_OK) return status;

  for (size_t i = 0; i < rows.count; ++i) {
    const tw_segment* segment = &rows.segments[i];
    const lhs_step step = lhs_step_of(plan, segment);
    const size_t slices = segment_slices(segment, &step);
    if (slice < slices) {
      pack_rows(plan, segment, source, packed, &step, slice);
      return TW_OK;
    }
    slice -= slices;
  }
  return TW_OK;
}

/* FNV-1a over what decides every byte of the packed LHS. */
tw_status tw_lhs_id(const tw_plan* plan, size_t m, uint64_t* id) {
  if (plan == NULL || id == NULL) {
    return tw_fail(TW_INVALID, "tw_lhs_id: %s is null", plan == NULL ? "plan" : "id");
  }
  tw_rows rows;
  uint64_t hash = 0xcbf29ce484222325u;
  const tw_status status = tw_rows_of(plan, m, "tw_lhs_id", &rows);
  if (status != TW_OK) return status;
  for (size_t i = 0; i < rows.count; ++i) {
    const uint64_t parts[] = {plan->k, rows.segments[i].rows, rows.segments[i].kernel->lhs->id,
                              rows.segments[i].lhs_stride};
    hash ^= tw_checksum(parts, sizeof parts);
    hash *= 0x100000001b3u;
  }
  *id = hash;
  return TW_OK;
}
