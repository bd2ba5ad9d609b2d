/* Attention: which kernels, how a call's work is divided, and what callers may not pass. */
#include "attention.h"

#include <stdio.h>
#include <stdlib.h>

enum {
  FEW_ROWS = 16,  /* of queries that share a head: K and V come once for all heads */
  MOST_ROWS = 64, /* that pass over a block of K and V together */
  LEAST_PART = 64 /* positions for which a thread is worth being merged */
};

size_t tw_list_attention_kernels(const tw_attention_kernel** rows, size_t capacity) {
  for (size_t i = 0; i < capacity && i < tw_generated_attention_kernel_count; ++i) {
    rows[i] = &tw_generated_attention_kernels[i];
  }
  return tw_generated_attention_kernel_count;
}

/* ---- which kernels ---- */

/* What rows of K or V the kernel reads: codes come in blocks. */
static tw_type positions_type(const tw_kernel* kernel) {
  if (kernel->rhs->block == 0) return kernel->rhs->type;
  return kernel->rhs->type == TW_S4 ? TW_TYPE_Q4_0 : TW_TYPE_Q8_0;
}

size_t tw_position_bytes(const tw_kernel* kernel, size_t values) {
  const size_t block = kernel->rhs->block;
  if (block == 0) return values * tw_type_bytes(kernel->rhs->type);
  const size_t codes = block * tw_type_bits(kernel->rhs->type) / 8;
  return values / block * (sizeof(uint16_t) + codes); /* a scale of f16 in front of its codes */
}

/* The first row of that stage and type that runs; of one ISA, unless `isa` is null. */
static const tw_attention_kernel* find(const tw_device* device, const tw_attention* wanted,
                                       tw_attention_stage stage, const char* isa, tw_type type) {
  for (size_t i = 0; i < tw_generated_attention_kernel_count; ++i) {
    const tw_attention_kernel* row = &tw_generated_attention_kernels[i];
    const tw_kernel* kernel = &row->kernel;
    if (row->stage != stage || strcmp(kernel->isa, isa) != 0) continue;
    if (stage == TW_ATTENTION_SCORES && TW_ATTENTION_BLOCK % kernel->tile_n != 0) continue;
    if (positions_type(kernel) != type) continue;
    if (wanted->printer != NULL && strcmp(wanted->printer, kernel->printer) != 0) continue;
    if (tw_runnable_kernel(kernel, device)) return row;
  }
  return NULL;
}

/* All three of the ISA whose vectors are longest and divide the heads; false: there is none. */
static bool choose(const tw_device* device, const tw_attention* wanted, tw_attention_plan* plan) {
  plan->lanes = 0;
  for (size_t i = 0; i < tw_generated_attention_kernel_count; ++i) {
    const tw_attention_kernel* row = &tw_generated_attention_kernels[i];
    const size_t lanes = row->kernel.tile_n;
    if (row->stage != TW_ATTENTION_WEIGHTS || lanes <= plan->lanes) continue;
    if (wanted->key_size % lanes != 0 || wanted->value_size % lanes != 0) continue;
    const char* isa = row->kernel.isa;
    const tw_type scaled = tw_has_position_scales(wanted) ? TW_S8 : TW_F16;
    const tw_attention_kernel* weights = find(device, wanted, TW_ATTENTION_WEIGHTS, isa, scaled);
    const tw_attention_kernel* scores =
        find(device, wanted, TW_ATTENTION_SCORES, isa, wanted->key_type);
    const tw_attention_kernel* values =
        find(device, wanted, TW_ATTENTION_VALUES, isa, wanted->value_type);
    if (weights == NULL || scores == NULL || values == NULL) continue;
    plan->lanes = lanes;
    plan->stages[TW_ATTENTION_SCORES] = scores;
    plan->stages[TW_ATTENTION_WEIGHTS] = weights;
    plan->stages[TW_ATTENTION_VALUES] = values;
  }
  return plan->lanes != 0;
}

/* Values of a head of K (`keys`) or V. */
static tw_status check_type(const char* who, bool keys, tw_type type, size_t size) {
  for (size_t i = 0; i < tw_generated_attention_kernel_count; ++i) {
    const tw_kernel* kernel = &tw_generated_attention_kernels[i].kernel;
    if (positions_type(kernel) != type) continue;
    const size_t block = kernel->rhs->block;
    if (block == 0 || size % block == 0) return TW_OK;
    return tw_fail(TW_INVALID, "%s.%s is %zu; multiples of %zu are legal with such blocks", who,
                   keys ? "key_size" : "value_size", size, block);
  }
  return tw_fail(TW_UNSUPPORTED,
                 "%s.%s is %d; TW_F32, TW_F16, TW_BF16, TW_S8, TW_TYPE_Q8_0 and TW_TYPE_Q4_0 are "
                 "legal",
                 who, keys ? "key_type" : "value_type", (int)type);
}

