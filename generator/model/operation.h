// The operation list: what a Program can say. Each operation has one exact meaning, the same on
// every ISA; `ir/interpreter` executes it, instruction tables refer to it in `means:`.
#pragma once

#include <optional>
#include <string_view>

namespace tw {

/// What a value is. Pointers and counters are scalars of 8 bytes.
enum class Kind { scalar, vector, predicate, tile };
std::string_view name(Kind kind);

/// Name, argument kinds, result kind ('-' for none) and the attributes that the operation carries:
///   b  lane width in bits, after the name:    add.32
///   o  memory offset in bytes, in brackets:   load(p)[64]
///   i  immediate, after a hash:               shl.16(a, #4)
/// Kinds: s scalar, v vector, p predicate, t tile. In the text form (people's printer and `means:`)
/// attributes stand in that order: `d = load_lane.128(v, p, #2)[16]`.
///
/// Vectors are bits; the operation says how to read them. "segment" is a 128-bit part of a vector.
#define TW_OPERATIONS(X)                                                                           \
  /* scalars, 64 bits, wrap around */                                                              \
  X(arg, "s", "s", "i")     /* field #i (ArgField) of the tw_args at a; clamp and output_zero:     \
                               the ADDRESS of the field, for load_dup */                           \
  X(constant, "", "s", "i") /* #i */                                                               \
  X(length, "", "s", "o")   /* the value of a Length at run time */                                \
  X(iadd, "ss", "s", "")                                                                           \
  X(iadd_imm, "s", "s", "o") /* a + Length: pointer steps */                                       \
  X(isub, "ss", "s", "")                                                                           \
  X(imul, "ss", "s", "")                                                                           \
  X(ishl, "s", "s", "i")                                                                           \
  X(ishr, "s", "s", "i") /* logical */                                                             \
  X(iand_imm, "s", "s", "i")                                                                       \
  X(imin, "ss", "s", "")     /* unsigned */                                                        \
  X(isub_sat, "ss", "s", "") /* a > b ? a - b : 0, unsigned */                                     \
  X(idiv, "ss", "s", "")     /* unsigned, b > 0; outside hot loops only */                         \
  X(if_null, "sss", "s", "") /* a == 0 ? b : c */                                                  \
  X(low_bits, "ss", "s", "") /* the low b bits of a; b < 256, from 64 on: a */                     \
  X(load_i64, "s", "s", "o")                                                                       \
  X(store_i64, "ss", "-", "o") /* store_i64(p, x) */                                               \
  X(frame_load, "", "s", "i")  /* scalar slot #i of the function's own frame */                    \
  X(frame_store, "s", "-", "i")                                                                    \
  X(scratch, "", "s", "") /* address of the function's own Program::scratch_bytes of memory */     \
  /* memory */                                                                                     \
  X(load, "s", "v", "o")                                                                           \
  X(load_dup, "s", "v", "bo")    /* one element of b bits to every place */                        \
  X(load_lane, "vs", "v", "bio") /* replace element #i of b bits */                                \
  X(load_pred, "ps", "v", "bo")  /* active lanes of b bits; the others are 0, not touched */       \
  X(store, "sv", "-", "o")                                                                         \
  X(store_stream, "sv", "-", "o") /* store, not to be kept in caches; aligned to its length */     \
  X(store_fence, "", "-", "")     /* earlier store_streams are seen before later stores */         \
  X(store_pred, "psv", "-", "bo")                                                                  \
  X(store_lane, "sv", "-", "bio")  /* element #i of b bits */                                      \
  X(prefetch, "s", "-", "o")       /* line at a + offset into L2; no effect on values */           \
  X(prefetch_near, "s", "-", "o")  /* the same, into L1 */                                         \
  X(prefetch_write, "s", "-", "o") /* the same, into L1 and to be written */                       \
  /* making vectors */                                                                             \
  X(zero, "", "v", "")                                                                             \
  X(splat, "", "v", "bi")     /* #i in every lane of b bits */                                     \
  X(dup, "s", "v", "b")       /* low b bits of a scalar in every lane */                           \
  X(dup_lane, "v", "v", "bi") /* element #i of b bits to every place */                            \
  /* lane by lane, integers wrap around */                                                         \
  X(add, "vv", "v", "b")                                                                           \
  X(sub, "vv", "v", "b")                                                                           \
  X(mul, "vv", "v", "b")  /* low half */                                                           \
  X(mla, "vvv", "v", "b") /* a + b * c */                                                          \
  X(and_, "vv", "v", "")                                                                           \
  X(or_, "vv", "v", "")                                                                            \
  X(xor_, "vv", "v", "")                                                                           \
  X(shl, "v", "v", "bi")                                                                           \
  X(shr, "v", "v", "bi")         /* logical */                                                     \
  X(sar, "v", "v", "bi")         /* arithmetic */                                                  \
  X(shl_insert, "vv", "v", "bi") /* (b << i) | (a & ((1 << i) - 1)): AArch64 sli */                \
  X(shr_insert, "vv", "v", "bi") /* (b >> i) | (a & ~(ones >> i)): AArch64 sri */                  \
  /* f32 lanes, round to nearest even, one rounding each */                                        \
  X(fadd, "vv", "v", "")                                                                           \
  X(fsub, "vv", "v", "")                                                                           \
  X(fmul, "vv", "v", "")                                                                           \
  X(fma, "vvv", "v", "")       /* a * b + c */                                                     \
  X(fma_lane, "vvv", "v", "i") /* b: 32-bit element #i of each segment */                          \
  X(fmin, "vv", "v", "")       /* a < b ? a : b: b where one is a NaN, or both are zeros */        \
  X(fmax, "vv", "v", "")       /* a > b ? a : b, likewise */                                       \
  X(cvt_i32_f32, "v", "v", "")                                                                     \
  X(cvt_f32_i32, "v", "v", "")      /* to nearest even, in range */                                \
  X(cvt_f32_i32_away, "v", "v", "") /* to nearest, ties away from zero, in range */                \
  X(cvt_f16_f32, "v", "v", "")      /* result is twice as long */                                  \
  X(cvt_bf16_f32, "v", "v", "")     /* likewise */                                                 \
  X(narrow_32_8, "v", "v", "")      /* i32 -> i8, saturating; result is a quarter as long */       \
  X(narrow_pair, "vv", "v", "b")    /* per segment: lanes of a, then of b, to lanes half as wide,  \
                                       saturating (x86 packss) */                                  \
  /* multiply-accumulate, exact in 32 bits, wrap around */                                         \
  X(dot4_u8s8, "vvv", "v", "") /* a + sum of 4 neighbours u8 b * s8 c, per 32-bit lane */          \
  X(dot4_s8s8, "vvv", "v", "")                                                                     \
  X(dot4_s8s8_lane, "vvv", "v", "i") /* c: 32-bit element #i of each segment */                    \
  X(mmla_s8s8, "vvv", "v", "")       /* per segment: a (2x2 i32) + b (2x8) * c (2x8) transposed */ \
  X(dot2_u8s8_sat, "vv", "v", "")    /* sum of 2 neighbours u8 a * s8 b, per 16-bit lane,          \
                                        saturated */                                               \
  X(dot2_s16, "vv", "v", "")         /* sum of 2 neighbours s16 a * s16 b, per 32-bit lane */      \
  X(outer_s8s8, "tvvpp", "t", "")    /* tile + 4-deep outer product of b (rows) and c (columns) */ \
  X(outer_f32, "tvvpp", "t", "")     /* the same of floats, one deep, each by one fma */           \
  /* moving lanes */                                                                               \
  X(zip_lo, "vv", "v", "b")   /* a0 b0 a1 b1 ... of each segment's low half */                     \
  X(zip_hi, "vv", "v", "b")   /* the same of each segment's high half */                           \
  X(uzp_even, "vv", "v", "b") /* even lanes of a, then even lanes of b (whole vectors) */          \
  X(uzp_odd, "vv", "v", "b")                                                                       \
  X(pair_add, "vv", "v", "b")      /* neighbours of a added, then neighbours of b */               \
  X(move_segments, "vv", "v", "i") /* x86 shuf_32x4: the lower half of the segments from a, the    \
                                      upper from b, by bits of #i; 2 or 4 segments */              \
  X(blend, "vv", "v", "bi")        /* lane j of b where bit j of #i is set, else of a */           \
  X(nibbles, "v", "v", "i")    /* signed 4-bit numbers as bytes, low nibbles first: of the lower   \
                                  half of a (#0), of the upper (#1) */                             \
  X(segment, "v", "v", "i")    /* segment #i: 16 bytes */                                          \
  X(permute_64, "v", "v", "i") /* per 32 bytes: 64-bit lane j is lane (#i >> 2 j & 3) */           \
  /* copies that allocation may need */                                                            \
  X(copy, "v", "v", "")                                                                            \
  X(icopy, "s", "s", "")                                                                           \
  /* predicates: one flag per lane of b bits */                                                    \
  X(pred_all, "", "p", "b")                                                                        \
  X(pred_first, "s", "p", "b") /* lanes below the unsigned count */                                \
  X(pred_bits, "s", "p", "b")  /* bit j of the scalar is lane j */                                 \
  /* accumulator tiles and modes */                                                                \
  X(tile_zero, "", "t", "")                                                                        \
  X(tile_row, "ts", "v", "") /* row number (scalar) of a tile of 32-bit elements */                \
  X(tile_dot4_s8s8_lane, "tvvvvv", "t", "i") /* dot4_s8s8_lane of b, c, d, e with f added to rows  \
                               0, R/4, R/2 and 3R/4 of a tile of R rows; the others stay */        \
  X(tile_quarter, "ts", "v", "i") /* row (b / 4 + #i / 4) mod (R / 4) + #i mod 4 * R / 4 of a tile \
                               of R rows; b is a multiple of 4 */                                  \
  X(tile_fma4, "tsvvvvvvvv", "t", "i") /* c to f times g to j added by fma to four rows of a tile  \
                               of R: (b / 4 + #i) mod (R / 4), R/4 below that, and so on */        \
  X(mode_enter, "", "-", "i")          /* see Mode */                                              \
  X(mode_leave, "", "-", "i")

enum class OpCode {
#define TW_X(name, args, result, attributes) name,
  TW_OPERATIONS(TW_X)
#undef TW_X
};

struct OpInfo {
  std::string_view name;        ///< as written in text, without a trailing underscore
  std::string_view args;        ///< one kind letter per argument
  char result;                  ///< kind letter, or '-'
  std::string_view attributes;  ///< letters out of "bio"
  [[nodiscard]] bool has(char attribute) const {
    return attributes.find(attribute) != std::string_view::npos;
  }
};

const OpInfo& info(OpCode code);
std::optional<OpCode> find_operation(std::string_view name);

/// Memory effects: what may not move past what.
bool reads_memory(OpCode code);
bool writes_memory(OpCode code);
bool prefetches(OpCode code);

/// State that instructions require. A Program of an ISA that can enter a mode is in it from end to
/// end (Builder).
enum class Mode {
  none,
  streaming,          ///< vectors are as long as the tiles' rows
  accumulator_tiles,  ///< there are tiles
  nibble_table        ///< the table that `nibbles` looks codes up in is loaded
};

/// Fields of tw_args (runtime/include/tilewright/kernel.h), in the struct's order.
/// 64-bit offsets are 8 * index; the floats min and max share the slot `clamp`.
enum class ArgField {
  size,
  m,
  n,
  k,
  block,
  lhs,
  lhs_stride,
  lhs_rows,
  lhs_zero,
  lhs_offset,
  rhs,
  rhs_stride,
  dst,
  dst_stride,
  bias,
  clamp,  ///< float min, float max
  output_zero,
  lookup,
  flags,
  rhs_prefetch,
  count
};
std::string_view name(ArgField field);

}  // namespace tw
