// Every kernel of this tree that the CPU at hand runs, alone and as the plan combines them, against
// plain loops in double. Activations are whole numbers that quantizing keeps, so that what is left
// is rounding. And every choice of choices.c: the plan must do what was measured to be best.

#include "problem.h"

/* What rounding to outputs of a type may add to an error. */
static double rounding_of(tw_type type) {
  return type == TW_F16 ? 1.0 / 2048 : type == TW_BF16 ? 1.0 / 256 : 0;
}

/* How far a code is from what it should be, of the half that rounding may take; or a sum. */
static double code_gap(const problem *p, size_t row, size_t column, double limit) {
  double sum = code_bias[column] * (double)row_scales[column];
  for (size_t k = 0; k < p->k; ++k) {
    const double code = (double)activations[row * p->k + k] - LHS_ZERO;
    sum += code * values[column * p->k + k];
  }
  if (gives_sums(p)) return fabs(value_at(TW_S32, output, row * N + column) - sum);
  const double real = sum * (double)lhs_scale / (double)dst_scale + DST_ZERO;
  const double want = fmin(fmax(real, fmax(-limit, -128)), fmin(limit, 127));
  return fabs(value_at(TW_S8, output, row * N + column) - want);
}

static void compare_codes(const problem *p, const char *name, size_t m, double limit) {
  double worst = 0;
  for (size_t row = 0; row < m; ++row) {
    for (size_t column = 0; column < N; ++column) {
      worst = fmax(worst, code_gap(p, row, column, limit));
    }
  }
  ++comparisons;
  if (worst <= (gives_sums(p) ? 0 : 0.501)) return;
  ++failures;
  printf("WRONG %s: m %zu, n %d, k %zu: %g off\n", name, m, N, p->k, worst);
}

static void compare(const problem *p, const char *name, size_t m, float limit) {
  double worst = 0;
  for (size_t row = 0; row < m; ++row) {
    for (size_t column = 0; column < N; ++column) {
      double sum = bias[column], size = fabs(sum);
      for (size_t k = 0; k < p->k; ++k) {
        const double term = (double)activations[row * p->k + k] * values[column * p->k + k];
        sum += term;
        size += fabs(term);
      }
      const double want = fmin(fmax(sum, -(double)limit), (double)limit);
      const double gap = fabs(value_at(p->kernel->dst, output, row * N + column) - want) / size;
      if (!(gap <= worst)) worst = gap; /* a NaN too */
    }
  }
  ++comparisons;
  if (worst <= 4e-5 + rounding_of(p->kernel->dst)) return;
  ++failures;
  printf("WRONG %s: m %zu, n %d, k %zu: an error of %g\n", name, m, N, p->k, worst);
}