static tw_status check_shape(const tw_attention* shape) {
  const char* who = "tw_attention_create: attention";
  if (shape->heads == 0 || shape->kv_heads == 0 || shape->heads % shape->kv_heads != 0) {
    return tw_fail(TW_INVALID, "%s.heads is %zu, kv_heads is %zu; a multiple of them is legal", who,
                   shape->heads, shape->kv_heads);
  }
  if (shape->key_size == 0 || shape->value_size == 0) {
    return tw_fail(TW_INVALID, "%s.%s is 0; at least 1 is legal", who,
                   shape->key_size == 0 ? "key_size" : "value_size");
  }
  const tw_status status = check_type(who, true, shape->key_type, shape->key_size);
  return status != TW_OK ? status : check_type(who, false, shape->value_type, shape->value_size);
}

tw_status tw_attention_create(const tw_device* device, const tw_attention* attention,
                              tw_attention_plan** plan) {
  if (plan == NULL) return tw_fail(TW_INVALID, "tw_attention_create: plan is null");
  *plan = NULL;
  if (device == NULL || attention == NULL) {
    return tw_fail(TW_INVALID, "tw_attention_create: %s is null",
                   device == NULL ? "device" : "attention");
  }
  tw_device own_device;
  tw_attention_plan own = {.lanes = 0};
  tw_status status =
      tw_take("tw_attention_create: device", "tw_device", device, &own_device, sizeof own_device);
  if (status == TW_OK) {
    status = tw_take("tw_attention_create: attention", "tw_attention", attention, &own.shape,
                     sizeof own.shape);
  }
  if (status == TW_OK) status = check_shape(&own.shape);
  if (status != TW_OK) return status;
  if (!choose(&own_device, &own.shape, &own)) {
    return tw_fail(TW_UNSUPPORTED, "tw_attention_create: device runs no such kernels%s%s",
                   own.shape.printer == NULL ? "" : " of ",
                   own.shape.printer == NULL ? "" : own.shape.printer);
  }
  own.shape.printer = NULL; /* the caller's */
  tw_attention_plan* made = malloc(sizeof *made);
  if (made == NULL) return tw_fail(TW_NO_MEMORY, "tw_attention_create: out of memory");
  *made = own;
  if (tw_log_enabled()) {
    fprintf(stderr, "tilewright: attention of %zu heads of %zu: %s\n", made->shape.heads,
            made->shape.key_size, made->stages[TW_ATTENTION_SCORES]->kernel.name);
  }
  *plan = made;
  return TW_OK;
}

void tw_attention_destroy(tw_attention_plan* plan) {
  free(plan);
}

const tw_attention_kernel* tw_attention_chosen(const tw_attention_plan* plan,
                                               tw_attention_stage stage) {
  const bool known = stage >= TW_ATTENTION_SCORES && stage <= TW_ATTENTION_VALUES;
  return plan == NULL || !known ? NULL : plan->stages[stage];
}

/* ---- division ---- */

static size_t at_least_one(size_t value) {
  return value == 0 ? 1 : value;
}

/* One query, or a few rows, wait for K and V: a thread takes a part of the positions, all heads of
 * each, as a cache has them in memory; of few positions neighboring heads. Many rows keep a block
 * of one head in the caches. */
tw_attention_cut tw_cut_attention(const tw_attention_plan* plan, const tw_attention_args* args) {
  const tw_attention* shape = &plan->shape;
  const size_t group = shape->heads / shape->kv_heads, threads = at_least_one(args->threads);
  const bool few = args->queries <= at_least_one(FEW_ROWS / group);
  const size_t most = at_least_one(MOST_ROWS / group);
  tw_attention_cut cut;
  const bool share_heads = args->positions / LEAST_PART < threads;
  cut.heads = !few ? 1 : share_heads ? tw_divide_up(shape->kv_heads, threads) : shape->kv_heads;
  cut.head_groups = tw_divide_up(shape->kv_heads, cut.heads);
  cut.queries = at_least_one(args->queries < most ? args->queries : most);
  cut.query_groups = tw_divide_up(args->queries, cut.queries);
  cut.rows = cut.queries * group;
  const size_t groups = at_least_one(cut.head_groups * cut.query_groups);
  const size_t wanted = at_least_one(threads / groups);
  const size_t most_parts = at_least_one(args->positions / LEAST_PART);
  const size_t blocks = at_least_one(tw_divide_up(args->positions, TW_ATTENTION_BLOCK));
  const size_t parts = wanted < most_parts ? wanted : most_parts;
  const size_t part_blocks = tw_divide_up(blocks, parts);
  cut.positions = part_blocks * TW_ATTENTION_BLOCK;
  cut.parts = tw_divide_up(blocks, part_blocks);
  return cut;
}

size_t tw_partial_floats(const tw_attention_plan* plan) {
  return plan->shape.value_size + 2;
}

static tw_status take_args(const char* who, const tw_attention_plan* plan,
                           const tw_attention_args* theirs, tw_attention_args* own) {
  if (plan == NULL) return tw_fail(TW_INVALID, "%s: plan is null", who);
  if (theirs == NULL) return tw_fail(TW_INVALID, "%s: args is null", who);
  char whose[64];
  snprintf(whose, sizeof whose, "%s: args", who);
  return tw_take(whose, "tw_attention_args", theirs, own, sizeof *own);
}

