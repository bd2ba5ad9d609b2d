// Names of floats: what packers write, and products of weights that either library has packed, over
// random shapes, strides and parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>

#include "kleidiai/names/float_libraries.h"
#include "kleidiai/names/operands.h"
#include "kleidiai/names/refused.h"

namespace tw::test {
namespace {

constexpr int cases = 60;

size_t up_to(size_t most, std::mt19937& random) {
  return 1 + random() % most;
}

bool has(const std::string& name, const char* part) {
  return name.find(part) != std::string::npos;
}

size_t value_bytes(const std::string& packer) {
  return has(packer, "16_neon") ? 2 : 4;
}

/// Older names cannot do without a bias, and check strides of columns.
bool is_older(const std::string& name) {
  return has(name, "x1biasf");
}

/// Weights in rows, and biases.
struct FloatWeights {
  size_t n = 0, k = 0, bytes = 0;
  bool kxn = false;
  size_t stride = 0;
  std::vector<uint8_t> values, bias;

  [[nodiscard]] const void* bias_from(size_t at) const {
    return bias.empty() ? nullptr : bias.data() + at;
  }
};

FloatWeights of_bytes(const std::string& packer, size_t n, size_t k, std::mt19937& random) {
  FloatWeights out{n, k, value_bytes(packer), has(packer, "_kxn_"), 0, {}, {}};
  out.stride = ((out.kxn ? n : k) + random() % 5) * out.bytes;
  out.values.resize((out.kxn ? k : n) * out.stride);
  if (is_older(packer) || random() % 4 != 0) out.bias.resize(n * out.bytes);
  for (uint8_t& byte : out.values) byte = static_cast<uint8_t>(random());
  for (uint8_t& byte : out.bias) byte = static_cast<uint8_t>(random());
  return out;
}

/// Columns packed part by part.
std::vector<uint8_t> pack(const FloatPacker& packer, const FloatWeights& weights, size_t part,
                          uint8_t before) {
  const size_t nr = packer.n_step;
  std::vector<uint8_t> packed(packer.packed_size(weights.n, weights.k), before);
  for (size_t at = 0; at < weights.n; at += part) {
    packer.run(1, std::min(part, weights.n - at), weights.k, nr, 1, 1, weights.stride,
               weights.values.data() + packer.offset(at, weights.stride),
               weights.bias_from(packer.bias_offset(at)), nullptr,
               packed.data() + packer.packed_offset(at, weights.k), 0, nullptr);
  }
  return packed;
}

class KleidiaiFloatPackers : public testing::TestWithParam<Both<FloatPacker>> {};

/// Theirs leave a few biases beyond the last column as they were.
TEST_P(KleidiaiFloatPackers, WriteTheSameBytes) {
  const auto& [name, theirs, ours] = GetParam();
  std::mt19937 random(6);
  ASSERT_EQ(ours.n_step, theirs.n_step);
  size_t bytes = 0;
  size_t unwritten = 0;
  for (int i = 0; i < 4 * cases; ++i) {
    const size_t n = up_to(3 * ours.n_step + 1, random);
    const FloatWeights weights = of_bytes(name, n, up_to(i % 4 == 0 ? 600 : 130, random), random);
    ASSERT_EQ(ours.packed_size(n, weights.k), theirs.packed_size(n, weights.k));
    ASSERT_EQ(ours.packed_offset(2 * ours.n_step, weights.k),
              theirs.packed_offset(2 * ours.n_step, weights.k));
    ASSERT_EQ(ours.offset(2 * ours.n_step, 77), theirs.offset(2 * ours.n_step, 77));
    ASSERT_EQ(ours.bias_offset(ours.n_step), theirs.bias_offset(ours.n_step));
    const size_t part = i % 3 == 0 ? n : up_to(2, random) * ours.n_step;
    const std::vector<uint8_t> right = pack(theirs, weights, part, 0xa5);
    const std::vector<uint8_t> again = pack(theirs, weights, part, 0x5a);
    const std::vector<uint8_t> mine = pack(ours, weights, part, 0xa5);
    for (size_t at = 0; at < right.size(); ++at) {
      const bool is_written = right[at] == again[at];
      ASSERT_EQ(mine[at], is_written ? right[at] : 0)
          << "byte " << at << " of " << n << " x " << weights.k;
      unwritten += is_written ? 0 : 1;
    }
    bytes += right.size();
  }
  EXPECT_LE(unwritten, is_older(name) ? bytes / 20 : 0);
  std::printf("%zu bytes equal\n", bytes - unwritten);
}

TEST(KleidiaiFloatStrides, AreTheSame) {
  for (const PackedStride& stride : packed_strides()) {
    for (const size_t k : {1, 7, 130}) EXPECT_EQ(stride.ours(k), stride.theirs(k));
  }
}

TEST_P(KleidiaiFloatPackers, NoColumns) {
  const FloatPacker& ours = GetParam().ours;
  const uint8_t source = 0;
  uint8_t packed = 0xa5;
  ours.run(1, 0, 64, ours.n_step, 1, 1, 256, &source, &source, nullptr, &packed, 0, nullptr);
  EXPECT_EQ(packed, 0xa5);
}

TEST_P(KleidiaiFloatPackers, RefuseTheSame) {
  const Both<FloatPacker>& both = GetParam();
  const size_t nr = both.theirs.n_step;
  std::mt19937 random(7);
  const FloatWeights weights = of_bytes(both.name, nr, 9, random);
  std::vector<uint8_t> packed(both.theirs.packed_size(nr, 9));
  const auto packer = [&](bool t) -> const FloatPacker& { return t ? both.theirs : both.ours; };
  struct Call {
    size_t groups = 1, nr = 0, kr = 1, sr = 1;
    const void *rhs = nullptr, *bias = nullptr, *scale = nullptr;
    size_t extra = 0;
    const void* params = nullptr;
  };
  const auto expect = [&](bool refused, const std::function<void(Call&)>& change) {
    Call call{1, nr, 1, 1, weights.values.data(), packed.data(), nullptr, 0, nullptr};
    change(call);
    expect_both_refuse(refused, [&](bool t) {
      packer(t).run(call.groups, nr, 9, call.nr, call.kr, call.sr, weights.stride, call.rhs,
                    call.bias, call.scale, packed.data(), call.extra, call.params);
    });
  };
  expect(false, [](Call&) {});
  expect(true, [](Call& it) { it.groups = 2; });
  expect(true, [](Call& it) { ++it.nr; });
  expect(true, [](Call& it) { it.kr = 2; });
  expect(true, [](Call& it) { it.sr = 2; });
  expect(true, [](Call& it) { it.rhs = nullptr; });
  expect(is_older(both.name), [](Call& it) { it.bias = nullptr; });
  expect(true, [](Call& it) { it.scale = &it; });
  expect(true, [](Call& it) { it.extra = 4; });
  expect(true, [](Call& it) { it.params = &it; });
  expect_both_refuse(true, [&](bool t) { packer(t).packed_offset(nr + 1, 9); });
  expect_both_refuse(true, [&](bool t) { packer(t).offset(nr + 1, 9); });
  const bool rows_of_k = !weights.kxn;
  expect_both_refuse(rows_of_k, [&](bool t) { packer(t).bias_offset(nr + 1); });
}

INSTANTIATE_TEST_SUITE_P(, KleidiaiFloatPackers, testing::ValuesIn(float_packers()),
                         [](const auto& it) { return it.param.name; });

// Products.

class KleidiaiFloatMatmuls : public testing::TestWithParam<Both<FloatMatmul>> {};

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

/// Numbers whose sums are exact, or any.
float random_value(bool whole, std::mt19937& random) {
  if (whole) return static_cast<float>(static_cast<int>(random() % 4) - 1);
  return std::uniform_real_distribution<float>(-1, 1)(random);
}

struct FloatProduct {
  size_t m = 0, n = 0, k = 0;
  size_t m0 = 0, n0 = 0, rows = 0, columns = 0;  ///< the part that is computed
  size_t bytes = 0, lhs_stride = 0, stride = 0;
  float min = 0, max = 0;
  bool whole = false;
  std::vector<uint8_t> lhs;
  FloatWeights weights;

