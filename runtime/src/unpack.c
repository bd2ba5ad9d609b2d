/* Unpacking: the axes of a layout and those of a source, walked side by side. A digit counts steps
 * of n or of k, so that an address is the sum of what either says. */
#include <string.h>

#include "internal.h"

enum { RUN = 256 }; /* values of k whose places are found at once */

/* Values of one kind in memory. */
typedef struct values {
  const tw_field* field;
  tw_axis rows;     /* panels, or rows */
  int64_t row_bits; /* from one to the next */
  int64_t vectors;  /* 16 bytes in a vector */
  int offset;       /* of codes, where all digits are 0 */
  unsigned lowest;  /* bit of a code that is the lowest one here */
  int64_t first;    /* where the field's axes begin, in a row */
  bool flips;       /* codes become those with all other bits, floats those of the other sign */
} values;

/* `count` coordinates of one dimension, `by` apart. */
typedef struct coordinates {
  tw_dim dim;
  size_t first, by, count;
} coordinates;

/* Addresses in bits, and what is added to a code on its way. */
typedef struct moves {
  int64_t from[RUN], to[RUN], change[RUN];
} moves;

/* Adds to each coordinate's sum what its digit moves it by. */
static void add_digit(const tw_axis* axis, int64_t stride, int64_t vectors, const coordinates* at,
                      int64_t* sums) {
  const size_t step = (size_t)tw_length_at(axis->step, vectors);
  const size_t extent = (size_t)tw_length_at(axis->extent, vectors);
  size_t digit = at->first / step, rest = at->first % step;
  if (extent != 0) digit %= extent;
  for (size_t i = 0; i < at->count; ++i) {
    sums[i] += (int64_t)digit * stride;
    for (rest += at->by; rest >= step; rest -= step) digit = digit + 1 == extent ? 0 : digit + 1;
  }
}

static void add_digits(const tw_axis* axes, size_t count, int sign, int64_t vectors,
                       const coordinates* at, int64_t* sums) {
  for (size_t i = 0; i < count; ++i) {
    if (axes[i].dim != at->dim) continue;
    add_digit(&axes[i], sign * tw_length_at(axes[i].stride, vectors), vectors, at, sums);
  }
}

/* Bits from where all digits are 0. */
static void add_places(const values* v, const coordinates* at, int64_t* sums) {
  if (v->rows.dim == at->dim) add_digit(&v->rows, v->row_bits, v->vectors, at, sums);
  add_digits(v->field->axes, v->field->axis_count, 1, v->vectors, at, sums);
}

static void add_changes(const values* from, const values* to, const coordinates* at,
                        int64_t* sums) {
  const tw_field *a = from->field, *b = to->field;
  add_digits(a->offset_axes, a->offset_axis_count, -1, from->vectors, at, sums);
  add_digits(b->offset_axes, b->offset_axis_count, 1, to->vectors, at, sums);
}

static int64_t base_of(const values* v) {
  const int64_t base = tw_length_at(v->field->base, v->vectors);
  return v->first + (base < 0 ? base + v->row_bits : base);
}

/* Up to 8 bits: codes, of which the target has some from its `lowest` on. Those that share a byte
 * with this one stay as they are. */
static void move_code(const uint8_t* from, size_t source, uint8_t* to, size_t target,
                      const values* its, unsigned change) {
  const unsigned mask = (1u << tw_type_bits(its->field->type)) - 1, shift = target % 8;
  unsigned bits = (unsigned)(from[source / 8] >> source % 8);
  if (its->field->type == TW_E5M3) bits |= (unsigned)from[source / 8 + 1] << 8; /* an f16 */
  const unsigned moved = (bits + change) >> its->lowest;
  const unsigned code = (its->flips ? ~moved : moved) & mask;
  to[target / 8] = (uint8_t)((to[target / 8] & ~(mask << shift)) | code << shift);
}

