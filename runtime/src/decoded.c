/* Products of many rows by panels that become floats first. What kernels make of codes for each
 * tile of rows is made once then, and tiles are those of floats. A panel goes through k in blocks
 * whose floats stay in a cache; outputs collect the sums, as in deep.c. What is rounded when
 * depends on the numbers of rows, columns and k and on the device, never on how many threads there
 * are.
 *
 * Kernels of the plan's own family read codes, and many rows are decoded where that is faster; or
 * they are of floats alone, and the plan's layout is the decoder's. Codes that become wider codes:
 * decoded_codes.c. */
#include <math.h>

#include "internal.h"

enum {
  K_STEP = 64,         /* values of k: a multiple of what panels of floats, and rows, are read in */
  SMALL_L1 = 32 * 1024 /* bytes, where the device does not say */
};

static bool is_decoder(const tw_kernel* decoder, uint64_t layout, const tw_device* device) {
  const size_t panel = decoder->rhs->panel;
  return decoder->rhs->id == layout && panel != 0 && decoder->tile_n % panel == 0 &&
         decoder->tile_n <= TW_BIAS_COLUMNS && !decoder->rhs->scales_apart &&
         tw_keeps_bias(decoder->rhs) && tw_runnable_kernel(decoder, device);
}

/* Columns that are decoded together: whole panels, of codes as of floats. */
static size_t columns_of(const tw_plan* plan) {
  return plan->decoding.decoder->tile_n;
}

static bool is_axis(const tw_axis* axis, tw_dim dim, int extent, int stride) {
  return axis->dim == dim && axis->step.fixed == 1 && axis->stride.fixed == stride &&
         (extent == 0 || axis->extent.fixed == extent);
}

/* Two values of k of a column, then those of the next one. */
static bool holds_pairs(const tw_layout* rhs) {
  const tw_field* data = &rhs->axes->data;
  bool pairs = false, columns = false;
  for (size_t i = 0; i < data->axis_count; ++i) {
    pairs |= is_axis(&data->axes[i], TW_DIM_K, 2, 16);
    columns |= is_axis(&data->axes[i], TW_DIM_N, 0, 32);
  }
  return pairs && columns;
}

/* Panels as a decoder writes them. */
static bool reads_decoded(const tw_kernel* decoder, const tw_kernel* kernel,
                          const tw_device* device) {
  const tw_layout* rhs = kernel->rhs;
  if (rhs == NULL || kernel->lhs == NULL || rhs->type != decoder->dst || !tw_is_float(rhs) ||
      rhs->panel != decoder->decoded_panel || rhs->panel_scalable != 0 || !tw_keeps_bias(rhs)) {
    return false;
  }
  const bool as_written = rhs->type == TW_F32 ? rhs->k_multiple == 1 : holds_pairs(rhs);
  const bool can_be_cut = K_STEP % kernel->lhs->k_multiple == 0 && kernel->lhs->per_row_bytes == 0;
  return as_written && can_be_cut && !kernel->accumulate && tw_runnable_kernel(kernel, device);
}

/* All tiles are one panel wide, and all sums can be added to. */
static bool make_choice(const tw_plan* plan, const tw_kernel* kernel, tw_choice* choice) {
  return kernel->dst == plan->dst_type && tw_make_choice(plan, kernel, choice) &&
         choice->tile_n == plan->decoding.decoder->decoded_panel && choice->adding != NULL;
}

/* Those that read the caller's rows. */
static void add_kernels(const tw_plan* plan, tw_split* split) {
  for (size_t i = 0; i < plan->registry.kernel_count; ++i) {
    const tw_kernel* kernel = &plan->registry.kernels[i];
    tw_choice choice;
    if (reads_decoded(plan->decoding.decoder, kernel, &plan->device) &&
        tw_reads_rows(kernel, plan->lhs_type) && make_choice(plan, kernel, &choice)) {
      tw_add_choice(plan, split, &choice);
    }
  }
}

