// Our library under KleidiAI's names against KleidiAI: what clients compile against, and products
// of operands that either has packed, over random shapes, strides and parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "kleidiai/names/chunk_libraries.h"
#include "kleidiai/names/depthwise.h"
#include "kleidiai/names/float_libraries.h"
#include "kleidiai/names/operands.h"
#include "kleidiai/names/parts.h"
#include "kleidiai/names/signatures.h"
#include "kleidiai/names/struct_packers.h"

namespace tw::test::names_test {
namespace {

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
    const auto depthwise = count(depthwise_names()) + count(tap_packers());
    const auto structs = count(struct_packers());
    EXPECT_EQ(std::to_string(count(matmuls()) + floats + chunks + depthwise + structs), expected)
        << variable;
  }
}

/// Whose rows a kernel multiplies.
const Both<LhsPacker>& lhs_packer_for(const std::string& matmul) {
  const auto& all = lhs_packers();
  return *std::find_if(all.begin(), all.end(), [&](const Both<LhsPacker>& packer) {
    return rows_of(packer.name).blocks == rows_of(matmul).blocks &&
           rows_of(packer.name).apart == rows_of(matmul).apart &&
           rows_of(packer.name).sums == rows_of(matmul).sums &&
           rows_of(packer.name).f16 == rows_of(matmul).f16 &&
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

// Products.

class KleidiaiMatmuls : public testing::TestWithParam<Both<Matmul>> {};

struct Product {
  size_t m = 0, n = 0;    ///< of the whole output
  size_t m0 = 0, n0 = 0;  ///< where the part begins
  size_t rows = 0, columns = 0;
  size_t stride = 0;  ///< bytes
  float min = 0, max = 0;
};

/// Theirs for SVE refuse longer ones; ours take them.
bool takes_short_blocks(const std::string& name) {
  return kind_of(name).rows && name.find("_sve_") != std::string::npos;
}

/// With blocks most of theirs for one row refuse more; ours take them.
bool takes_one_row(const std::string& name) {
  const bool streams = name.find("1x4_qsi4c32p4vlx4") != std::string::npos ||
                       name.ends_with("qai4c32p4vlx4_1x4vl_sme2_dot");
  if (kind_of(name).blocks && streams) return true;
  if (kind_of(name).table && name.ends_with("_1x4_neon_dotprod")) return true;
  return (kind_of(name).rows || kind_of(name).offsets) &&
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
             it.min, it.max, weights.lookup());
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

/// One of theirs keeps what blocks add up to as f16, each of which rounds by half a step; or is
/// more than f16 holds.
double rounded_by_blocks(const std::string& name, const ClientWeights& weights,
                         const ExactOutput& exact) {
  if (name != "matmul_clamp_f16_qsi8d32p1vlx4_qai4c32p4vlx4_1vlx4vl_sme2_mopa") return 0;
  if (exact.size > 60000) return INFINITY;
  return static_cast<double>(weights.blocks()) * std::max(exact.size * 0x1p-11, 0x1p-25);
}

/// Each output of the part against exact sums, of both libraries, and nothing else written.
void compare_products(const std::string& name, const Matmul& kernel, const Product& it,
                      const Floats& lhs, const ClientWeights& weights,
                      const std::vector<float>& ours, const std::vector<float>& theirs,
                      double& worst) {
  const size_t width = it.stride / kernel.dst_bytes;
  for (size_t i = 0; i < it.m; ++i) {
    const RowsKind rows = rows_of(name);
    const std::vector<QuantizedRow> row =
        rows.f16 ? std::vector<QuantizedRow>() : quantized(lhs.row(i), lhs.k, weights.bl, rows);
    for (size_t j = 0; j < width; ++j) {
      const float mine = ours[i * width + j];
      const float other = theirs[i * width + j];
      const bool inside = i >= it.m0 && i < it.m0 + it.rows && j >= it.n0 && j < it.n0 + it.columns;
      if (!inside) {
        ASSERT_EQ(mine, untouched) << "written outside of the part";
        continue;
      }
      const ExactOutput exact =
          rows.f16 ? exact_output(lhs.row(i), weights, j) : exact_output(row, weights, j);
      const double right = std::clamp(exact.value, double{it.min}, double{it.max});
      const double far = std::max(std::fabs(mine - right), std::fabs(double{mine} - double{other}));
      // Outputs of 16 bits are rounded by half a step; two may be a step apart.
      const double step = kernel.f16 ? 0x1p-10 : kernel.dst_bytes == 2 ? 0x1p-7 : 0;
      const double smallest = kernel.f16 ? 0x1p-24 : 0;
      const double rounded = std::max(std::fabs(right) * step, smallest);
      ASSERT_LE(std::fabs(mine - right), exact.bound + rounded / 2) << "instead of " << right;
      const double bound = exact.bound + rounded + rounded_by_blocks(name, weights, exact);
      worst = std::max(worst, far / bound);
      ASSERT_LE(far, bound) << "row " << i << ", column " << j << ": " << mine << ", theirs "
                            << other << ", exact " << right;
    }
  }
}

/// One kernel of theirs clamps only where there are both limits.
bool theirs_clamps(const std::string& name, const Product& it, float most) {
  const bool one = (it.min != -most) != (it.max != most);
  return !one || name != "matmul_clamp_f32_qsi8d32p1vlx4_qsi4c32p4vlx4_1vlx4vl_sme2_mopa";
}

TEST_P(KleidiaiMatmuls, ProductsAreTheSame) {
  const auto& [name, theirs, ours] = GetParam();
  std::mt19937 random(4);
  double worst = 0;
  for (int i = 0; i < cases; ++i) {
    const WeightsKind kind = kind_of(name);
    const Depth depth =
        takes_short_blocks(name) ? Depth{32 * up_to(8, random), 32} : random_depth(kind, random);
    const Product it = random_product(theirs, takes_one_row(name), random);
    const PanelShape lhs_shape = {theirs.mr, theirs.kr, theirs.sr, depth.bl};
    const PanelShape rhs_shape = {theirs.nr, theirs.kr, theirs.sr, depth.bl};
    Floats lhs = random_floats(it.m, depth.k, random, kind.apart);
    if (rows_of(name).f16) {  // which hold no more
      for (float& value : lhs.values) value = std::clamp(value, -60000.0F, 60000.0F);
    }
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
    const Matmul& other =
        theirs_clamps(name, it, std::numeric_limits<float>::max()) ? theirs : ours;
    compare_products(name, theirs, it, lhs, weights,
                     multiply(ours, it, weights, their_lhs, their_rhs),
                     multiply(other, it, weights, our_lhs, our_rhs), worst);
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
  ours.run(0, 5, 64, blocks ? 32 : 0, packed.data(), packed.data(), &out, 20, bytes, 0, 1, nullptr);
  ours.run(5, 0, 64, blocks ? 32 : 0, packed.data(), packed.data(), &out, 20, bytes, 0, 1, nullptr);
  EXPECT_EQ(out, untouched);
}

INSTANTIATE_TEST_SUITE_P(, KleidiaiMatmuls, testing::ValuesIn(matmuls()),
                         [](const auto& it) { return it.param.name; });

}  // namespace
}  // namespace tw::test::names_test