/* Moves what stands at these columns and values of k. Where it goes, they are the first columns. */
static void move_values(const values* from, const void* source, const values* to, void* target,
                        const coordinates* n, const coordinates* k) {
  const size_t bits = tw_type_bits(to->field->type);
  const int64_t from_base = base_of(from), to_base = base_of(to);
  for (size_t done = 0; done < k->count; done += RUN) {
    const size_t left = k->count - done;
    const coordinates run = {TW_DIM_K, k->first + done * k->by, k->by, left < RUN ? left : RUN};
    moves all;
    memset(&all, 0, sizeof all);
    add_places(from, &run, all.from);
    add_places(to, &run, all.to);
    add_changes(from, to, &run, all.change);
    for (size_t i = 0; i < n->count; ++i) {
      const coordinates here = {TW_DIM_N, n->first + i, 1, 1}, there = {TW_DIM_N, i, 1, 1};
      int64_t s = from_base, t = to_base, change = to->offset - from->offset;
      add_places(from, &here, &s);
      add_places(to, &there, &t);
      add_changes(from, to, &here, &change);
      for (size_t j = 0; j < run.count; ++j) {
        const size_t in = (size_t)(s + all.from[j]), out = (size_t)(t + all.to[j]);
        if (bits <= 8) {
          move_code(source, in, target, out, to, (unsigned)(change + all.change[j]));
        } else {
          uint8_t* at = (uint8_t*)target + out / 8;
          memcpy(at, (const uint8_t*)source + in / 8, bits / 8);
          if (to->flips) at[bits / 8 - 1] ^= 0x80;
        }
      }
    }
  }
}

/* What of a block's scale is a float. */
static const tw_field* float_scales(const tw_axes* axes) {
  return axes->scale_steps.type != TW_TYPE_NONE ? &axes->scale_steps : &axes->scales;
}

/* What layouts keep of floats of that type. */
static tw_type kept_type(tw_type type) {
  return type == TW_E5M3 ? TW_F16 : type;
}

/* Whether packers put the rows' codes and what stands above those together. */
static bool is_joined(const tw_plan* plan, const tw_source* row) {
  if (row->axes.tops.type == TW_TYPE_NONE || plan->rhs->axes->tops.type != TW_TYPE_NONE) {
    return false;
  }
  for (size_t i = 0; i < plan->registry.packer_count; ++i) {
    const tw_packer* packer = &plan->registry.packers[i];
    if (packer->layout->id == plan->rhs->id && strcmp(packer->source, row->name) == 0) return true;
  }
  return false;
}

/* Whether the rows hold what the layout keeps, bit by bit. */
static tw_status check_kept(const tw_plan* plan, const tw_source* row) {
  const tw_layout* layout = plan->rhs;
  const bool joined = is_joined(plan, row);
  if (!joined && row->axes.data.type != layout->axes->data.type) {
    return tw_fail(TW_UNSUPPORTED,
                   "tw_unpack_rhs: target.order is %s, values of %s; layout %s keeps %s, and what "
                   "was converted does not come back bit by bit",
                   row->name, tw_type_text(row->axes.data.type), layout->text,
                   tw_type_text(layout->axes->data.type));
  }
  const size_t tops = tw_type_bits(row->axes.tops.type);
  const size_t kept_tops = tw_type_bits(layout->axes->tops.type);
  const size_t bits = tw_type_bits(row->axes.data.type);
  if (!joined && tops != kept_tops) {
    return tw_fail(TW_UNSUPPORTED,
                   "tw_unpack_rhs: target.order is %s, whose codes have %zu bits; those of layout "
                   "%s have %zu",
                   row->name, bits + tops, layout->text, bits + kept_tops);
  }
  const bool minimums = row->axes.minimums.type != TW_TYPE_NONE;
  if (minimums != (layout->axes->minimums.type != TW_TYPE_NONE)) {
    return tw_fail(TW_UNSUPPORTED,
                   "tw_unpack_rhs: target.order is %s, whose blocks have %s; layout %s keeps %s",
                   row->name, minimums ? "minimums" : "no minimums", layout->text,
                   minimums ? "none" : "some");
  }
  const tw_code_table *codes = row->axes.codes, *kept_codes = layout->axes->codes;
  if (codes != kept_codes) {
    return tw_fail(TW_UNSUPPORTED,
                   "tw_unpack_rhs: target.order is %s, whose codes are %s; those of layout %s are "
                   "%s",
                   row->name, codes != NULL ? codes->name : "numbers", layout->text,
                   kept_codes != NULL ? kept_codes->name : "numbers");
  }
  if (row->block == 0 && layout->axes->scale_steps.type != TW_TYPE_NONE) {
    return tw_fail(TW_UNSUPPORTED,
                   "tw_unpack_rhs: target.order is %s, beside whose codes stand scales; those of "
                   "layout %s are in steps",
                   row->name, layout->text);
  }
  const tw_field *scales = float_scales(layout->axes), *its = float_scales(&row->axes);
  if (row->block != 0 && (row->block != layout->block || kept_type(its->type) != scales->type ||
                          scales->factor != 1)) {
    return tw_fail(TW_UNSUPPORTED,
                   "tw_unpack_rhs: target.order is %s, which has a scale of %s for every %zu "
                   "values; layout %s has not",
                   row->name, tw_type_text(its->type), row->block, layout->text);
  }
  return TW_OK;
}

