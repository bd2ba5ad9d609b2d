// Products by our kernels and by KleidiAI's, of buffers that either has packed, against exact sums.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "kernels/rows.h"
#include "kleidiai/ours.h"
#include "reference/quantize_reference.h"

namespace tw::test::product_test {
namespace {

/// An activation matrix in codes, with ties as one of the libraries rounds them.
std::vector<QuantizedRow> quantize(const Activations& lhs, Ties ties) {
  std::vector<QuantizedRow> rows;
  for (size_t row = 0; row < lhs.m; ++row) {
    rows.push_back(quantize_row_qai8dx(lhs.values.data() + row * lhs.k, lhs.k, ties));
  }
  return rows;
}

/// One output as it would be without any rounding behind the codes.
struct Exact {
  double product = 0, bias = 0;

  [[nodiscard]] double clamped(const Bounds& bounds) const {
    return std::clamp(product + bias, double{bounds.min}, double{bounds.max});
  }
  /// A scale's product of two factors, a product with the sum and an addition are rounded, each by
  /// half a unit of 2^-23 at most: fewer than two units of what is added, and some denormals.
  [[nodiscard]] double bound() const {
    return 0x1p-22 * (std::abs(product) + std::abs(bias)) + 0x1p-140;
  }
};

Exact exact(const QuantizedRow& row, const Weights& rhs, size_t column) {
  int64_t sum = 0;
  for (size_t k = 0; k < rhs.k; ++k) {
    sum += int64_t{row.codes[k] - row.zero_point} * rhs.code(column, k);
  }
  const double scale = double{row.scale} * double{rhs.scales[column]};
  return {static_cast<double>(sum) * scale, rhs.bias.empty() ? 0 : double{rhs.bias[column]}};
}

/// How far results are from where they should be, as a part of what is allowed.
struct Agreement {
  size_t outputs = 0, equal = 0;
  double worst = 0;