  [[nodiscard]] float a(size_t i, size_t d) const {
    return get(lhs, i * lhs_stride + d * bytes, bytes);
  }
  [[nodiscard]] float w(size_t d, size_t j) const {
    return get(weights.values, d * weights.stride + j * bytes, bytes);
  }
};

FloatProduct random_product(const FloatMatmul& kernel, std::mt19937& random) {
  FloatProduct it;
  it.bytes = kernel.bytes();
  it.m = up_to(2 * kernel.m_step + 6, random);
  it.n = up_to(3 * kernel.n_step + 6, random);
  it.k = up_to(random() % 4 == 0 ? 300 : 70, random);
  it.m0 = random() % ((it.m + kernel.m_step - 1) / kernel.m_step) * kernel.m_step;
  it.n0 = random() % ((it.n + kernel.n_step - 1) / kernel.n_step) * kernel.n_step;
  it.rows = up_to(it.m - it.m0, random);
  it.columns = up_to(it.n - it.n0, random);
  it.lhs_stride = (it.k + random() % 5) * it.bytes;
  it.stride = (it.n + random() % 7) * it.bytes;
  it.whole = random() % 2 == 0;
  const float most = it.bytes == 2 ? 65504 : std::numeric_limits<float>::max();
  it.min = random() % 3 == 0 ? -0.5F : -most;
  it.max = random() % 3 == 0 ? 0.75F : most;
  it.lhs.resize(it.m * it.lhs_stride);
  it.weights = {it.n, it.k, it.bytes, true, (it.n + random() % 3) * it.bytes, {}, {}};
  it.weights.values.resize(it.k * it.weights.stride);
  it.weights.bias.resize(it.n * it.bytes);
  for (std::vector<uint8_t>* values : {&it.lhs, &it.weights.values, &it.weights.bias}) {
    for (size_t at = 0; at < values->size(); at += it.bytes) {
      put(*values, at, random_value(it.whole, random), it.bytes);
    }
  }
  return it;
}

constexpr float untouched = 1232;

std::vector<uint8_t> multiply(const FloatMatmul& kernel, const FloatProduct& it,
                              const std::vector<uint8_t>& rhs) {
  std::vector<uint8_t> out(it.m * it.stride);
  for (size_t at = 0; at < out.size(); at += it.bytes) put(out, at, untouched, it.bytes);
  kernel.run(it.rows, it.columns, it.k, it.lhs.data() + kernel.lhs_offset(it.m0, it.lhs_stride),
             it.lhs_stride, rhs.data() + kernel.rhs_offset(it.n0, it.k),
             out.data() + kernel.dst_offset(it.m0, it.n0, it.stride), it.stride, it.bytes, it.min,
             it.max);
  return out;
}

/// The packer of rows of n for a kernel's panels.
const Both<FloatPacker>& packer_for(const FloatMatmul& kernel) {
  for (const Both<FloatPacker>& packer : float_packers()) {
    const bool fits = has(packer.name, "_kxn_") && value_bytes(packer.name) == kernel.bytes();
    if (fits && packer.theirs.n_step == kernel.nr) return packer;
  }
  ADD_FAILURE() << "no packer";
  std::abort();
}

/// An output without any rounding, and how far from it a sum of that type may be: each of k + 1
/// additions rounds a sum that is no larger than all sizes are together.
struct ExactSum {
  double value = 0, bound = 0;
};
ExactSum exact_sum(const FloatProduct& it, size_t i, size_t j) {
  ExactSum out{get(it.weights.bias, j * it.bytes, it.bytes), 0};
  double sizes = std::fabs(out.value);
  for (size_t d = 0; d < it.k; ++d) {
    const double product = double{it.a(i, d)} * double{it.w(d, j)};
    out.value += product;
    sizes += std::fabs(product);
  }
  const double half_step = it.bytes == 2 ? 0x1p-11 : 0x1p-24;
  const auto roundings = static_cast<double>(it.k + 2);
  if (!it.whole) out.bound = 1.01 * roundings * half_step * sizes + roundings * 0x1p-25;
  out.value = std::clamp(out.value, double{it.min}, double{it.max});
  return out;
}

void compare(const FloatProduct& it, const std::vector<uint8_t>& ours,
             const std::vector<uint8_t>& theirs, double& worst) {
  for (size_t at = 0; at < ours.size(); at += it.bytes) {
    const size_t i = at / it.stride;
    const size_t j = at % it.stride / it.bytes;
    const double mine = get(ours, at, it.bytes);
    const double other = get(theirs, at, it.bytes);
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

TEST_P(KleidiaiFloatMatmuls, NumbersAreTheSame) {
  const auto& [name, theirs, ours] = GetParam();
  EXPECT_EQ(ours.m_step, theirs.m_step);
  EXPECT_EQ(ours.n_step, theirs.n_step);
  EXPECT_EQ(ours.nr, theirs.nr);
  EXPECT_EQ(ours.kr, theirs.kr);
  EXPECT_EQ(ours.sr, theirs.sr);
  EXPECT_EQ(ours.dst_size(7, 9), theirs.dst_size(7, 9));
}

TEST_P(KleidiaiFloatMatmuls, ProductsAreTheSame) {
  const auto& [name, theirs, ours] = GetParam();
  const Both<FloatPacker>& packer = packer_for(theirs);
  std::mt19937 random(8);
  double worst = 0;
  for (int i = 0; i < 2 * cases; ++i) {
    const FloatProduct it = random_product(theirs, random);
    ASSERT_EQ(ours.lhs_offset(it.m0, it.lhs_stride), theirs.lhs_offset(it.m0, it.lhs_stride));
    ASSERT_EQ(ours.rhs_offset(it.n0, it.k), theirs.rhs_offset(it.n0, it.k));
    ASSERT_EQ(ours.dst_offset(it.m0, it.n0, it.stride), theirs.dst_offset(it.m0, it.n0, it.stride));
    // Each multiplies what the other one's library has packed.
    const auto their_rhs = pack(packer.theirs, it.weights, it.n, 0xff);
    const auto our_rhs = pack(packer.ours, it.weights, it.n, 0xff);
    SCOPED_TRACE(testing::Message() << it.m << " x " << it.n << " x " << it.k << ", from " << it.m0
                                    << ", " << it.n0 << (it.whole ? ", whole numbers" : ""));
    compare(it, multiply(ours, it, their_rhs), multiply(theirs, it, our_rhs), worst);
    if (HasFatalFailure()) return;
  }
  std::printf("%d products, largest error %.0f %% of the bound\n", 2 * cases, 100 * worst);
}

TEST_P(KleidiaiFloatMatmuls, NoRowsOrColumns) {
  const FloatMatmul& ours = GetParam().ours;
  const std::vector<uint8_t> operand(8192);
  float out = untouched;
  ours.run(0, 5, 8, operand.data(), 32, operand.data(), &out, 20, ours.bytes(), 0, 1);
  ours.run(5, 0, 8, operand.data(), 32, operand.data(), &out, 20, ours.bytes(), 0, 1);
  EXPECT_EQ(out, untouched);
}

TEST_P(KleidiaiFloatMatmuls, RefuseTheSame) {
  const Both<FloatMatmul>& both = GetParam();
  const auto kernel = [&](bool t) -> const FloatMatmul& { return t ? both.theirs : both.ours; };
  const auto [m_step, n_step] = std::pair(both.theirs.m_step, both.theirs.n_step);
  expect_both_refuse(false, [&](bool t) { kernel(t).dst_offset(2 * m_step, n_step, 100); });
  expect_both_refuse(false, [&](bool t) { kernel(t).lhs_offset(m_step, 100); });
  expect_both_refuse(false, [&](bool t) { kernel(t).rhs_offset(n_step, 9); });
  expect_both_refuse(true, [&](bool t) { kernel(t).dst_offset(m_step + 1, 0, 100); });
  expect_both_refuse(true, [&](bool t) { kernel(t).dst_offset(0, n_step - 1, 100); });
  expect_both_refuse(true, [&](bool t) { kernel(t).lhs_offset(m_step - 1, 100); });
  expect_both_refuse(true, [&](bool t) { kernel(t).rhs_offset(n_step + 1, 9); });
  const std::vector<uint8_t> operand(1 << 14);
  std::vector<uint8_t> out(1024);
  expect_both_refuse(is_older(both.name), [&](bool t) {
    kernel(t).run(2, 2, 8, operand.data(), 64, operand.data(), out.data(), 64, 16, -1, 1);
  });
}

INSTANTIATE_TEST_SUITE_P(, KleidiaiFloatMatmuls, testing::ValuesIn(float_matmuls()),
                         [](const auto& it) { return it.param.name; });

}  // namespace
}  // namespace tw::test