/* Of a value of k. */
static size_t panel_value_bytes(const tw_plan* plan) {
  const tw_kernel* decoder = plan->decoding.decoder;
  return decoder->decoded_panel * tw_type_bytes(decoder->dst);
}
static size_t value_bytes(const tw_plan* plan) {
  return columns_of(plan) * tw_type_bytes(plan->decoding.decoder->dst);
}

/* Floats of a panel fill two thirds of L1: writing them to L2 takes longer than making them. */
static size_t k_block_of(const tw_plan* plan) {
  const size_t block = plan->rhs->block;
  const size_t unit = block != 0 && block % K_STEP == 0 ? block : K_STEP;
  const size_t l1 = plan->device.l1_bytes != 0 ? plan->device.l1_bytes : SMALL_L1;
  size_t k = l1 / 3 * 2 / value_bytes(plan) / unit * unit;
  if (k == 0) k = unit;
  return k < plan->k ? k : plan->k;
}

void tw_choose_decoding(tw_plan* plan, const tw_matmul* matmul, double segment_cycles) {
  tw_decoding* decoding = &plan->decoding;
  memset(decoding, 0, sizeof *decoding);
  const tw_layout* rhs = plan->rhs;
  tw_choose_codes(plan, matmul, segment_cycles);
  if (decoding->decoder != NULL || matmul->kernel != NULL || matmul->accumulate ||
      plan->taps != 0 || !plan->lhs_unpacked || plan->dst_type != TW_F32 || rhs->block == 0) {
    return;
  }
  for (size_t i = 0; i < plan->registry.decoder_count && decoding->decoder == NULL; ++i) {
    const tw_kernel* row = &plan->registry.decoders[i];
    if (row->dst == TW_F32 && is_decoder(row, rhs->id, &plan->device)) decoding->decoder = row;
  }
  if (decoding->decoder == NULL) return;
  add_kernels(plan, &decoding->split);
  if (decoding->split.count != 0) {
    tw_split_build(&decoding->split, segment_cycles, 0);
  } else {
    decoding->decoder = NULL;
  }
}

static bool is_of_family(const tw_kernel* kernel, const tw_matmul* matmul) {
  return strcmp(kernel->family, matmul->family) == 0;
}

/* Rows of the family read its panels. */
static bool serves(const tw_registry* registry, const tw_device* device, const tw_matmul* matmul,
                   const tw_kernel* decoder) {
  for (size_t i = 0; i < registry->kernel_count; ++i) {
    const tw_kernel* kernel = &registry->kernels[i];
    if (is_of_family(kernel, matmul) && reads_decoded(decoder, kernel, device)) return true;
  }
  return false;
}

const tw_kernel* tw_find_decoder(const tw_registry* registry, const tw_device* device,
                                 const tw_matmul* matmul) {
  if (matmul->rhs_layout == 0 || matmul->kernel != NULL || matmul->accumulate != 0 ||
      matmul->taps != 0 || tw_first_named(registry, matmul) != NULL) {
    return NULL;
  }
  for (size_t i = 0; i < registry->kernel_count; ++i) {
    const tw_kernel* kernel = &registry->kernels[i];
    if (kernel->rhs != NULL && kernel->rhs->id == matmul->rhs_layout &&
        is_of_family(kernel, matmul)) {
      return NULL;
    }
  }
  for (size_t i = 0; i < registry->decoder_count; ++i) {
    const tw_kernel* row = &registry->decoders[i];
    const bool as_said =
        (matmul->block == 0 || matmul->block == row->rhs->block) &&
        (matmul->scales == TW_SCALES_UNSET || matmul->scales == row->rhs->block_scales);
    if (as_said && is_decoder(row, matmul->rhs_layout, device) &&
        serves(registry, device, matmul, row)) {
      return row;
    }
  }
  return NULL;
}

