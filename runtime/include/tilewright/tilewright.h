/* The run-time API: detect the device, plan a matrix multiplication, pack its operands, run it.
 *
 *   tw_device device = {.size = sizeof device};
 *   tw_device_detect(&device);
 *   tw_matmul matmul = {.size = sizeof matmul,
 *                       .family = "matmul_clamp_f32_qai8dxp_qsi4cxp", .n = n, .k = k};
 *   tw_plan *plan;         tw_plan_create(&device, &matmul, &plan);
 *   tw_pack_rhs(...)       once per weight matrix, slice by slice
 *   tw_pack_lhs(...)       per call, slice by slice; then the caller's barrier
 *   tw_run(...)            slice by slice
 *   tw_unpack_rhs(...)     some or all of the weights, as they were
 *   tw_plan_destroy(plan);
 *
 * Threads are the caller's: any thread takes any slice, each slice exactly once, in any order; a
 * shared atomic counter is all that is needed (examples/matmul.c). A slice beyond the count does
 * nothing and is TW_OK, so more threads than slices is legal. A plan never changes after creation
 * and may be used by many threads at once. Only tw_plan_create allocates.
 *
 * Errors: every function that can fail returns a status; tw_error_message() says which argument
 * was wrong and what would be legal. Nothing is written to an output when a check fails.
 * Sizes are in bytes where a name says bytes, stride or offset, else in values, rows, columns.
 *
 * Versions: a struct that is handed over by a pointer of its own begins with `size`, its sizeof in
 * the caller's header. Such structs grow at their ends; 0 in a member means what its absence meant.
 * A library that knows more members takes 0 for those that the caller lacks, one that knows fewer
 * refuses others than 0. Structs that are members or elements only (tw_cluster, tw_mix, tw_tuning,
 * tw_setting, tw_segment, tw_core_kind) never change. Rows of the registry are the library's: read
 * them where they are. */
#ifndef TILEWRIGHT_TILEWRIGHT_H
#define TILEWRIGHT_TILEWRIGHT_H

#include "tilewright/registry.h"

/* What the library exports. */
#if defined(__GNUC__) && !defined(_WIN32)
#define TW_API __attribute__((visibility("default")))
#else
#define TW_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- version ---- */

#define TILEWRIGHT_VERSION_MAJOR 0
#define TILEWRIGHT_VERSION_MINOR 1
#define TILEWRIGHT_VERSION_PATCH 0
#define TILEWRIGHT_VERSION_NUMBER \
  (TILEWRIGHT_VERSION_MAJOR * 10000 + TILEWRIGHT_VERSION_MINOR * 100 + TILEWRIGHT_VERSION_PATCH)
/* TILEWRIGHT_VERSION_NUMBER of the library, which need not be the header's where the library is
 * shared. */
TW_API int tw_version(void);

/* ---- errors ---- */

typedef enum tw_status {
  TW_OK = 0,
  TW_INVALID,     /* an argument is null, zero, contradictory or names nothing that exists */
  TW_TOO_SMALL,   /* a buffer, count or stride is too small */
  TW_TOO_LARGE,   /* a size overflows, or exceeds what the arithmetic is exact for */
  TW_UNSUPPORTED, /* nothing in this build does that on this device */
  TW_MISMATCH,    /* a packed container is foreign or damaged */
  TW_NO_MEMORY
} tw_status;

/* The message of the calling thread's last failure; "" before any. Valid until the thread's next
 * failure. */
TW_API const char* tw_error_message(void);
/* "invalid argument", "too small" ... never null. */
TW_API const char* tw_status_text(tw_status status);

/* ---- device ---- */

#define TW_MAX_CLUSTERS 8
#define TW_MAX_CPUS 512

/* Cores of one kind: of equal name, MIDR and capacity, and of like frequency, since what some
 * makers' clusters differ in is their frequency only. Unknown numbers are 0. */
typedef struct tw_cluster {
  char name[32]; /* "Neoverse-N1"; x86: vendor, family.model, "AMD 26.2" */
  uint64_t midr; /* AArch64: MIDR_EL1 */
  size_t count;  /* cores */
  size_t max_mhz;
  size_t capacity;                 /* Linux's: 1024 is the fastest core of the machine */
  uint64_t cpus[TW_MAX_CPUS / 64]; /* bit i % 64 of word i / 64: CPU i is one of them */
  size_t l1_bytes, l2_bytes;       /* data caches that one of these cores sees */
  size_t sme_units;                /* that these cores share */
} tw_cluster;