static void run_rows(const problem *p, const tw_plan *plan, const char *name, size_t m,
                     const void *rhs) {
  size_t lhs_bytes = 0;
  check(tw_lhs_bytes(plan, m, &lhs_bytes));
  void *lhs = allocate(lhs_bytes);
  const tw_lhs_source source = {.size = sizeof source,
                                .data = activations,
                                .data_bytes = sizeof activations,
                                .stride = p->k * sizeof(float)};
  const tw_lhs_source codes = {.size = sizeof codes,
                               .data = lhs_codes,
                               .data_bytes = sizeof lhs_codes,
                               .stride = p->k,
                               .zero_point = gives_sums(p) ? LHS_ZERO : 0,
                               .scale = 1};
  size_t slices;
  check(tw_lhs_slices(plan, m, &slices));
  for (size_t slice = 0; slice < slices; ++slice) {
    check(tw_pack_lhs(plan, m, takes_codes(p) ? &codes : &source, lhs, lhs_bytes, slice));
  }
  /* Clamped to a few outputs of even numbers of rows, else to what the type can hold. */
  const float few = is_static(p) ? 40 : 300;
  const float most = p->kernel->dst == TW_F16 ? 60000 : INFINITY;
  const float limit = m % 2 == 0 && !gives_sums(p) ? few : most;
  tw_run_args args = {.size = sizeof args};
  args.m = m;
  args.lhs = lhs_bytes != 0 ? lhs : activations;
  args.lhs_bytes = lhs_bytes != 0 ? lhs_bytes : sizeof activations;
  args.lhs_stride = lhs_bytes != 0 ? 0 : source.stride;
  args.rhs = rhs;
  args.rhs_bytes = tw_rhs_bytes(plan);
  args.dst = output;
  args.dst_bytes = sizeof output;
  args.dst_stride = N * type_bytes(p->kernel->dst);
  args.dst_zero_point = is_static(p) ? DST_ZERO : 0;
  args.clamp = limit < INFINITY;
  args.min = -limit;
  args.max = limit;
  check(tw_scratch_bytes(plan, m, &args.scratch_bytes));
  args.scratch = allocate(args.scratch_bytes);
  memset(output, p->kernel->accumulate ? 0 : 0xff, sizeof output);
  check(tw_run_slices(plan, m, &slices));
  for (size_t slice = 0; slice < slices; ++slice) check(tw_run(plan, &args, slice));
  if (takes_codes(p)) {
    compare_codes(p, name, m, (double)limit);
  } else {
    compare(p, name, m, limit);
  }
  free(args.scratch);
  free(lhs);
}

static void *pack_weights(const problem *p, const tw_plan *plan) {
  void *rhs = allocate(tw_rhs_bytes(plan));
  const tw_rhs_source source = source_of(p);
  size_t slices;
  check(tw_rhs_slices(plan, &slices));
  for (size_t slice = 0; slice < slices; ++slice) {
    check(tw_pack_rhs(plan, &source, rhs, tw_rhs_bytes(plan), slice));
  }
  return rhs;
}

/* With one kernel, or (null) with those that the plan takes, by settings if it `found` any. */
static void run_plan(const tw_device *device, const problem *p, const tw_kernel *kernel,
                     const tw_found *found) {
  tw_matmul matmul = {.size = sizeof matmul};
  matmul.family = p->kernel->family;
  matmul.n = N;
  matmul.k = p->k;
  matmul.block = p->kernel->rhs->block;
  matmul.scales = p->kernel->rhs->block_scales;
  matmul.dst_type = p->kernel->dst;
  if (takes_codes(p)) matmul.lhs_type = TW_S8;
  matmul.accumulate = p->kernel->accumulate;
  matmul.kernel = kernel != NULL ? kernel->name : NULL;
  matmul.settings = found != NULL ? found->settings : NULL;
  matmul.setting_count = found != NULL ? found->chosen->setting_count : 0;
  tw_plan *plan = NULL;
  check(tw_plan_create(device, &matmul, &plan));
  void *rhs = pack_weights(p, plan);
  for (size_t i = 0; i < sizeof rows_tried / sizeof rows_tried[0]; ++i) {
    const size_t m = rows_tried[i];
    run_rows(p, plan, kernel != NULL ? kernel->name : p->kernel->family, m, rhs);
    tw_segment segments[TW_MAX_SEGMENTS];
    size_t count = 0;
    check(tw_plan_segments(plan, m, segments, &count));
    for (size_t s = 0; s < count && kernel == NULL && found == NULL; ++s) {
      printf("plan  m %-3zu %zu rows by %s\n", m, segments[s].rows, segments[s].kernel->name);
    }
  }
  free(rhs);
  tw_plan_destroy(plan);
}

static int same_problem(const tw_kernel *a, const tw_kernel *b) {
  return strcmp(a->family, b->family) == 0 && a->dst == b->dst && a->rhs->block == b->rhs->block &&
         a->rhs->block_scales == b->rhs->block_scales;
}

/* ---- choices ---- */