bool tw_decode_always(tw_plan* plan, const tw_kernel* decoder, const tw_matmul* matmul,
                      double segment_cycles) {
  plan->decoding.decoder = decoder;
  plan->decoding.always = true;
  tw_split* split = &plan->split;
  split->count = split->named = 0;
  for (size_t i = 0; i < plan->registry.kernel_count; ++i) {
    const tw_kernel* kernel = &plan->registry.kernels[i];
    tw_choice choice;
    if (!is_of_family(kernel, matmul) || !reads_decoded(decoder, kernel, &plan->device) ||
        !make_choice(plan, kernel, &choice)) {
      continue;
    }
    const bool unpacked = choice.lhs_packer == NULL;
    if (split->count == 0) plan->lhs_unpacked = unpacked;
    if (plan->lhs_unpacked == unpacked) tw_add_choice(plan, split, &choice);
  }
  if (split->count == 0) return false;
  tw_split_build(split, segment_cycles, 0);
  plan->decoding.split = *split;
  return true;
}

/* Weights come from memory while they are decoded, not while they are multiplied; decoding waits
 * for them (measured on Zen 5: f16 takes both times, one after the other). */
double tw_decoded_cycles(const tw_plan* plan, size_t m) {
  if (tw_decodes_codes(plan)) return tw_codes_cycles(plan, m);
  const tw_decoding* decoding = &plan->decoding;
  const double values = (double)plan->n * (double)plan->k;
  const double decode = values / decoding->decoder->macs_per_cycle;
  const double stream = (double)plan->rhs_bytes / TW_STREAM_BYTES;
  return tw_split_cycles(&decoding->split, m, TW_NO_CHOICE) + decode + stream;
}

tw_status tw_check_readable(const char* function, const tw_plan* plan) {
  if (!plan->decoding.always) return TW_OK;
  return tw_fail(
      TW_UNSUPPORTED,
      "%s: this plan's weights become floats in scratch; plans whose kernels read layout "
      "'%s' are legal",
      function, plan->rhs->text);
}

bool tw_decodes(const tw_plan* plan, size_t m) {
  if (plan->decoding.decoder == NULL || m == 0) return false;
  if (plan->decoding.always) return true;
  const tw_range* range = tw_plan_range(plan, m);
  const tw_decode decode = range != NULL ? range->tuning.decode : plan->tuning.decode;
  if (decode != TW_DECODE_UNSET) return decode == TW_DECODE_ALWAYS;
  const size_t main = range != NULL ? range->main : TW_NO_CHOICE;
  return tw_decoded_cycles(plan, m) < tw_split_cycles(&plan->split, m, main);
}

tw_status tw_plan_decoder(const tw_plan* plan, size_t m, const tw_kernel** decoder) {
  if (plan == NULL || decoder == NULL) {
    return tw_fail(TW_INVALID, "tw_plan_decoder: %s is null", plan == NULL ? "plan" : "decoder");
  }
  *decoder = tw_decodes(plan, m) ? plan->decoding.decoder : NULL;
  return TW_OK;
}

void* tw_aligned_scratch(void* scratch) {
  const size_t beyond = (uintptr_t)scratch % TW_SCRATCH_ALIGNMENT;
  return (char*)scratch + (beyond == 0 ? 0 : TW_SCRATCH_ALIGNMENT - beyond);
}

size_t tw_decoded_rows(const tw_plan* plan, const tw_rows* rows) {
  if (tw_decodes_codes(plan)) return tw_cached_rows(plan, rows);
  const size_t value = tw_type_bytes(plan->decoding.decoder->dst);
  const size_t most = tw_l2_bytes(plan) / 2 / (k_block_of(plan) * value);
  return most > TW_MAX_TILE_M ? most : TW_MAX_TILE_M;
}

size_t tw_decoded_bytes(const tw_plan* plan, size_t m) {
  if (!tw_decodes(plan, m)) return 0;
  if (tw_decodes_codes(plan)) return tw_codes_bytes(plan);
  return k_block_of(plan) * value_bytes(plan) + TW_SCRATCH_ALIGNMENT - 1;
}

/* A panel's part of the outputs. */
typedef struct panel_run {
  const tw_plan* plan;
  const tw_run_args* run;
  const tw_corner* corner;
  const tw_part* part;
  size_t column, count;
  const char* packed; /* their panels */
  float bias[TW_BIAS_COLUMNS];
  void* values;
} panel_run;

