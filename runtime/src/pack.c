/* Packing: checks the source against its stated sizes, then hands a slice to the packer. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "internal.h"

enum {
  LHS_SLICE_ROWS = 16,
  LHS_SLICE_VALUES = 8192,
  GATHERED_BYTES = 32768 /* of a slice's rows that are gathered: a small L1 cache */
};

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

static bool is_scale(float scale) {
  return scale > 0 && scale <= FLT_MAX;
}

/* What weights for static activations need beside them, of columns [begin, end). A sum of products
 * and a bias fit in 32 bits together. */
static tw_status check_static(const tw_plan* plan, const tw_rhs_source* source, size_t begin,
                              size_t end) {
  if (source->lhs_zero_point < INT8_MIN || source->lhs_zero_point > INT8_MAX) {
    return tw_fail(TW_INVALID, "tw_pack_rhs: source.lhs_zero_point is %d; %d to %d are legal",
                   (int)source->lhs_zero_point, INT8_MIN, INT8_MAX);
  }
  if (!is_scale(source->lhs_scale) || !is_scale(source->dst_scale)) {
    return tw_fail(TW_INVALID,
                   "tw_pack_rhs: source.lhs_scale is %g, source.dst_scale is %g; numbers above 0 "
                   "are legal",
                   (double)source->lhs_scale, (double)source->dst_scale);
  }
  const int64_t largest_code = (int64_t)1 << (plan->rhs->data_bits - 1);
  const int64_t most = INT32_MAX - 255 * largest_code * (int64_t)plan->k;
  for (size_t i = begin; source->bias != NULL && i < end; ++i) {
    int32_t bias;
    memcpy(&bias, (const char*)source->bias + i * sizeof bias, sizeof bias);
    if (bias >= -most && bias <= most) continue;
    return tw_fail(TW_TOO_LARGE,
                   "tw_pack_rhs: source.bias[%zu] is %ld; with k = %zu sums are exact for -%lld to "
                   "%lld",
                   i, (long)bias, plan->k, (long long)most, (long long)most);
  }
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
  if (source->bias != NULL && !tw_keeps_bias(plan->rhs)) {
    return tw_fail(TW_INVALID,
                   "tw_pack_rhs: source.bias is set; layout '%s' keeps none, null is legal",
                   plan->rhs->text);
  }
  if (slice >= rhs_slices(plan)) return TW_OK;

  const size_t begin = slice * plan->n_block;
  const size_t end = plan->n - begin > plan->n_block ? begin + plan->n_block : plan->n;
  if (tw_is_static(plan->rhs)) status = check_static(plan, source, begin, end);
  if (status != TW_OK) return status;
  tw_pack_args args = {.size = sizeof args};
  tw_pack_into(&args, plan->rhs);
  args.rows = plan->n;
  args.k = plan->k;
  args.row_begin = begin;
  args.row_end = end;
  args.lhs_zero_point = source->lhs_zero_point;
  args.lhs_scale = source->lhs_scale;
  args.dst_scale = source->dst_scale;
  args.source = source->data;
  args.source_stride = source->stride;
  args.scales = source->scales;
  args.scale_stride = source->scale_stride != 0 ? source->scale_stride : tw_scale_row_bytes(plan);
  args.bias = source->bias;
  args.zero_points = source->zero_points;
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

size_t tw_lhs_slice_rows(const tw_plan* plan, const tw_segment* segment) {
  const size_t panel = tw_panel_rows(segment->kernel->lhs, &plan->device);
  const size_t most = tw_divide_up(LHS_SLICE_ROWS, panel) * panel;
  const size_t fit = GATHERED_BYTES / (plan->k * tw_type_bytes(plan->lhs_type)) / panel * panel;
  return fit >= most ? most : fit < panel ? panel : fit;
}

/* Few long rows are cut along k, too, where nothing belongs to a row as a whole. */
static lhs_step lhs_step_of(const tw_plan* plan, const tw_segment* segment, bool gathered) {
  const tw_layout* layout = segment->kernel->lhs;
  const size_t panel = tw_panel_rows(layout, &plan->device);
  lhs_step step = {tw_divide_up(LHS_SLICE_ROWS, panel) * panel, plan->k, 1};
  if (gathered) {
    step.rows = tw_lhs_slice_rows(plan, segment);
    return step;
  }
  const bool is_whole = layout->per_row_bytes != 0 || layout->scales_apart;
  if (layout->block == 0 || is_whole || segment->rows >= step.rows) {
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

size_t tw_lhs_slices_of(const tw_plan* plan, const tw_rows* rows, bool gathered) {
  size_t count = 0;
  for (size_t i = 0; i < rows->count && !plan->lhs_unpacked; ++i) {
    const lhs_step step = lhs_step_of(plan, &rows->segments[i], gathered);
    count += segment_slices(&rows->segments[i], &step);
  }
  return count;
}

tw_status tw_lhs_slices(const tw_plan* plan, size_t m, size_t* slices) {
  if (plan == NULL || slices == NULL) {
    return tw_fail(TW_INVALID, "tw_lhs_slices: %s is null", plan == NULL ? "plan" : "slices");
  }
  tw_rows rows;
  const tw_status status = tw_rows_of(plan, m, "tw_lhs_slices", &rows);
  if (status == TW_OK) *slices = tw_lhs_slices_of(plan, &rows, plan->taps != 0);
  return status;
}

static tw_pack_args lhs_args(const tw_plan* plan, const tw_segment* segment,
                             const tw_lhs_source* source) {
  tw_pack_args args = {.size = sizeof args};
  tw_pack_into(&args, segment->kernel->lhs);
  args.vector_bytes = tw_vector_bytes(segment->kernel->lhs, &plan->device);
  args.packed_stride = segment->lhs_stride;
  args.lhs_zero_point = source->zero_point;
  args.lhs_scale = source->scale;
  return args;
}

/* Blocks from one value of k on are to the packer a smaller matrix, whose panels begin where those
 * blocks do. */
static void pack_rows(const tw_plan* plan, const tw_segment* segment, const tw_lhs_source* source,
                      void* packed, const lhs_step* step, size_t slice) {
  const size_t begin = slice / step->across * step->rows, rest = segment->rows - begin;
  const size_t k_begin = slice % step->across * step->k, k_rest = source->k - k_begin;
  size_t before = 0;
  if (k_begin != 0) tw_panel_bytes(segment->kernel->lhs, &plan->device, k_begin, &before);
  tw_pack_args args = lhs_args(plan, segment, source);
  args.rows = segment->rows;
  args.k = k_rest < step->k ? k_rest : step->k;
  args.row_begin = begin;
  args.row_end = begin + (rest < step->rows ? rest : step->rows);
  args.source = (const char*)source->data + segment->row_begin * source->stride +
                k_begin * tw_type_bytes(plan->lhs_type);
  args.source_stride = source->stride;
  args.packed = (char*)packed + segment->lhs_offset + before;
  segment->lhs_packer->run(&args);
}

bool tw_find_gathered(const tw_plan* plan, const tw_rows* rows, size_t slice, tw_gathered* found) {
  for (size_t i = 0; i < rows->count; ++i) {
    const tw_segment* segment = &rows->segments[i];
    const lhs_step step = lhs_step_of(plan, segment, true);
    const size_t slices = segment_slices(segment, &step);
    if (slice < slices) {
      const size_t begin = slice * step.rows, rest = segment->rows - begin;
      found->segment = segment;
      found->first = segment->row_begin + begin;
      found->count = rest < step.rows ? rest : step.rows;
      return true;
    }
    slice -= slices;
  }
  return false;
}

/* They are to the packer a smaller matrix. */
void tw_pack_gathered(const tw_plan* plan, const tw_gathered* rows, const tw_lhs_source* source,
                      void* packed) {
  const tw_segment* segment = rows->segment;
  const size_t panel = tw_panel_rows(segment->kernel->lhs, &plan->device);
  const size_t panels = (rows->first - segment->row_begin) / panel;
  tw_pack_args args = lhs_args(plan, segment, source);
  args.rows = args.row_end = rows->count;
  args.k = plan->k;
  args.source = source->data;
  args.source_stride = source->stride;
  args.packed = (char*)packed + segment->lhs_offset + panels * segment->lhs_stride;
  segment->lhs_packer->run(&args);
}

/* Rows that have taps. */
static tw_status pack_indirect(const char* who, const tw_plan* plan, const tw_rows* rows,
                               const tw_lhs_source* source, const tw_indirect* indirect,
                               void* packed, size_t slice) {
  tw_gathered piece;
  if (!tw_find_gathered(plan, rows, slice, &piece)) return TW_OK;
  tw_lhs_source gathered = *source;
  gathered.data = source->scratch;
  gathered.stride = plan->k * tw_type_bytes(plan->lhs_type);
  const tw_status status =
      tw_gather(who, plan, indirect, piece.first, piece.first + piece.count, source->scratch);
  if (status == TW_OK) tw_pack_gathered(plan, &piece, &gathered, packed);
  return status;
}

/* What codes mean where the layout has it. */
static tw_status check_meaning(const char* who, const tw_rows* rows, const tw_lhs_source* source) {
  if (rows->count == 0 || rows->segments[0].kernel->lhs->scales == 0) return TW_OK;
  if (source->zero_point < INT8_MIN || source->zero_point > INT8_MAX) {
    return tw_fail(TW_INVALID, "%s.zero_point is %d; %d to %d are legal", who,
                   (int)source->zero_point, INT8_MIN, INT8_MAX);
  }
  if (is_scale(source->scale) || isnan(source->scale)) return TW_OK;
  return tw_fail(TW_INVALID, "%s.scale is %g; numbers above 0, or a NaN, are legal", who,
                 (double)source->scale);
}

tw_status tw_take_lhs(const char* who, const tw_plan* plan, const tw_lhs_source* theirs,
                      tw_lhs_source* own) {
  const tw_status status = tw_take(who, "tw_lhs_source", theirs, own, sizeof *own);
  return status == TW_OK ? tw_take_depth(who, plan, &own->k) : status;
}

tw_status tw_check_lhs(const char* who, const tw_plan* plan, const tw_rows* rows,
                       const tw_lhs_source* source, tw_indirect* indirect) {
  tw_status status = tw_take_indirect(who, plan, rows, source->indirect, indirect);
  if (status == TW_OK && plan->lhs_type == TW_S8) status = check_meaning(who, rows, source);
  if (status != TW_OK) return status;
  if (plan->taps != 0) {
    return tw_check_scratch(who, plan, rows, source->scratch, source->scratch_bytes);
  }
  if (source->data == NULL) return tw_fail(TW_INVALID, "%s.data is null", who);
  return tw_check_matrix(who, rows->m, source->k * tw_type_bytes(plan->lhs_type), source->stride,
                         source->data_bytes);
}

tw_status tw_pack_lhs_slice(const char* who, const tw_plan* plan, const tw_rows* rows,
                            const tw_lhs_source* source, const tw_indirect* indirect, void* packed,
                            size_t slice) {
  if (plan->taps != 0) {
    return pack_indirect(who, plan, rows, source, indirect, packed, slice);
  }
  for (size_t i = 0; i < rows->count; ++i) {
    const tw_segment* segment = &rows->segments[i];
    const lhs_step step = lhs_step_of(plan, segment, false);
    const size_t slices = segment_slices(segment, &step);
    if (slice < slices) {
      pack_rows(plan, segment, source, packed, &step, slice);
      return TW_OK;
    }
    slice -= slices;
  }
  return TW_OK;
}

tw_status tw_pack_lhs(const tw_plan* plan, size_t m, const tw_lhs_source* theirs, void* packed,
                      size_t packed_bytes, size_t slice) {
  if (plan == NULL) return tw_fail(TW_INVALID, "tw_pack_lhs: plan is null");
  if (m == 0 || plan->lhs_unpacked) return TW_OK;
  if (theirs == NULL) return tw_fail(TW_INVALID, "tw_pack_lhs: source is null");
  const char* who = "tw_pack_lhs: source";
  tw_lhs_source source;
  tw_status status = tw_take_lhs(who, plan, theirs, &source);
  if (status != TW_OK) return status;
  tw_rows rows;
  tw_indirect indirect;
  status = tw_rows_of(plan, m, "tw_pack_lhs", &rows);
  if (status == TW_OK) status = tw_check_lhs(who, plan, &rows, &source, &indirect);
  if (status != TW_OK) return status;
  status = tw_check_packed("tw_pack_lhs: packed", packed, packed_bytes, rows.lhs_bytes);
  if (status != TW_OK) return status;
  return tw_pack_lhs_slice(who, plan, &rows, &source, &indirect, packed, slice);
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
