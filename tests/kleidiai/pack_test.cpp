// Our packers for KleidiAI's layouts against KleidiAI's packers, byte for byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <sstream>

#include "kleidiai/ours.h"

namespace tw::test {
namespace {

std::string describe(const Shape& shape) {
  std::ostringstream text;
  text << "m " << shape.m << ", n " << shape.n << ", k " << shape.k;
  return text.str();
}

/// How much was compared.
struct Tally {
  size_t buffers = 0, bytes = 0;
  void print(const char* what) const {
    std::printf("%s: %zu buffers, %zu bytes equal\n", what, buffers, bytes);
  }
};

/// The row of its panel that a byte of a packed LHS belongs to.
size_t row_of(const TheirKernel& kernel, size_t at, size_t padded) {
  if (at < kernel.mr * padded) return at / kernel.depth() % kernel.mr;
  return (at - kernel.mr * padded) / 4 % kernel.mr;
}

/// The first byte that differs, of rows that exist: theirs leaves the others as they were.
std::string lhs_difference(const TheirKernel& kernel, const Shape& shape,
                           const std::vector<uint8_t>& ours, const std::vector<uint8_t>& theirs,
                           Tally& tally) {
  if (ours.size() != theirs.size()) return "sizes differ";
  const size_t padded = (shape.k + 31) / 32 * 32;
  const size_t panel = kernel.mr * (padded + 8);
  for (size_t i = 0; i < ours.size(); ++i) {
    const size_t row = i / panel * kernel.mr + row_of(kernel, i % panel, padded);
    if (row >= shape.m) continue;
    ++tally.bytes;
    if (ours[i] == theirs[i]) continue;
    std::ostringstream text;
    text << "row " << row << ", byte " << i % panel << " of its panel (codes up to "
         << kernel.mr * padded << "): " << int{ours[i]} << ", theirs " << int{theirs[i]};
    return text.str();
  }
  ++tally.buffers;
  return {};
}

std::string rhs_difference(const std::vector<uint8_t>& ours, const std::vector<uint8_t>& theirs,
                           Tally& tally) {
  if (ours.size() != theirs.size()) return "sizes differ";
  const auto [mine, other] = std::mismatch(ours.begin(), ours.end(), theirs.begin());
  if (mine != ours.end()) {
    std::ostringstream text;
    text << "byte " << mine - ours.begin() << ": " << int{*mine} << ", theirs " << int{*other};
    return text.str();
  }
  ++tally.buffers;
  tally.bytes += ours.size();
  return {};
}

class KleidiaiPackers : public testing::TestWithParam<TheirKernel> {};

TEST_P(KleidiaiPackers, LhsIsTheSame) {
  const TheirKernel& kernel = GetParam();
  const auto packers = lhs_packers(kernel);
  ASSERT_FALSE(packers.empty());
  std::mt19937 random(1);
  Tally tally;
  for (const Shape& shape : shapes(kernel.mr, kernel.nr)) {
    for (int rows = 0; rows < static_cast<int>(Rows::count); ++rows) {
      const Activations lhs = make_activations(shape, static_cast<Rows>(rows), random);
      const std::vector<uint8_t> theirs = their_lhs(kernel, lhs);
      for (const tw_packer* packer : packers) {
        ASSERT_EQ(lhs_difference(kernel, shape, our_lhs(*packer, lhs), theirs, tally), "")
            << packer->name << ", rows " << rows << ", " << describe(shape);
      }
    }
  }
  tally.print("lhs");
}

TEST_P(KleidiaiPackers, RhsIsTheSame) {
  const TheirKernel& kernel = GetParam();
  std::mt19937 random(2);
  Tally tally;
  for (const bool kxn : {false, true}) {
    const auto packers = rhs_packers(kernel, kxn);
    ASSERT_FALSE(packers.empty());
    for (const Shape& shape : shapes(kernel.mr, kernel.nr)) {
      const Weights rhs = make_weights(shape, kxn, 125, random);
      const std::vector<uint8_t> theirs = their_rhs(kernel, rhs);
      for (const tw_packer* packer : packers) {
        ASSERT_EQ(rhs_difference(our_rhs(*packer, rhs), theirs, tally), "")
            << packer->name << ", " << describe(shape);
      }
    }
  }
  tally.print("rhs");
}

/// What KleidiAI's packer makes of a row of four values.
struct TheirRow {
  int32_t negative_zero_point = 0;
  float scale = 0;
};

TheirRow their_row(const std::vector<float>& values) {
  const TheirKernel& kernel = their_kernels().front();
  const std::vector<uint8_t> packed = their_lhs(kernel, {1, values.size(), values});
  TheirRow row;
  std::memcpy(&row.negative_zero_point, packed.data() + 32, sizeof row.negative_zero_point);
  std::memcpy(&row.scale, packed.data() + 36, sizeof row.scale);
  return row;
}

/// docs/kleidiai.md says of these rows that we do not follow KleidiAI, since its scale loses them.
TEST(KleidiaiRows, LostByTheirs) {
  const float large = std::numeric_limits<float>::max();
  EXPECT_EQ(their_row({-large, large, 1, 2}).scale, 0) << "a range beyond the largest float";
  EXPECT_EQ(their_row({6e-37F, 0, 1e-38F, 0}).scale, 0) << "255 / range beyond the largest float";
  EXPECT_EQ(their_row({INFINITY, 1, 2, 3}).scale, 0);
  EXPECT_EQ(their_row({NAN, 1, 2, 3}).scale, their_row({0, 1, 2, 3}).scale) << "as if it were 0";
}

INSTANTIATE_TEST_SUITE_P(, KleidiaiPackers, testing::ValuesIn(their_kernels()),
                         [](const auto& kernel) { return std::string(kernel.param.name); });

}  // namespace
}  // namespace tw::test