/* A machine, as far as choosing kernels needs it. Fill it by hand to see what would be chosen on a
 * machine that is not at hand; running a plan needs a device that does not claim too much. */
typedef struct tw_device {
  size_t size; /* sizeof(tw_device) */
  char name[64];
  tw_features features;
  size_t family, model, stepping;      /* x86 */
  size_t vector_bytes;                 /* SVE vector length; 0: none */
  size_t streaming_vector_bytes;       /* SME streaming vector length; 0: none */
  size_t l1_bytes, l2_bytes, l3_bytes; /* data caches that the fastest core sees; 0: unknown */
  size_t cluster_count;
  tw_cluster clusters[TW_MAX_CLUSTERS];
  char isa[32];        /* only this ISA and what every device runs (scalar); "": no limit */
  int virtual_machine; /* 1: a hypervisor says so; 0: none known */
} tw_device;

/* Fills `device`, whose size is set, for this machine. The environment variable TILEWRIGHT_ISA
 * limits it (see tw_device_limit); a value that this machine or build cannot run is TW_INVALID or
 * TW_UNSUPPORTED, and `device` is then filled without a limit.
 *
 * Where the CPU has Intel's tiles (AMX), Linux is asked to let this process use them, and the
 * features amx_... are reported if it does (5.16 and later; other systems: never). What is granted
 * is so for all threads and for children until they exec, and cannot be given back: signal frames
 * of threads that are in a kernel then take about 11 KiB, so that Linux refuses smaller alternate
 * signal stacks from there on (sigaltstack fails with ENOMEM; AT_MINSIGSTKSZ is the size), and
 * refuses tiles where a thread has such a stack already. Kernels release tiles before they return.
 * TILEWRIGHT_AMX=0 in the environment: it is not asked, and there are no tiles. */
TW_API tw_status tw_device_detect(tw_device* device);
/* Limits the device to `isa` and the ISAs that need no feature. */
TW_API tw_status tw_device_limit(tw_device* device, const char* isa);
TW_API size_t tw_device_cores(const tw_device* device); /* at least 1 */

/* One feature's name ("avx512vnni", "i8mm") from its bit; null if the bit has no name. */
TW_API const char* tw_feature_name(tw_features bit);
/* The bit of a name; TW_FEATURE_UNKNOWN if there is none. */
TW_API tw_features tw_feature_from_name(const char* name);
/* Writes the names, separated by blanks, always terminated; returns the length that the whole
 * text has. */
TW_API size_t tw_feature_names(tw_features features, char* text, size_t bytes);

/* ---- registry ---- */

/* Built: row->run is not null. Supported: the device has the row's features and is not limited to
 * another ISA. A plan uses rows that are both, but for those of weights with biases of f16. */
TW_API int tw_kernel_supported(const tw_kernel* kernel, const tw_device* device);
TW_API int tw_packer_supported(const tw_packer* packer, const tw_device* device);
/* Writes up to `capacity` rows, returns how many there are: all rows when `device` is null, else
 * those that plans use. `rows` may be null when capacity is 0. */
TW_API size_t tw_list_kernels(const tw_device* device, const tw_kernel** rows, size_t capacity);
TW_API size_t tw_list_packers(const tw_device* device, const tw_packer** rows, size_t capacity);
TW_API const tw_kernel* tw_find_kernel(const char* name); /* null: none */
TW_API const tw_packer* tw_find_packer(const char* name); /* null: none */
TW_API const tw_layout* tw_find_layout(uint64_t id);      /* null: none */

/* ---- plan ---- */

typedef struct tw_plan tw_plan;

/* How often the matrix meets a number of rows. */
typedef struct tw_mix {
  size_t m;     /* rows */
  double calls; /* relative number of calls */
} tw_mix;

/* Slices in a row: along the columns they share rows of the LHS, along the rows they share columns
 * of the weights. */
typedef enum tw_order {
  TW_ORDER_UNSET = 0, /* the plan's: TW_COLUMNS_FIRST */
  TW_COLUMNS_FIRST,
  TW_ROWS_FIRST
} tw_order;