/* Zero points have no place in blocks of ggml, nor do fractions in codes. */
static tw_status check_zero_points(const tw_plan* plan, const tw_rhs_target* target,
                                   const tw_source* row) {
  const tw_layout* layout = plan->rhs;
  if (layout->axes->offsets.type != TW_TYPE_NONE && target->zero_points != NULL) {
    return tw_fail(TW_UNSUPPORTED,
                   "tw_unpack_rhs: target.zero_points is set; layout %s keeps them times scales, "
                   "which may have lost bits; null is legal",
                   layout->text);
  }
  if (layout->axes->zero_points.type == TW_TYPE_NONE) return TW_OK;
  if (row->block != 0) {
    return tw_fail(TW_UNSUPPORTED,
                   "tw_unpack_rhs: target.order is %s, which has no zero points; layout %s keeps "
                   "some",
                   row->name, layout->text);
  }
  if (target->order != TW_NBITS || target->zero_points == NULL) return TW_OK;
  return tw_fail(TW_UNSUPPORTED,
                 "tw_unpack_rhs: target.zero_points is set and target.order %s, whose zero points "
                 "are codes; layout %s keeps them as %s; null is legal, or order nxk",
                 row->name, layout->text, tw_type_text(layout->axes->zero_points.type));
}

/* For static activations both are folded into others; a bias may not be kept at all. */
static tw_status check_scales_and_bias(const tw_plan* plan, const tw_rhs_target* target) {
  if (target->bias != NULL && !tw_keeps_bias(plan->rhs)) {
    return tw_fail(TW_UNSUPPORTED,
                   "tw_unpack_rhs: target.bias is set; layout '%s' keeps none, null is legal",
                   plan->rhs->text);
  }
  const bool wanted = target->scales != NULL || target->bias != NULL;
  if (!wanted || !tw_is_static(plan->rhs)) return TW_OK;
  return tw_fail(TW_UNSUPPORTED,
                 "tw_unpack_rhs: target.%s is set; layout %s keeps what became of scales and bias "
                 "with those of activations and outputs; null is legal",
                 target->scales != NULL ? "scales" : "bias", plan->rhs->text);
}

/* Scales that are wanted come back as they were. */
static tw_status check_factor(const tw_plan* plan, const tw_source* row) {
  const int factor = plan->rhs->axes->scales.factor;
  const bool inside = row->block != 0;
  if (factor == 1) return TW_OK;
  if (inside) {
    return tw_fail(
        TW_UNSUPPORTED,
        "tw_unpack_rhs: target.order is %s, whose rows hold scales; layout %s keeps them "
        "divided by %d, which may have lost bits; nxk is legal",
        row->name, plan->rhs->text, factor);
  }
  return tw_fail(TW_UNSUPPORTED,
                 "tw_unpack_rhs: target.scales is set; layout %s keeps scales divided by %d, which "
                 "may have lost bits; null is legal",
                 plan->rhs->text, factor);
}