static tw_matmul matmul_of(const tw_chosen *chosen) {
  tw_matmul matmul = {.size = sizeof matmul};
  matmul.family = chosen->family;
  matmul.n = chosen->n;
  matmul.k = chosen->k;
  matmul.block = chosen->block;
  matmul.scales = chosen->scales;
  return matmul;
}

/* A machine of such cores. */
static tw_device device_of(const tw_core_kind *core) {
  tw_device device = {.size = sizeof device};
  device.features = core->features;
  device.family = core->family;
  device.model = core->model;
  device.stepping = core->stepping;
  device.vector_bytes = core->vector_bytes;
  device.streaming_vector_bytes = core->streaming_vector_bytes;
  device.l1_bytes = core->l1_bytes;
  device.l2_bytes = core->l2_bytes;
  device.l3_bytes = core->l3_bytes;
  device.cluster_count = 1;
  device.clusters[0].count = 1;
  device.clusters[0].midr = core->midr;
  device.clusters[0].max_mhz = core->max_mhz;
  device.clusters[0].capacity = core->capacity;
  device.clusters[0].l1_bytes = core->l1_bytes;
  device.clusters[0].l2_bytes = core->l2_bytes;
  return device;
}

/* Blocks are rounded to whole tiles. */
static int is_obeyed(const tw_plan *plan, const tw_setting *setting) {
  const size_t m = setting->m_first;
  const tw_tuning *want = &setting->tuning;
  const size_t prefetch = want->rhs_prefetch == TW_PREFETCH_OFF ? 0 : want->rhs_prefetch;
  tw_segment segments[TW_MAX_SEGMENTS];
  size_t count = 0;
  tw_tuning got;
  check(tw_plan_segments(plan, m, segments, &count));
  check(tw_plan_tuning(plan, m, &got));
  printf("choice  m %zu: %zu x %zu, %s first, prefetch %zu, %s\n", m, got.n_block, got.m_block,
         got.order == TW_ROWS_FIRST ? "rows" : "columns", got.rhs_prefetch,
         segments[0].kernel->name);
  return strcmp(segments[0].kernel->name, setting->kernel) == 0 && got.rhs_prefetch == prefetch &&
         got.order == want->order && got.n_block >= want->n_block &&
         got.n_block - want->n_block <= want->n_block &&
         (want->m_block != SIZE_MAX || got.m_block == m);
}

/* Plans with a choice for the cores that it was measured on: no kernel runs. */
static void check_choice(const tw_chosen *chosen) {
  const tw_device device = device_of(&chosen->core);
  tw_matmul matmul = matmul_of(chosen);
  tw_found found = {.size = sizeof found};
  check(tw_choice_find(chosen, 1, &device, NULL, chosen->threads, &matmul, &found));
  printf("choices for %s, n %zu, k %zu, %zu threads%s\n", chosen->family, chosen->n, chosen->k,
         chosen->threads, found.match == TW_MATCH_NONE ? ": not built" : "");
  if (found.match == TW_MATCH_NONE) return;
  tw_plan *plan = NULL;
  check(tw_plan_create(&device, &matmul, &plan));
  for (size_t i = 0; i < chosen->setting_count; ++i) {
    if (found.match == TW_MATCH_CORE && is_obeyed(plan, &chosen->settings[i])) continue;
    ++failures;
    printf("WRONG choice: the plan does not obey setting %zu\n", i);
  }
  tw_plan_destroy(plan);
}

/* Multiplies with the settings that are for the CPU at hand. */
static void run_choices(const tw_device *device, const problem *p) {
  for (size_t i = 0; i < tw_generated_choice_count; ++i) {
    const tw_chosen *chosen = &tw_generated_choices[i];
    if (strcmp(chosen->family, p->kernel->family) != 0 || chosen->block != p->kernel->rhs->block ||
        chosen->scales != p->kernel->rhs->block_scales) {
      continue;
    }
    tw_matmul matmul = matmul_of(chosen);
    tw_found found = {.size = sizeof found};
    check(tw_choice_find(chosen, 1, device, NULL, chosen->threads, &matmul, &found));
    if (found.match != TW_MATCH_NONE) run_plan(device, p, NULL, &found);
  }
}

