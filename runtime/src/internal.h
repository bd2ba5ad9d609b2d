/* What the runtime's files share. Functions that choose take the registry as a parameter, so that
 * tests can plan with rows of their own; the public ones pass the generated registry. */
#ifndef TILEWRIGHT_INTERNAL_H
#define TILEWRIGHT_INTERNAL_H

#include <stdbool.h>

#include "tilewright/tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- error.c ---- */

#if defined(__MINGW32__) /* has C11's beside Microsoft's */
#define TW_PRINTF(text, first) __attribute__((format(gnu_printf, text, first)))
#elif defined(__GNUC__)
#define TW_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define TW_PRINTF(text, first)
#endif
/* Keeps the message for tw_error_message() and returns `status`. */
tw_status tw_fail(tw_status status, const char* format, ...) TW_PRINTF(2, 3);
bool tw_log_enabled(void);

/* Text that is cut, never overrun. */
typedef struct tw_text {
  char text[384];
  size_t length;
} tw_text;
void tw_append(tw_text* text, const char* format, ...) TW_PRINTF(2, 3);
/* Appends ", word" unless the list already has that word. */
void tw_append_word(tw_text* list, const char* word);

/* ---- types of operands (types.c) ---- */

typedef struct tw_registry tw_registry;
/* Of one value; its name, "f32". The type is a legal one, and not TW_TYPE_NONE. */
size_t tw_type_bits(tw_type type);
size_t tw_type_bytes(tw_type type); /* not of TW_S4 and less */
const char* tw_type_text(tw_type type);
/* What is asked for where nothing is said. */
tw_type tw_type_or_f32(tw_type type);
/* Sets both types; some kernel of the family has them, or there is none at all. */
tw_status tw_check_types(const tw_registry* registry, const tw_device* device, tw_matmul* matmul);

/* ---- structs of callers (structs.c) ---- */

/* `who` begins the message: "tw_run: args"; `type` is the struct's name. */
/* Its size is at least `least`, and not far from `known`. */
tw_status tw_check_size(const char* who, const char* type, const void* theirs, size_t least,
                        size_t known);
/* Copies `theirs` to `own`, of `known` bytes: members that it lacks are 0, others that are not
 * known must be. */
tw_status tw_take(const char* who, const char* type, const void* theirs, void* own, size_t known);
/* Copies the other way, as much as fits; their size stays, members that are not known become 0.
 * The size is checked. */
void tw_give(const void* own, size_t known, void* theirs);
/* All devices have so many bytes: version 0.1's. */
#define TW_LEAST_DEVICE (offsetof(tw_device, virtual_machine) + sizeof(int))

/* ---- sources of weights (sources.c) ---- */

/* As rows of packers name it; null: no tw_rhs_order. */
const char* tw_order_text(tw_rhs_order order);
/* The row of that name for values of `type`, or else, where its values are converted, the one that
 * there is; null: none. */
const tw_source* tw_find_source(const char* name, tw_type type);
/* Of a row of so many weights. */
size_t tw_rhs_row_bytes(const tw_source* source, size_t values);
/* Bytes of a row of scales that are beside the weights; 0: the layout's columns have one each. */
size_t tw_scale_row_bytes(const tw_plan* plan);
/* Whether so many columns of weights are in the memory that is said to hold them; sets their row of
 * sources. `who` begins the message: "tw_pack_rhs: source". */
tw_status tw_check_rhs(const char* who, const tw_plan* plan, size_t columns,
                       const tw_rhs_source* source, const tw_source** row);
/* `rows` rows of `row_bytes`, `stride` apart: the last one needs no padding behind it. */
tw_status tw_check_matrix(const char* who, size_t rows, size_t row_bytes, size_t stride,
                          size_t bytes);
tw_status tw_check_packed(const char* who, const void* packed, size_t bytes, size_t needed);

/* ---- checked sizes (layout.c) ---- */

/* False when the result does not fit in half of the address space. */
bool tw_multiply(size_t a, size_t b, size_t* result);
bool tw_add(size_t a, size_t b, size_t* result);
/* Bytes from the first of `rows` rows of `row_bytes`, `stride` apart, to the last one's end: no
 * padding is needed behind it. rows is at least 1. */
