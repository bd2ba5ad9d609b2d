// Names of floats: what packers write, and products of weights that either library has packed, over
// random shapes, strides and parts.
#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "kleidiai/names/float_operands.h"
#include "kleidiai/names/operands.h"
#include "kleidiai/names/refused.h"

namespace tw::test::floats_test {
namespace {

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
    const FloatWeights weights =
        random_weights_for(name, n, up_to(i % 4 == 0 ? 600 : 130, random), random);
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
  EXPECT_LE(unwritten, leaves_biases(name) ? bytes / 20 : 0);
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
  ours.run(1, 0, 64, ours.n_step, ours.kr, 1, 256, &source, &source, nullptr, &packed, 0, nullptr);
  EXPECT_EQ(packed, 0xa5);
}

TEST_P(KleidiaiFloatPackers, RefuseTheSame) {
  const Both<FloatPacker>& both = GetParam();
  const size_t nr = both.theirs.n_step;
  std::mt19937 random(7);
  const FloatWeights weights = random_weights_for(both.name, nr, 9, random);
  std::vector<uint8_t> packed(both.theirs.packed_size(nr, 9));
  const auto packer = [&](bool t) -> const FloatPacker& { return t ? both.theirs : both.ours; };
  struct Call {
    size_t groups = 1, nr = 0, kr = 0, sr = 1;
    const void *rhs = nullptr, *bias = nullptr, *scale = nullptr;
    size_t extra = 0;
    const void* params = nullptr;
  };
  const auto expect = [&](bool refused, const std::function<void(Call&)>& change) {
    Call call{1, nr, both.theirs.kr, 1, weights.values.data(), packed.data(), nullptr, 0, nullptr};
    change(call);
    expect_both_refuse(refused, [&](bool t) {
      packer(t).run(call.groups, nr, 9, call.nr, call.kr, call.sr, weights.stride, call.rhs,
                    call.bias, call.scale, packed.data(), call.extra, call.params);
    });
  };
  expect(false, [](Call&) {});
  expect(true, [](Call& it) { it.groups = 2; });
  expect(true, [](Call& it) { ++it.nr; });
  expect(true, [](Call& it) { ++it.kr; });
  expect(!has(both.name, "_sve"), [](Call& it) { it.sr = 2; });
  expect(true, [](Call& it) { it.rhs = nullptr; });
  expect(needs_bias(both.name), [](Call& it) { it.bias = nullptr; });
  expect(true, [](Call& it) { it.scale = &it; });
  expect(true, [](Call& it) { it.extra = 4; });
  expect(true, [](Call& it) { it.params = &it; });
  expect_both_refuse(true, [&](bool t) { packer(t).packed_offset(nr + 1, 9); });
  expect_both_refuse(true, [&](bool t) { packer(t).offset(nr + 1, 9); });
  const bool looks = !weights.kxn || has(both.name, "_quant_");
  expect_both_refuse(looks, [&](bool t) { packer(t).bias_offset(nr + 1); });
}

INSTANTIATE_TEST_SUITE_P(, KleidiaiFloatPackers, testing::ValuesIn(float_packers()),
                         [](const auto& it) { return it.param.name; });

class KleidiaiFloatRows : public testing::TestWithParam<Both<LhsPacker>> {};

/// Activations that are packed, as a kernel's name has their panels.
PanelShape shape_for(const std::string& packer) {
  const bool is_sme = has(packer, "_sme");
  for (const Both<FloatMatmul>& matmul : float_matmuls()) {
    const FloatMatmul& its = matmul.theirs;
    if (its.mr == 0) continue;  // not packed
    const std::string rows = is_sme ? "2vl" : std::to_string(its.mr);
    const std::string panel = "p" + rows + "x" + std::to_string(its.kr) + "_";
    const bool is_type = kind_of_matmul(matmul.name).bf16 == kind_of_packer(packer).bf16;
    const bool is_isa = has(matmul.name, "_sme") == is_sme;
    if (is_type && is_isa && has(packer, panel.c_str())) return {its.mr, its.kr, its.sr, 0};
  }
  ADD_FAILURE() << "no kernel reads what " << packer << " packs";
  return {};
}

/// KleidiAI's for panels of one row has no other rows.
size_t some_rows(const PanelShape& shape, size_t rows) {
  return shape.panel == 1 ? 1 : rows;
}

TEST_P(KleidiaiFloatRows, WriteTheSameBytes) {
  const auto& [name, theirs, ours] = GetParam();
  const PanelShape shape = shape_for(name);
  const FloatKind kind = kind_of_packer(name);
  std::mt19937 random(16);
  ASSERT_EQ(ours.step(shape.panel), theirs.step(shape.panel));
  size_t bytes = 0;
  for (int i = 0; i < 4 * cases; ++i) {
    const size_t m = some_rows(shape, up_to(3 * shape.panel + 1, random));
    const size_t k = up_to(i % 4 == 0 ? 600 : 130, random);
    const size_t stride = (k + random() % 5) * kind.bytes;
    std::vector<uint8_t> rows(m * stride);
    for (uint8_t& byte : rows) byte = static_cast<uint8_t>(random());
    if (kind.bf16) fill_with_numbers(rows, kind.bytes, random);
    const size_t part = i % 3 == 0 ? m : up_to(2, random) * shape.panel;
    ASSERT_EQ(ours.packed_size(m, k, shape), theirs.packed_size(m, k, shape));
    const size_t at = shape.panel == 1 ? 0 : 2 * shape.panel;
    ASSERT_EQ(ours.packed_offset(at, k, shape), theirs.packed_offset(at, k, shape));
    ASSERT_EQ(ours.offset(shape.panel, stride), theirs.offset(shape.panel, stride));
    const std::vector<uint8_t> right = pack(theirs, shape, rows, m, k, stride, part, 0xa5);
    ASSERT_EQ(pack(ours, shape, rows, m, k, stride, part, 0x5a), right) << m << " x " << k;
    bytes += right.size();
  }
  std::printf("%zu bytes equal\n", bytes);
}

TEST_P(KleidiaiFloatRows, RefuseTheSame) {
  const Both<LhsPacker>& both = GetParam();
  const PanelShape right = shape_for(both.name);
  const std::vector<uint8_t> rows(1 << 14);
  std::vector<uint8_t> packed(1 << 16);
  const auto packer = [&](bool t) -> const LhsPacker& { return t ? both.theirs : both.ours; };
  const auto expect = [&](bool refused, const PanelShape& shape, size_t start, const void* lhs,
                          void* to) {
    const size_t m = some_rows(right, 5);
    expect_both_refuse(refused, [&](bool t) { packer(t).run(m, 9, shape, start, lhs, 64, to); });
  };
  const auto [panel, kr, sr, bl] = right;
  expect(false, right, 0, rows.data(), packed.data());
  expect(true, {panel + 1, kr, sr, bl}, 0, rows.data(), packed.data());
  expect(true, {panel, kr + 1, sr, bl}, 0, rows.data(), packed.data());
  expect(true, {panel, kr, 2, bl}, 0, rows.data(), packed.data());
  expect(true, right, 0, nullptr, packed.data());
  expect(true, right, 0, rows.data(), nullptr);
  const bool looks_later = kind_of_packer(both.name).bf16 && has(both.name, "_sme");
  expect(!looks_later, right, panel, rows.data(), packed.data());
  if (panel > 1) {
    const bool looks = !has(both.name, "_quant_");
    expect_both_refuse(looks, [&](bool t) { packer(t).offset(panel + 1, 64); });
    expect_both_refuse(true, [&](bool t) { packer(t).packed_offset(panel + 1, 9, right); });
  }
  if (looks_later) return;  // of those KleidiAI's look at the shape when they run only
  expect_both_refuse(true, [&](bool t) { packer(t).step(panel + 1); });
  expect_both_refuse(true, [&](bool t) { packer(t).packed_size(5, 9, {panel, kr + 1, sr, bl}); });
}

INSTANTIATE_TEST_SUITE_P(, KleidiaiFloatRows, testing::ValuesIn(float_lhs_packers()),
                         [](const auto& it) { return it.param.name; });

// Products.

class KleidiaiFloatMatmuls : public testing::TestWithParam<Both<FloatMatmul>> {};

/// Whether a packer's panels are a kernel's.
bool fits(const std::string& packer, const Both<FloatMatmul>& kernel) {
  const FloatKind its = kind_of_packer(packer);
  const FloatKind wanted = kind_of_matmul(kernel.name);
  const bool bias = has(packer, "lhs_") || its.bias_bytes == wanted.bias_bytes;
  return its.bf16 == wanted.bf16 && its.bytes == wanted.bytes && bias &&
         has(packer, "_sme") == has(kernel.name, "_sme");
}

/// The packer of rows of n for a kernel's panels.
const Both<FloatPacker>& packer_for(const Both<FloatMatmul>& kernel) {
  for (const Both<FloatPacker>& packer : float_packers()) {
    const bool reads = has(packer.name, "_kxn_") && fits(packer.name, kernel);
    if (reads && packer.theirs.n_step == kernel.theirs.nr) return packer;
  }
  ADD_FAILURE() << "no packer";
  std::abort();
}

/// Of a kernel whose rows are packed.
const Both<LhsPacker>& rows_packer_for(const Both<FloatMatmul>& kernel) {
  for (const Both<LhsPacker>& packer : float_lhs_packers()) {
    const bool reads = fits(packer.name, kernel);
    if (reads && shape_for(packer.name).panel == kernel.theirs.mr) return packer;
  }
  ADD_FAILURE() << "no packer of rows";
  std::abort();
}

TEST_P(KleidiaiFloatMatmuls, NumbersAreTheSame) {
  const auto& [name, theirs, ours] = GetParam();
  EXPECT_EQ(ours.m_step, theirs.m_step);
  EXPECT_EQ(ours.n_step, theirs.n_step);
  EXPECT_EQ(ours.mr, theirs.mr);
  EXPECT_EQ(ours.nr, theirs.nr);
  EXPECT_EQ(ours.kr, theirs.kr);
  EXPECT_EQ(ours.sr, theirs.sr);
  EXPECT_EQ(ours.dst_size(7, 9), theirs.dst_size(7, 9));
}

TEST_P(KleidiaiFloatMatmuls, ProductsAreTheSame) {
  const auto& [name, theirs, ours] = GetParam();
  const Both<FloatPacker>& packer = packer_for(GetParam());
  const Both<LhsPacker>* const rows = theirs.mr == 0 ? nullptr : &rows_packer_for(GetParam());
  std::mt19937 random(8);
  double worst = 0;
  for (int i = 0; i < 2 * cases; ++i) {
    const FloatProduct it = random_product(GetParam(), random);
    ASSERT_EQ(ours.lhs_offset(it.m0, it.k, it.lhs_stride),
              theirs.lhs_offset(it.m0, it.k, it.lhs_stride));
    ASSERT_EQ(ours.rhs_offset(it.n0, it.k), theirs.rhs_offset(it.n0, it.k));
    ASSERT_EQ(ours.dst_offset(it.m0, it.n0, it.stride), theirs.dst_offset(it.m0, it.n0, it.stride));
    // Each multiplies what the other one's library has packed.
    const auto their_rhs = pack(packer.theirs, it.weights, it.n, 0xff);
    const auto our_rhs = pack(packer.ours, it.weights, it.n, 0xff);
    SCOPED_TRACE(testing::Message() << it.m << " x " << it.n << " x " << it.k << ", from " << it.m0
                                    << ", " << it.n0 << (it.whole ? ", whole numbers" : ""));
    const auto lhs = [&](const LhsPacker& from) {
      return pack(from, {theirs.mr, theirs.kr, theirs.sr, 0}, it.lhs, it.m, it.k, it.lhs_stride,
                  it.m, 0xff);
    };
    const auto their_lhs = rows == nullptr ? it.lhs : lhs(rows->theirs);
    const auto our_lhs = rows == nullptr ? it.lhs : lhs(rows->ours);
    compare(it, multiply(ours, it, their_lhs, their_rhs), multiply(theirs, it, our_lhs, our_rhs),
            worst);
    if (HasFatalFailure()) return;
  }
  std::printf("%d products, largest error %.0f %% of the bound\n", 2 * cases, 100 * worst);
}

TEST_P(KleidiaiFloatMatmuls, NoRowsOrColumns) {
  const FloatMatmul& ours = GetParam().ours;
  const size_t bytes = kind_of_matmul(GetParam().name).dst_bytes;
  const std::vector<uint8_t> operand(8192);
  float out = untouched;
  if (has_one_row(GetParam().name)) {
    ours.run(1, 0, 8, operand.data(), 32, operand.data(), &out, 20, bytes, 0, 1);
    EXPECT_EQ(out, untouched);
    return;
  }
  ours.run(0, 5, 8, operand.data(), 32, operand.data(), &out, 20, bytes, 0, 1);
  ours.run(5, 0, 8, operand.data(), 32, operand.data(), &out, 20, bytes, 0, 1);
  EXPECT_EQ(out, untouched);
}

/// Whether columns of outputs that are apart are refused.
bool checks_strides(const std::string& name) {
  return is_older(name) || (kind_of_matmul(name).bf16 && !has(name, "_sme2_"));
}

TEST_P(KleidiaiFloatMatmuls, RefuseTheSame) {
  const Both<FloatMatmul>& both = GetParam();
  const auto kernel = [&](bool t) -> const FloatMatmul& { return t ? both.theirs : both.ours; };
  const auto [m_step, n_step] = std::pair(both.theirs.m_step, both.theirs.n_step);
  const bool one_row = has_one_row(both.name);
  expect_both_refuse(one_row, [&](bool t) { kernel(t).dst_offset(2 * m_step, n_step, 100); });
  expect_both_refuse(false, [&](bool t) { kernel(t).dst_offset(0, n_step, 100); });
  const size_t second = both.theirs.mr == 1 || one_row ? 0 : m_step;
  expect_both_refuse(false, [&](bool t) { kernel(t).lhs_offset(second, 9, 100); });
  expect_both_refuse(false, [&](bool t) { kernel(t).rhs_offset(n_step, 9); });
  expect_both_refuse(true, [&](bool t) { kernel(t).dst_offset(0, n_step - 1, 100); });
  if (m_step > 1) {
    expect_both_refuse(true, [&](bool t) { kernel(t).dst_offset(m_step + 1, 0, 100); });
    expect_both_refuse(true, [&](bool t) { kernel(t).lhs_offset(m_step - 1, 9, 100); });
  }
  expect_both_refuse(true, [&](bool t) { kernel(t).rhs_offset(n_step + 1, 9); });
  const std::vector<uint8_t> operand(1 << 14);
  std::vector<uint8_t> out(1024);
  const size_t rows = one_row ? 1 : 2;
  expect_both_refuse(checks_strides(both.name), [&](bool t) {
    kernel(t).run(rows, 2, 8, operand.data(), 64, operand.data(), out.data(), 64, 16, -1, 1);
  });
}

INSTANTIATE_TEST_SUITE_P(, KleidiaiFloatMatmuls, testing::ValuesIn(float_matmuls()),
                         [](const auto& it) { return it.param.name; });

}  // namespace
}  // namespace tw::test::floats_test