/* Whether weights are decoded in the caller's scratch once for all rows, where the plan has a
 * decoder and runs have the scratch that tw_scratch_bytes wants. */
typedef enum tw_decode {
  TW_DECODE_UNSET = 0, /* the plan's: where its cost model expects that to take fewer cycles */
  TW_DECODE_NEVER,
  TW_DECODE_ALWAYS
} tw_decode;

/* What a plan would otherwise choose. All zero: the plan chooses. */
typedef struct tw_tuning {
  size_t n_block;      /* columns of a slice; rounded up to whole tiles */
  size_t m_block;      /* rows of a slice; rounded down to whole tiles, at least one */
  size_t rhs_prefetch; /* distance in bytes; TW_PREFETCH_OFF: none */
  tw_order order;
  tw_decode decode;
} tw_tuning;
#define TW_PREFETCH_OFF SIZE_MAX

/* What is known to be best for some numbers of rows, from measuring. */
typedef struct tw_setting {
  size_t m_first, m_last; /* from so many rows to so many, both included */
  /* Takes all whole tiles, and rows fewer than one; those left over are the plan's choice. Null:
   * so is all. */
  const char* kernel;
  tw_tuning tuning;
} tw_setting;
#define TW_MAX_SETTINGS 16 /* of one matmul */

typedef struct tw_matmul {
  size_t size; /* sizeof(tw_matmul) */
  const char* family;
  size_t n, k;       /* output columns and depth; at least 1 */
  size_t block;      /* values of k that share a weight scale; k is a multiple of it. 0: families
                        without blocks, or when rhs_layout or kernel says it */
  tw_scales scales;  /* type of these scales, likewise */
  tw_type lhs_type;  /* of the rows that tw_pack_lhs, or tw_run, reads; TW_TYPE_NONE: f32 */
  tw_type dst_type;  /* of the outputs; TW_TYPE_NONE: f32. TW_S32 (matmul_i32_...): the sums
                        themselves, so that scales of rows and columns, which are packed, are not
                        read, and zero points of columns are whole numbers */
  const tw_mix* mix; /* null: 128 calls with m = 1 and one with m = 128 */
  size_t mix_count;
  /* Only kernels that read this layout; 0: choose. Where none of the family does, but a decoder
   * makes panels of floats of it that some do, these: then all rows are decoded, and tw_run needs
   * scratch. So weights that are packed for one family may serve another, of products of bf16, too.
   */
  uint64_t rhs_layout;
  const char* kernel; /* only this kernel, whatever it costs; null: choose */
  tw_tuning tuning;   /* for rows without a setting */
  /* Ranges that do not overlap, in any order; copied. Their kernels read one layout, which is then
   * the plan's. choices.h fills them in from a table. */
  const tw_setting* settings;
  size_t setting_count;
  /* 1: outputs are added to what tw_run_args.dst holds, before they are clamped; families named
   * matmul_acc_... */
  int accumulate;
  int reserved;   /* 0 */
  size_t taps;    /* not 0: a row of the LHS is so many parts of k / taps values each, which lie
                     anywhere: a convolution (tw_indirect) */
  size_t threads; /* that will take slices at the same time: each gets some, and whole runs of
                     weights where these come from memory. 0: as many as the device has cores */
} tw_matmul;

/* The environment variable TILEWRIGHT_LOG=1 makes this print the chosen kernels on stderr. */
TW_API tw_status tw_plan_create(const tw_device* device, const tw_matmul* matmul, tw_plan** plan);
TW_API void tw_plan_destroy(tw_plan* plan); /* null is legal */

TW_API const tw_layout* tw_plan_rhs_layout(const tw_plan* plan);

#define TW_MAX_SEGMENTS 8

/* Rows [row_begin, row_begin + rows) of the output and the kernel that computes them. */
typedef struct tw_segment {
  size_t row_begin, rows;
  const tw_kernel* kernel;
  const tw_packer* lhs_packer; /* null: the kernel reads unpacked rows */
  size_t lhs_offset; /* bytes from the start of the packed LHS to the segment's first panel */
  size_t lhs_stride; /* from panel to panel */
} tw_segment;

/* How the plan splits m rows: at most TW_MAX_SEGMENTS, written to `segments`; returns how many. */
TW_API tw_status tw_plan_segments(const tw_plan* plan, size_t m, tw_segment* segments,
                                  size_t* count);
