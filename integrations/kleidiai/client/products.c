// SPDX-License-Identifier: Apache-2.0
#include "products.h"

#include <float.h>
#include <string.h>

#include "kai/ukernels/matmul/matmul_clamp_f32_f16p_qsi4c32p/kai_matmul_clamp_f32_f16p1vlx2_qsi4c32p4vlx2_1vlx4vl_sme2_mopa.h"
#include "kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsi8cxp/kai_matmul_clamp_f32_qai8dxp1vlx4_qsi8cxp4vlx4_1vlx4vl_sme2_mopa.h"
#include "kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsi8cxp/kai_matmul_clamp_f32_qai8dxp1vlx4_qsi8cxp4vlx4_1vlx4vl_sme_mopa.h"
#include "kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsi8cxp/kai_matmul_clamp_f32_qai8dxp1x4_qsi8cxp4vlx4_1x4vl_sme2_dot.h"
#include "kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsi8cxp/kai_matmul_clamp_f32_qai8dxp1x4_qsi8cxp4vlx4_1x4vl_sme_dot.h"
#include "kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsi8cxp/kai_matmul_clamp_f32_qai8dxp1x4_qsi8cxp4x4_1x4_neon_dotprod.h"
#include "kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsi8cxp/kai_matmul_clamp_f32_qai8dxp1x8_qsi8cxp4x8_1x4_neon_dotprod.h"
#include "kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsi8cxp/kai_matmul_clamp_f32_qai8dxp4x4_qsi8cxp4x4_16x4_neon_dotprod.h"
#include "kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsi8cxp/kai_matmul_clamp_f32_qai8dxp4x8_qsi8cxp4x8_16x4_neon_i8mm.h"
#include "kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsu2cxp/kai_matmul_clamp_f32_qai8dxp1vlx4_qsu2cxp4vlx4_1vlx4vl_sme2_mopa.h"
#include "kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsu2cxp/kai_matmul_clamp_f32_qai8dxp1x4_qsu2cxp4vlx4_1x4vl_sme2_dot.h"
#include "kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsu2cxp/kai_matmul_clamp_f32_qai8dxp1x4_qsu2cxp4x4bf32sf32_1x4_neon_dotprod.h"
#include "kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsu2cxp/kai_matmul_clamp_f32_qai8dxp4x4_qsu2cxp4x4bf32sf32_8x4_neon_dotprod.h"
#include "kai/ukernels/matmul/matmul_clamp_f32_qsi8d32p_qsi4c32p/kai_matmul_clamp_f32_qsi8d32p1vlx4_qsi4c32p4vlx4_1vlx4vl_sme2_mopa.h"
#include "kai/ukernels/matmul/matmul_clamp_f32_qsi8d32p_qsi4c32p/kai_matmul_clamp_f32_qsi8d32p1x4_qsi4c32p4vlx4_1x4vl_sme2_sdot.h"
#include "kai/ukernels/matmul/matmul_clamp_f32_qsi8d32p_qsi4c32p/kai_matmul_clamp_f32_qsi8d32p1x4_qsi4c32p4x4_1x4_neon_dotprod.h"
#include "kai/ukernels/matmul/matmul_clamp_f32_qsi8d32p_qsi4c32p/kai_matmul_clamp_f32_qsi8d32p1x8_qsi4c32p4x8_1x4x32_neon_dotprod.h"
#include "kai/ukernels/matmul/matmul_clamp_f32_qsi8d32p_qsi4c32p/kai_matmul_clamp_f32_qsi8d32p1x8_qsi4c32p8x8_1x8_sve_dotprod.h"
#include "kai/ukernels/matmul/matmul_clamp_f32_qsi8d32p_qsi4c32p/kai_matmul_clamp_f32_qsi8d32p4x4_qsi4c32p4x4_16x4_neon_dotprod.h"
#include "kai/ukernels/matmul/matmul_clamp_f32_qsi8d32p_qsi4c32p/kai_matmul_clamp_f32_qsi8d32p4x8_qsi4c32p4x8_16x4_neon_i8mm.h"
#include "kai/ukernels/matmul/matmul_clamp_f32_qsi8d32p_qsi4c32p/kai_matmul_clamp_f32_qsi8d32p4x8_qsi4c32p8x8_16x8_sve_i8mm.h"
#include "kai/ukernels/matmul/matmul_clamp_fp32_bf16p_bf16p/kai_matmul_clamp_f32_bf16p2vlx2_bf16p2vlx2_2vlx2vl_sme2_mopa.h"
#include "kai/ukernels/matmul/pack/kai_lhs_pack_bf16p2vlx2_f32_sme.h"
#include "kai/ukernels/matmul/pack/kai_lhs_pack_f16pmrx2_f32_neon.h"
#include "kai/ukernels/matmul/pack/kai_lhs_quant_pack_qai8dxp_f32.h"
#include "kai/ukernels/matmul/pack/kai_lhs_quant_pack_qsi8d32p4x8sb_f32_neon.h"
#include "kai/ukernels/matmul/pack/kai_lhs_quant_pack_qsi8d32p_f32.h"
#include "kai/ukernels/matmul/pack/kai_lhs_quant_pack_qsi8d32p_f32_neon.h"
#include "kai/ukernels/matmul/pack/kai_rhs_pack_kxn_bf16p2vlx2b_f32_x32_sme.h"
#include "kai/ukernels/matmul/pack/kai_rhs_pack_nxk_qsi4c32ps1s0scalef16_qsu4c32s16s0_neon.h"
#include "kai/ukernels/matmul/pack/kai_rhs_pack_nxk_qsi4c32pscalef16_qsu4c32s16s0.h"
#include "kai/ukernels/matmul/pack/kai_rhs_pack_nxk_qsi8cxp_qsi8cx_neon.h"
#include "kai/ukernels/matmul/pack/kai_rhs_pack_nxk_qsu2cxp4vlx4_qsu2cx_neon.h"
#include "kai/ukernels/matmul/pack/kai_rhs_pack_nxk_qsu2cxp4x4bf32sf32_qsu2cx_neon.h"

