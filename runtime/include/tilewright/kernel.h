/* Everything that generated code includes: the argument struct of every kernel and packer.
 * C11 and C++; no dependencies beyond the C library's headers. Structs grow only at their ends. */
#ifndef TILEWRIGHT_KERNEL_H
#define TILEWRIGHT_KERNEL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a matrix-multiplication kernel gets. It computes dst[0..m) x [0..n), any part of a larger
 * output: the caller advances lhs, rhs, dst and bias to that part.
 * Strides are in bytes. Packed operands are described by the kernel's registry row (layout ids).
 * Memory: packed panels are read to their ends; dst, bias and the rows of an lhs that is not packed
 * never beyond m, n, k. No alignment is required; what begins at multiples of 64 bytes is read
 * faster, by Intel's tiles several times. A kernel allocates nothing, keeps no state, starts no
 * threads. */
typedef struct tw_args {
  size_t size;       /* sizeof(struct tw_args) as the caller knows it */
  size_t m;          /* rows of dst to compute */
  size_t n;          /* columns of dst to compute */
  size_t k;          /* depth, as given to the packers (not padded) */
  size_t block;      /* values of k that share a scale; 0: formats without blocks; of products
                        of rows that pointers tell, "imatmul": those of a chunk, at least 1 */
  const void* lhs;   /* packed: first panel; else first row */
  size_t lhs_stride; /* from panel to panel (packed) or row to row */
  /* imatmul: lhs is a table of pointers, of each tile of rows those to the chunks with number 0,
   * one after the other, lhs_chunk_stride bytes from there those to the next chunks; from a tile to
   * the next one lhs_stride times its rows. lhs_offset is added to each but lhs_pad. Else 0. */
  const void* lhs_pad;
  size_t lhs_offset;
  size_t lhs_chunk_stride;
  const void* rhs;   /* first packed panel */
  size_t rhs_stride; /* from panel to panel */
  void* dst;
  size_t dst_stride;      /* from row to row */
  const void* bias;       /* n values as the packed rhs has them, whatever dst is: f32, of static
                             activations i32, of some layouts of f16 these; null: the packed ones */
  float min, max;         /* clamp, applied last, before any rounding to the output's type; a NaN
                             stays one. dst of int8: codes, whole numbers from -128 to 127 */
  int32_t dst_zero_point; /* dst of int8: the code of 0, -128 to 127 */
  int32_t reserved_output;
  const void* lookup;  /* weights of 2 bits that stand for what a call says: four int32_t, whose low
                          bytes are the values of codes 0 to 3 (k is a multiple of what the rhs is
                          padded to, as no code need be 0); else null */
  uint64_t flags;      /* TW_STREAM_OUTPUT */
  size_t rhs_prefetch; /* distance in bytes at which the packed rhs is prefetched; 0: off in
                          effect (the line being read) */
  size_t heads;        /* attention: of K and V (registry.h); else 0 */
  size_t rhs_head_stride; /* from one's values to the next one's, in bytes */
} tw_args;

typedef void (*tw_kernel_fn)(const tw_args* args);

/* Outputs are more than the caches keep until somebody reads them: kernels whose outputs take
 * longer to write than to compute, those of Intel's tiles with outputs of 32 bits, store them past
 * the caches where dst and dst_stride are multiples of 64. Others take no notice. */
#define TW_STREAM_OUTPUT ((uint64_t)1)

/* What a packer gets. One call packs rows [row_begin, row_end) of the operand (columns of the
 * output for rhs); row_begin is a multiple of the panel, so that slices are independent. */
