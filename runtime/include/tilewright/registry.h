/* The registry row: the single source for declaration, dispatch, test, benchmark and docs.
 * Rows are generated; see generated/registry.c. */
#ifndef TILEWRIGHT_REGISTRY_H
#define TILEWRIGHT_REGISTRY_H

#include "kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Run-time features, as bits. x86: cpuid and XCR0; AArch64: hwcaps. */
typedef uint64_t tw_features;
#define TW_FEATURE_AVX2 ((tw_features)1 << 0)
#define TW_FEATURE_FMA ((tw_features)1 << 1)
#define TW_FEATURE_F16C ((tw_features)1 << 2)
#define TW_FEATURE_AVXVNNI ((tw_features)1 << 3)
#define TW_FEATURE_AVX512F ((tw_features)1 << 4)
#define TW_FEATURE_AVX512BW ((tw_features)1 << 5)
#define TW_FEATURE_AVX512DQ ((tw_features)1 << 6)
#define TW_FEATURE_AVX512VL ((tw_features)1 << 7)
#define TW_FEATURE_AVX512VNNI ((tw_features)1 << 8)
#define TW_FEATURE_AVX512BF16 ((tw_features)1 << 9)
#define TW_FEATURE_BMI2 ((tw_features)1 << 10)
#define TW_FEATURE_AMX_TILE ((tw_features)1 << 11)
#define TW_FEATURE_AMX_INT8 ((tw_features)1 << 12)
#define TW_FEATURE_AMX_BF16 ((tw_features)1 << 13)
#define TW_FEATURE_GFNI ((tw_features)1 << 14) /* on vectors of 512 bits */
#define TW_FEATURE_NEON ((tw_features)1 << 32)
#define TW_FEATURE_DOTPROD ((tw_features)1 << 33)
#define TW_FEATURE_I8MM ((tw_features)1 << 34)
#define TW_FEATURE_FP16 ((tw_features)1 << 35)
#define TW_FEATURE_BF16 ((tw_features)1 << 36)
#define TW_FEATURE_SVE ((tw_features)1 << 37)
#define TW_FEATURE_SVE2 ((tw_features)1 << 38)
#define TW_FEATURE_SME ((tw_features)1 << 39)
#define TW_FEATURE_SME2 ((tw_features)1 << 40)
#define TW_FEATURE_FHM ((tw_features)1 << 41)
/* A feature this build has no name for: never present. */
#define TW_FEATURE_UNKNOWN ((tw_features)1 << 63)

/* What a value in memory is. */
typedef enum tw_type {
  TW_TYPE_NONE = 0,
  TW_F32,
  TW_F16,
  TW_BF16,
  TW_S32,
  TW_S8,
  TW_U8,
  TW_S4,        /* of weights only: two to a byte */
  TW_S2,        /* likewise four */
  TW_S1,        /* likewise eight */
  TW_E8M0,      /* of scales: 2^(byte - 127) */
  TW_TYPE_Q8_0, /* of an attention's K and V: blocks of 32 values, each a scale of f16 and 32
                   int8_t, as TW_Q8_0 has them */
  TW_E5M3,      /* of scales in sources: bits 7 to 14 of an f16, which is what layouts keep */
  TW_TYPE_Q4_0, /* of an attention's K and V: blocks of 32 values, each a scale of f16 and 16 bytes
                   of two codes, those of values i and, above, i + 16; a code less 8 counts */
  TW_E4M3,      /* of weights only: the OCP's floats of 8 bits, of 4 bits of exponent ... */
  TW_E5M2       /* ... and of 5 */
} tw_type;

/* Types of the scales that blocks of weights have. */
typedef enum tw_scales {
  TW_SCALES_UNSET = 0, /* no blocks; in a request: whatever there is */
  TW_SCALES_F32,
  TW_SCALES_F16,
  TW_SCALES_BF16,
  TW_SCALES_E8M0
} tw_scales;

/* ---- where weights lie ---- */

/* fixed + scalable * (vector length / 16 bytes); which vectors' length, the layout says. */
typedef struct tw_length {
  int32_t fixed, scalable;
} tw_length;

