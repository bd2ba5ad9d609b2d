// Products with weights of 2 and 4 bits that KleidiAI packs in ways of its own: int2 per channel,
// int4 in blocks with zero points. Activations are quantized by both, alike but for values just
// between two codes, so that an output may be off by a step of one of them.
#include <gtest/gtest.h>

#include <kai/kai_common.h>
#include <kai/ukernels/matmul/matmul_clamp_f32_qai8dxp_qsu2cxp/kai_matmul_clamp_f32_qai8dxp4x4_qsu2cxp4x4bf32sf32_8x4_neon_dotprod.h>
#include <kai/ukernels/matmul/matmul_clamp_f32_qsi8d32p_qai4c32p/kai_matmul_clamp_f32_qsi8d32p4x4_qai4c32p4x4_8x4_neon_dotprod.h>
#include <kai/ukernels/matmul/pack/kai_lhs_quant_pack_qai8dxp_f32.h>
#include <kai/ukernels/matmul/pack/kai_lhs_quant_pack_qsi8d32pscalef32_f32_neon.h>
#include <kai/ukernels/matmul/pack/kai_rhs_pack_nxk_qai4c32p_qau4c32s0s1_f32_f32_f32_neon.h>
#include <kai/ukernels/matmul/pack/kai_rhs_pack_nxk_qsu2cxp4x4bf32sf32_qsu2cx_neon.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "kleidiai/planned.h"

namespace tw::test::low_bits_test {
namespace {

struct Problem {
  size_t m, n, k, block;
  int bits;
  std::vector<float> lhs, bias, scales, zeros;  ///< zeros: in units of signed codes
  std::vector<uint8_t> codes;                   ///< [n][k], unsigned, a byte each

  Problem(size_t m, size_t n, size_t k, size_t block, int bits)
      : m(m), n(n), k(k), block(block), bits(bits) {
    std::mt19937 random(static_cast<unsigned>(m * n + k));
    std::uniform_real_distribution<float> real(-1, 1);
    for (size_t i = 0; i < m * k; ++i) lhs.push_back(real(random));
    for (size_t i = 0; i < n; ++i) bias.push_back(real(random));
    for (size_t i = 0; i < n * blocks(); ++i) {
      scales.push_back(0.02F + 0.01F * real(random));
      zeros.push_back(static_cast<float>(static_cast<int>(random() % 16) - 8));
    }
    for (size_t i = 0; i < n * k; ++i)
      codes.push_back(static_cast<uint8_t>(random() % (1U << bits)));
  }
  [[nodiscard]] size_t blocks() const { return block == 0 ? 1 : k / block; }

  /// `flip`: added to every code, so that they are signed or not.
  [[nodiscard]] std::vector<uint8_t> packed_codes(unsigned flip, bool first_is_high) const {
    const size_t together = 8 / static_cast<size_t>(bits);
    std::vector<uint8_t> bytes(codes.size() / together);
    for (size_t i = 0; i < codes.size(); ++i) {
      const size_t at = first_is_high ? together - 1 - i % together : i % together;
      bytes[i / together] |=
          static_cast<uint8_t>((codes[i] ^ flip) << at * static_cast<size_t>(bits));
    }
    return bytes;
  }