/* Which decoder makes floats, or wider codes, of m rows' weights, given scratch (tw_scratch_bytes);
 * null: none. The kernels that multiply by those are among tw_plan_segments only where no others
 * are. */
TW_API tw_status tw_plan_decoder(const tw_plan* plan, size_t m, const tw_kernel** decoder);
/* The cost model's estimate for m rows on one core. */
TW_API double tw_plan_cycles(const tw_plan* plan, size_t m);
/* Prefetch distance, blocks, order and, of plans that have a decoder, whether that is used, in
 * effect for m rows. */
TW_API tw_status tw_plan_tuning(const tw_plan* plan, size_t m, tw_tuning* tuning);

/* ---- pack the weights (rhs) ---- */

/* Codes of 4 bits are two to a byte, the first in the low nibble (rows start at whole bytes), codes
 * of 2 bits four, from the lowest bits on; codes of 8 bits are int8_t. Floats: the values. Others:
 * as above; where the layout is of floats they are converted to those. */
typedef struct tw_rhs_source {
  size_t size; /* sizeof(tw_rhs_source) */
  tw_rhs_order order;
  const void* data;
  size_t data_bytes;
  size_t stride;        /* from source row to source row */
  int unsigned_nibbles; /* 4 bits only. 1: nibbles hold code + 8; 0: two's complement */
  /* One f32 per output column; floats: null. With blocks: a row of k / block per output column, of
   * the layout's type. Orders that have scales inside: not read. */
  const void* scales;
  size_t scale_count; /* in all */
  const void* bias;   /* one f32 (or int32_t, see below) per output column; null: zeros, and all
                         that layouts of another library without a bias take. Where outputs are
                         TW_S32: int32_t */
  size_t bias_count;
  size_t scale_stride; /* blocks: bytes from row to row of scales; 0: one right after the other */
  /* Families of static activations (qai8): the lhs' zero point and scale, and the outputs' scale,
   * which are packed with the weights; others: not read. Their bias is of int32_t. */
  int32_t lhs_zero_point; /* -128 to 127 */
  float lhs_scale, dst_scale;
  int32_t reserved; /* 0 */
  /* Families of weights with zero points (matmul_clamp_f32_qai8dxp_qsi2cxp): one f32 per output
   * column, in units of codes, so that a weight is worth (code - zero point) * scale; null: zeros.
   * With blocks (..._qai4c32p): one for each scale, of the scales' type, in rows with the stride of
   * theirs. Codes are signed ones there: where nibbles hold code + 8, zero points are 8 less than
   * the nibble that is worth 0. TW_NBITS: unsigned codes as wide as the weights', of 2 and
   * 4 bits several to a byte, the first in the lowest bits, each column's from a whole byte on,
   * without gaps; null: the middle, 2, 8 or 128. */
  const void* zero_points;
  size_t zero_point_count; /* TW_NBITS: bytes */
} tw_rhs_source;

/* Packed operands and scratch may lie anywhere. Kernels read what begins at a multiple of 64 bytes
 * faster, Intel's tiles several times. */
TW_API size_t tw_rhs_bytes(const tw_plan* plan); /* 0 only for a null plan */
TW_API tw_status tw_rhs_slices(const tw_plan* plan, size_t* slices);
TW_API tw_status tw_pack_rhs(const tw_plan* plan, const tw_rhs_source* source, void* packed,
                             size_t packed_bytes, size_t slice);

/* ---- unpack the weights ---- */

/* Where weights go that were packed, and how they are to lie there: members are those of
 * tw_rhs_source. All of it is the caller's. */
typedef struct tw_rhs_target {
  size_t size; /* sizeof(tw_rhs_target) */
  tw_rhs_order order;
  void* data;
  size_t data_bytes;
  size_t stride;        /* from row to row */
  int unsigned_nibbles; /* as TW_NXK and TW_KXN have them */
  void* scales;         /* null: not wanted. Orders that have scales inside: not written */
  size_t scale_count;
  void* bias; /* null: not wanted */
  size_t bias_count;
  size_t scale_stride;
  void* zero_points; /* null: not wanted */
  size_t zero_point_count;
} tw_rhs_target;