typedef enum tw_dim { TW_DIM_N, TW_DIM_K } tw_dim; /* a column of the output; depth */

/* One digit of a coordinate, coordinate / step % extent; each of its steps moves the address by
 * `stride` bits. */
typedef struct tw_axis {
  tw_dim dim;
  tw_length extent; /* 0: as far as the operand goes */
  tw_length step, stride;
} tw_axis;

/* Values of one kind. Bits of bytes count from the lowest one. */
typedef struct tw_field {
  tw_type type;   /* TW_TYPE_NONE: there are none */
  tw_length base; /* in bits, where all digits are 0; negative: from the panel's end */
  const tw_axis* axes;
  size_t axis_count;
  int factor; /* of scales: stored is value / factor; of codes 1 */
  /* Of codes: stored is value + offset + the sum of digit * stride. Where a source's factor is -1,
   * offset - value. */
  int offset;
  const tw_axis* offset_axes;
  size_t offset_axis_count;
} tw_field;

/* What codes of 4 bits, or 2, stand for. */
typedef struct tw_code_table {
  const char* name;
  float values[16]; /* times a block's scale; of codes of 3 bits the first 8 */
  uint8_t given;    /* 1: each call brings them (tw_args.lookup); plans do not take such weights */
} tw_code_table;

/* Weights, packed or as a source has them. */
typedef struct tw_axes {
  tw_axis rows; /* panels, or a source's rows: their stride is whatever is packed, or given */
  tw_field data;
  tw_field tops; /* bits of codes above those in `data` */
  tw_field scales, minimums, bias;
  tw_field zero_points; /* of columns */
  /* Blocks whose scales and minimums are whole numbers: those are worth number * scale step and
   * -number * minimum step. A source may keep bits above those of `scales` and `minimums`
   * elsewhere. */
  tw_field scale_steps, minimum_steps;
  tw_field scale_tops, minimum_tops;
  tw_field offsets; /* of columns' blocks: what code 0 is worth, minus their zero point * scale */
  const tw_code_table* codes; /* null: codes stand for themselves */
} tw_axes;

/* How weights come. */
typedef enum tw_rhs_order {
  TW_NXK,  /* a source row holds the k values of one output column */
  TW_KXN,  /* a source row holds one value of each of the n output columns */
  TW_Q4_0, /* n rows of ggml's blocks of 32 values: a scale of f16 and 16 bytes, whose low nibbles
             are values 0 to 15 and whose high ones are values 16 to 31 of the block, code + 8 */
  TW_Q8_0, /* likewise with 32 bytes, int8_t */
  TW_NXK_BF16, /* n rows of k values of bf16 */
  TW_Q4_1, /* as TW_Q4_0, with a minimum of f16 behind the scale: values are scale * code + minimum,
              codes 0 to 15 */
  TW_NBITS, /* ONNX Runtime's MatMulNBits of 2, 4 or 8 bits: n rows of k codes + 2, 8 or 128, and
               zero points likewise: see tw_rhs_source */
  TW_Q4_K, /* n rows of ggml's super-blocks of 256 values, 144 bytes each, as its files have them */
  TW_Q5_0, /* as TW_Q4_0, with the codes' fifth bits before them, code + 16; 22 bytes */
  TW_Q5_1, /* as TW_Q4_1, likewise, codes 0 to 31; 24 bytes */
  TW_Q5_K, /* as TW_Q4_K, 176 bytes */
  TW_Q6_K, /* as TW_Q4_K, 210 bytes */
  TW_IQ4_NL, /* as TW_Q4_0, codes 0 to 15 of the table "iq4" */
  TW_MXFP4,  /* likewise of "e2m1", behind a scale of a byte, 2^(byte - 127); 17 bytes */
  TW_IQ4_XS, /* as TW_Q4_K, codes of "iq4", 136 bytes */
  TW_Q2_K,   /* as TW_Q4_K, 84 bytes */
  TW_Q3_K,   /* as TW_Q6_K, 110 bytes */
  TW_TQ2_0, /* n rows of ggml's blocks of 256 values, 64 bytes of codes of 2 bits and then d of f16:
               values are d * (code - 1); layouts keep 1 - code and -d */
  TW_Q2_0,  /* likewise of 64 values, d before 16 bytes */
  TW_NVFP4, /* n rows of ggml's blocks of 64 values, 36 bytes: four scales of E4M3, of 16 values
               each, and for each of them 8 bytes, whose low nibbles are values 0 to 7 and whose
               high ones are values 8 to 15, codes 0 to 15 of "nv4" */
  TW_Q1_0,  /* n rows of ggml's blocks of 128 values, d before 16 bytes of bits: -d and d */
  TW_IQ3_S_FLAT,   /* as TW_IQ4_XS, codes of "iq3s": what the grid's rows hold of which IQ3_S has
                      the numbers, with their signs, and the scales 1 to 31 that it has half of */
  TW_IQ3_XXS_FLAT, /* likewise of IQ3_XXS, codes of "iq3x" */
  TW_IQ2_FLAT,     /* as TW_Q3_K, codes of "iq2": likewise of IQ2_XXS, IQ2_XS and IQ2_S */
  TW_IQ1_FLAT      /* likewise of IQ1_S and IQ1_M, codes of "iq1" */
} tw_rhs_order;

