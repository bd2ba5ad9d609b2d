/* What measuring has found to be fastest for the matrices of a workload: a table that `tilewright
 * ship --records` writes into its tree (kernels/choices.c), and what finds a matrix's row in it.
 *
 *   tw_found found = {.size = sizeof found};
 *   tw_choice_find(tw_generated_choices, tw_generated_choice_count, &device, NULL, threads,
 * &matmul, &found); tw_plan_create(&device, &matmul, &plan);
 *
 * Allocates nothing and keeps nothing: any thread may call it at any time. Sizes are in bytes where
 * a name says bytes, else in values, rows, columns. */
#ifndef TILEWRIGHT_CHOICES_H
#define TILEWRIGHT_CHOICES_H

#include "tilewright/tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A kind of core, as a tw_device and one of its clusters say it; 0: unknown, or another machine's.
 */
typedef struct tw_core_kind {
  uint64_t midr;                  /* AArch64 */
  size_t family, model, stepping; /* x86 */
  size_t max_mhz, capacity;
  size_t l1_bytes, l2_bytes, l3_bytes; /* data caches that one of these cores sees */
  tw_features features;
  size_t vector_bytes, streaming_vector_bytes;
} tw_core_kind;

/* How near the cores are that a choice was measured on. */
typedef enum tw_match {
  TW_MATCH_NONE = 0, /* nothing was found: the plan chooses by its cost model */
  TW_MATCH_ISA,      /* other cores, but the kernels run here */
  TW_MATCH_TYPE,     /* of this part (x86: family and model), with other caches or clocks */
  TW_MATCH_CORE      /* all is equal but the MIDR's revision and clocks within a step of 400 MHz */
} tw_match;

/* One matrix on one kind of core. Everything that it points to is constant and the table's. */
typedef struct tw_chosen {
  const char* family;
  size_t n, k, block;
  tw_scales scales;
  size_t threads; /* that shared the slices while it was measured */
  tw_core_kind core;
  const tw_setting* settings; /* with kernels, which read one layout */
  size_t setting_count;       /* 1 to TW_MAX_SETTINGS */
} tw_chosen;

/* Generated, by `tilewright ship` only: other builds have no such table. */
extern const tw_chosen tw_generated_choices[];
extern const size_t tw_generated_choice_count; /* 0 where kernels were named, not measured */

/* The caller's; must live until tw_plan_create has returned. */
typedef struct tw_found {
  size_t size; /* sizeof(tw_found) */
  tw_match match;
  const tw_chosen* chosen; /* the row; null: none */
  tw_setting settings[TW_MAX_SETTINGS];
} tw_found;

/* Finds the row for matmul's family, n, k, block and scales (0: any), and points matmul->settings
 * to a copy of its settings in `found`. The nearest match counts; of equal ones a row for as many
 * threads, then the first. Rows with a kernel that this device does not run, or that reads another
 * layout than matmul->rhs_layout asks for, do not count. Slices, their order and the prefetch
 * distance are taken over from TW_MATCH_CORE and as many threads only, else the plan sets them:
 * they hang on caches, and on how many share the slices.
 *
 * `cluster` is the device's cluster whose cores will run it; null: the fastest. `threads` is at
 * least 1. No row, or a matmul that names its kernel: TW_OK, found->match is TW_MATCH_NONE and
 * matmul is as it was. TW_INVALID: a null pointer, no threads, or settings that matmul has
 * already. */
TW_API tw_status tw_choice_find(const tw_chosen* choices, size_t count, const tw_device* device,
                                const tw_cluster* cluster, size_t threads, tw_matmul* matmul,
                                tw_found* found);

/* The kind of a device's cores; null cluster: the fastest. Both pointers are read only. */
TW_API tw_core_kind tw_core_kind_of(const tw_device* device, const tw_cluster* cluster);

#ifdef __cplusplus
}
#endif
#endif