static tw_status set_work(const char* who, const tw_attention_plan* plan,
                          const tw_attention_cut* cut, tw_attention_work* work) {
  size_t groups, rows, floats;
  if (!tw_multiply(cut->head_groups, cut->query_groups, &groups) ||
      !tw_multiply(groups, cut->parts, &work->slices) ||
      !tw_multiply(cut->heads, cut->rows, &rows) || !tw_multiply(work->slices, rows, &rows) ||
      !tw_multiply(rows, tw_partial_floats(plan), &floats) ||
      !tw_multiply(floats, sizeof(float), &work->partial_bytes) ||
      !tw_attention_scratch(plan, cut, &work->scratch_bytes)) {
    return tw_fail(TW_TOO_LARGE, "%s: scratch overflows the address space", who);
  }
  work->merges = cut->parts > 1 ? groups : 0;
  if (work->merges == 0) work->partial_bytes = 0;
  return TW_OK;
}

tw_status tw_attention_divide(const tw_attention_plan* plan, const tw_attention_args* theirs,
                              tw_attention_work* work) {
  const char* who = "tw_attention_divide";
  tw_attention_args args = {.size = sizeof args};
  tw_status status = take_args(who, plan, theirs, &args);
  if (status != TW_OK) return status;
  if (work == NULL) return tw_fail(TW_INVALID, "%s: work is null", who);
  tw_attention_work own = {.size = sizeof own};
  status = tw_check_size("tw_attention_divide: work", "tw_attention_work", work, sizeof(size_t),
                         sizeof own);
  const tw_attention_cut cut = tw_cut_attention(plan, &args);
  if (status == TW_OK) status = set_work(who, plan, &cut, &own);
  if (status == TW_OK) tw_give(&own, sizeof own, work);
  return status;
}

/* ---- running ---- */

static tw_status check_pointers(const char* who, const tw_attention_plan* plan,
                                const tw_attention_args* args) {
  const bool any = args->positions != 0;
  const bool k_scaled = any && plan->shape.key_type == TW_S8;
  const bool v_scaled = any && plan->shape.value_type == TW_S8;
  const char* missing = args->q == NULL                             ? "q"
                        : args->out == NULL                         ? "out"
                        : any && args->k == NULL                    ? "k"
                        : any && args->v == NULL                    ? "v"
                        : k_scaled && args->k_scales.scales == NULL ? "k_scales.scales"
                        : v_scaled && args->v_scales.scales == NULL ? "v_scales.scales"
                                                                    : NULL;
  if (missing != NULL) return tw_fail(TW_INVALID, "%s: args.%s is null", who, missing);
  if (args->mask != NULL && args->mask_type != TW_F16 && args->mask_type != TW_F32) {
    return tw_fail(TW_INVALID, "%s: args.mask_type is %d; TW_F16 and TW_F32 are legal", who,
                   (int)args->mask_type);
  }
  return TW_OK;
}

static tw_status check_memory(const char* who, const char* name, const void* memory, size_t bytes,
                              size_t needed) {
  if (needed == 0) return TW_OK;
  if (memory == NULL) return tw_fail(TW_INVALID, "%s: args.%s is null", who, name);
  if (bytes >= needed) return TW_OK;
  return tw_fail(TW_TOO_SMALL, "%s: args.%s has %zu bytes; %zu are needed", who, name, bytes,
                 needed);
}

/* Of what both calls are told; sets what they are made of. */
static tw_status prepare(const char* who, const tw_attention_plan* plan,
                         const tw_attention_args* theirs, tw_attention_args* args,
                         tw_attention_cut* cut, tw_attention_work* work) {
  tw_status status = take_args(who, plan, theirs, args);
  if (status != TW_OK) return status;
  *cut = tw_cut_attention(plan, args);
  status = set_work(who, plan, cut, work);
  if (status == TW_OK && work->slices != 0) status = check_pointers(who, plan, args);
  if (status != TW_OK) return status;
  return check_memory(who, "partials", args->partials, args->partial_bytes, work->partial_bytes);
}

tw_status tw_attention_run(const tw_attention_plan* plan, const tw_attention_args* theirs,
                           size_t slice) {
  const char* who = "tw_attention_run";
  tw_attention_args args = {.size = sizeof args};
  tw_attention_cut cut;
  tw_attention_work work = {.size = sizeof work};
  tw_status status = prepare(who, plan, theirs, &args, &cut, &work);
  if (status != TW_OK || slice >= work.slices) return status;
  status = check_memory(who, "scratch", args.scratch, args.scratch_bytes, work.scratch_bytes);
  if (status == TW_OK) tw_attend(plan, &args, &cut, slice);
  return status;
}

tw_status tw_attention_merge(const tw_attention_plan* plan, const tw_attention_args* theirs,
                             size_t merge) {
  tw_attention_args args = {.size = sizeof args};
  tw_attention_cut cut;
  tw_attention_work work = {.size = sizeof work};
  const tw_status status = prepare("tw_attention_merge", plan, theirs, &args, &cut, &work);
  if (status == TW_OK && merge < work.merges) tw_merge_parts(plan, &args, &cut, merge);
  return status;
}