/* What packers of weights read. Those of one name differ in what their values are. */
typedef struct tw_source {
  const char* name;   /* as packers' rows have it */
  tw_rhs_order order; /* likewise */
  size_t block;       /* values of k that stand together with scales; 0: those are elsewhere */
  size_t block_bytes; /* from one such block to the next one */
  tw_axes axes;
} tw_source;

/* How a packed operand lies in memory, as far as sizes, slices and checks need it. Lengths are
 * fixed + scalable * (vector length / 16 bytes); which vectors' length, `streaming` says. An lhs of
 * floats in panels of one row, with no padding and nothing beside them, is rows as their user keeps
 * them: not packed, unless those are of another type. */
typedef struct tw_layout {
  uint64_t id;                  /* 64-bit hash of `text` */
  const char* text;             /* canonical text */
  size_t panel, panel_scalable; /* rows (lhs) or columns (rhs) of a panel */
  size_t k_multiple;            /* k is padded to a multiple of this */
  size_t block;                 /* 0: no blocks */
  /* bytes of a panel = panel rows * (padded k * data_bits / 8 + per_row_bytes
   *                                  + blocks * per_row_block_bytes) */
  size_t data_bits;
  size_t per_row_bytes;
  size_t per_row_block_bytes;
  size_t exact_k; /* rhs of integers: sums over k are exact in i32 up to this k; 0: no limit */
  int scales;     /* 1: each row (lhs) or column (rhs) has scales */
  tw_scales block_scales; /* rhs with blocks: type of their scales */
  int streaming;          /* 1: lengths count streaming vectors (SME), 0: ordinary ones */
  /* lhs: what its packer is told, see tw_pack_args */
  int32_t sum_factor, sum_base;
  size_t sum_copies, scale_copies;
  const tw_axes* axes; /* rhs: where each value lies; lhs: null */
  tw_type type;        /* of the values; TW_TYPE_NONE: codes kept in 16 bits */
  int scales_apart;    /* 1: those of all blocks stand behind all codes; `axes` begin there */
} tw_layout;