/* All kernels for the weights that `rows[first]` multiplies with, and with outputs of its type. */
static void run_family(const tw_device *device, const tw_kernel **rows, size_t count,
                       size_t first) {
  problem p = {rows[first], 130};
  if (p.kernel->rhs->block != 0) p.k = 2 * p.kernel->rhs->block;
  printf("%s, blocks of %zu\n", p.kernel->family, p.kernel->rhs->block);
  make_activations(&p);
  make_weights(&p);
  size_t ran = 0;
  for (size_t i = first; i < count; ++i) {
    if (!same_problem(rows[i], p.kernel)) continue;
    const int runs = rows[i]->run != NULL && tw_kernel_supported(rows[i], device);
    printf("%s %s\n", runs ? "runs " : why_not(rows[i]), rows[i]->name);
    if (!runs) continue;
    run_plan(device, &p, rows[i], NULL);
    ++ran;
  }
  if (ran > 0) run_plan(device, &p, NULL, NULL);
  run_choices(device, &p);
}

/* ---- decoders ---- */

static void compare_decoded(const problem *p, const tw_kernel *decoder, const float *panels) {
  double worst = 0;
  for (size_t i = 0; i < N * p->k; ++i) {
    const size_t column = i / p->k, panel = column / decoder->tile_n;
    const size_t at = (panel * p->k + i % p->k) * decoder->tile_n + column % decoder->tile_n;
    const double gap = fabs((double)panels[at] - values[i]);
    if (!(gap <= worst)) worst = gap;
  }
  ++comparisons;
  if (worst <= 1e-5) return;
  ++failures;
  printf("WRONG %s: k %zu: an error of %g\n", decoder->name, p->k, worst);
}

static tw_plan *plan_of_weights(const tw_device *device, const tw_kernel *user, size_t k) {
  tw_matmul matmul = {.size = sizeof matmul, .family = user->family, .n = N, .k = k};
  matmul.block = user->rhs->block;
  matmul.scales = user->rhs->block_scales;
  matmul.rhs_layout = user->rhs->id;
  matmul.dst_type = user->dst;
  matmul.accumulate = user->accumulate;
  tw_plan *plan = NULL;
  check(tw_plan_create(device, &matmul, &plan));
  return plan;
}

/* All columns become panels of floats. */
static void run_decoder(const tw_device *device, const tw_kernel *decoder, const tw_kernel *user) {
  problem p = {user, 2 * user->rhs->block};
  make_weights(&p);
  tw_plan *plan = plan_of_weights(device, user, p.k);
  void *rhs = pack_weights(&p, plan);
  const size_t panel_bytes = p.k * decoder->tile_n * sizeof(float);
  const size_t code_panels = (N + user->rhs->panel - 1) / user->rhs->panel;
  float *panels = allocate((N / decoder->tile_n + 1) * panel_bytes);
  const tw_args args = {.size = sizeof args,
                        .n = N,
                        .k = p.k,
                        .block = user->rhs->block,
                        .rhs = rhs,
                        .rhs_stride = tw_rhs_bytes(plan) / code_panels,
                        .dst = panels,
                        .dst_stride = panel_bytes};
  decoder->run(&args);
  compare_decoded(&p, decoder, panels);
  free(panels);
  free(rhs);
  tw_plan_destroy(plan);
}