bool tw_matrix_bytes(size_t rows, size_t row_bytes, size_t stride, size_t* bytes);
bool tw_round_up(size_t value, size_t multiple, size_t* result);
size_t tw_divide_up(size_t a, size_t b);
size_t tw_least(size_t a, size_t b);
size_t tw_common_multiple(size_t a, size_t b); /* both at least 1 */
/* Of the vectors that the layout's lengths count; 0: the device has none. */
size_t tw_vector_bytes(const tw_layout* layout, const tw_device* device);
/* Rows (or columns) of a panel; 0 if the layout needs vectors and there are none. */
size_t tw_panel_rows(const tw_layout* layout, const tw_device* device);
/* An LHS that is rows of floats as callers keep them. */
bool tw_is_rows(const tw_layout* lhs);
/* Whether callers' rows of that type are read where they are; others are packed, if only to become
 * the kernel's type. */
bool tw_reads_rows(const tw_kernel* kernel, tw_type type);
/* An RHS of floats: values, and nothing but a bias behind them. */
bool tw_is_float(const tw_layout* rhs);
/* An RHS for static activations: codes whose zero point and scale are packed with it. */
bool tw_is_static(const tw_layout* rhs);
/* Whether columns have a bias beside their codes; kernels for others add none. */
bool tw_keeps_bias(const tw_layout* rhs);
/* Bytes of a scale per block, and its type's name. */
size_t tw_scale_bytes(tw_scales scales);
const char* tw_scales_text(tw_scales scales);
bool tw_panel_bytes(const tw_layout* layout, const tw_device* device, size_t k, size_t* bytes);
/* The length on a machine with so many vectors of 16 bytes in one of its own. */
int64_t tw_length_at(tw_length length, int64_t vectors);
/* Rows and columns of a kernel's tile; 0 likewise. */
size_t tw_tile_rows(const tw_kernel* kernel, const tw_device* device);
size_t tw_tile_columns(const tw_kernel* kernel, const tw_device* device);

/* ---- device ---- */

/* Registers that cpuid and xgetbv return, and whether the system lets this process use tiles, for
 * tests. */
typedef struct tw_x86_registers {
  uint32_t leaf1_ecx, leaf7_ebx, leaf7_ecx, leaf7_edx, leaf7_1_eax;
  uint64_t xcr0;
  bool tiles_granted;
} tw_x86_registers;
tw_features tw_x86_features(const tw_x86_registers* registers);
tw_features tw_aarch64_features(uint64_t hwcap, uint64_t hwcap2);
const char* tw_core_name(uint64_t midr);          /* null: unknown */
bool tw_core_in_order(uint64_t midr);             /* false: unknown */
bool tw_device_in_order(const tw_device* device); /* has no other cores */
/* By capacity, then by frequency; the first one of equals. */
const tw_cluster* tw_fastest_cluster(const tw_device* device);
/* Architecture part of detection; does nothing on other architectures. */
void tw_detect_x86(tw_device* device);
void tw_detect_aarch64(tw_device* device);
/* The rest, as this operating system tells it. Keeps what it cannot find. */
void tw_detect_system(tw_device* device);

/* Adds CPU number `cpu` to the cluster of cores like this one. */
tw_cluster* tw_add_core(tw_device* device, const tw_cluster* core, size_t cpu);
/* All cores are alike, so the one that was asked speaks for them. */
void tw_describe_only_cluster(tw_device* device, uint64_t midr);

/* Linux: clusters and caches from sysfs below `root` ("/sys/devices/system/cpu"). */
void tw_detect_sysfs(tw_device* device, const char* root);

/* Apple's systems: what sysctl answers; false for names that it does not know. */
typedef struct tw_sysctl {
  bool (*number)(void* context, const char* name, uint64_t* value);
  bool (*text)(void* context, const char* name, char* text, size_t bytes);
  void* context;
} tw_sysctl;
void tw_describe_apple(tw_device* device, const tw_sysctl* system);

/* Windows: what the system says of one logical processor. */
typedef struct tw_windows_cpu {
  uint64_t midr; /* AArch64 */
  size_t mhz;
  unsigned efficiency_class; /* more is faster */
  size_t cache_bytes[4];     /* for data, by level */
} tw_windows_cpu;
void tw_describe_windows(tw_device* device, const tw_windows_cpu* cpus, size_t count);
tw_features tw_windows_features(bool (*present)(unsigned number));

/* What the simple cost model takes one core to get from memory, bytes a cycle. */
#define TW_STREAM_BYTES 8

/* ---- registry (rows.c) ---- */