typedef struct tw_kernel {
  const char* name; /* for people; nothing parses it */
  const char* family;
  const char* isa;
  const char* printer; /* "intrinsics" or "assembly" */
  const char* technique;
  const char* spec;     /* "specs/x.yaml:9:5" */
  tw_kernel_fn run;     /* null: not built into this binary (another architecture) */
  tw_features features; /* all must be present */
  const tw_layout *lhs, *rhs;
  size_t tile_m, tile_n, tile_n_scalable;
  size_t unroll_k, accumulators;
  size_t vector_registers; /* of the register file that holds accumulators: most live at once */
  double macs_per_cycle;   /* hot loop, on `core`; the simple cost model */
  uint64_t content_hash;   /* of the kernel's printed source */
  /* Compilers whose code for this source keeps vectors of the hot loop on the stack: "none", "gcc",
   * "clang" or "gcc, clang"; "unknown" if nobody has looked. Assembly never does. */
  const char* spills;
  const char* core; /* what it is scheduled for, "neoverse-n2"; of C: what macs_per_cycle is for */
  int in_order;     /* that core issues in order: for machines of such cores */
  size_t tile_m_scalable;
  /* 1: it prefetches into the second cache, for several tiles of rows that read a panel; 0: into
   * the first, for one, or not at all. */
  int prefetches_panels;
  tw_type dst;          /* of its outputs */
  int accumulate;       /* 1: they are added to what dst holds; all rows of a family, or none */
  const char* symbol;   /* of `run`, and its file's name: rows of blocks of 64 and more share one */
  size_t decoded_panel; /* of a decoder: columns of a panel that it writes; else 0 */
  /* Of a decoder of codes: the layout that it writes; else null. */
  const tw_layout* decoded;
} tw_kernel;

/* A depthwise convolution computes m neighboring outputs of a line, n channels each, from k taps:
 * tw_args.lhs is a table of pointers to the padded input's pixels, from the first output's first
 * tap on, lhs_stride bytes from line to line of it; dst_stride lies between outputs. Neither pixels
 * nor padding are read beyond n channels. The lhs layout says what they are, nothing is packed. */
typedef struct tw_depthwise_kernel {
  size_t height, width; /* taps */
  size_t stride;        /* pixels from one output's to the next one's */
  tw_kernel kernel;
} tw_depthwise_kernel;

/* Attention takes three kernels for a block of positions of `heads` heads of K and V, of blocks
 * one, and the m rows of queries that share each, which stand behind those of the head before.
 * Numbers of vectors are those of the kernels' ISA, whose lanes (tile_n of TW_ATTENTION_WEIGHTS)
 * divide the sizes of heads. Rows of scores, which become weights, are the caller's scratch, and so
 * is what stands in front of each: a state of five vectors, which are its largest score, the same
 * in all lanes; the sum of its weights, which is what the lanes add up to; what the latest block
 * multiplied earlier sums by; and, where positions have scales, minus the sum of the row's q, in
 * all lanes, and what all its outputs' sums are too large by, likewise. It begins with a finite
 * largest score (-FLT_MAX) and sums of 0. */
typedef enum tw_attention_stage {
  /* dst[row][position] = sum over k values of lhs[row] (f32) * rhs[position], where rhs_stride is
   * bytes from position to position; of blocks, whole ones. n positions, of which none beyond is
   * read; rows of dst are written up to the next multiple of tile_n. rhs_prefetch, in bytes:
   * from the first position to memory that is prefetched beside all heads, one piece as long as
   * their values are; of blocks from each position to another one's; 0: none. */
  TW_ATTENTION_SCORES = 1,
  /* dst[row] are a state and n scores, which become weights: exp(score + slope * mask - largest of
   * the row so far). Whole vectors: behind n scores stand others, -infinity. lhs: rows of the mask,
   * of flags 1 f16 and of flags 2 f32, as long; of neither there is none. min: the slope. Flags
   * 4: max * tanh(score) is in the score's place before that. Of int8 positions rhs is, for each
   * vector of them, one of K's scales, one of its zero points, and those of V; the score is
   * (score - zero * sum of q) * scale first, and weights are multiplied by V's scales last. */
  TW_ATTENTION_WEIGHTS,
  /* dst[row][column] = dst[row][column] * the state's third vector + sum over k positions of
   * weight[row][position] * rhs[position][column]. n columns; lhs[row]: the state and weights.
   * rhs_prefetch likewise. */
  TW_ATTENTION_VALUES
} tw_attention_stage;

typedef struct tw_attention_kernel {
  tw_attention_stage stage;
  tw_kernel kernel; /* rhs->type: what K and V hold; with rhs->block it is blocks of that */
} tw_attention_kernel;