/* Writes columns [column, column + columns) of the output, columns of a matrix of their own: in
 * orders whose rows hold a column each, those rows (a row look-up is one column). Bits are as they
 * were packed, whatever order that was in: an order is TW_UNSUPPORTED whose values the layout keeps
 * converted, or not at all; likewise scales that a layout keeps divided by a factor, and
 * scales and bias for static activations. Nothing
 * between or behind the rows is written, nor a nibble of theirs that is no column's. Any thread may
 * unpack any columns, into memory of its own; columns is 0: none. */
TW_API tw_status tw_unpack_rhs(const tw_plan* plan, const void* packed, size_t packed_bytes,
                               size_t column, size_t columns, const tw_rhs_target* target);

/* ---- pack the activations (lhs) ---- */

/* A row with an infinity or a NaN makes all outputs of that row NaNs, which clamping leaves alone;
 * other rows are as without it. Any other row has finite codes and a finite scale. */

/* Where the rows of an indirect LHS lie (tw_matmul.taps): part t of row i begins at
 *   rows[(i / tile * taps + t) * tile + i % tile] + offset,
 * or at `pad`, if that is what the table has. So one table serves all images and groups, by their
 * offset. Tables of any tile may be used with any kernel. convolution.h makes them. */
typedef struct tw_indirect {
  size_t size; /* sizeof(tw_indirect) */
  const void* const* rows;
  size_t row_count; /* pointers in the table: taps for each row, of whole tiles */
  size_t tile;      /* at least 1 */
  size_t offset;    /* bytes */
  const void* pad;  /* k / taps zeros (codes: zero points); null: not used */
} tw_indirect;

/* Memory of each thread's own for tw_pack_lhs and tw_run, `scratch`, nothing of which outlives a
 * call. Where tw_matmul.taps is not 0 they want it. tw_run also does m rows faster in it where
 * weights of f32 activations are codes in blocks: a panel of them becomes floats once instead of
 * for each tile of rows; without it, or with less of it, outputs may differ in their last bits.
 * Likewise where they are codes of 4 bits of which a panel becomes one of int8; outputs then have
 * the same bits with it and without.
 * Plans whose kernels read only what is decoded (tw_matmul.rhs_layout) want it, tw_batch_run, too;
 * tw_gated_run and tw_groups_run do not take such plans. Else 0. */
TW_API tw_status tw_scratch_bytes(const tw_plan* plan, size_t m, size_t* bytes);

typedef struct tw_lhs_source {
  size_t size;      /* sizeof(tw_lhs_source) */
  const void* data; /* m rows of k values of tw_matmul.lhs_type; with taps: not read */
  size_t data_bytes;
  size_t stride;               /* bytes from row to row; with taps: not read */
  const tw_indirect* indirect; /* taps: the rows; else null */
  void* scratch;               /* taps: of this call */
  size_t scratch_bytes;
  /* Rows of TW_S8, where floats would be quantized: what their codes mean, (code - zero_point) *
   * scale, one of all rows. A NaN for scale makes all outputs NaNs. Others: not read. */
  int32_t zero_point; /* -128 to 127 */
  float scale;
  size_t k; /* of a row, as tw_run_args.k; 0: the plan's. The packed LHS is as large as ever */
} tw_lhs_source;

/* Quantizing many rows alike, such as an image whose pixels are taps of many rows: once, instead of
 * each row by itself. Codes are those that a packer makes of a row with such a range.
 *   tw_find_range(TW_F32, image, count, &lowest, &highest);     or of parts: the outermost ends
 *   tw_quantize(TW_F32, image, count, lowest, highest, codes, &scale, &zero_point);
 * The range includes 0; with an infinity or a NaN among the values it is -infinity to infinity.
 * Then codes are 0, and so is the zero point, and the scale is a NaN. Types: f32, f16, bf16. */
TW_API tw_status tw_find_range(tw_type type, const void* values, size_t count, float* lowest,
                               float* highest);
/* Values beyond the range become its ends. Values of 0 become zero_point: what a pad is of. */
TW_API tw_status tw_quantize(tw_type type, const void* values, size_t count, float lowest,
                             float highest, int8_t* codes, float* scale, int32_t* zero_point);

/* Families whose LHS is named without a p (matmul_clamp_f32_f32_f32p) read the caller's rows where
 * they are: tw_lhs_bytes and tw_lhs_slices are 0, tw_pack_lhs has nothing to do, and tw_run gets
 * the rows. */