struct tw_registry {
  const tw_kernel* kernels;
  size_t kernel_count;
  const tw_packer* packers;
  size_t packer_count;
  const tw_core* cores;
  size_t core_count;
  const tw_kernel* decoders;
  size_t decoder_count;
  const tw_kernel* parts;
  size_t part_count;
};

tw_registry tw_generated_registry(void);
int tw_bit_count(tw_features features);
bool tw_runnable_kernel(const tw_kernel* kernel, const tw_device* device);
/* The runnable packer for this layout and source: a vectorized one, of those the one that needs
 * most features; null: none. */
const tw_packer* tw_choose_packer(const tw_registry* registry, const tw_device* device,
                                  uint64_t layout, const char* source);
tw_status tw_device_limit_from(const tw_registry* registry, tw_device* device, const char* isa);

/* ---- cores_x86.c ---- */

/* The row that is most like the device's cores; null: no x86, or there are none. */
const tw_core* tw_core_of(const tw_registry* registry, const tw_device* device);

/* ---- split.c: rows to kernels ---- */

#define TW_MAX_TILE_M 64
#define TW_MAX_HEIGHTS 16
#define TW_MAX_CHOICES (TW_MAX_HEIGHTS + TW_MAX_SETTINGS)

/* A kernel that covers rows: the best of one tile height, or one that a setting names. */
typedef struct tw_choice {
  const tw_kernel* kernel;
  const tw_kernel* adding; /* adds what `kernel` stores, f32 by floats; null: there is none */
  /* Parts of k of what `kernel` multiplies, codes with outputs of f32; null: there are none. */
  const tw_kernel *sums, *last;
  size_t tile_m, tile_n; /* of its tile on the plan's device */
  const tw_packer* lhs_packer;
  size_t lhs_panel;   /* rows */
  size_t lhs_stride;  /* bytes */
  double tile_cycles; /* all tiles of one tile row */
} tw_choice;

/* How few rows are covered best: a segment, and the rest of them. */
typedef struct tw_tail {
  double cycles;
  unsigned char choice, rows, segments;
} tw_tail;

typedef struct tw_split {
  size_t count; /* choices of the cost model; those that settings name stand behind them */
  size_t named;
  tw_choice choices[TW_MAX_CHOICES];
  size_t tallest; /* tile rows, of the cost model's choices */
  size_t covered; /* rows are few below that */
  size_t main;    /* choice with fewest cycles per row */
  double segment_cycles, stream_cycles;
  tw_tail tail[2 * TW_MAX_TILE_M]; /* behind a segment */
  tw_tail all[2 * TW_MAX_TILE_M];  /* that many rows are all: their first tiles wait for weights */
} tw_split;

/* `choices` and `count` are set; `segment_cycles` is what one more segment costs, `stream_cycles`
 * what the weights take to come from memory; 0: they are in a cache. */
void tw_split_build(tw_split* split, double segment_cycles, double stream_cycles);
/* Of a kernel that is one of them. */
const tw_choice* tw_choice_of(const tw_split* split, const tw_kernel* kernel);
#define TW_NO_CHOICE SIZE_MAX
/* `main` takes all whole tiles; TW_NO_CHOICE: by cost. */
double tw_split_cycles(const tw_split* split, size_t m, size_t main);
/* Sets everything but lhs_offset. Returns the number of segments. */
size_t tw_split_rows(const tw_split* split, size_t m, size_t main, tw_segment* segments);

/* ---- candidates.c ---- */

/* Weights whose codes stand for what each call says: no plan takes them. */
bool tw_is_given(const tw_kernel* kernel);
/* False when this plan can not run it. */
bool tw_make_choice(const tw_plan* plan, const tw_kernel* kernel, tw_choice* choice);
/* Keeps the best kernel of each tile height; the first when equal. */
void tw_add_choice(const tw_plan* plan, tw_split* split, const tw_choice* choice);

/* ---- decoded.c ---- */

#define TW_SCRATCH_ALIGNMENT 64
/* A panel becomes floats in the caller's scratch, and kernels of floats multiply by those; or wider
 * codes. */
typedef struct tw_decoding {
  const tw_kernel* decoder; /* null: there is none, or no kernel reads what it writes */
  bool always;              /* there are no others, and the plan's split is this; else many rows */
  /* Of these kernels; where others are, they read the caller's rows. Of codes: choices that may
   * take the place of those of the plan's split, number by number; no kernel: none may. */
  tw_split split;
} tw_decoding;