  /// What a step of one code of the row's activations may change.
  [[nodiscard]] double step(size_t row, size_t column) const {
    float largest = 0;
    for (size_t i = 0; i < k; ++i) largest = std::max(largest, std::fabs(lhs[row * k + i]));
    const auto begin = scales.begin() + static_cast<std::ptrdiff_t>(column * blocks());
    const float scale = *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(blocks()));
    return double{largest} * 2 / 255 * double{scale} * (2 << bits);
  }
};

void expect_near(const std::vector<float>& found, const std::vector<float>& right,
                 const Problem& p) {
  for (size_t i = 0; i < right.size(); ++i) {
    ASSERT_NEAR(found[i], right[i], p.step(i / p.n, i % p.n))
        << i << " of " << p.m << 'x' << p.n << 'x' << p.k;
  }
}

tw_matmul matmul_of(const Problem& p, const char* family) {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = family;
  matmul.n = p.n;
  matmul.k = p.k;
  return matmul;
}

tw_rhs_source source_of(const Problem& p, const std::vector<uint8_t>& codes) {
  auto source = tilewright::sized<tw_rhs_source>();
  source.order = TW_NXK;
  source.data = codes.data();
  source.data_bytes = codes.size();
  source.stride = codes.size() / p.n;
  source.scales = p.scales.data();
  source.scale_count = p.scales.size();
  source.bias = p.bias.data();
  source.bias_count = p.bias.size();
  return source;
}

std::vector<float> their_int2(const Problem& p, float limit) {
  constexpr size_t mr = 4, nr = 4, kr = 4;
  const int32_t table[] = {-2, -1, 0, 1};
  const kai_rhs_pack_qs4cxs1s0_param params{1, 2};
  std::vector<uint8_t> lhs(kai_get_lhs_packed_size_lhs_quant_pack_qai8dxp_f32(p.m, p.k, mr, kr, 1));
  kai_run_lhs_quant_pack_qai8dxp_f32(p.m, p.k, mr, kr, 1, 0, p.lhs.data(), p.k * sizeof(float),
                                     lhs.data());
  std::vector<uint8_t> rhs(
      kai_get_rhs_packed_size_rhs_pack_nxk_qsu2cxp4x4bf32sf32_qsu2cx_neon(p.n, p.k, nr, kr, 1));
  kai_run_rhs_pack_nxk_qsu2cxp4x4bf32sf32_qsu2cx_neon(
      1, p.n, p.k, nr, kr, 1, p.packed_codes(0, false).data(), p.bias.data(), p.scales.data(),
      rhs.data(), 0, &params, table);
  std::vector<float> out(p.m * p.n);
  kai_run_matmul_clamp_f32_qai8dxp4x4_qsu2cxp4x4bf32sf32_8x4_neon_dotprod(
      p.m, p.n, p.k, lhs.data(), rhs.data(), out.data(), p.n * sizeof(float), sizeof(float), -limit,
      limit, table);
  return out;
}

TEST(Int2PerChannel, IsKleidiAis) {
  for (const auto& [m, n, k] : {std::array<size_t, 3>{1, 4, 32}, {4, 36, 64}, {13, 37, 160}}) {
    const Problem p(m, n, k, 0, 2);
    const std::vector<uint8_t> codes = p.packed_codes(2, false);
    for (const float limit : {INFINITY, 0.75F}) {
      const std::vector<float> found =
          planned_floats(matmul_of(p, "matmul_clamp_f32_qai8dxp_qsi2cxp"), source_of(p, codes),
                         p.lhs, -limit, limit);
      expect_near(found, their_int2(p, limit), p);
    }
  }
}

std::vector<float> their_blocks(const Problem& p, float limit) {
  constexpr size_t mr = 4, nr = 4, kr = 8, sr = 2;  // halves of kr lie half a block apart
  const kai_rhs_pack_qs4cxs1s0_param params{1, 8};
  std::vector<float> offsets;
  for (size_t i = 0; i < p.zeros.size(); ++i) offsets.push_back(-p.zeros[i] * p.scales[i]);
  std::vector<uint8_t> lhs(kai_get_lhs_packed_size_lhs_quant_pack_qsi8d32pscalef32_f32_neon(
      p.m, p.k, p.block, mr, kr, sr));
  kai_run_lhs_quant_pack_qsi8d32pscalef32_f32_neon(p.m, p.k, p.block, mr, kr, sr, 0, p.lhs.data(),
                                                   p.k * sizeof(float), lhs.data());
  std::vector<uint8_t> rhs(
      kai_get_rhs_packed_size_rhs_pack_nxk_qai4c32p_qau4c32s0s1_f32_f32_f32_neon(p.n, p.k, nr, kr,
                                                                                 p.block));
  kai_run_rhs_pack_nxk_qai4c32p_qau4c32s0s1_f32_f32_f32_neon(
      1, p.n, p.k, nr, kr, sr, p.block, p.packed_codes(0, true).data(), offsets.data(),
      p.bias.data(), p.scales.data(), rhs.data(), 0, &params);
  std::vector<float> out(p.m * p.n);
  kai_run_matmul_clamp_f32_qsi8d32p4x4_qai4c32p4x4_8x4_neon_dotprod(
      p.m, p.n, p.k, p.block, lhs.data(), rhs.data(), out.data(), p.n * sizeof(float),
      sizeof(float), -limit, limit);
  return out;
}

TEST(Int4InBlocksWithZeroPoints, IsKleidiAis) {
  for (const auto& [m, n, k, block] :
       {std::array<size_t, 4>{1, 4, 32, 32}, {4, 36, 128, 64}, {13, 37, 192, 32}}) {
    const Problem p(m, n, k, block, 4);
    const std::vector<uint8_t> codes = p.packed_codes(8, false);
    auto matmul = matmul_of(p, "matmul_clamp_f32_qsi8d32p_qai4c32p");
    matmul.block = block;
    matmul.scales = TW_SCALES_F32;
    auto source = source_of(p, codes);
    source.zero_points = p.zeros.data();
    source.zero_point_count = p.zeros.size();
    for (const float limit : {INFINITY, 0.75F}) {
      const std::vector<float> found = planned_floats(matmul, source, p.lhs, -limit, limit);
      expect_near(found, their_blocks(p, limit), p);
    }
  }
}

}  // namespace
}  // namespace tw::test::low_bits_test