  void add(double difference, double bound) {
    ++outputs;
    equal += difference == 0 ? 1 : 0;
    worst = std::max(worst, difference / bound);
  }
  void print(const char* what) const {
    std::printf("%s: %zu outputs, %zu equal, largest difference %.0f %% of the bound\n", what,
                outputs, equal, 100 * worst);
  }
};

struct Problem {
  Shape shape;
  Activations lhs;
  Weights rhs;
  Bounds bounds;
};

std::vector<Problem> problems(size_t mr, size_t nr, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Problem> all;
  size_t turn = 0;
  for (const Shape& shape : shapes(mr, nr)) {
    const auto rows = static_cast<Rows>(turn++ % static_cast<size_t>(Rows::extreme));
    Bounds bounds;
    if (turn % 3 == 0) bounds.min = -0.5F;
    if (turn % 4 == 0) bounds.max = 0.75F;
    Activations lhs = make_activations(shape, rows, random);
    Weights rhs = make_weights(shape, turn % 2 == 0, 40, random);
    all.push_back({shape, std::move(lhs), std::move(rhs), bounds});
  }
  return all;
}

/// Compares with exact values, and the two with each other.
void compare(const Problem& problem, const std::vector<float>& ours,
             const std::vector<float>& theirs, Agreement& mine, Agreement& other, Agreement& both) {
  const std::vector<QuantizedRow> rows = quantize(problem.lhs, Ties::away);
  for (size_t i = 0; i < ours.size(); ++i) {
    const Exact right = exact(rows[i / problem.shape.n], problem.rhs, i % problem.shape.n);
    mine.add(std::abs(ours[i] - right.clamped(problem.bounds)), right.bound());
    other.add(std::abs(theirs[i] - right.clamped(problem.bounds)), right.bound());
    both.add(std::abs(double{ours[i]} - double{theirs[i]}), right.bound());
  }
}

class KleidiaiKernels : public testing::TestWithParam<TheirKernel> {};

TEST_P(KleidiaiKernels, ReadTheSamePackedOperands) {
  const TheirKernel& kernel = GetParam();
  const auto kernels = kernels_like(kernel);
  ASSERT_GE(kernels.size(), 2U) << "C and assembly";
  const tw_packer& lhs_packer = *lhs_packers(kernel).front();
  Agreement mine;
  Agreement other;
  Agreement both;
  for (const Problem& it : problems(kernel.mr, kernel.nr, 3)) {
    const tw_packer& rhs_packer = *rhs_packers(kernel, it.rhs.kxn).front();
    const std::vector<float> theirs = their_product(kernel, it.shape, our_lhs(lhs_packer, it.lhs),
                                                    our_rhs(rhs_packer, it.rhs), it.bounds);
    const std::vector<uint8_t> lhs = their_lhs(kernel, it.lhs);
    const std::vector<uint8_t> rhs = their_rhs(kernel, it.rhs);
    for (const tw_kernel* each : kernels) {
      compare(it, our_product(*each, it.shape, lhs, rhs, it.bounds), theirs, mine, other, both);
      ASSERT_LE(mine.worst, 1) << each->name;
      ASSERT_LE(other.worst, 1) << kernel.name;
      ASSERT_LE(both.worst, 1) << each->name << " and " << kernel.name;
    }
  }
  std::printf("%zu of our kernels\n", kernels.size());
  mine.print("ours on their operands, and exact sums");
  other.print("theirs on our operands, and exact sums");
  both.print("ours and theirs");
}

INSTANTIATE_TEST_SUITE_P(, KleidiaiKernels, testing::ValuesIn(their_kernels()),
                         [](const auto& kernel) { return std::string(kernel.param.name); });

/// What codes that are rounded otherwise may change.
double ties_bound(const QuantizedRow& even, const QuantizedRow& away, const Weights& rhs,
                  size_t column) {
  double sum = 0;
  for (size_t k = 0; k < rhs.k; ++k) {
    sum += std::abs(even.codes[k] - away.codes[k]) * std::abs(rhs.code(column, k));
  }
  return sum * double{even.scale} * std::abs(double{rhs.scales[column]});
}

class KleidiaiAndOwnLayouts : public testing::TestWithParam<const tw_kernel*> {};

TEST_P(KleidiaiAndOwnLayouts, GiveTheSameProducts) {
  const tw_kernel& kernel = *GetParam();
  const Packers packers = find_packers(kernel);
  const TheirKernel& reference = their_kernels().front();
  Agreement both;
  size_t ties = 0;
  for (const Problem& it : problems(panel_rows(*kernel.lhs), panel_rows(*kernel.rhs), 4)) {
    const std::vector<float> theirs = their_product(
        reference, it.shape, their_lhs(reference, it.lhs), their_rhs(reference, it.rhs), it.bounds);
    const tw_packer& rhs_packer = it.rhs.kxn ? *packers.kxn : *packers.nxk;
    const std::vector<float> ours = our_product(kernel, it.shape, our_lhs(*packers.lhs, it.lhs),
                                                our_rhs(rhs_packer, it.rhs), it.bounds);
    const std::vector<QuantizedRow> even = quantize(it.lhs, Ties::even);
    const std::vector<QuantizedRow> away = quantize(it.lhs, Ties::away);
    for (size_t i = 0; i < ours.size(); ++i) {
      const size_t row = i / it.shape.n;
      const size_t column = i % it.shape.n;
      const double otherwise = ties_bound(even[row], away[row], it.rhs, column);
      ties += otherwise > 0 ? 1 : 0;
      both.add(std::abs(double{ours[i]} - double{theirs[i]}),
               exact(even[row], it.rhs, column).bound() + otherwise);
    }
    ASSERT_LE(both.worst, 1) << it.shape.m << " x " << it.shape.n << " x " << it.shape.k;
  }
  EXPECT_GT(ties, 0U);
  both.print("ours and theirs, each from its own operands");
  std::printf("%zu outputs with ties that are rounded differently\n", ties);
}

INSTANTIATE_TEST_SUITE_P(, KleidiaiAndOwnLayouts, testing::ValuesIn(own_kernels()),
                         [](const auto& kernel) { return std::string(kernel.param->name); });

}  // namespace
}  // namespace tw::test::product_test