/* ---- plan.c ---- */

/* A setting, ready for use. */
typedef struct tw_range {
  size_t m_first, m_last;
  size_t main; /* index of a choice, TW_NO_CHOICE */
  tw_tuning tuning;
} tw_range;

struct tw_plan {
  tw_registry registry;
  tw_device device;
  const tw_core* core; /* null: unknown */
  size_t threads;      /* that are to have work */
  size_t n, k;
  size_t taps; /* of an indirect LHS; 0: rows as they lie */
  tw_type lhs_type, dst_type;
  const tw_layout* rhs;
  size_t rhs_panel, rhs_stride, rhs_bytes;
  bool lhs_unpacked; /* for any number of rows */
  tw_split split;
  tw_decoding decoding;
  tw_tuning tuning;    /* as the caller gave it */
  size_t n_block;      /* columns, whole panels and tiles: the plan's choice */
  size_t near_columns; /* whole panels and tiles: their weights stay in L2 for another kernel */
  size_t range_count;
  tw_range ranges[TW_MAX_SETTINGS]; /* ascending */
};

/* A small cache's when neither the device nor its core says. */
size_t tw_l2_bytes(const tw_plan* plan);
/* MACs per cycle: predicted for the device's core, else for the one that the kernel is for. */
double tw_plan_rate(const tw_plan* plan, const tw_kernel* kernel);
/* So that cores of unlike speed finish together. */
#define TW_SLICES_PER_THREAD 4
tw_status tw_plan_create_from(const tw_registry* registry, const tw_device* device,
                              const tw_matmul* matmul, tw_plan** plan);

/* ---- settings.c ---- */

bool tw_is_order(tw_order order);    /* one of the enumeration's */
bool tw_is_decode(tw_decode decode); /* likewise */
/* The kernels that settings name exist, run here and read one layout; ranges do not overlap. */
tw_status tw_check_settings(const tw_registry* registry, const tw_device* device,
                            const tw_matmul* matmul);
/* The kernel of the first setting that names one; null: none does. */
const tw_kernel* tw_first_named(const tw_registry* registry, const tw_matmul* matmul);
/* Null: none of that name. */
const tw_kernel* tw_kernel_named(const tw_registry* registry, const char* family, const char* name);
/* Copies the settings in ascending order; plan->split has their kernels. */
void tw_plan_use_settings(tw_plan* plan, const tw_matmul* matmul);
/* The range that m rows are in; null: none. */
const tw_range* tw_plan_range(const tw_plan* plan, size_t m);

/* ---- slices.c ---- */

/* The rows of one run, where their packed LHS lies, and what was asked of their slices. */
typedef struct tw_rows {
  size_t m, count;
  tw_segment segments[TW_MAX_SEGMENTS];
  size_t lhs_bytes;
  tw_tuning tuning;
} tw_rows;
/* `who` begins the message: the public function. */
tw_status tw_rows_of(const tw_plan* plan, size_t m, const char* who, tw_rows* rows);

/* The part of the output that one slice computes; empty for a slice that does not exist. */
typedef struct tw_part {
  size_t row_begin, row_end, column_begin, column_end;
} tw_part;
tw_part tw_slice_part(const tw_plan* plan, const tw_rows* rows, size_t slice);
/* Sets n_block and near_columns, given the layout and its kernels. */
void tw_choose_columns(tw_plan* plan);
/* Distance for tw_args.rhs_prefetch of the first segment ... */
size_t tw_rhs_prefetch(const tw_plan* plan, const tw_rows* rows);
/* ... and of one that may take turns with it. */
size_t tw_segment_prefetch(const tw_plan* plan, const tw_rows* rows, size_t segment);

size_t tw_slices_of(const tw_plan* plan, const tw_rows* rows);
/* Of a slice: a multiple of that unit. */
size_t tw_slice_columns(const tw_plan* plan, const tw_rows* rows);
/* Whole panels and tiles of all the rows' kernels. */
size_t tw_column_unit(const tw_plan* plan, const tw_rows* rows);
/* The last row up to `row` where the rows may be cut; between any two such rows there are at most
 * so many. */
