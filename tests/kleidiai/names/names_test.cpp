// Our library under KleidiAI's names against KleidiAI: what clients compile against, what packers
// write, and products of operands that either has packed, over random shapes, strides and parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "kleidiai/names/chunk_libraries.h"
#include "kleidiai/names/float_libraries.h"
#include "kleidiai/names/operands.h"
#include "kleidiai/names/signatures.h"

namespace tw::test {
namespace {

constexpr int cases = 60;
constexpr uint8_t unwritten = 0xa5;
constexpr float untouched = 1232;  // of outputs, as f16 and bf16 too

TEST(KleidiaiNames, SignaturesAreTheirs) {
  const std::vector<Signature> ours = our_signatures();
  const std::vector<Signature> theirs = their_signatures();
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    ASSERT_EQ(ours[i].name, theirs[i].name);
    EXPECT_EQ(ours[i].type, theirs[i].type) << ours[i].name;
  }
  std::printf("%zu functions, members and values\n", ours.size());
}

/// Names for SVE and SME are compared where they are expected, all of them.
TEST(KleidiaiNames, AreAllThere) {
  for (const auto& [variable, part] : std::vector<std::pair<const char*, const char*>>{
           {"TILEWRIGHT_EXPECT_SVE_NAMES", "_sve"}, {"TILEWRIGHT_EXPECT_SME_NAMES", "_sme"}}) {
    const char* expected = std::getenv(variable);
    if (expected == nullptr) continue;
    const auto count = [part = part](const auto& all) {
      return std::count_if(all.begin(), all.end(), [part](const auto& both) {
        return both.name.find(part) != std::string::npos;
      });
    };
    const auto floats =
        count(float_matmuls()) + count(float_lhs_packers()) + count(float_packers());
    const auto chunks =
        count(chunk_matmuls()) + count(chunk_row_packers()) + count(chunk_column_packers());
    EXPECT_EQ(std::to_string(count(matmuls()) + floats + chunks), expected) << variable;
  }
}

size_t up_to(size_t most, std::mt19937& random) {
  return 1 + random() % most;
}

/// Of the families with blocks as many values as a caller may have: whole blocks.
struct Depth {
  size_t k = 0, bl = 0;
};
Depth random_depth(bool blocks, bool short_ones, std::mt19937& random) {
  if (short_ones) return {32 * up_to(8, random), 32};
  if (!blocks) return {up_to(random() % 4 == 0 ? 600 : 130, random), 0};
  const size_t bl = std::vector<size_t>{32, 32, 64, 96, 128, 160, 256}[random() % 7];
  return {bl * up_to(bl == 32 ? 8 : 3, random), bl};
}

/// Whose rows a kernel multiplies.
const Both<LhsPacker>& lhs_packer_for(const std::string& matmul) {
  const auto& all = lhs_packers();
  return *std::find_if(all.begin(), all.end(), [&](const Both<LhsPacker>& packer) {
    return rows_of(packer.name).blocks == rows_of(matmul).blocks &&
           halves_of(packer.name) == Halves::none;
  });
}

/// Of rows of k of the same weights.
const RhsPacker& rhs_packer_for(const std::string& matmul, bool ours) {
  const WeightsKind kind = kind_of(matmul);
  for (const Both<RhsPacker>& packer : rhs_packers()) {
    if (kind_of(packer.name) == kind) return ours ? packer.ours : packer.theirs;
  }
  ADD_FAILURE() << "no packer for " << matmul;
  std::abort();
}

std::vector<uint8_t> pack_rhs(const RhsPacker& packer, const ClientWeights& weights,
                              const PanelShape& shape) {
  std::vector<uint8_t> packed(packer.packed_size(weights.n, weights.k, shape), unwritten);
  packer.run(weights.n, weights.k, shape, weights.from(), packed.data());
  return packed;
}

// Packers of activations.

Depth random_depth_of_rows(const std::string& name, std::mt19937& random) {
  const bool even = rows_of(name).ties == Ties::even;
  if (rows_of(name).blocks) return random_depth(true, even, random);
  return {up_to(150, random), 0};
}

/// Theirs that rounds ties to even, and that of f16, take rows for dense, whatever their stride.
Floats random_lhs(const std::string& name, size_t m, size_t k, std::mt19937& random) {
  const bool dense = rows_of(name).ties == Ties::even || halves_of(name) == Halves::f16;
  Floats floats = random_floats(m, k, random, dense);
  round_to(halves_of(name), floats);
  return floats;
}

/// Whether KleidiAI packs such panels from values of 16 bits as it does from f32: of bf16 it
/// refuses others than 8 values of k together, of f16 than 4 or 8; there panels of four rows are
/// wrong by more than a code.
bool theirs_packs(const std::string& name, const PanelShape& shape) {
  const size_t depth = shape.kr / shape.sr;
  if (halves_of(name) == Halves::bf16) return depth == 8;
  return halves_of(name) == Halves::none || (depth <= 8 && shape.panel != 4);
}

/// From values of 16 bits it rounds ties one way in some places and another in others.
void expect_same_rows(const std::string& name, const std::vector<uint8_t>& ours,
                      const std::vector<uint8_t>& theirs, const PanelShape& shape, size_t k) {
  if (halves_of(name) == Halves::none) {
    ASSERT_EQ(ours, theirs);
    return;
  }
  ASSERT_EQ(ours.size(), theirs.size());
  const size_t codes = shape.panel * ((k + 31) / 32 * 32);
  const size_t panel = codes + 8 * shape.panel;
  for (size_t i = 0; i < ours.size(); ++i) {
    const int apart = i % panel < codes ? 1 : 0;
    ASSERT_LE(std::abs(static_cast<int8_t>(ours[i]) - static_cast<int8_t>(theirs[i])), apart)
        << "byte " << i % panel << " of " << panel << " of a panel";
  }
}

class KleidiaiLhsPackers : public testing::TestWithParam<Both<LhsPacker>> {};

/// Rows of an operand packed part by part, as threads would do it.
std::vector<uint8_t> pack_lhs(const LhsPacker& packer, const Floats& lhs, const PanelShape& shape,
                              size_t rows_a_part) {
  std::vector<uint8_t> packed(packer.packed_size(lhs.m, lhs.k, shape), unwritten);
  // The last one first: a part writes nothing of those behind it.
  for (size_t i = (lhs.m + rows_a_part - 1) / rows_a_part; i-- > 0;) {
    const size_t begin = i * rows_a_part;
    const size_t stride = lhs.source_stride();
    const size_t offset = packer.takes_all ? 0 : packer.offset(begin, stride);
    packer.run(std::min(rows_a_part, lhs.m - begin), lhs.k, shape, begin, lhs.source() + offset,
               stride, packed.data() + packer.packed_offset(begin, lhs.k, shape));
  }
  return packed;
}

/// Those of the kernels, and others that only plain C serves.
std::vector<PanelShape> lhs_shapes(const std::string& name) {
  if (rows_of(name).ties == Ties::even) return {{4, 16, 2, 0}};  // all that theirs takes
  std::vector<PanelShape> all = {{3, 8, 1, 0}, {8, 16, 2, 0}, {16, 4, 1, 0}, {2, 32, 2, 0}};
  for (const Both<Matmul>& matmul : matmuls()) {
    if (rows_of(matmul.name).blocks != rows_of(name).blocks) continue;
    all.push_back({matmul.theirs.mr, matmul.theirs.kr, matmul.theirs.sr, 0});
  }
  return all;
}

TEST_P(KleidiaiLhsPackers, WriteTheSameBytes) {
  const auto& [name, theirs, ours] = GetParam();
  std::mt19937 random(1);
  size_t bytes = 0;
  for (PanelShape shape : lhs_shapes(name)) {
    for (int i = 0; i < cases; ++i) {
      const Depth depth = random_depth_of_rows(name, random);
      shape.bl = depth.bl;
      const Floats lhs = random_lhs(name, up_to(20, random), depth.k, random);
      const size_t part = i % 3 == 0 ? lhs.m : up_to(3, random) * ours.step(shape.panel);
      if (halves_of(name) != Halves::none) {
        // Exactly what the same values are packed to from f32.
        Floats wide = lhs;
        wide.halves.clear();
        ASSERT_EQ(pack_lhs(ours, lhs, shape, part),
                  pack_lhs(lhs_packers().front().ours, wide, shape, lhs.m));
      }
      if (!theirs_packs(name, shape)) continue;
      ASSERT_EQ(ours.step(shape.panel), theirs.step(shape.panel));
      ASSERT_EQ(ours.packed_size(lhs.m, lhs.k, shape), theirs.packed_size(lhs.m, lhs.k, shape));
      const std::vector<uint8_t> right = pack_lhs(theirs, lhs, shape, part);
      SCOPED_TRACE(testing::Message() << shape.panel << "x" << shape.kr << "/" << shape.sr << ", "
                                      << lhs.m << " x " << lhs.k);
      expect_same_rows(name, pack_lhs(ours, lhs, shape, part), right, shape, lhs.k);
      if (HasFatalFailure()) return;
      bytes += right.size();
    }
  }
  std::printf("%zu bytes equal\n", bytes);
}

/// Parts that begin inside a panel, as XNNPACK packs row by row: each row goes to its place, others
/// stay as they are. Also of panels that plain C packs.
TEST_P(KleidiaiLhsPackers, RowsInsidePanels) {
  const auto& [name, theirs, ours] = GetParam();
  std::mt19937 random(2);
  for (int i = 0; i < cases; ++i) {
    const bool other = i % 4 == 0 && rows_of(name).ties == Ties::away;
    const size_t deep = halves_of(name) == Halves::none ? 32 : 16;
    PanelShape shape = other ? PanelShape{5, deep, 2, 0} : PanelShape{4, 16, 2, 0};
    const Depth depth = random_depth_of_rows(name, random);
    shape.bl = depth.bl;
    const Floats lhs = random_lhs(name, 5 + random() % 9, depth.k, random);
    if (!theirs_packs(name, shape)) continue;
    const std::vector<uint8_t> right = pack_lhs(theirs, lhs, shape, lhs.m);
    SCOPED_TRACE(testing::Message() << lhs.m << " x " << lhs.k);
    expect_same_rows(name, pack_lhs(ours, lhs, shape, up_to(3, random)), right, shape, lhs.k);
    if (HasFatalFailure()) return;
  }
}

TEST_P(KleidiaiLhsPackers, NoRows) {
  const LhsPacker& ours = GetParam().ours;
  uint8_t packed = unwritten;
  ours.run(0, 64, {4, 16, 2, 32}, 0, nullptr, 256, &packed);
  EXPECT_EQ(packed, unwritten);
}

INSTANTIATE_TEST_SUITE_P(, KleidiaiLhsPackers, testing::ValuesIn(lhs_packers()),
                         [](const auto& it) { return it.param.name; });

// Packers of weights.

class KleidiaiRhsPackers : public testing::TestWithParam<Both<RhsPacker>> {};

std::vector<PanelShape> rhs_shapes(const std::string& name) {
  const WeightsKind kind = kind_of(name);
  std::vector<PanelShape> all;
  if (kind.rows) {
    all = {{16, 8, 2, 0}, {5, 16, 2, 0}, {3, 4, 2, 0}};  // theirs takes no kr above 16
  } else if (kind.sequential) {
    all = {{64, 4, 1, 0}, {16, 4, 1, 0}};
  } else if (kind.nibbles) {
    all = {{16, 8, 2, 0}, {12, 16, 2, 0}, {32, 32, 2, 0}, {4, 32, 2, 0}};
  } else {
    all = {{16, 4, 1, 0}, {12, 8, 1, 0}};
  }
  for (const Both<Matmul>& matmul : matmuls()) {
    const WeightsKind its = kind_of(matmul.name);
    WeightsKind by_rows = its;
    by_rows.kxn = kind.kxn;
    if (!(by_rows == kind)) continue;
    all.push_back({matmul.theirs.nr, matmul.theirs.kr, matmul.theirs.sr, 0});
  }
  return all;
}

/// Floats that sum up what a panel's blocks hold may be rounded otherwise; then they are equal
/// within what adding them up in another order may change, and everything else is, bit by bit.
void expect_same_weights(const std::vector<uint8_t>& ours, const std::vector<uint8_t>& theirs,
                         const ClientWeights& weights, const PanelShape& shape) {
  ASSERT_EQ(ours.size(), theirs.size());
  const size_t panel = ours.size() / ((weights.n + shape.panel - 1) / shape.panel);
  const size_t sums = panel - 8 * shape.panel;  // with blocks: sums, then biases
  for (size_t i = 0; i < ours.size(); i += 4) {
    const size_t at = i % panel;
    const auto here = static_cast<std::ptrdiff_t>(i);
    const auto end = static_cast<std::ptrdiff_t>(std::min(i + 4, ours.size()));
    if (std::equal(ours.begin() + here, ours.begin() + end, theirs.begin() + here)) continue;
    const bool may_differ =
        weights.kind.blocks && !weights.kind.rows && at >= sums && at < sums + 4 * shape.panel;
    ASSERT_TRUE(may_differ) << "byte " << at << " of " << panel << " of a panel";
    float mine = 0;
    float other = 0;
    std::memcpy(&mine, &ours[i], sizeof mine);
    std::memcpy(&other, &theirs[i], sizeof other);
    const size_t column = std::min(i / panel * shape.panel + (at - sums) / 4, weights.n - 1);
    double size = 0;
    for (size_t k = 0; k < weights.k; ++k) {
      size += std::abs(weights.code(column, k)) * std::fabs(double{weights.scale(column, k)});
    }
    ASSERT_LE(std::fabs(double{mine} - double{other}), size * 0x1p-22)
        << "sum of column " << column;
  }
}

TEST_P(KleidiaiRhsPackers, WriteTheSameBytes) {
  const auto& [name, theirs, ours] = GetParam();
  std::mt19937 random(3);
  size_t bytes = 0;
  for (PanelShape shape : rhs_shapes(name)) {
    for (int i = 0; i < cases; ++i) {
      const WeightsKind kind = kind_of(name);
      const Depth depth = random_depth(kind.blocks, false, random);
      shape.bl = depth.bl;
      const size_t n = up_to(3 * shape.panel + 1, random);
      const ClientWeights weights = random_weights(kind, n, depth.k, depth.bl, random);
      ASSERT_EQ(ours.step(shape.panel), theirs.step(shape.panel));
      ASSERT_EQ(ours.offset(2 * shape.panel, 77), theirs.offset(2 * shape.panel, 77));
      ASSERT_EQ(ours.packed_stride(depth.k, shape), theirs.packed_stride(depth.k, shape));
      ASSERT_EQ(ours.packed_offset(2 * shape.panel, depth.k, shape),
                theirs.packed_offset(2 * shape.panel, depth.k, shape));
      SCOPED_TRACE(testing::Message() << shape.panel << "x" << shape.kr << "/" << shape.sr << ", "
                                      << n << " x " << depth.k << ", blocks of " << depth.bl);
      const std::vector<uint8_t> right = pack_rhs(theirs, weights, shape);
      expect_same_weights(pack_rhs(ours, weights, shape), right, weights, shape);
      if (HasFatalFailure()) return;
      bytes += right.size();
    }
  }
  std::printf("%zu bytes compared\n", bytes);
}

INSTANTIATE_TEST_SUITE_P(, KleidiaiRhsPackers, testing::ValuesIn(rhs_packers()),
                         [](const auto& it) { return it.param.name; });

// Products.

class KleidiaiMatmuls : public testing::TestWithParam<Both<Matmul>> {};

struct Product {
  size_t m = 0, n = 0;    ///< of the whole output
  size_t m0 = 0, n0 = 0;  ///< where the part begins
  size_t rows = 0, columns = 0;
  size_t stride = 0;  ///< bytes
  float min = 0, max = 0;
};

/// With weights in rows most of theirs for one row refuse more; ours take them.
bool takes_one_row(const std::string& name) {
  return kind_of(name).rows &&
         (name.ends_with("_1x4_neon_dotprod") || name.ends_with("_1x8_sve_dotprod"));
}

/// `one_row`: is all that theirs takes.
Product random_product(const Matmul& kernel, bool one_row, std::mt19937& random) {
  Product it;
  it.m = one_row ? 1 : up_to(2 * kernel.m_step + 6, random);
  it.n = up_to(3 * kernel.n_step + 6, random);
  it.m0 = random() % ((it.m + kernel.m_step - 1) / kernel.m_step) * kernel.m_step;
  it.n0 = random() % ((it.n + kernel.n_step - 1) / kernel.n_step) * kernel.n_step;
  it.rows = up_to(it.m - it.m0, random);
  it.columns = up_to(it.n - it.n0, random);
  it.stride = kernel.dst_bytes * (it.n + random() % 7);
  const float most = kernel.f16 ? 65504 : std::numeric_limits<float>::max();
  it.min = random() % 3 == 0 ? -0.5F : -most;
  it.max = random() % 3 == 0 ? 0.75F : most;
  return it;
}

/// The whole output, of which one part is computed.
std::vector<float> multiply(const Matmul& kernel, const Product& it, const ClientWeights& weights,
                            const std::vector<uint8_t>& lhs, const std::vector<uint8_t>& rhs) {
  const bool narrow = kernel.dst_bytes == 2;
  const size_t count = it.m * it.stride / kernel.dst_bytes;
  std::vector<float> out(count, untouched);
  std::vector<uint16_t> halves(count, kernel.f16 ? f16_from(untouched) : bf16_of(untouched));
  auto* const bytes =
      narrow ? reinterpret_cast<uint8_t*>(halves.data()) : reinterpret_cast<uint8_t*>(out.data());
  kernel.run(it.rows, it.columns, weights.k, weights.bl,
             lhs.data() + kernel.lhs_offset(it.m0, weights.k, weights.bl),
             rhs.data() + kernel.rhs_offset(it.n0, weights.k, weights.bl),
             bytes + kernel.dst_offset(it.m0, it.n0, it.stride), it.stride, kernel.dst_bytes,
             it.min, it.max);
  if (narrow) {
    std::transform(halves.begin(), halves.end(), out.begin(), kernel.f16 ? f32_from : f32_of);
  }
  return out;
}

TEST_P(KleidiaiMatmuls, NumbersAreTheSame) {
  const auto& [name, theirs, ours] = GetParam();
  EXPECT_EQ(ours.m_step, theirs.m_step);
  EXPECT_EQ(ours.n_step, theirs.n_step);
  EXPECT_EQ(ours.mr, theirs.mr);
  EXPECT_EQ(ours.nr, theirs.nr);
  EXPECT_EQ(ours.kr, theirs.kr);
  EXPECT_EQ(ours.sr, theirs.sr);
  EXPECT_EQ(ours.dst_size(7, 9), theirs.dst_size(7, 9));
}

/// Each output of the part against exact sums, of both libraries, and nothing else written.
void compare_products(const Matmul& kernel, const Product& it, const Floats& lhs,
                      const RowsKind& rows, const ClientWeights& weights,
                      const std::vector<float>& ours, const std::vector<float>& theirs,
                      double& worst) {
  const size_t width = it.stride / kernel.dst_bytes;
  for (size_t i = 0; i < it.m; ++i) {
    const std::vector<QuantizedRow> row = quantized(lhs.row(i), lhs.k, weights.bl, rows);
    for (size_t j = 0; j < width; ++j) {
      const float mine = ours[i * width + j];
      const float other = theirs[i * width + j];
      const bool inside = i >= it.m0 && i < it.m0 + it.rows && j >= it.n0 && j < it.n0 + it.columns;
      if (!inside) {
        ASSERT_EQ(mine, untouched) << "written outside of the part";
        continue;
      }
      const ExactOutput exact = exact_output(row, weights, j);
      const double right = std::clamp(exact.value, double{it.min}, double{it.max});
      const double far = std::max(std::fabs(mine - right), std::fabs(double{mine} - double{other}));
      // Outputs of 16 bits are rounded by half a step; two may be a step apart.
      const double step = kernel.f16 ? 0x1p-10 : kernel.dst_bytes == 2 ? 0x1p-7 : 0;
      const double smallest = kernel.f16 ? 0x1p-24 : 0;
      const double rounded = std::max(std::fabs(right) * step, smallest);
      ASSERT_LE(std::fabs(mine - right), exact.bound + rounded / 2) << "instead of " << right;
      const double bound = exact.bound + rounded;
      worst = std::max(worst, far / bound);
      ASSERT_LE(far, bound) << "row " << i << ", column " << j << ": " << mine << ", theirs "
                            << other << ", exact " << right;
    }
  }
}

TEST_P(KleidiaiMatmuls, ProductsAreTheSame) {
  const auto& [name, theirs, ours] = GetParam();
  std::mt19937 random(4);
  double worst = 0;
  for (int i = 0; i < cases; ++i) {
    const Depth depth = random_depth(kind_of(name).blocks, kind_of(name).rows, random);
    const Product it = random_product(theirs, takes_one_row(name), random);
    const PanelShape lhs_shape = {theirs.mr, theirs.kr, theirs.sr, depth.bl};
    const PanelShape rhs_shape = {theirs.nr, theirs.kr, theirs.sr, depth.bl};
    const Floats lhs = random_floats(it.m, depth.k, random);
    const ClientWeights weights = random_weights(kind_of(name), it.n, depth.k, depth.bl, random);
    ASSERT_EQ(ours.lhs_offset(it.m0, depth.k, depth.bl),
              theirs.lhs_offset(it.m0, depth.k, depth.bl));
    ASSERT_EQ(ours.rhs_offset(it.n0, depth.k, depth.bl),
              theirs.rhs_offset(it.n0, depth.k, depth.bl));
    ASSERT_EQ(ours.dst_offset(it.m0, it.n0, it.stride), theirs.dst_offset(it.m0, it.n0, it.stride));
    // Each multiplies what the other one's library has packed.
    const auto their_rhs = pack_rhs(rhs_packer_for(name, false), weights, rhs_shape);
    const auto our_rhs = pack_rhs(rhs_packer_for(name, true), weights, rhs_shape);
    const auto their_lhs = pack_lhs(lhs_packer_for(name).theirs, lhs, lhs_shape, lhs.m);
    const auto our_lhs = pack_lhs(lhs_packer_for(name).ours, lhs, lhs_shape, lhs.m);
    SCOPED_TRACE(testing::Message() << it.m << " x " << it.n << " x " << depth.k << ", blocks of "
                                    << depth.bl << ", from " << it.m0 << ", " << it.n0);
    compare_products(theirs, it, lhs, rows_of(name), weights,
                     multiply(ours, it, weights, their_lhs, their_rhs),
                     multiply(theirs, it, weights, our_lhs, our_rhs), worst);
    if (HasFatalFailure()) return;
  }
  std::printf("%d products, largest difference %.0f %% of the bound\n", cases, 100 * worst);
}

TEST_P(KleidiaiMatmuls, NoRowsOrColumns) {
  const Matmul& ours = GetParam().ours;
  const bool blocks = kind_of(GetParam().name).blocks;
  const std::vector<uint8_t> packed(8192);
  float out = untouched;
  const size_t bytes = ours.dst_bytes;
  ours.run(0, 5, 64, blocks ? 32 : 0, packed.data(), packed.data(), &out, 20, bytes, 0, 1);
  ours.run(5, 0, 64, blocks ? 32 : 0, packed.data(), packed.data(), &out, 20, bytes, 0, 1);
  EXPECT_EQ(out, untouched);
}

INSTANTIATE_TEST_SUITE_P(, KleidiaiMatmuls, testing::ValuesIn(matmuls()),
                         [](const auto& it) { return it.param.name; });

}  // namespace
}  // namespace tw::test