typedef struct tw_pack_args {
  size_t size;
  size_t rows;               /* rows of the whole operand: m (lhs) or n (rhs) */
  size_t k;                  /* depth */
  size_t row_begin, row_end; /* the slice to pack */
  size_t block;              /* values of k that share a scale; 0: layouts without blocks */
  const void* source;        /* the whole operand's first value */
  size_t source_stride;      /* bytes from row to row: lhs and nxk a row of k values, kxn a row of
                                n values */
  const void* scales;        /* rhs: one f32 per row of the operand; with blocks: rows of k / block
                                scales, of the layout's type; not used where the source has them */
  const void* bias;          /* rhs: one f32 per row of the operand, or null for zeros; for static
                                activations i32, for layouts that keep f16 that */
  void* packed;              /* the whole packed operand's first panel */
  size_t packed_stride;      /* from panel to panel */
  uint64_t flags;            /* TW_PACK_... */
  size_t vector_bytes; /* layouts with panels as wide as vectors: of the machine that will run on
                          them, a multiple of 16; others: not used */
  size_t scale_stride; /* blocks: bytes from one row's scales to the next one's */
  /* lhs: numbers of the layout's fields, which stand in its tw_layout. Of codes that add up to s,
   * of a row or of a block, the layout keeps s * sum_factor + sum_base, */
  int32_t sum_factor, sum_base;
  size_t sum_copies;   /* this many times in a row; 0: it keeps no sums */
  size_t scale_copies; /* and a block's scale this many times; layouts without: not used */
  /* rhs for static activations: bias - lhs_zero_point * (sum of the column's codes) and lhs_scale *
   * scale / dst_scale are packed, rounded after either operation. lhs of codes: what they mean. */
  int32_t lhs_zero_point;
  float lhs_scale, dst_scale;
  int32_t reserved;
  const void* zero_points; /* rhs whose columns have them: one f32 per row of the operand, in units
                              of codes; with blocks, rows as those of the scales, of their type; or
                              null for zeros; others: not used */
} tw_pack_args;

typedef void (*tw_packer_fn)(const tw_pack_args* args);

/* 4-bit sources: nibbles hold code + 8 (0..15) instead of two's complement. */
#define TW_PACK_UNSIGNED_NIBBLES ((uint64_t)1)

/* Of memory on the stack, in both languages. */
#ifdef __cplusplus
#define TW_ALIGNAS(bytes) alignas(bytes)
#else
#define TW_ALIGNAS(bytes) _Alignas(bytes)
#endif

/* Small helpers that generated C uses where a language operator would not do: unaligned access,
 * arithmetic that wraps around, bits of floats. Hot loops would call the larger ones, where several
 * kernels are in one file that gcc -O2 compiles. */
#if defined(__GNUC__) || defined(__clang__)
#define TW_ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define TW_ALWAYS_INLINE static inline
#endif
static inline int32_t tw_load_i32(const void* at) {
  int32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}
static inline int64_t tw_load_i64(const void* at) {
  int64_t value;
  memcpy(&value, at, sizeof value);
  return value;
}
static inline uint16_t tw_load_u16(const void* at) {
  uint16_t value;
  memcpy(&value, at, sizeof value);
  return value;
}
static inline void tw_store_i32(void* at, int32_t value) {
  memcpy(at, &value, sizeof value);
}
static inline void tw_store_u16(void* at, uint16_t value) {
  memcpy(at, &value, sizeof value);
}
static inline int32_t tw_add_i32(int32_t a, int32_t b) {
  return (int32_t)((uint32_t)a + (uint32_t)b);
}
static inline int32_t tw_mul_i32(int32_t a, int32_t b) {
  return (int32_t)((uint32_t)a * (uint32_t)b);
}
/* To nearest even; for what an int32_t holds. */
static inline int32_t tw_i32_of_f32(float x) {
  const float shift = x < 0 ? -8388608.0f : 8388608.0f; /* from there on floats are integers */
  return (int32_t)(x > -8388608.0f && x < 8388608.0f ? (x + shift) - shift : x);
}
/* Two numbers of 16 bits: of two signed bytes, their sums, and shifted, each by itself. */
static inline int32_t tw_widen_s8x2(uint16_t bytes) {
  const uint32_t low = (uint16_t)(int8_t)(bytes & 255), high = (uint16_t)(int8_t)(bytes >> 8);
  return (int32_t)(high << 16 | low);
}
static inline int32_t tw_add_i16x2(int32_t a, int32_t b) {
  const uint32_t x = (uint32_t)a, y = (uint32_t)b, high = 0xffff0000u;
  return (int32_t)(((x & high) + (y & high)) | ((x + y) & ~high));
}
static inline int32_t tw_shl_i16x2(int32_t a, int by) {
  return (int32_t)((uint32_t)a << by & (0xffffu << by & 0xffffu) * 0x10001u);
}
/* sum + four products of an unsigned byte of b and a signed byte of c */
TW_ALWAYS_INLINE int32_t tw_dot4_u8s8(int32_t sum, int32_t b, int32_t c) {
  const uint32_t u = (uint32_t)b, s = (uint32_t)c;
  const int32_t products =
      (int32_t)(u & 255) * (int8_t)(s & 255) + (int32_t)(u >> 8 & 255) * (int8_t)(s >> 8 & 255) +
      (int32_t)(u >> 16 & 255) * (int8_t)(s >> 16 & 255) + (int32_t)(u >> 24) * (int8_t)(s >> 24);
  return tw_add_i32(sum, products);
}
/* Of the 16 bytes of a, b, c and d those that the bytes of `numbers`, at most 15, are the numbers
 * of */