/* Of packed values of k, whole blocks of them, of a panel of codes or floats. */
static size_t packed_bytes(const tw_plan* plan, size_t k) {
  const tw_layout* layout = plan->rhs;
  const size_t blocks = layout->block != 0 ? k / layout->block : 0;
  return plan->rhs_panel * (k * layout->data_bits / 8 + blocks * layout->per_row_block_bytes);
}

static void decode(const panel_run* panel, size_t first_k, size_t k) {
  const tw_layout* layout = panel->plan->rhs;
  tw_args args = {.size = sizeof args};
  args.n = panel->count;
  args.k = k;
  args.block = layout->block;
  args.rhs = panel->packed + packed_bytes(panel->plan, first_k);
  args.rhs_stride = panel->plan->rhs_stride;
  /* The same of the next panel. */
  args.rhs_prefetch = columns_of(panel->plan) / panel->plan->rhs_panel * args.rhs_stride;
  args.dst = panel->values;
  args.dst_stride = k * panel_value_bytes(panel->plan);
  panel->plan->decoding.decoder->run(&args);
}

static void multiply(const panel_run* panel, const tw_segment* segment, size_t first_k, size_t k) {
  static const float zeros[TW_BIAS_COLUMNS];
  tw_part part = *panel->part;
  part.column_begin = panel->column;
  part.column_end = panel->column + panel->count;
  tw_args args;
  if (!tw_segment_args(panel->plan, panel->run, panel->corner, segment, &part, &args)) return;
  args.k = k;
  args.block = 0;
  const tw_choice* choice = tw_choice_of(&panel->plan->decoding.split, segment->kernel);
  const tw_layout* lhs = choice->kernel->lhs;
  args.lhs = (const char*)args.lhs + choice->lhs_panel * first_k * lhs->data_bits / 8;
  args.rhs = panel->values;
  args.rhs_stride = k * panel_value_bytes(panel->plan);
  args.bias = first_k == 0 ? panel->bias : zeros;
  if (first_k + k != panel->plan->k) {
    args.min = -INFINITY;
    args.max = INFINITY;
  }
  (first_k == 0 ? choice->kernel : choice->adding)->run(&args);
}

/* Floats of k values of a panel, and all rows' products with them. */
static void run_panel(panel_run* panel, const tw_segment* segments, size_t count, size_t first_k,
                      size_t k) {
  const tw_plan* plan = panel->plan;
  const size_t left = panel->part->column_end - panel->column;
  panel->count = left < columns_of(plan) ? left : columns_of(plan);
  panel->packed = (const char*)panel->run->rhs + panel->column / plan->rhs_panel * plan->rhs_stride;
  if (first_k == 0 && panel->run->bias != NULL) {
    memcpy(panel->bias, (const float*)panel->run->bias + panel->column,
           panel->count * sizeof *panel->bias);
  } else if (first_k == 0) {
    tw_copy_bias(plan, panel->packed, panel->count, panel->bias);
  }
  decode(panel, first_k, k);
  for (size_t i = 0; i < count; ++i) multiply(panel, &segments[i], first_k, k);
}

/* Blocks of k go round all panels, so that the rows' values stay in the cache. */
void tw_run_decoded(const tw_plan* plan, const tw_rows* rows, const tw_run_args* args,
                    const tw_corner* corner, const tw_part* part) {
  if (tw_decodes_codes(plan)) {
    tw_run_codes(plan, rows, args, corner, part);
    return;
  }
  /* Rows that are packed lie where the plan's own segments say. */
  tw_segment others[TW_MAX_SEGMENTS];
  const bool always = plan->decoding.always;
  const tw_segment* segments = always ? rows->segments : others;
  const size_t count =
      always ? rows->count : tw_split_rows(&plan->decoding.split, rows->m, TW_NO_CHOICE, others);
  const size_t block = k_block_of(plan);
  panel_run panel = {.plan = plan, .run = args, .corner = corner, .part = part};
  panel.values = tw_aligned_scratch(args->scratch);
  for (size_t k = 0; k < plan->k; k += block) {
    const size_t count_k = plan->k - k < block ? plan->k - k : block;
    for (panel.column = part->column_begin; panel.column < part->column_end;
         panel.column += columns_of(plan)) {
      run_panel(&panel, segments, count, k, count_k);
    }
  }
}
