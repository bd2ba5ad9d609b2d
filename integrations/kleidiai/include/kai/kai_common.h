// SPDX-License-Identifier: Apache-2.0
// What every header of a KleidiAI micro-kernel needs, under KleidiAI's names: its clients compile
// with this file in place of its own. tests/kleidiai compares the two.
#pragma once

#if defined(__ARM_NEON)
#include <arm_neon.h>
#endif
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// Mistakes of a caller. KAI_ERROR ends the program; the checks that are not ALWAYS are for debug
// builds and cost nothing in others.
#if defined(KLEIDIAI_ERROR_TRAP) && KLEIDIAI_ERROR_TRAP
#define KAI_ABORT() __builtin_trap()
#else
#define KAI_ABORT() abort()
#endif
#ifdef NDEBUG
#define KAI_ERROR(msg) ((void)(msg), KAI_ABORT())
#define KAI_ASSERT_MSG(cond, msg) ((void)sizeof(!(cond)), (void)(msg))
#else
#define KAI_ERROR(msg)                                  \
  (fflush(stdout), /* so that the message comes last */ \
   fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, (msg)), KAI_ABORT())
#define KAI_ASSERT_MSG(cond, msg) KAI_ASSERT_ALWAYS_MSG(cond, msg)
#endif
#define KAI_ASSERT_ALWAYS_MSG(cond, msg) ((cond) ? (void)0 : (void)KAI_ERROR(msg))

#define KAI_ASSERT(cond) KAI_ASSERT_MSG(cond, #cond)
#define KAI_ASSERT_IF_MSG(precond, cond, msg) KAI_ASSERT_MSG(!(precond) || (cond), msg)
#define KAI_ASSERT_IF(precond, cond) KAI_ASSERT_IF_MSG(precond, cond, #precond " => " #cond)
#define KAI_ASSERT_ALWAYS(cond) KAI_ASSERT_ALWAYS_MSG(cond, #cond)
#define KAI_ASSERT_ALWAYS_IF_MSG(precond, cond, msg) \
  KAI_ASSERT_ALWAYS_MSG(!(precond) || (cond), msg)
#define KAI_ASSERT_ALWAYS_IF(precond, cond) \
  KAI_ASSERT_ALWAYS_IF_MSG(precond, cond, #precond " => " #cond)

#define KAI_ASSUME_MSG KAI_ASSERT_MSG
#define KAI_ASSUME KAI_ASSERT
#define KAI_ASSUME_IF_MSG KAI_ASSERT_IF_MSG
#define KAI_ASSUME_IF KAI_ASSERT_IF
#define KAI_ASSUME_ALWAYS_MSG KAI_ASSERT_ALWAYS_MSG
#define KAI_ASSUME_ALWAYS KAI_ASSERT_ALWAYS
#define KAI_ASSUME_ALWAYS_IF_MSG KAI_ASSERT_ALWAYS_IF_MSG
#define KAI_ASSUME_ALWAYS_IF KAI_ASSERT_ALWAYS_IF

#define KAI_UNUSED(x) ((void)(x))
#define KAI_MIN(a, b) ((b) > (a) ? (a) : (b))
#define KAI_MAX(a, b) ((b) < (a) ? (a) : (b))

enum {
  KAI_SME_VEC_LENGTH_MAX_BYTES = 256,
  KAI_VSCALE_UNIT_BYTES = 16,
  KAI_VSCALE_MAX = KAI_SME_VEC_LENGTH_MAX_BYTES / KAI_VSCALE_UNIT_BYTES,
};

// The version whose names and signatures these are.
inline const char* kai_get_version(void) {
  return "1.32.0";
}

// Bytes of a value in bits 8 to 15 (what kai_get_datatype_size_in_bytes gives), then its kind.
enum kai_datatype {
  kai_dt_unknown = 0,
  kai_dt_f32 = 0x411,
  kai_dt_f16 = 0x212,
  kai_dt_bf16 = 0x213,
  kai_dt_int32 = 0x421,
  kai_dt_int16 = 0x222,
  kai_dt_int8 = 0x124,
  kai_dt_uint32 = 0x431,
  kai_dt_uint16 = 0x232,
  kai_dt_uint8 = 0x134,
  kai_dt_bool = 0x441
};

inline static size_t kai_get_datatype_size_in_bytes(enum kai_datatype dt) {
  return (size_t)dt >> 8;
}

#if defined(__ARM_NEON)
inline static float kai_cast_f32_f16(uint16_t f16) {
  float16_t half;
  memcpy(&half, &f16, sizeof half);
  return (float)half;
}

inline static uint16_t kai_cast_f16_f32(float f32) {
  const float16_t half = (float16_t)f32;
  uint16_t bits;
  memcpy(&bits, &half, sizeof bits);
  return bits;
}
#endif

inline static float kai_cast_f32_bf16(uint16_t bf16) {
  const uint32_t bits = (uint32_t)bf16 << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// As KleidiAI's: rounded where it is compiled for bf16 instructions, else cut off.
inline static uint16_t kai_cast_bf16_f32(float f32) {
#ifdef __ARM_FEATURE_BF16
  uint16_t rounded;
  __asm__("bfcvt %h0, %s1" : "=w"(rounded) : "w"(f32));
  return rounded;
#else
  uint32_t bits;
  memcpy(&bits, &f32, sizeof bits);
  return (uint16_t)(bits >> 16);
#endif
}

inline static size_t kai_div_ceil(size_t a, size_t b) {
  KAI_ASSUME(b != 0);
  return (a + b - 1) / b;
}

inline static size_t kai_roundup(size_t a, size_t b) {
  return b * kai_div_ceil(a, b);
}

inline static int8_t kai_ext_sign_i8_i4(int8_t value) {
  KAI_ASSUME(value <= 15);
  return (int8_t)((value ^ 8) - 8);
}

// Bytes of a streaming vector, of machines with SME only; 16 and 32-bit lanes of one.
uint64_t kai_get_sve_vector_length_u8(void);
inline static uint64_t kai_get_sve_vector_length_u16(void) {
  return kai_get_sve_vector_length_u8() / 2;
}
inline static uint64_t kai_get_sve_vector_length_u32(void) {
  return kai_get_sve_vector_length_u8() / 4;
}
inline static uint64_t kai_get_sve_vscale(void) {
  return kai_get_sve_vector_length_u8() / KAI_VSCALE_UNIT_BYTES;
}
uint64_t kai_get_sme_vector_length_u8(void);
inline static uint64_t kai_get_sme_vector_length_u16(void) {
  return kai_get_sme_vector_length_u8() / 2;
}
inline static uint64_t kai_get_sme_vector_length_u32(void) {
  return kai_get_sme_vector_length_u8() / 4;
}

// Told to packers of weights: what is added up of their codes, and what their codes are.
struct kai_rhs_pack_qsi8cx_params {
  int32_t lhs_zero_point;
  float scale_multiplier;
};

struct kai_rhs_pack_qs4cxs1s0_param {
  int8_t lhs_zero_point;
  uint8_t rhs_zero_point;
};

struct kai_rhs_pack_nxk_qsi4c32p_qsu4c32s1s0_params {
  int8_t lhs_zero_point;
  uint8_t rhs_zero_point;
  enum kai_datatype scale_dt;
};

struct kai_rhs_pack_kxn_qsi4c32p_qsu4c32s1s0_params {
  int8_t lhs_zero_point;
  uint8_t rhs_zero_point;
  enum kai_datatype scale_dt;
};

struct kai_matmul_requantize32_params {
  int32_t min_value;
  int32_t max_value;
  int32_t output_zero_point;
};

#ifdef __cplusplus
}
#endif