size_t tw_cut(const tw_plan* plan, const tw_rows* rows, size_t row);
size_t tw_row_unit(const tw_plan* plan, const tw_rows* rows);
/* All rows, or as many as stay in a cache while columns go by. */
size_t tw_cached_rows(const tw_plan* plan, const tw_rows* rows);
/* The most rows that a slice has. */
size_t tw_slice_rows(const tw_plan* plan, const tw_rows* rows);
/* Where part `index` of `count` equal parts of m begins, without overflow. */
size_t tw_share(size_t m, size_t index, size_t count);

/* ---- run.c ---- */

/* Kernels read the caller's rows, and those have taps: running gathers them. */
bool tw_gathers(const tw_plan* plan);
/* Columns whose packed bias is copied at once: panels are not wider where k may be less. */
#define TW_BIAS_COLUMNS 1024
/* 0 becomes the plan's; fails where weights cannot be used up to this k. */
tw_status tw_take_depth(const char* who, const tw_plan* plan, size_t* k);
/* Takes the caller's args, n and k become those in effect. */
tw_status tw_take_run(const char* who, const tw_plan* plan, const tw_run_args* theirs,
                      tw_run_args* own);
/* The packed bias of so many columns from where their panels begin; the layout keeps one. */
void tw_copy_bias(const tw_plan* plan, const char* panels, size_t columns, float* bias);
/* `who` begins messages: "tw_run: args". */
tw_status tw_check_run(const char* who, const tw_plan* plan, const tw_run_args* args,
                       const tw_rows* rows);
/* Its parts: rows as they lie, weights but not where they are, all about the outputs. */
tw_status tw_check_unpacked_lhs(const char* who, const tw_plan* plan, const tw_run_args* args);
tw_status tw_check_weights(const char* who, const tw_plan* plan, const tw_run_args* args);
tw_status tw_check_outputs(const char* who, const tw_plan* plan, const tw_run_args* args);
/* Which row args.lhs is, if unpacked; which output args.dst is. */
typedef struct tw_corner {
  size_t lhs_row, dst_row, dst_column;
} tw_corner;
/* What the segment's kernel is told of its rows in that part of the outputs, but for prefetches;
 * false: there are none. */
bool tw_segment_args(const tw_plan* plan, const tw_run_args* run, const tw_corner* corner,
                     const tw_segment* segment, const tw_part* part, tw_args* segment_args);
void tw_run_part(const tw_plan* plan, const tw_rows* rows, const tw_run_args* args,
                 const tw_corner* corner, const tw_part* part);
/* The slice's part of the outputs that are asked for. */
tw_part tw_run_slice_part(const tw_plan* plan, const tw_rows* rows, const tw_run_args* args,
                          size_t slice);
/* What is checked. Rows that are gathered lie `offset` bytes beyond where their table says. */
tw_status tw_run_slice(const char* who, const tw_plan* plan, const tw_rows* rows,
                       const tw_run_args* args, size_t offset, size_t slice);

/* ---- decoded.c, of a plan ---- */

/* Of weights in a layout that no kernel of the family reads: some of its kernels read what that
 * writes; null: there is none. */
const tw_kernel* tw_find_decoder(const tw_registry* registry, const tw_device* device,
                                 const tw_matmul* matmul);
/* Chooses it and the plan's split, whose layout is chosen; false: nothing runs. */
bool tw_decode_always(tw_plan* plan, const tw_kernel* decoder, const tw_matmul* matmul,
                      double segment_cycles);
/* The plan's layout and its split are chosen; `segment_cycles` as for tw_split_build(). */
void tw_choose_decoding(tw_plan* plan, const tw_matmul* matmul, double segment_cycles);
/* Its kernels read the packed weights as they are: there is scratch for other things. */
tw_status tw_check_readable(const char* function, const tw_plan* plan);
/* Whether it takes fewer cycles for m rows, decoding included. */
bool tw_decodes(const tw_plan* plan, size_t m);
double tw_decoded_cycles(const tw_plan* plan, size_t m);
/* So many rows' values of a block of k (of codes: of all k) stay in the cache. */
size_t tw_decoded_rows(const tw_plan* plan, const tw_rows* rows);
/* Scratch of a thread, wherever that begins; 0 where m rows do not decode. */
size_t tw_decoded_bytes(const tw_plan* plan, size_t m);
/* As tw_run_part(), in args->scratch. */
void tw_run_decoded(const tw_plan* plan, const tw_rows* rows, const tw_run_args* args,
                    const tw_corner* corner, const tw_part* part);
/* Where a caller's scratch is aligned. */
void* tw_aligned_scratch(void* scratch);