/* A decoder, a tw_kernel like others, makes floats of packed weights: dst[panel][k][column] of n
 * columns and k values, whole blocks of them (floats: whole unroll_k), where rhs begins. Panels of
 * decoded_panel columns, of which tile_n are whole ones, from one to the next dst_stride bytes,
 * with nothing behind their values; whole panels are written. `dst` is their type; those of bf16
 * are in pairs of k, dst[panel][k / 2][column][k % 2], rounded to nearest, ties away from zero. Of
 * the arguments lhs, bias and limits are not read. Decoders of codes (dst TW_S8) write panels of
 * layout `decoded` of as many columns as they read, with all that stands beside the codes; k is all
 * of the weights' k. Kernels that read that layout make of them, bit for bit, what others make of
 * what was decoded. */

/* A part of k of a product of matrices, a tw_kernel like others of the layouts of another family
 * ("matmul_part_i32_..." or, of the last part, "matmul_part_clamp_f32_..."). dst of TW_S32: sums
 * over k values, whole tiles of k, are added to the i32 that dst holds, without zero points, scales
 * or bias; nothing beside the codes is read. dst of TW_F32: sums over the last k values, and over
 * what dst holds, as i32, become outputs there, as those of the other family's row of the same
 * tile, bit for bit. lhs and rhs point to where the part begins in their first panels, strides are
 * those of all k.
 *
 * Among the parts stand kernels of layouts that decoders of codes in blocks write and no packer
 * ("matmul_decoded_clamp_f32_..."), of all k. */

/* A packer has a row for each layout that it can be told to pack into. */
typedef struct tw_packer {
  const char* name;
  const char* operand; /* "lhs" or "rhs" */
  const char* source;  /* "f32" (lhs), "nxk", "q4_0" ... (rhs): the name of a tw_rhs_order */
  const char* isa;
  tw_packer_fn run; /* null: not built */
  tw_features features;
  const tw_layout* layout;
  uint64_t content_hash;
  int vectorized; /* its inner loops; else plain C, which others of the same layout come before */
} tw_packer;

/* Tells a packer what it takes as arguments of a layout. */
static inline void tw_pack_into(tw_pack_args* args, const tw_layout* layout) {
  args->block = layout->block;
  args->sum_factor = layout->sum_factor;
  args->sum_base = layout->sum_base;
  args->sum_copies = layout->sum_copies;
  args->scale_copies = layout->scale_copies;
}

/* A kind of core that x86 machines have: what a plan takes from it before anything was measured. */
typedef struct tw_core {
  const char* name;       /* "zen5" */
  const char* maker;      /* what the name of a machine's cores begins with: "AMD", "Intel" */
  size_t family;          /* of its processors */
  tw_features features;   /* that those have, others of the family may lack */
  size_t l2_bytes;        /* where a machine does not say; 0: unknown */
  size_t stream_prefetch; /* for tw_args.rhs_prefetch, where kernels wait for weights; 0: none */
  size_t row_panels;      /* that a kernel of one row best reads at the same time */
  const float* rates;     /* of each row of tw_generated_kernels, and behind them of each of
                           * tw_generated_parts: MACs per cycle; 0: unknown */
} tw_core;

/* Generated. Rows of one family stand together; null-terminated by count. */
extern const tw_kernel tw_generated_kernels[];
extern const size_t tw_generated_kernel_count;
extern const tw_depthwise_kernel tw_generated_depthwise_kernels[];
extern const size_t tw_generated_depthwise_kernel_count;
extern const tw_attention_kernel tw_generated_attention_kernels[];
extern const size_t tw_generated_attention_kernel_count;
extern const tw_kernel tw_generated_decoders[];
extern const size_t tw_generated_decoder_count;
extern const tw_kernel tw_generated_parts[];
extern const size_t tw_generated_part_count;
extern const tw_packer tw_generated_packers[];
extern const size_t tw_generated_packer_count;
extern const tw_source tw_generated_sources[];
extern const size_t tw_generated_source_count;
extern const tw_core tw_generated_cores[];
extern const size_t tw_generated_core_count;

#ifdef __cplusplus
}
#endif
#endif