static inline int32_t tw_look_up_4(int32_t a, int32_t b, int32_t c, int32_t d, int32_t numbers) {
  uint32_t all = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    const uint32_t number = (uint32_t)numbers >> shift & 15;
    const int32_t four = number < 8 ? (number < 4 ? a : b) : (number < 12 ? c : d);
    all |= ((uint32_t)four >> 8 * (number & 3) & 255) << shift;
  }
  return (int32_t)all;
}
/* The same pointer, of which compilers no longer know where it points: what is kept there stays in
 * memory, instead of taking registers from values that are used more often. */
static inline uint8_t* tw_hidden(uint8_t* pointer) {
#if defined(__GNUC__) || defined(__clang__)
  __asm__ volatile("" : "+r"(pointer));
  return pointer;
#else
  uint8_t* volatile hidden = pointer;
  return hidden;
#endif
}
/* memcpy, by a call. Where compilers know that there are few bytes, though not how many, gcc writes
 * an instruction that takes longer than the call does (rep movs). */
static inline void tw_copy(void* to, const void* from, size_t bytes) {
#if defined(__GNUC__) || defined(__clang__)
  __asm__ volatile("" : "+r"(bytes));
#endif
  memcpy(to, from, bytes);
}
static inline float tw_f32_of_bits(int32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline int32_t tw_bits_of_f32(float value) {
  int32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static inline float tw_f32_of_bf16(uint16_t half) {
  return tw_f32_of_bits((int32_t)((uint32_t)half << 16));
}
/* Exact. A NaN stays one; its sign and payload are kept. */
TW_ALWAYS_INLINE float tw_f32_of_f16(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = (uint32_t)(half & 0x7fff) << 13;
  if (rest >= 0x0f800000) return tw_f32_of_bits((int32_t)(sign | rest | 0x7f800000));
  /* The exponents' biases differ by 112; multiplying by 2^112 also makes subnormal numbers normal.
   */
  const float value = tw_f32_of_bits((int32_t)rest) * 5192296858534827628530496329220096.0f;
  return sign != 0 ? -value : value;
}
/* To nearest even. A NaN becomes a quiet one with its sign. */
static inline uint16_t tw_f16_of_f32(float value) {
  const uint32_t bits = (uint32_t)tw_bits_of_f32(value), rest = bits & 0x7fffffff;
  const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
  if (rest > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (rest >> 13 & 0x1ff));
  if (rest >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* half a step above the largest */
  if (rest < 0x38800000) {
    /* Subnormal: adding 0.5 leaves steps of 2^-24, rounded by the addition. */
    const float sum = tw_f32_of_bits((int32_t)rest) + 0.5f;
    return (uint16_t)(sign | ((uint32_t)tw_bits_of_f32(sum) - 0x3f000000));
  }
  return (uint16_t)(sign | ((rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13));
}
/* a * b + c, rounded once, without a call of a library where the machine has no such instruction:
 * the product is exact in a double, the sum is rounded to odd there, which is enough bits to be
 * rounded again. */
static inline float tw_fma_f32(float a, float b, float c) {
#if defined(__FP_FAST_FMAF)
  return __builtin_fmaf(a, b, c);
#else
  const double product = (double)a * b, sum = product + c, part = sum - product;
  const double rest = (product - (sum - part)) + (c - part);
  if (rest < 0 || rest > 0) {
    int64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    double odd;
    if ((bits & 1) == 0) bits += (rest > 0) == (sum > 0) ? 1 : -1;
    memcpy(&odd, &bits, sizeof odd);
    return (float)odd;
  }
  return (float)sum;
#endif
}
/* the second one when either is not a number, as x86 does */
static inline float tw_min_f32(float a, float b) {
  return a < b ? a : b;
}
static inline float tw_max_f32(float a, float b) {
  return a > b ? a : b;
}

#ifdef __cplusplus
}
#endif
#endif
