#include "kleidiai/names/float_operands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "kleidiai/names/operands.h"

namespace tw::test {
namespace {

std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts;
  std::istringstream in(name);
  for (std::string part; std::getline(in, part, '_');) parts.push_back(part);
  return parts;
}

size_t bytes_of(const std::string& type) {
  return has(type, "16") ? 2 : 4;
}

void put(std::vector<uint8_t>& bytes, size_t at, float value, size_t size) {
  const uint16_t half = f16_from(value);
  if (size == 2) std::memcpy(bytes.data() + at, &half, size);
  if (size == 4) std::memcpy(bytes.data() + at, &value, size);
}

float get(const std::vector<uint8_t>& bytes, size_t at, size_t size) {
  float value = 0;
  uint16_t half = 0;
  if (size == 2) std::memcpy(&half, bytes.data() + at, size);
  if (size == 4) std::memcpy(&value, bytes.data() + at, size);
  return size == 2 ? f32_from(half) : value;
}

/// To nearest even.
float rounded_to_bf16(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Numbers whose sums are exact, or any.
float random_value(bool whole, std::mt19937& random) {
  if (whole) return static_cast<float>(static_cast<int>(random() % 4) - 1);
  return std::uniform_real_distribution<float>(-1, 1)(random);
}

void fill(std::vector<uint8_t>& values, size_t bytes, bool whole, std::mt19937& random) {
  for (size_t at = 0; at < values.size(); at += bytes) {
    put(values, at, random_value(whole, random), bytes);
  }
}

}  // namespace

bool has(const std::string& name, const char* part) {
  return name.find(part) != std::string::npos;
}

FloatKind kind_of_packer(const std::string& name) {
  const std::vector<std::string> parts = parts_of(name);
  const auto packed = std::find_if(parts.begin(), parts.end(), [](const std::string& part) {
    return has(part, "16p") || has(part, "32p");
  });
  FloatKind kind;
  kind.bf16 = packed->starts_with("bf16");
  kind.bytes = bytes_of(packed[1]);
  kind.bias_bytes = kind.bf16 ? (has(*packed, "biasf16") ? 2 : 4) : kind.bytes;
  return kind;
}

/// "matmul_clamp_", the outputs, the activations.
FloatKind kind_of_matmul(const std::string& name) {
  const std::vector<std::string> parts = parts_of(name);
  FloatKind kind;
  kind.bf16 = parts[3].starts_with("bf16");
  kind.dst_bytes = bytes_of(parts[2]);
  kind.bytes = kind.bf16 ? kind.dst_bytes : bytes_of(parts[3]);
  kind.bias_bytes = kind.bytes;
  // On SME they are f32.
  kind.f16_sums = parts[3] == "f16" && !has(name, "_sme");
  return kind;
}

bool has_one_row(const std::string& name) {
  return has(name, "_1x8vl_") || has(name, "_1x16vl_");
}

bool is_older(const std::string& name) {
  return has(name, "x1biasf") && !has(name, "vlx1biasf");
}

bool needs_bias(const std::string& packer) {
  return is_older(packer) || has(packer, "vlx");
}

bool leaves_biases(const std::string& packer) {
  return is_older(packer) || has(packer, "x4biasf");
}

void fill_with_numbers(std::vector<uint8_t>& values, size_t bytes, std::mt19937& random) {
  for (uint8_t& byte : values) byte = static_cast<uint8_t>(random());
  for (size_t at = 0; at < values.size(); at += bytes) {
    const bool is_nan = std::isnan(get(values, at, bytes));
    if (is_nan) put(values, at, std::numeric_limits<float>::infinity(), bytes);
  }
}

FloatWeights random_weights_for(const std::string& packer, size_t n, size_t k,
                                std::mt19937& random) {
  FloatWeights out{n, k, kind_of_packer(packer), has(packer, "_kxn_"), 0, {}, {}};
  out.stride = ((out.kxn ? n : k) + random() % 5) * out.kind.bytes;
  out.values.resize((out.kxn ? k : n) * out.stride);
  if (needs_bias(packer) || random() % 4 != 0) out.bias.resize(n * out.kind.bias_bytes);
  for (uint8_t& byte : out.values) byte = static_cast<uint8_t>(random());
  for (uint8_t& byte : out.bias) byte = static_cast<uint8_t>(random());
  if (out.kind.bf16) fill_with_numbers(out.values, out.kind.bytes, random);
  return out;
}

std::vector<uint8_t> pack(const FloatPacker& packer, const FloatWeights& weights, size_t part,
                          uint8_t before) {
  const size_t nr = packer.n_step;
  std::vector<uint8_t> packed(packer.packed_size(weights.n, weights.k), before);
  for (size_t at = 0; at < weights.n; at += part) {
    packer.run(1, std::min(part, weights.n - at), weights.k, nr, packer.kr, 1, weights.stride,
               weights.values.data() + packer.offset(at, weights.stride),
               weights.bias_from(packer.bias_offset(at)), nullptr,
               packed.data() + packer.packed_offset(at, weights.k), 0, nullptr);
  }
  return packed;
}

std::vector<uint8_t> pack(const LhsPacker& packer, const PanelShape& shape,
                          const std::vector<uint8_t>& rows, size_t m, size_t k, size_t stride,
                          size_t part, uint8_t before) {
  std::vector<uint8_t> packed(packer.packed_size(m, k, shape), before);
  for (size_t at = 0; at < m; at += part) {
    packer.run(std::min(part, m - at), k, shape, 0, rows.data() + packer.offset(at, stride), stride,
               packed.data() + packer.packed_offset(at, k, shape));
  }
  return packed;
}

float FloatProduct::a(size_t i, size_t d) const {
  const float value = get(lhs, i * lhs_stride + d * kind.bytes, kind.bytes);
  return kind.bf16 ? rounded_to_bf16(value) : value;
}

float FloatProduct::w(size_t d, size_t j) const {
  const float value = get(weights.values, d * weights.stride + j * kind.bytes, kind.bytes);
  return kind.bf16 ? rounded_to_bf16(value) : value;
}

FloatProduct random_product(const Both<FloatMatmul>& both, std::mt19937& random) {
  const FloatMatmul& kernel = both.theirs;
  FloatProduct it;
  it.kind = kind_of_matmul(both.name);
  // KleidiAI's for panels of one row has no other rows.
  it.m = kernel.mr == 1 || has_one_row(both.name) ? 1 : up_to(2 * kernel.m_step + 6, random);
  it.n = up_to(3 * kernel.n_step + 6, random);
  it.k = up_to(random() % 4 == 0 ? 300 : 70, random);
  it.m0 = random() % ((it.m + kernel.m_step - 1) / kernel.m_step) * kernel.m_step;
  it.n0 = random() % ((it.n + kernel.n_step - 1) / kernel.n_step) * kernel.n_step;
  it.rows = up_to(it.m - it.m0, random);
  it.columns = up_to(it.n - it.n0, random);
  it.lhs_stride = (it.k + random() % 5) * it.kind.bytes;
  it.stride = (it.n + random() % 7) * it.kind.dst_bytes;
  it.whole = random() % 2 == 0;
  const float most = it.kind.dst_bytes == 2 ? 65504 : std::numeric_limits<float>::max();
  it.min = random() % 3 == 0 ? -0.5F : -most;
  it.max = random() % 3 == 0 ? 0.75F : most;
  it.lhs.resize(it.m * it.lhs_stride);
  it.weights = {it.n, it.k, it.kind, true, (it.n + random() % 3) * it.kind.bytes, {}, {}};
  it.weights.values.resize(it.k * it.weights.stride);
  it.weights.bias.resize(it.n * it.kind.bias_bytes);
  fill(it.lhs, it.kind.bytes, it.whole, random);
  fill(it.weights.values, it.kind.bytes, it.whole, random);
  fill(it.weights.bias, it.kind.bias_bytes, it.whole, random);
  return it;
}

std::vector<uint8_t> multiply(const FloatMatmul& kernel, const FloatProduct& it,
                              const std::vector<uint8_t>& lhs, const std::vector<uint8_t>& rhs) {
  const size_t bytes = it.kind.dst_bytes;
  std::vector<uint8_t> out(it.m * it.stride);
  for (size_t at = 0; at < out.size(); at += bytes) put(out, at, untouched, bytes);
  kernel.run(it.rows, it.columns, it.k, lhs.data() + kernel.lhs_offset(it.m0, it.k, it.lhs_stride),
             it.lhs_stride, rhs.data() + kernel.rhs_offset(it.n0, it.k),
             out.data() + kernel.dst_offset(it.m0, it.n0, it.stride), it.stride, bytes, it.min,
             it.max);
  return out;
}

namespace {

/// An output without any rounding, and how far from it a sum of that type may be: each of k + 1
/// additions rounds a sum that is no larger than all sizes are together, by half a step or, where
/// products of bf16 are added up, a whole one; at last it is rounded to what outputs are.
struct ExactSum {
  double value = 0, bound = 0;
};
ExactSum exact_sum(const FloatProduct& it, size_t i, size_t j) {
  ExactSum out{get(it.weights.bias, j * it.kind.bias_bytes, it.kind.bias_bytes), 0};
  double sizes = std::fabs(out.value);
  for (size_t d = 0; d < it.k; ++d) {
    const double product = double{it.a(i, d)} * double{it.w(d, j)};
    out.value += product;
    sizes += std::fabs(product);
  }
  const double error = it.kind.f16_sums ? 0x1p-11 : it.kind.bf16 ? 0x1p-23 : 0x1p-24;
  const auto roundings = static_cast<double>(it.k + 2);
  if (!it.whole) {
    out.bound = 1.01 * roundings * error * sizes + roundings * 0x1p-25;
    if (it.kind.dst_bytes == 2) out.bound += 0x1p-11 * std::fabs(out.value);
  }
  out.value = std::clamp(out.value, double{it.min}, double{it.max});
  return out;
}

}  // namespace

void compare(const FloatProduct& it, const std::vector<uint8_t>& ours,
             const std::vector<uint8_t>& theirs, double& worst) {
  const size_t bytes = it.kind.dst_bytes;
  for (size_t at = 0; at < ours.size(); at += bytes) {
    const size_t i = at / it.stride;
    const size_t j = at % it.stride / bytes;
    const double mine = get(ours, at, bytes);
    const double other = get(theirs, at, bytes);
    const bool inside = i >= it.m0 && i < it.m0 + it.rows && j >= it.n0 && j < it.n0 + it.columns;
    if (!inside) {
      ASSERT_EQ(mine, untouched) << "written outside of the part";
      continue;
    }
    const ExactSum right = exact_sum(it, i, j);
    ASSERT_LE(std::fabs(mine - right.value), right.bound)
        << "row " << i << ", column " << j << " instead of " << right.value;
    ASSERT_LE(std::fabs(mine - other), 2 * right.bound) << "row " << i << ", column " << j;
    if (!it.whole) worst = std::max(worst, std::fabs(mine - right.value) / right.bound);
  }
}

}  // namespace tw::test
