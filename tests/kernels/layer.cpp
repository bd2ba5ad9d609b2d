#include "kernels/layer.h"

#include <cstring>
#include <random>

#include "reference/half_reference.h"

namespace tw::test {
namespace {

size_t bytes_of(tw_type type) {
  return type == TW_S8 ? 1 : type == TW_F32 ? 4 : 2;
}
const char* name_of(tw_type type) {
  return type == TW_F16 ? "f16" : type == TW_BF16 ? "bf16" : "f32";
}

/// Floats near 1, or any bytes.
void fill_values(tw_type type, uint8_t* values, size_t bytes, std::mt19937& random) {
  std::uniform_real_distribution<float> value(-2, 2);
  const size_t size = bytes_of(type);
  for (size_t i = 0; i + size <= bytes; i += size) {
    const uint32_t bits =
        type == TW_S8 ? static_cast<uint32_t>(random()) : float_bits(name_of(type), value(random));
    std::memcpy(values + i, &bits, size);
  }
}

tw_matmul matmul_of(const Family& family, size_t n, size_t k, size_t taps,
                    const tw_tuning& tuning) {
  auto made = tilewright::sized<tw_matmul>();
  made.family = family.name;
  made.n = n;
  made.k = k;
  made.taps = taps;
  made.block = family.block;
  if (family.block != 0) made.scales = TW_SCALES_F16;
  made.lhs_type = family.lhs;
  made.dst_type = family.dst;
  made.accumulate = family.accumulate ? 1 : 0;
  made.tuning = tuning;
  return made;
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> list = {
      {"matmul_clamp_f32_f32_f32p", 32},
      {"matmul_clamp_f32_f32_f16p", 16, 0, TW_F32, TW_F32, false, TW_F16},
      {"matmul_clamp_f16_f32_f32p", 32, 0, TW_F32, TW_F16},
      {"matmul_clamp_f32_f32_qsi4cxp", 4},
      {"matmul_clamp_f32_qai8dxp_qsi4cxp", 4},
      {"matmul_clamp_bf16_qai8dxp_qsi8cxp", 8, 0, TW_BF16, TW_BF16},
      {"matmul_clamp_f32_qai8dxp_qsi8cxp", 8, 0, TW_S8},
      {"matmul_clamp_f32_qai8dxp_qsi2cxp", 2, 0, TW_F16},
      {"matmul_clamp_f32_qai8dxp_qsi4c32p", 4, 32},
      {"matmul_clamp_f32_qsi8d32p_qsi4c32p", 4, 32},
      {"matmul_clamp_f32_qsi8d32p_qsi8c32p", 8, 32},
      {"matmul_clamp_qai8_qai8p_qsi8cxp", 8, 0, TW_S8, TW_S8},
      {"matmul_acc_clamp_f32_f32_f32p", 32, 0, TW_F32, TW_F32, true},
      {"matmul_acc_clamp_f32_qai8dxp_qsi4cxp", 4, 0, TW_F32, TW_F32, true},
      {"matmul_clamp_f16_f32_f16p", 16, 0, TW_F16, TW_F16, false, TW_F16},
      {"matmul_clamp_bf16_f32_bf16p", 16, 0, TW_BF16, TW_BF16, false, TW_BF16}};
  return list;
}

Layer::Layer(const Family& family, size_t n, size_t k, size_t taps, const tw_tuning& tuning)
    : family_(family),
      n_(n),
      k_(k),
      plan_(tilewright::detect(), matmul_of(family, n, k, taps, tuning)),
      bias_(n) {
  for (size_t i = 0; i < n; ++i) bias_[i] = static_cast<float>(i % 17) - 8;
}

size_t Layer::lhs_row() const {
  return k_ * bytes_of(family_.lhs);
}
size_t Layer::dst_row() const {
  return n_ * bytes_of(family_.dst);
}

std::vector<uint8_t> Layer::packed_weights(unsigned seed) const {
  std::mt19937 random(seed);
  auto source = tilewright::sized<tw_rhs_source>();
  source.order = TW_NXK;
  source.stride = (k_ * family_.weight_bits + 7) / 8;
  std::vector<uint8_t> weights(n_ * source.stride);
  fill_values(family_.weight_bits < 16 ? TW_S8 : family_.weights, weights.data(), weights.size(),
              random);
  source.data = weights.data();
  source.data_bytes = weights.size();
  std::vector<uint16_t> halves;
  std::vector<float> scales;
  for (size_t i = 0; i < n_; ++i) scales.push_back(0.001F + 0.0001F * static_cast<float>(i % 9));
  for (size_t i = 0; family_.block != 0 && i < n_ * (k_ / family_.block); ++i) {
    halves.push_back(static_cast<uint16_t>(float_bits("f16", scales[i % n_])));
  }
  if (family_.weight_bits < 16) {
    source.scales = halves.empty() ? static_cast<const void*>(scales.data()) : halves.data();
    source.scale_count = halves.empty() ? scales.size() : halves.size();
  }
  source.lhs_zero_point = 3;
  source.lhs_scale = 0.02F;
  source.dst_scale = 0.03F;
  std::vector<uint8_t> packed(plan_.rhs_bytes());
  for (size_t s = 0; s < plan_.rhs_slices(); ++s) {
    plan_.pack_rhs(source, packed.data(), packed.size(), s);
  }
  return packed;
}

void Layer::fill(uint8_t* values, size_t bytes, unsigned seed) const {
  std::mt19937 random(seed);
  fill_values(family_.lhs, values, bytes, random);
}

tw_lhs_source Layer::source() const {
  auto made = tilewright::sized<tw_lhs_source>();
  made.zero_point = 3;
  made.scale = 0.02F;
  return made;
}

tw_run_args Layer::args() const {
  auto made = tilewright::sized<tw_run_args>();
  made.clamp = 1;
  made.min = -100;
  made.max = 100;
  if (family_.dst == TW_S8) {
    made.dst_zero_point = -5;
  } else {
    made.bias = bias_.data();
    made.bias_count = bias_.size();
  }
  return made;
}

void Layer::multiply(size_t m, const uint8_t* lhs, size_t lhs_stride,
                     const std::vector<uint8_t>& rhs, uint8_t* dst, size_t dst_stride) const {
  tw_lhs_source rows = source();
  rows.data = lhs;
  rows.data_bytes = (m - 1) * lhs_stride + lhs_row();
  rows.stride = lhs_stride;
  std::vector<uint8_t> packed(plan_.lhs_bytes(m));
  for (size_t s = plan_.lhs_slices(m); s-- > 0;) {
    plan_.pack_lhs(m, rows, packed.data(), packed.size(), s);
  }
  tw_run_args run = args();
  run.m = m;
  run.lhs = packed.empty() ? lhs : packed.data();
  run.lhs_bytes = packed.empty() ? rows.data_bytes : packed.size();
  run.lhs_stride = packed.empty() ? lhs_stride : 0;
  run.rhs = rhs.data();
  run.rhs_bytes = rhs.size();
  run.dst = dst;
  run.dst_bytes = (m - 1) * dst_stride + dst_row();
  run.dst_stride = dst_stride;
  for (size_t s = plan_.run_slices(m); s-- > 0;) plan_.run(run, s);
}

std::string to_string(const Family& family) {
  return std::string(family.name) + (family.lhs == TW_F32 ? "" : " of other rows");
}

}  // namespace tw::test