/* All columns become panels of codes of 8 bits, of which a plan for those tells what they are. */
static void run_code_decoder(const tw_device *device, const tw_kernel *decoder,
                             const tw_kernel *user, const tw_kernel *other) {
  static int8_t codes[N * MOST_K];
  static float scales[N];
  problem p = {user, 130};
  make_weights(&p);
  tw_plan *plan = plan_of_weights(device, user, p.k);
  tw_plan *wide = plan_of_weights(device, other, p.k);
  void *rhs = pack_weights(&p, plan);
  void *panels = allocate(tw_rhs_bytes(wide));
  /* Panels of both have as many columns. */
  const size_t panel = user->rhs->panel + user->rhs->panel_scalable * device->vector_bytes / 16;
  const size_t count = (N + panel - 1) / panel;
  const tw_args args = {.size = sizeof args,
                        .n = N,
                        .k = p.k,
                        .rhs = rhs,
                        .rhs_stride = tw_rhs_bytes(plan) / count,
                        .dst = panels,
                        .dst_stride = tw_rhs_bytes(wide) / count};
  decoder->run(&args);
  const tw_rhs_target target = {.size = sizeof target,
                                .order = TW_NXK,
                                .data = codes,
                                .data_bytes = sizeof codes,
                                .stride = p.k,
                                .scales = scales,
                                .scale_count = N};
  check(tw_unpack_rhs(wide, panels, tw_rhs_bytes(wide), 0, N, &target));
  size_t wrong = 0;
  for (size_t i = 0; i < N * p.k; ++i) wrong += (float)codes[i] * scales[i / p.k] != values[i];
  ++comparisons;
  failures += wrong != 0;
  if (wrong != 0) printf("WRONG %s: k %zu: %zu weights\n", decoder->name, p.k, wrong);
  free(panels);
  free(rhs);
  tw_plan_destroy(wide);
  tw_plan_destroy(plan);
}

/* The first row that reads that layout; count: none does. */
static size_t reader_of(const tw_layout *layout, const tw_kernel **rows, size_t count) {
  size_t user = 0;
  while (user < count && (layout == NULL || rows[user]->rhs->id != layout->id)) ++user;
  return user;
}

static void test_decoder(const tw_device *device, const tw_kernel *decoder, const tw_kernel **rows,
                         size_t count) {
  const int to_codes = decoder->decoded != NULL;
  const size_t user = reader_of(decoder->rhs, rows, count);
  const size_t other = to_codes ? reader_of(decoder->decoded, rows, count) : user;
  const int runs = decoder->run != NULL && tw_kernel_supported(decoder, device);
  const int needed = user < count && other < count;
  printf("%s %s\n", !runs ? why_not(decoder) : !needed ? "not needed:" : "runs ", decoder->name);
  if (!runs || !needed) return;
  if (to_codes) {
    run_code_decoder(device, decoder, rows[user], rows[other]);
  } else {
    run_decoder(device, decoder, rows[user]);
  }
}

/* depthwise.c, attention.c */
int test_depthwise(const tw_device *device, int *comparisons);
int test_attention(const tw_device *device, int *comparisons);

int main(void) {
  static const tw_kernel *rows[MOST_ROWS];
  const size_t count = tw_list_kernels(NULL, rows, MOST_ROWS);
  tw_device device = {.size = sizeof device};
  check(tw_device_detect(&device));
  if (count > MOST_ROWS) {
    fprintf(stderr, "tilewright_test: %zu kernels; %d are legal\n", count, MOST_ROWS);
    return 1;
  }
  for (size_t i = 0; i < count; ++i) {
    size_t first = 0;
    while (!same_problem(rows[first], rows[i])) ++first;
    if (first == i) run_family(&device, rows, count, i);
  }
  for (size_t i = 0; i < tw_generated_decoder_count; ++i) {
    test_decoder(&device, &tw_generated_decoders[i], rows, count);
  }
  failures += test_depthwise(&device, &comparisons);
  failures += test_attention(&device, &comparisons);
  for (size_t i = 0; i < tw_generated_choice_count; ++i) check_choice(&tw_generated_choices[i]);
  printf("%s: %zu kernels, %d comparisons, %d wrong%s\n", device.name,
         count + tw_generated_decoder_count + tw_generated_depthwise_kernel_count +
             tw_generated_attention_kernel_count,
         comparisons, failures,
         comparisons == 0 ? ": none of the kernels runs on this CPU" : "");
  return failures != 0 || comparisons == 0;
}