/* ---- decoded_codes.c: the same of codes that become wider ones ---- */

/* Whether the plan's decoder is one of those. */
bool tw_decodes_codes(const tw_plan* plan);
void tw_choose_codes(tw_plan* plan, const tw_matmul* matmul, double segment_cycles);
double tw_codes_cycles(const tw_plan* plan, size_t m);
size_t tw_codes_bytes(const tw_plan* plan);
void tw_run_codes(const tw_plan* plan, const tw_rows* rows, const tw_run_args* args,
                  const tw_corner* corner, const tw_part* part);
/* Scratch of a thread that decodes codes for m rows; 0: they are multiplied as they are packed. */
size_t tw_codes_scratch(const tw_plan* plan, size_t m);
/* As tw_run_part(), with so much scratch; null: none. Outputs have the same bits. */
void tw_run_part_in(const tw_plan* plan, const tw_rows* rows, const tw_run_args* args,
                    const tw_corner* corner, const tw_part* part, void* scratch);

/* ---- deep.c ---- */

/* Of the same tile, panels, ISA and printer; null: there is none. */
const tw_kernel* tw_adding_kernel(const tw_plan* plan, const tw_kernel* kernel);
/* The part of the same tile, panels, ISA and printer with such outputs; null: there is none. */
const tw_kernel* tw_part_kernel(const tw_plan* plan, const tw_kernel* kernel, tw_type dst);
/* Of codes that go through k in parts: rows of a slice whose part stays in the cache; 0: none do.
 */
size_t tw_part_rows(const tw_plan* plan, const tw_segment* segment);
/* Values of k that a segment's sums over the first k of them go through at a time; k: all. */
size_t tw_k_block(const tw_plan* plan, const tw_segment* segment, size_t k);
/* Of codes, whose sums wait in dst. */
void tw_run_parts(const tw_plan* plan, const tw_segment* segment, const tw_args* args,
                  size_t block);
/* args->bias is set, for at most TW_BIAS_COLUMNS columns. */
void tw_run_k_blocks(const tw_plan* plan, const tw_segment* segment, const tw_args* args,
                     size_t block);

/* ---- pack.c ---- */

/* gathered: of rows that are copied before they are packed. */
size_t tw_lhs_slices_of(const tw_plan* plan, const tw_rows* rows, bool gathered);
/* Takes the caller's source, k becomes the one in effect. */
tw_status tw_take_lhs(const char* who, const tw_plan* plan, const tw_lhs_source* theirs,
                      tw_lhs_source* own);
/* Where the rows are, and what codes mean; with taps `indirect` is set. `who` begins messages:
 * "tw_pack_lhs: source". */
tw_status tw_check_lhs(const char* who, const tw_plan* plan, const tw_rows* rows,
                       const tw_lhs_source* source, tw_indirect* indirect);
/* What is checked. */
tw_status tw_pack_lhs_slice(const char* who, const tw_plan* plan, const tw_rows* rows,
                            const tw_lhs_source* source, const tw_indirect* indirect, void* packed,
                            size_t slice);
/* Gathered rows of the segment that a slice packs, as many as stay in the cache until then. */
size_t tw_lhs_slice_rows(const tw_plan* plan, const tw_segment* segment);
/* Gathered rows of one slice; false: there is no such slice. */
typedef struct tw_gathered {
  const tw_segment* segment;
  size_t first, count; /* of all rows */
} tw_gathered;
bool tw_find_gathered(const tw_plan* plan, const tw_rows* rows, size_t slice, tw_gathered* found);
/* source: where they lie now. */
void tw_pack_gathered(const tw_plan* plan, const tw_gathered* rows, const tw_lhs_source* source,
                      void* packed);

/* ---- indirect.c ---- */

/* Takes `theirs` for a plan with taps, null for one without; `who` begins the message:
 * "tw_pack_lhs: source". */
tw_status tw_take_indirect(const char* who, const tw_plan* plan, const tw_rows* rows,
                           const tw_indirect* theirs, tw_indirect* own);
tw_status tw_check_scratch(const char* who, const tw_plan* plan, const tw_rows* rows,
                           const void* scratch, size_t bytes);
/* Rows of k values, one right after the other; fails at a null. */
tw_status tw_gather(const char* who, const tw_plan* plan, const tw_indirect* indirect, size_t begin,
                    size_t end, void* to);

/* ---- container.c ---- */

uint64_t tw_checksum(const void* data, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
