/* Products of many rows by panels of codes that become bytes first, with all that columns have
 * beside their codes. A panel is decoded once for the slice's rows, into the caller's scratch, and
 * rows that are packed for the plan's own kernels are read by those of bytes that read such rows:
 * of int4 with a scale a column those of int8, of blocks those that stand with the parts.
 *
 * Sums of integers are exact, and floats are added in the same order: outputs have the same bits
 * either way, whatever is decoded for which rows, unless k would go by in parts (deep.c). So each
 * segment is multiplied by what takes it fewer cycles. */
#include <math.h>

#include "internal.h"

enum { CALL_CYCLES = 100 /* to decode a panel: as plan.c's, to enter a kernel */ };

/* Of x86: what decodes takes slots of what multiplies, too, where cores deal operations out to any
 * of their pipes, which the model does not. Measured (Zen 5, AVX-VNNI): Q5_0 and Q5_K, of which it
 * says that both take as long, are a tenth faster decoded. */
static const double DECODED = 0.95;

bool tw_decodes_codes(const tw_plan* plan) {
  return plan->decoding.decoder != NULL && plan->decoding.decoder->decoded != NULL;
}

static size_t decoded_stride(const tw_plan* plan, const tw_kernel* decoder) {
  size_t bytes;
  return tw_panel_bytes(decoder->decoded, &plan->device, plan->k, &bytes) ? bytes : SIZE_MAX;
}

/* The panel has half of L2 at most: it is read for each tile of rows. */
static bool is_decoder(const tw_plan* plan, const tw_kernel* row) {
  const tw_layout* decoded = row->decoded;
  return decoded != NULL && row->rhs == plan->rhs && tw_runnable_kernel(row, &plan->device) &&
         (decoded->exact_k == 0 || plan->k <= decoded->exact_k) &&
         decoded_stride(plan, row) <= tw_l2_bytes(plan) / 2;
}

static double row_cycles(const tw_choice* choice) {
  return choice->tile_cycles / (double)choice->tile_m;
}

/* Keeps it for each of the plan's own kernels whose rows it reads, and panels at a time or parts of
 * them, where it is faster than what is there. False: for none. */
static bool offer_kernel(tw_plan* plan, const tw_kernel* kernel) {
  bool kept = false;
  tw_choice choice;
  if (kernel->rhs != plan->decoding.decoder->decoded ||
      !tw_runnable_kernel(kernel, &plan->device) || !tw_make_choice(plan, kernel, &choice) ||
      plan->rhs_panel % choice.tile_n != 0) {
    return false;
  }
  if (plan->core != NULL) choice.tile_cycles *= DECODED;
  for (size_t i = 0; i < plan->split.count + plan->split.named; ++i) {
    const tw_kernel* own = plan->split.choices[i].kernel;
    tw_choice* best = &plan->decoding.split.choices[i];
    if (kernel->lhs == own->lhs && kernel->dst == own->dst &&
        kernel->accumulate == own->accumulate &&
        (best->kernel == NULL || row_cycles(&choice) < row_cycles(best))) {
      *best = choice;
      kept = true;
    }
  }
  return kept;
}

void tw_choose_codes(tw_plan* plan, const tw_matmul* matmul, double segment_cycles) {
  const tw_registry* registry = &plan->registry;
  tw_decoding* decoding = &plan->decoding;
  if (matmul->kernel != NULL || plan->taps != 0) return;
  for (size_t i = 0; i < registry->decoder_count && decoding->decoder == NULL; ++i) {
    const tw_kernel* row = &registry->decoders[i];
    if (is_decoder(plan, row)) decoding->decoder = row;
  }
  if (decoding->decoder == NULL) return;
  decoding->split.segment_cycles = segment_cycles;
  bool any = false;
  for (size_t i = 0; i < registry->kernel_count; ++i) {
    any |= offer_kernel(plan, &registry->kernels[i]);
  }
  for (size_t i = 0; i < registry->part_count; ++i) any |= offer_kernel(plan, &registry->parts[i]);
  if (!any) decoding->decoder = NULL;
}

static double cycles_of(const tw_choice* choice, size_t rows, double segment_cycles) {
  return (double)tw_divide_up(rows, choice->tile_m) * choice->tile_cycles + segment_cycles;
}