static values packed_values(const tw_plan* plan, const tw_field* field) {
  const int64_t vectors = (int64_t)(tw_vector_bytes(plan->rhs, &plan->device) / 16);
  const bool is_apart = plan->rhs->scales_apart && field == &plan->rhs->axes->scales;
  const size_t code_bits = plan->rhs_panel * plan->k * plan->rhs->data_bits;
  const values made = {field,
                       plan->rhs->axes->rows,
                       (int64_t)plan->rhs_stride * 8,
                       vectors,
                       field->offset,
                       0,
                       is_apart ? (int64_t)code_bits : 0,
                       false};
  return made;
}

/* Rows that are unpacked. */
typedef struct rows {
  const tw_plan* plan;
  const void* packed;
  const tw_source* source;
  void* target;
  int64_t row_bits;
} rows;

/* A field of the source's blocks, where it stands among the codes: bits of the layout's, `offset`
 * more, from bit `lowest` on. Nothing, if it has none. */
static void unpack_inside(const rows* r, const tw_field* packed_field, const tw_field* field,
                          int offset, unsigned lowest, const coordinates* n) {
  if (field->type == TW_TYPE_NONE) return;
  const values from = packed_values(r->plan, packed_field);
  const values to = {field, r->source->axes.rows, r->row_bits, 1, offset, lowest,
                     0,     field->factor < 0};
  size_t step = r->source->block;
  for (size_t i = 0; i < field->axis_count; ++i) {
    const size_t finer = (size_t)field->axes[i].step.fixed;
    if (field->axes[i].dim == TW_DIM_K && finer < step) step = finer;
  }
  const coordinates blocks = {TW_DIM_K, 0, step, r->plan->k / step};
  move_values(&from, r->packed, &to, r->target, n, &blocks);
}

/* Codes or floats, and scales and minimums that stand among them. */
static void unpack_rows(const tw_plan* plan, const void* packed, const tw_rhs_target* target,
                        const tw_source* row, const coordinates* n) {
  const int64_t row_bits = (int64_t)target->stride * 8;
  const bool is_offset = row->axes.data.offset == 0 && target->unsigned_nibbles;
  const tw_axes *kept = plan->rhs->axes, *its = &row->axes;
  const unsigned low_bits = (unsigned)tw_type_bits(its->data.type);
  const bool joined = is_joined(plan, row);
  const bool flips = its->data.factor < 0;
  /* What is offset - value has all other bits than value - offset - 1. */
  const int offset = flips ? -its->data.offset - 1 : its->data.offset + (is_offset ? 8 : 0);
  /* Of all their bits the middle number stands for code 0. */
  const int middle = joined ? 1 << (low_bits + tw_type_bits(its->tops.type) - 1) : 0;
  const values from = packed_values(plan, &kept->data);
  const values to = {&its->data, its->rows, row_bits, 1, joined ? middle : offset, 0, 0, flips};
  const coordinates each = {TW_DIM_K, 0, 1, plan->k};
  move_values(&from, packed, &to, target->data, n, &each);
  if (row->block == 0) return;
  const rows r = {plan, packed, row, target->data, row_bits};
  const int scale_offset = its->scales.offset, minimum_offset = its->minimums.offset;
  const tw_field* tops = joined ? &kept->data : &kept->tops;
  unpack_inside(&r, tops, &its->tops, middle, joined ? low_bits : 0, n);
  const unsigned scale_bit = its->scales.type == TW_E5M3 ? 7 : 0;
  unpack_inside(&r, &kept->scales, &its->scales, scale_offset, scale_bit, n);
  unpack_inside(&r, &kept->minimums, &its->minimums, minimum_offset, 0, n);
  unpack_inside(&r, &kept->scale_steps, &its->scale_steps, 0, 0, n);
  unpack_inside(&r, &kept->minimum_steps, &its->minimum_steps, 0, 0, n);
  unpack_inside(&r, &kept->scales, &its->scale_tops, scale_offset,
                (unsigned)tw_type_bits(its->scales.type), n);
  unpack_inside(&r, &kept->minimums, &its->minimum_tops, minimum_offset,
                (unsigned)tw_type_bits(its->minimums.type), n);
}

/* One value per column, or with a block one for each of its blocks, in rows `stride` bytes apart;
 * 0: without gaps. */