TW_API tw_status tw_lhs_bytes(const tw_plan* plan, size_t m, size_t* bytes);
TW_API tw_status tw_lhs_slices(const tw_plan* plan, size_t m, size_t* slices);
TW_API tw_status tw_pack_lhs(const tw_plan* plan, size_t m, const tw_lhs_source* source,
                             void* packed, size_t packed_bytes, size_t slice);
/* Plans with the same id for m share one packed LHS of m rows (q, k and v of an attention). */
TW_API tw_status tw_lhs_id(const tw_plan* plan, size_t m, uint64_t* id);

/* ---- run ---- */

typedef struct tw_run_args {
  size_t size;     /* sizeof(tw_run_args) */
  size_t m;        /* rows; 0 is legal and does nothing */
  const void* lhs; /* packed for the same m; unpacked: m rows of k values (taps: not read) */
  size_t lhs_bytes;
  const void* rhs;
  size_t rhs_bytes;
  void* dst; /* m rows of n values of tw_matmul.dst_type */
  size_t dst_bytes;
  size_t dst_stride; /* bytes from row to row */
  /* n values, f32 whatever dst is (of TW_S32: int32_t), that replace the packed bias; null: that
   * one, as it must be for static activations */
  const void* bias;
  size_t bias_count;
  int clamp;              /* 1: to [min, max]; 0, as for TW_S32: min and max are not read */
  float min, max;         /* dst of TW_S8: codes, whole numbers */
  size_t lhs_stride;      /* unpacked lhs: bytes from row to row; packed: 0 */
  int32_t dst_zero_point; /* dst of TW_S8: the code of 0, -128 to 127; others: 0 */
  int32_t reserved;       /* 0 */
  /* Plans with taps that read unpacked rows gather them, and do not read lhs. Others: not read. */
  const tw_indirect* indirect;
  void* scratch; /* of this call; null where there are no taps: weights stay as they are */
  size_t scratch_bytes;
  /* Not 0: less than the plan's, whose weights have room for more (append.h). Outputs, their rows
   * and bias are of the first n columns, slices beyond them do nothing; sums are over the first k
   * values of depth, with the bits of a plan for so many. Another k than the plan's: weights of
   * floats, rows without taps, and the packed LHS has the same k. */
  size_t n, k;
} tw_run_args;

TW_API tw_status tw_run_slices(const tw_plan* plan, size_t m, size_t* slices);
TW_API tw_status tw_run(const tw_plan* plan, const tw_run_args* args, size_t slice);

/* ---- container: packed weights in files ---- */

/* An optional header for those who store packed weights. 64 bytes, little endian:
 *    0 magic "TWPK"       4 version (1), u32     8 layout id, u64       16 n, u64
 *   24 k, u64            32 block, u32          36 vector bytes, u32    40 payload bytes, u64
 *   48 checksum of the payload, u64             56 checksum of bytes 0..55, u64
 * Vector bytes is 0 for layouts that do not depend on the vector length.
 * Checksum: h = 0xcbf29ce484222325; per 8 bytes, little endian, the last padded with zeros:
 * h = (h ^ word) * 0x100000001b3; h ^= h >> 32. */
#define TW_CONTAINER_BYTES 64

typedef struct tw_container {
  size_t size; /* sizeof(tw_container) */
  uint64_t layout;
  uint64_t n, k;
  uint32_t block, vector_bytes;
  uint64_t bytes;
  uint64_t checksum;
} tw_container;

/* Writes the header for `rhs`, packed by this plan, to `header`. */
TW_API tw_status tw_container_write(const tw_plan* plan, const void* rhs, size_t rhs_bytes,
                                    void* header, size_t header_bytes);
/* Reads a header, checks its magic, version and own checksum; container->size is set. Use `layout`
 * as tw_matmul.rhs_layout to plan for these weights. */
TW_API tw_status tw_container_read(const void* header, size_t header_bytes,
                                   tw_container* container);
/* Checks that the header and `rhs` are what this plan reads. Reads all of `rhs`. */
TW_API tw_status tw_container_check(const tw_plan* plan, const void* header, size_t header_bytes,
                                    const void* rhs, size_t rhs_bytes);

#ifdef __cplusplus
}
#endif
#endif