/* What multiplies a segment by decoded panels; null: its own kernel takes fewer cycles. */
static const tw_kernel* kernel_of(const tw_plan* plan, const tw_rows* rows, size_t number,
                                  double* cycles) {
  const tw_segment* segment = &rows->segments[number];
  const tw_choice* own = tw_choice_of(&plan->split, segment->kernel);
  const tw_choice* other = &plan->decoding.split.choices[own - plan->split.choices];
  *cycles = cycles_of(own, segment->rows, plan->split.segment_cycles);
  if (other->kernel == NULL) return NULL;
  const double decoded = cycles_of(other, segment->rows, plan->decoding.split.segment_cycles);
  if (decoded >= *cycles && rows->tuning.decode != TW_DECODE_ALWAYS) return NULL;
  *cycles = decoded;
  return other->kernel;
}

/* Decoding waits for memory, as that of floats does, and is done for each block of rows. */
double tw_codes_cycles(const tw_plan* plan, size_t m) {
  const tw_kernel* decoder = plan->decoding.decoder;
  tw_rows rows;
  if (tw_rows_of(plan, m, "tw_plan_cycles", &rows) != TW_OK) return HUGE_VAL;
  double rate = decoder->macs_per_cycle; /* for vectors of 16 bytes */
  if (decoder->tile_n_scalable != 0) {
    rate *= (double)(tw_vector_bytes(decoder->rhs, &plan->device) / 16);
  }
  const double values = (double)plan->n * (double)plan->k;
  const double calls = (double)(tw_divide_up(plan->n, plan->rhs_panel) * CALL_CYCLES);
  const double once = values / rate + calls + (double)plan->rhs_bytes / TW_STREAM_BYTES;
  double total = once * (double)tw_divide_up(m, tw_cached_rows(plan, &rows));
  for (size_t i = 0; i < rows.count; ++i) {
    double cycles;
    kernel_of(plan, &rows, i, &cycles);
    total += cycles;
  }
  return total;
}

size_t tw_codes_bytes(const tw_plan* plan) {
  return decoded_stride(plan, plan->decoding.decoder) + TW_SCRATCH_ALIGNMENT - 1;
}

static void decode(const tw_plan* plan, const char* packed, size_t columns, void* panel) {
  tw_args args = {.size = sizeof args};
  args.n = columns;
  args.k = plan->k;
  args.rhs = packed;
  args.block = plan->rhs->block;
  args.rhs_stride = plan->rhs_stride;
  args.rhs_prefetch = plan->rhs_stride; /* of the next panel */
  args.dst = panel;
  args.dst_stride = decoded_stride(plan, plan->decoding.decoder);
  plan->decoding.decoder->run(&args);
}

/* The rows' products by the columns of a panel, where those are of what it becomes. */
static void run_panel(const tw_plan* plan, const tw_rows* rows, const tw_run_args* run,
                      const tw_corner* corner, const tw_part* part, void* panel) {
  bool is_decoded = false;
  for (size_t i = 0; i < rows->count; ++i) {
    double cycles;
    tw_args args;
    const tw_kernel* kernel = kernel_of(plan, rows, i, &cycles);
    if (kernel == NULL) continue;
    if (!tw_segment_args(plan, run, corner, &rows->segments[i], part, &args)) continue;
    if (!is_decoded) decode(plan, args.rhs, args.n, panel);
    is_decoded = true;
    args.rhs = panel;
    args.rhs_stride = decoded_stride(plan, plan->decoding.decoder);
    kernel->run(&args);
  }
}

void tw_run_codes(const tw_plan* plan, const tw_rows* rows, const tw_run_args* args,
                  const tw_corner* corner, const tw_part* part) {
  void* panel = tw_aligned_scratch(args->scratch);
  tw_part columns = *part;
  for (; columns.column_begin < part->column_end; columns.column_begin = columns.column_end) {
    const size_t left = part->column_end - columns.column_begin;
    columns.column_end = columns.column_begin + (left < plan->rhs_panel ? left : plan->rhs_panel);
    run_panel(plan, rows, args, corner, &columns, panel);
  }
  for (size_t i = 0; i < rows->count; ++i) { /* of the others */
    double cycles;
    tw_args own;
    if (kernel_of(plan, rows, i, &cycles) != NULL) continue;
    if (!tw_segment_args(plan, args, corner, &rows->segments[i], part, &own)) continue;
    rows->segments[i].kernel->run(&own);
  }
}

size_t tw_codes_scratch(const tw_plan* plan, size_t m) {
  return tw_decodes_codes(plan) ? tw_decoded_bytes(plan, m) : 0;
}

void tw_run_part_in(const tw_plan* plan, const tw_rows* rows, const tw_run_args* args,
                    const tw_corner* corner, const tw_part* part, void* scratch) {
  tw_run_args own = *args;
  if (scratch == NULL || args->k != plan->k) {
    tw_run_part(plan, rows, args, corner, part);
    return;
  }
  own.scratch = scratch;
  tw_run_codes(plan, rows, &own, corner, part);
}
