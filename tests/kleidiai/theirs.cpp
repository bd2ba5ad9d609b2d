#include "kleidiai/theirs.h"

#include <kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsi4cxp/kai_matmul_clamp_f32_qai8dxp1x4_qsi4cxp4x4_1x4_neon_dotprod.h>
#include <kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsi4cxp/kai_matmul_clamp_f32_qai8dxp1x8_qsi4cxp4x8_1x4x32_neon_dotprod.h>
#include <kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsi4cxp/kai_matmul_clamp_f32_qai8dxp1x8_qsi4cxp8x8_1x8x32_neon_dotprod.h>
#include <kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsi4cxp/kai_matmul_clamp_f32_qai8dxp4x4_qsi4cxp8x4_8x8x32_neon_dotprod.h>
#include <kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsi4cxp/kai_matmul_clamp_f32_qai8dxp4x8_qsi4cxp4x4_16x4x32_neon_dotprod.h>
#include <kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsi4cxp/kai_matmul_clamp_f32_qai8dxp4x8_qsi4cxp4x8_4x4x32_neon_i8mm.h>
#include <kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsi4cxp/kai_matmul_clamp_f32_qai8dxp4x8_qsi4cxp4x8_8x4x32_neon_i8mm.h>
#include <kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsi4cxp/kai_matmul_clamp_f32_qai8dxp4x8_qsi4cxp8x8_4x8x32_neon_i8mm.h>
#include <kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsi4cxp/kai_matmul_clamp_f32_qai8dxp4x8_qsi4cxp8x8_8x8x32_neon_i8mm.h>
#include <kai/ukernels/matmul/pack/kai_lhs_quant_pack_qai8dxp_f32.h>
#include <kai/ukernels/matmul/pack/kai_rhs_pack_kxn_qsi4cxp_qs4cxs1s0.h>
#include <kai/ukernels/matmul/pack/kai_rhs_pack_nxk_qsi4cxp_qs4cxs1s0.h>

namespace tw::test {
namespace {

constexpr uint8_t unwritten = 0xa5;

}  // namespace

const std::vector<TheirKernel>& their_kernels() {
#define THEIRS(name)                                                                   \
  {                                                                                    \
#name, kai_get_mr_matmul_clamp_f32_##name(), kai_get_nr_matmul_clamp_f32_##name(), \
        kai_get_kr_matmul_clamp_f32_##name(), kai_get_sr_matmul_clamp_f32_##name(),    \
        kai_run_matmul_clamp_f32_##name                                                \
  }
  static const std::vector<TheirKernel> all = {
      THEIRS(qai8dxp1x4_qsi4cxp4x4_1x4_neon_dotprod),
      THEIRS(qai8dxp1x8_qsi4cxp4x8_1x4x32_neon_dotprod),
      THEIRS(qai8dxp1x8_qsi4cxp8x8_1x8x32_neon_dotprod),
      THEIRS(qai8dxp4x4_qsi4cxp8x4_8x8x32_neon_dotprod),
      THEIRS(qai8dxp4x8_qsi4cxp4x4_16x4x32_neon_dotprod),
      THEIRS(qai8dxp4x8_qsi4cxp4x8_4x4x32_neon_i8mm),
      THEIRS(qai8dxp4x8_qsi4cxp4x8_8x4x32_neon_i8mm),
      THEIRS(qai8dxp4x8_qsi4cxp8x8_4x8x32_neon_i8mm),
      THEIRS(qai8dxp4x8_qsi4cxp8x8_8x8x32_neon_i8mm),
  };
#undef THEIRS
  return all;
}

std::vector<uint8_t> their_lhs(const TheirKernel& kernel, const Activations& lhs) {
  std::vector<uint8_t> packed(kai_get_lhs_packed_size_lhs_quant_pack_qai8dxp_f32(
                                  lhs.m, lhs.k, kernel.mr, kernel.kr, kernel.sr),
                              unwritten);
  kai_run_lhs_quant_pack_qai8dxp_f32(lhs.m, lhs.k, kernel.mr, kernel.kr, kernel.sr, 0,
                                     lhs.values.data(), lhs.k * sizeof(float), packed.data());
  return packed;
}

std::vector<uint8_t> their_rhs(const TheirKernel& kernel, const Weights& rhs) {
  // The first is not a zero point: sums of codes are taken so many times.
  const kai_rhs_pack_qs4cxs1s0_param parameters{1, rhs.unsigned_nibbles ? uint8_t{8} : uint8_t{0}};
  std::vector<uint8_t> packed(kai_get_rhs_packed_size_rhs_pack_nxk_qsi4cxp_qs4cxs1s0(
                                  rhs.n, rhs.k, kernel.nr, kernel.kr, kernel.sr),
                              unwritten);
  const auto pack =
      rhs.kxn ? kai_run_rhs_pack_kxn_qsi4cxp_qs4cxs1s0 : kai_run_rhs_pack_nxk_qsi4cxp_qs4cxs1s0;
  pack(1, rhs.n, rhs.k, kernel.nr, kernel.kr, kernel.sr, rhs.nibbles.data(), rhs.bias_or_null(),
       rhs.scales.data(), packed.data(), 0, &parameters);
  return packed;
}

std::vector<float> their_product(const TheirKernel& kernel, const Shape& shape,
                                 const std::vector<uint8_t>& lhs, const std::vector<uint8_t>& rhs,
                                 const Bounds& bounds) {
  std::vector<float> out(shape.m * shape.n);
  kernel.run(shape.m, shape.n, shape.k, lhs.data(), rhs.data(), out.data(), shape.n * sizeof(float),
             sizeof(float), bounds.min, bounds.max);
  return out;
}

}  // namespace tw::test