static void unpack_array(const tw_plan* plan, const void* packed, const tw_field* field,
                         size_t block, void* array, size_t stride, const coordinates* n) {
  const size_t bytes = tw_type_bytes(field->type), count = block == 0 ? 1 : plan->k / block;
  const tw_axis blocks = {TW_DIM_K, {0, 0}, {(int32_t)block, 0}, {(int32_t)bytes * 8, 0}};
  const tw_axis rows = {TW_DIM_N, {0, 0}, {1, 0}, {0, 0}};
  const tw_field dense = {field->type, {0, 0}, &blocks, block != 0, 1, 0, NULL, 0};
  const values from = packed_values(plan, field);
  const values to = {&dense, rows, (int64_t)(stride != 0 ? stride : count * bytes) * 8, 1, 0, 0,
                     0,      false};
  const coordinates each = {TW_DIM_K, 0, block, count};
  move_values(&from, packed, &to, array, n, &each);
}

/* The same memory as tw_pack_rhs would read it. */
static tw_rhs_source as_source(const tw_rhs_target* target) {
  const tw_rhs_source source = {.size = sizeof source,
                                .order = target->order,
                                .data = target->data,
                                .data_bytes = target->data_bytes,
                                .stride = target->stride,
                                .unsigned_nibbles = target->unsigned_nibbles,
                                .scales = target->scales,
                                .scale_count = target->scale_count,
                                .bias = target->bias,
                                .bias_count = target->bias_count,
                                .scale_stride = target->scale_stride,
                                .zero_points = target->zero_points,
                                .zero_point_count = target->zero_point_count};
  return source;
}

static tw_status check_target(const tw_plan* plan, const tw_rhs_target* target, size_t columns,
                              const tw_source** row) {
  const tw_rhs_source source = as_source(target);
  tw_status status = tw_check_rhs("tw_unpack_rhs: target", plan, columns, &source, row);
  if (status == TW_OK) status = check_kept(plan, *row);
  if (status == TW_OK) status = check_zero_points(plan, target, *row);
  if (status == TW_OK) status = check_scales_and_bias(plan, target);
  if (status != TW_OK) return status;
  const bool wanted = (*row)->block != 0 || target->scales != NULL;
  return wanted ? check_factor(plan, *row) : TW_OK;
}

tw_status tw_unpack_rhs(const tw_plan* plan, const void* packed, size_t packed_bytes, size_t column,
                        size_t columns, const tw_rhs_target* theirs) {
  if (plan == NULL) return tw_fail(TW_INVALID, "tw_unpack_rhs: plan is null");
  if (theirs == NULL) return tw_fail(TW_INVALID, "tw_unpack_rhs: target is null");
  tw_rhs_target target;
  tw_status status =
      tw_take("tw_unpack_rhs: target", "tw_rhs_target", theirs, &target, sizeof target);
  if (status != TW_OK) return status;
  status = tw_check_packed("tw_unpack_rhs: packed", packed, packed_bytes, plan->rhs_bytes);
  if (status != TW_OK) return status;
  if (column > plan->n || columns > plan->n - column) {
    return tw_fail(TW_INVALID,
                   "tw_unpack_rhs: column is %zu and columns %zu; this plan has %zu in all", column,
                   columns, plan->n);
  }
  if (columns == 0) return TW_OK;
  const tw_source* row;
  status = check_target(plan, &target, columns, &row);
  if (status != TW_OK) return status;
  const tw_axes* axes = plan->rhs->axes;
  const coordinates n = {TW_DIM_N, column, 1, columns};
  unpack_rows(plan, packed, &target, row, &n);
  if (row->block == 0 && target.scales != NULL) {
    unpack_array(plan, packed, &axes->scales, plan->rhs->block, target.scales, target.scale_stride,
                 &n);
  }
  if (target.bias != NULL) unpack_array(plan, packed, &axes->bias, 0, target.bias, 0, &n);
  if (target.zero_points != NULL) {
    const size_t stride = plan->rhs->block != 0 ? target.scale_stride : 0;
    unpack_array(plan, packed, &axes->zero_points, plan->rhs->block, target.zero_points, stride,
                 &n);
  }
  return TW_OK;
}
