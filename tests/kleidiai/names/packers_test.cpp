// Our library's packers under KleidiAI's names against KleidiAI: the bytes that they write, over
// random shapes, strides and parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "kleidiai/names/parts.h"

namespace tw::test {
namespace {

// Packers of activations.

Depth random_depth_of_rows(const std::string& name, std::mt19937& random) {
  if (rows_of(name).blocks) return random_depth(true, random);
  return {up_to(150, random), 0};
}

/// Theirs that rounds ties to even, that of f16, and that with scales apart take rows for dense,
/// whatever their stride.
Floats random_lhs(const std::string& name, size_t m, size_t k, std::mt19937& random) {
  const bool others =
      rows_of(name).ties == Ties::even || halves_of(name) == Halves::f16 || rows_of(name).apart;
  const bool dense = others && !rows_of(name).sums;
  Floats floats = random_floats(m, k, random, dense);
  round_to(halves_of(name), floats);
  return floats;
}

/// Whether KleidiAI packs such panels from values of 16 bits as it does from f32: of bf16 it
/// refuses others than 8 values of k together, of f16 than 4 or 8; there panels of four rows are
/// wrong by more than a code.
bool theirs_packs(const std::string& name, const PanelShape& shape) {
  const size_t depth = shape.kr / shape.sr;
  if (rows_of(name).sums) return true;
  if (halves_of(name) == Halves::bf16) return depth == 8;
  return halves_of(name) == Halves::none || (depth <= 8 && shape.panel != 4);
}

/// From values of 16 bits it rounds ties one way in some places and another in others.
void expect_same_rows(const std::string& name, const std::vector<uint8_t>& ours,
                      const std::vector<uint8_t>& theirs, const PanelShape& shape, size_t k) {
  if (halves_of(name) == Halves::none || rows_of(name).sums) {
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

/// Those of the kernels, and others that only plain C serves.
std::vector<PanelShape> lhs_shapes(const std::string& name) {
  const bool sums = rows_of(name).sums;
  if (rows_of(name).ties == Ties::even && !sums) return {{4, 16, 2, 0}};  // all that theirs takes
  std::vector<PanelShape> all = {{3, 8, 1, 0}, {8, 16, 2, 0}, {16, 4, 1, 0}};
  if (!sums) all.push_back({2, 32, 2, 0});
  if (rows_of(name).apart) all = {{1, 4, 2, 0}, {5, 4, 2, 0}, {16, 4, 1, 0}};
  if (rows_of(name).f16) all.pop_back();  // sr is 2
  for (const Both<Matmul>& matmul : matmuls()) {
    if (rows_of(matmul.name).blocks != rows_of(name).blocks) continue;
    if (rows_of(matmul.name).apart != rows_of(name).apart) continue;
    if (rows_of(matmul.name).sums != sums || rows_of(matmul.name).f16 != rows_of(name).f16)
      continue;
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
      if (halves_of(name) != Halves::none && !rows_of(name).sums) {
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

/// Whatever row a part is said to begin with, where scales stand apart it begins a panel.
void expect_start_ignored(const Both<LhsPacker>& both, std::mt19937& random) {
  for (int i = 0; i < cases; ++i) {
    const Depth depth = random_depth(true, random);
    const PanelShape shape = {up_to(9, random), 4, 2, depth.bl};
    const Floats lhs = random_lhs(both.name, up_to(12, random), depth.k, random);
    std::vector<std::vector<uint8_t>> packed;
    for (const LhsPacker* packer : {&both.theirs, &both.ours}) {
      packed.emplace_back(packer->packed_size(lhs.m, lhs.k, shape), unwritten);
      packer->run(lhs.m, lhs.k, shape, i % 5, lhs.source(), lhs.source_stride(),
                  packed.back().data());
    }
    ASSERT_EQ(packed[0], packed[1]) << lhs.m << " x " << lhs.k;
  }
}

/// Parts that begin inside a panel, as XNNPACK packs row by row: each row goes to its place, others
/// stay as they are. Also of panels that plain C packs.
TEST_P(KleidiaiLhsPackers, RowsInsidePanels) {
  const auto& [name, theirs, ours] = GetParam();
  std::mt19937 random(2);
  if (rows_of(name).apart) return expect_start_ignored(GetParam(), random);
  for (int i = 0; i < cases; ++i) {
    const bool other = i % 4 == 0 && (rows_of(name).ties == Ties::away || rows_of(name).sums);
    const size_t deep = halves_of(name) == Halves::none && !rows_of(name).sums ? 32 : 16;
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
  const size_t kr = rows_of(GetParam().name).apart ? 4 : 16;
  ours.run(0, 64, {4, kr, 2, 32}, 0, nullptr, 256, &packed);
  EXPECT_EQ(packed, unwritten);
}

INSTANTIATE_TEST_SUITE_P(, KleidiaiLhsPackers, testing::ValuesIn(lhs_packers()),
                         [](const auto& it) { return it.param.name; });

// Packers of weights.

class KleidiaiRhsPackers : public testing::TestWithParam<Both<RhsPacker>> {};

std::vector<PanelShape> rhs_shapes(const std::string& name) {
  const WeightsKind kind = kind_of(name);
  std::vector<PanelShape> all;
  if (kind.table) {
    all = {{kind.sequential ? 16U : 4U, 4, 1, 0}};  // theirs for NEON takes no others
  } else if (kind.apart) {
    all = {{16, 4, 2, 0}, {64, 4, 2, 0}};
  } else if (kind.rows) {
    all = {{16, 8, 2, 0}, {5, 16, 2, 0}, {3, 4, 2, 0}};  // theirs takes no kr above 16
  } else if (kind.offsets && !kind.sequential) {
    all = {{16, 8, 2, 0}, {5, 16, 2, 0}, {3, 4, 2, 0}};  // likewise
  } else if (kind.sequential) {
    all = kind.blocks ? std::vector<PanelShape>{{64, 8, 2, 0}, {16, 8, 2, 0}}
                      : std::vector<PanelShape>{{64, 4, 1, 0}, {16, 4, 1, 0}};
  } else if (kind.nibbles) {
    all = {{16, 8, 2, 0}, {12, 16, 2, 0}, {32, 32, 2, 0}, {4, 32, 2, 0}};
  } else {
    all = {{16, 4, 1, 0}, {12, 8, 1, 0}};
  }
  const size_t depth = name.find("pnrx4") != std::string::npos   ? 4
                       : name.find("pnrx8") != std::string::npos ? 8
                                                                 : 0;
  if (depth != 0) all = {{16, 2 * depth, 2, 0}, {8, 2 * depth, 2, 0}};
  for (const Both<Matmul>& matmul : matmuls()) {
    const WeightsKind its = kind_of(matmul.name);
    if (depth != 0 && matmul.theirs.kr / matmul.theirs.sr != depth) continue;
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
    const bool may_differ = weights.kind.blocks && !weights.kind.rows && !weights.kind.offsets &&
                            at >= sums && at < sums + 4 * shape.panel;
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

/// From rows of n, theirs with neighbors in k in a byte take codes of columns that do not exist,
/// and so their sums, from behind the row. What ours have there takes their place.
void forget_missing_columns(const ClientWeights& weights, const PanelShape& shape,
                            const std::vector<uint8_t>& ours, std::vector<uint8_t>& theirs) {
  if (!weights.kind.kxn || !weights.kind.sequential) return;
  const size_t group = shape.kr / shape.sr / 2;  // bytes of a column that stand together
  const size_t codes = shape.panel * shape.bl / 2, block = codes + 2 * shape.panel;
  const size_t blocks = weights.blocks() * block, panel = blocks + 8 * shape.panel;
  for (size_t i = 0; i < theirs.size(); ++i) {
    const size_t at = i % panel;
    const bool is_code = at < blocks && at % block < codes;
    const bool is_sum = at >= blocks && at < blocks + 4 * shape.panel;
    if (!is_code && !is_sum) continue;
    const size_t column = is_code ? at % block / group % shape.panel : (at - blocks) / 4;
    if (i / panel * shape.panel + column >= weights.n) theirs[i] = ours[i];
  }
}

TEST_P(KleidiaiRhsPackers, WriteTheSameBytes) {
  const auto& [name, theirs, ours] = GetParam();
  std::mt19937 random(3);
  size_t bytes = 0;
  for (PanelShape shape : rhs_shapes(name)) {
    for (int i = 0; i < cases; ++i) {
      const WeightsKind kind = kind_of(name);
      const Depth depth = random_depth(kind, random);
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
      std::vector<uint8_t> right = pack_rhs(theirs, weights, shape);
      const std::vector<uint8_t> packed = pack_rhs(ours, weights, shape);
      ASSERT_EQ(packed.size(), right.size());
      forget_missing_columns(weights, shape, packed, right);
      expect_same_weights(packed, right, weights, shape);
      if (HasFatalFailure()) return;
      bytes += right.size();
    }
  }
  std::printf("%zu bytes compared\n", bytes);
}

INSTANTIATE_TEST_SUITE_P(, KleidiaiRhsPackers, testing::ValuesIn(rhs_packers()),
                         [](const auto& it) { return it.param.name; });

}  // namespace
}  // namespace tw::test