// What the two bits of q2 stand for.
static const int32_t q2_values[4] = {-3, -1, 1, 3};

#define STEPS(name)                                                                          \
  .n_step = kai_get_n_step_##name, .mr = kai_get_mr_##name, .nr = kai_get_nr_##name,         \
  .kr = kai_get_kr_##name, .sr = kai_get_sr_##name, .dst_offset = kai_get_dst_offset_##name, \
  .run = run_##name

#define IN_BLOCKS(name)                                                                           \
  static void run_##name(size_t m, size_t n, size_t k, size_t block, const void* lhs,             \
                         const void* rhs, float* dst, size_t dst_stride) {                        \
    kai_run_##name(m, n, k, block, lhs, rhs, dst, dst_stride, sizeof(float), -FLT_MAX, FLT_MAX);  \
  }                                                                                               \
  static const struct kernel name = {STEPS(name), .lhs_offset = kai_get_lhs_packed_offset_##name, \
                                     .rhs_offset = kai_get_rhs_packed_offset_##name};
// `...`: what the family's function takes behind the limits.
#define WHOLE_ROWS(name, ...)                                                         \
  static size_t lhs_offset_##name(size_t m, size_t k, size_t block) {                 \
    (void)block;                                                                      \
    return kai_get_lhs_packed_offset_##name(m, k);                                    \
  }                                                                                   \
  static size_t rhs_offset_##name(size_t n, size_t k, size_t block) {                 \
    (void)block;                                                                      \
    return kai_get_rhs_packed_offset_##name(n, k);                                    \
  }                                                                                   \
  static void run_##name(size_t m, size_t n, size_t k, size_t block, const void* lhs, \
                         const void* rhs, float* dst, size_t dst_stride) {            \
    (void)block;                                                                      \
    kai_run_##name(m, n, k, lhs, rhs, dst, dst_stride, sizeof(float), -FLT_MAX,       \
                   FLT_MAX __VA_ARGS__);                                              \
  }                                                                                   \
  static const struct kernel name = {STEPS(name), .lhs_offset = lhs_offset_##name,    \
                                     .rhs_offset = rhs_offset_##name};
IN_BLOCKS(matmul_clamp_f32_qsi8d32p4x4_qsi4c32p4x4_16x4_neon_dotprod)
IN_BLOCKS(matmul_clamp_f32_qsi8d32p1x4_qsi4c32p4x4_1x4_neon_dotprod)
IN_BLOCKS(matmul_clamp_f32_qsi8d32p4x8_qsi4c32p4x8_16x4_neon_i8mm)
IN_BLOCKS(matmul_clamp_f32_qsi8d32p1x8_qsi4c32p4x8_1x4x32_neon_dotprod)
IN_BLOCKS(matmul_clamp_f32_qsi8d32p4x8_qsi4c32p8x8_16x8_sve_i8mm)
IN_BLOCKS(matmul_clamp_f32_qsi8d32p1x8_qsi4c32p8x8_1x8_sve_dotprod)
IN_BLOCKS(matmul_clamp_f32_qsi8d32p1vlx4_qsi4c32p4vlx4_1vlx4vl_sme2_mopa)
IN_BLOCKS(matmul_clamp_f32_qsi8d32p1x4_qsi4c32p4vlx4_1x4vl_sme2_sdot)
IN_BLOCKS(matmul_clamp_f32_f16p1vlx2_qsi4c32p4vlx2_1vlx4vl_sme2_mopa)
WHOLE_ROWS(matmul_clamp_f32_qai8dxp4x4_qsi8cxp4x4_16x4_neon_dotprod)
WHOLE_ROWS(matmul_clamp_f32_qai8dxp1x4_qsi8cxp4x4_1x4_neon_dotprod)
WHOLE_ROWS(matmul_clamp_f32_qai8dxp4x8_qsi8cxp4x8_16x4_neon_i8mm)
WHOLE_ROWS(matmul_clamp_f32_qai8dxp1x8_qsi8cxp4x8_1x4_neon_dotprod)
WHOLE_ROWS(matmul_clamp_f32_qai8dxp1vlx4_qsi8cxp4vlx4_1vlx4vl_sme_mopa)
WHOLE_ROWS(matmul_clamp_f32_qai8dxp1x4_qsi8cxp4vlx4_1x4vl_sme_dot)
WHOLE_ROWS(matmul_clamp_f32_qai8dxp1vlx4_qsi8cxp4vlx4_1vlx4vl_sme2_mopa)
WHOLE_ROWS(matmul_clamp_f32_qai8dxp1x4_qsi8cxp4vlx4_1x4vl_sme2_dot)
WHOLE_ROWS(matmul_clamp_f32_bf16p2vlx2_bf16p2vlx2_2vlx2vl_sme2_mopa)
#define COMMA ,
WHOLE_ROWS(matmul_clamp_f32_qai8dxp4x4_qsu2cxp4x4bf32sf32_8x4_neon_dotprod, COMMA q2_values)
WHOLE_ROWS(matmul_clamp_f32_qai8dxp1x4_qsu2cxp4x4bf32sf32_1x4_neon_dotprod, COMMA q2_values)
WHOLE_ROWS(matmul_clamp_f32_qai8dxp1vlx4_qsu2cxp4vlx4_1vlx4vl_sme2_mopa, COMMA q2_values)
WHOLE_ROWS(matmul_clamp_f32_qai8dxp1x4_qsu2cxp4vlx4_1x4vl_sme2_dot, COMMA q2_values)

#define LHS_IN_BLOCKS(name)                                                                  \
  static void pack_##name(size_t m, size_t k, size_t block, size_t mr, size_t kr, size_t sr, \
                          size_t first, const float* rows, size_t stride, void* packed) {    \
    kai_run_##name(m, k, block, mr, kr, sr, first, rows, stride, packed);                    \
  }                                                                                          \
  static const struct lhs name = {.size = kai_get_lhs_packed_size_##name,                    \
                                  .offset = kai_get_lhs_packed_offset_##name,                \
                                  .pack = pack_##name};
#define LHS_OF_WHOLE_ROWS(name)                                                                    \
  static size_t size_##name(size_t m, size_t k, size_t block, size_t mr, size_t kr, size_t sr) {   \
    (void)block;                                                                                   \
    return kai_get_lhs_packed_size_##name(m, k, mr, kr, sr);                                       \
  }                                                                                                \
  static size_t offset_##name(size_t m, size_t k, size_t block, size_t mr, size_t kr, size_t sr) { \
    (void)block;                                                                                   \
    return kai_get_lhs_packed_offset_##name(m, k, mr, kr, sr);                                     \
  }                                                                                                \
  static void pack_##name(size_t m, size_t k, size_t block, size_t mr, size_t kr, size_t sr,       \
                          size_t first, const float* rows, size_t stride, void* packed) {          \
    (void)block;                                                                                   \
    kai_run_##name(m, k, mr, kr, sr, first, rows, stride, packed);                                 \
  }                                                                                                \
  static const struct lhs name = {                                                                 \
      .size = size_##name, .offset = offset_##name, .pack = pack_##name};

LHS_IN_BLOCKS(lhs_quant_pack_qsi8d32p_f32)
LHS_IN_BLOCKS(lhs_quant_pack_qsi8d32p_f32_neon)
LHS_IN_BLOCKS(lhs_quant_pack_qsi8d32p4x8sb_f32_neon)
LHS_IN_BLOCKS(lhs_pack_f16pmrx2_f32_neon)
LHS_OF_WHOLE_ROWS(lhs_quant_pack_qai8dxp_f32)
LHS_OF_WHOLE_ROWS(lhs_pack_bf16p2vlx2_f32_sme)

#define RHS_Q4_0(name)                                                                        \
  static size_t size_##name(const struct weights* weights, const struct kernel* kernel) {     \
    return kai_get_rhs_packed_size_##name(weights->n, weights->k, kernel->nr(), kernel->kr(), \
                                          weights->block);                                    \
  }                                                                                           \
  static void pack_##name(const struct weights* weights, const struct kernel* kernel,         \
                          void* packed) {                                                     \
    const struct kai_rhs_pack_qs4cxs1s0_param parameters = {1, 8};                            \
    kai_run_##name(1, weights->n, weights->k, kernel->nr(), kernel->kr(), kernel->sr(),       \
                   weights->block, weights->codes, NULL, packed, 0, &parameters);             \
  }                                                                                           \
  static const struct rhs name = {.size = size_##name, .pack = pack_##name};
// `parameters`: of the packer; `...`: what its function takes behind them.
#define RHS_OF_WHOLE_ROWS(name, type, parameters, ...)                                             \
  static size_t size_##name(const struct weights* weights, const struct kernel* kernel) {          \
    return kai_get_rhs_packed_size_##name(weights->n, weights->k, kernel->nr(), kernel->kr(),      \
                                          kernel->sr());                                           \
  }                                                                                                \
  static void pack_##name(const struct weights* weights, const struct kernel* kernel,              \
                          void* packed) {                                                          \
    const struct type value = parameters;                                                          \
    kai_run_##name(1, weights->n, weights->k, kernel->nr(), kernel->kr(), kernel->sr(),            \
                   weights->codes, weights->bias, weights->scales, packed, 0, &value __VA_ARGS__); \
  }                                                                                                \
  static const struct rhs name = {.size = size_##name, .pack = pack_##name};

#define Q8_0_PARAMETERS \
  { 1, 1.0F }
#define Q2_PARAMETERS \
  { 1, 2 }
RHS_Q4_0(rhs_pack_nxk_qsi4c32pscalef16_qsu4c32s16s0)
RHS_Q4_0(rhs_pack_nxk_qsi4c32ps1s0scalef16_qsu4c32s16s0_neon)
RHS_OF_WHOLE_ROWS(rhs_pack_nxk_qsi8cxp_qsi8cx_neon, kai_rhs_pack_qsi8cx_params, Q8_0_PARAMETERS)
RHS_OF_WHOLE_ROWS(rhs_pack_nxk_qsu2cxp4x4bf32sf32_qsu2cx_neon, kai_rhs_pack_qs4cxs1s0_param,
                  Q2_PARAMETERS, COMMA q2_values)
RHS_OF_WHOLE_ROWS(rhs_pack_nxk_qsu2cxp4vlx4_qsu2cx_neon, kai_rhs_pack_qs4cxs1s0_param,
                  Q2_PARAMETERS, COMMA q2_values)

static size_t size_of_f16(const struct weights* weights, const struct kernel* kernel) {
  (void)kernel;
  return kai_get_rhs_packed_size_rhs_pack_kxn_bf16p2vlx2b_f32_x32_sme(weights->n, weights->k);
}

static void pack_f16(const struct weights* weights, const struct kernel* kernel, void* packed) {
  kai_run_rhs_pack_kxn_bf16p2vlx2b_f32_x32_sme(
      1, weights->n, weights->k, kernel->nr(), kernel->kr(), kernel->sr(),
      weights->n * sizeof(float), weights->codes, weights->bias, NULL, packed, 0, NULL);
}

static const struct rhs rhs_pack_f16 = {.size = size_of_f16, .pack = pack_f16};

static const struct product products[] = {
    {"q4_0", "dotprod", &matmul_clamp_f32_qsi8d32p4x4_qsi4c32p4x4_16x4_neon_dotprod,
     &matmul_clamp_f32_qsi8d32p1x4_qsi4c32p4x4_1x4_neon_dotprod, &lhs_quant_pack_qsi8d32p_f32,
     &lhs_quant_pack_qsi8d32p_f32, &rhs_pack_nxk_qsi4c32pscalef16_qsu4c32s16s0},
    {"q4_0", "i8mm", &matmul_clamp_f32_qsi8d32p4x8_qsi4c32p4x8_16x4_neon_i8mm,
     &matmul_clamp_f32_qsi8d32p1x8_qsi4c32p4x8_1x4x32_neon_dotprod,
     &lhs_quant_pack_qsi8d32p4x8sb_f32_neon, &lhs_quant_pack_qsi8d32p_f32,
     &rhs_pack_nxk_qsi4c32pscalef16_qsu4c32s16s0},
    {"q4_0", "sve", &matmul_clamp_f32_qsi8d32p4x8_qsi4c32p8x8_16x8_sve_i8mm,
     &matmul_clamp_f32_qsi8d32p1x8_qsi4c32p8x8_1x8_sve_dotprod,
     &lhs_quant_pack_qsi8d32p4x8sb_f32_neon, &lhs_quant_pack_qsi8d32p_f32,
     &rhs_pack_nxk_qsi4c32pscalef16_qsu4c32s16s0},
    {"q4_0", "sme2", &matmul_clamp_f32_qsi8d32p1vlx4_qsi4c32p4vlx4_1vlx4vl_sme2_mopa,
     &matmul_clamp_f32_qsi8d32p1x4_qsi4c32p4vlx4_1x4vl_sme2_sdot, &lhs_quant_pack_qsi8d32p_f32_neon,
     &lhs_quant_pack_qsi8d32p_f32_neon, &rhs_pack_nxk_qsi4c32ps1s0scalef16_qsu4c32s16s0_neon},
    {"q4_0", "sme2_f16", &matmul_clamp_f32_f16p1vlx2_qsi4c32p4vlx2_1vlx4vl_sme2_mopa,
     &matmul_clamp_f32_qsi8d32p1x4_qsi4c32p4vlx4_1x4vl_sme2_sdot, &lhs_pack_f16pmrx2_f32_neon,
     &lhs_quant_pack_qsi8d32p_f32_neon, &rhs_pack_nxk_qsi4c32ps1s0scalef16_qsu4c32s16s0_neon},
    {"q8_0", "dotprod", &matmul_clamp_f32_qai8dxp4x4_qsi8cxp4x4_16x4_neon_dotprod,
     &matmul_clamp_f32_qai8dxp1x4_qsi8cxp4x4_1x4_neon_dotprod, &lhs_quant_pack_qai8dxp_f32,
     &lhs_quant_pack_qai8dxp_f32, &rhs_pack_nxk_qsi8cxp_qsi8cx_neon},
    {"q8_0", "i8mm", &matmul_clamp_f32_qai8dxp4x8_qsi8cxp4x8_16x4_neon_i8mm,
     &matmul_clamp_f32_qai8dxp1x8_qsi8cxp4x8_1x4_neon_dotprod, &lhs_quant_pack_qai8dxp_f32,
     &lhs_quant_pack_qai8dxp_f32, &rhs_pack_nxk_qsi8cxp_qsi8cx_neon},
    {"q8_0", "sme", &matmul_clamp_f32_qai8dxp1vlx4_qsi8cxp4vlx4_1vlx4vl_sme_mopa,
     &matmul_clamp_f32_qai8dxp1x4_qsi8cxp4vlx4_1x4vl_sme_dot, &lhs_quant_pack_qai8dxp_f32,
     &lhs_quant_pack_qai8dxp_f32, &rhs_pack_nxk_qsi8cxp_qsi8cx_neon},
    {"q8_0", "sme2", &matmul_clamp_f32_qai8dxp1vlx4_qsi8cxp4vlx4_1vlx4vl_sme2_mopa,
     &matmul_clamp_f32_qai8dxp1x4_qsi8cxp4vlx4_1x4vl_sme2_dot, &lhs_quant_pack_qai8dxp_f32,
     &lhs_quant_pack_qai8dxp_f32, &rhs_pack_nxk_qsi8cxp_qsi8cx_neon},
    {"f16", "sme2", &matmul_clamp_f32_bf16p2vlx2_bf16p2vlx2_2vlx2vl_sme2_mopa,
     &matmul_clamp_f32_bf16p2vlx2_bf16p2vlx2_2vlx2vl_sme2_mopa, &lhs_pack_bf16p2vlx2_f32_sme,
     &lhs_pack_bf16p2vlx2_f32_sme, &rhs_pack_f16},
    {"q2", "dotprod", &matmul_clamp_f32_qai8dxp4x4_qsu2cxp4x4bf32sf32_8x4_neon_dotprod,
     &matmul_clamp_f32_qai8dxp1x4_qsu2cxp4x4bf32sf32_1x4_neon_dotprod, &lhs_quant_pack_qai8dxp_f32,
     &lhs_quant_pack_qai8dxp_f32, &rhs_pack_nxk_qsu2cxp4x4bf32sf32_qsu2cx_neon},
    {"q2", "sme2", &matmul_clamp_f32_qai8dxp1vlx4_qsu2cxp4vlx4_1vlx4vl_sme2_mopa,
     &matmul_clamp_f32_qai8dxp1x4_qsu2cxp4vlx4_1x4vl_sme2_dot, &lhs_quant_pack_qai8dxp_f32,
     &lhs_quant_pack_qai8dxp_f32, &rhs_pack_nxk_qsu2cxp4vlx4_qsu2cx_neon},
};

const struct product* find_product(const char* type, const char* processor) {
  for (size_t i = 0; i < sizeof products / sizeof *products; ++i) {
    if (strcmp(products[i].type, type) == 0 && strcmp(products[i].processor, processor) == 0)
      return products + i;
  }
  return NULL;
}
