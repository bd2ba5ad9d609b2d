// Products of many rows by tiles of bf16: which plans take them, and that they lose less than
// rounding activations to 8 bits does.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "ggml/tensors.h"
#include "integrations/common/this_device.h"
#include "integrations/ggml/multiply.h"
#include "support/device.h"
#include "support/environment.h"

namespace tw {

/// In the place of the plug-in's own.
const tw_device& this_device() {
  static const tw_device device = test::detected_device();
  return device;
}

size_t vector_bytes_of(const tw_layout& /*layout*/) {
  return this_device().vector_bytes;
}

namespace ggml {
namespace {

constexpr size_t kColumns = 128, kDepth = 512, kRows = 64;

class Tiles : public testing::TestWithParam<int32_t> {
 protected:
  void SetUp() override {
    if (test::tiles_here() == test::Tiles::none) GTEST_SKIP() << "no vectors of 512 bits";
  }
};

/// Those with a decoder, whose plans are of products of bf16 for many rows.
TEST_P(Tiles, TakeManyRowsUnlessFloatsAreWanted) {
  const Packing* packing = find_packing(*weight_type(GetParam()), kColumns, kDepth);
  ASSERT_NE(packing, nullptr);
  const bool rounds = weight_type(GetParam())->rounds_well;
  ASSERT_EQ(packing->rounded != nullptr, rounds);
  EXPECT_EQ(plan_for(*packing, 1, true), packing->plan.get());
  EXPECT_EQ(plan_for(*packing, kRows, false), packing->plan.get());
  EXPECT_EQ(plan_for(*packing, kRows, true), rounds ? packing->rounded.get() : packing->plan.get());
}

/// Root of the mean square of what differs from sums of all products.
double error_of(const PackedTensor& weights, const OwnTensor& input) {
  const auto columns = static_cast<size_t>(weights.tensor.ne[1]);
  const OwnTensor output = make_tensor(type_f32, {columns, kRows, 1, 1});
  Scratch scratch;
  EXPECT_EQ(multiply({{&weights.tensor, &input.tensor, nullptr, &output.tensor}}, 2, scratch),
            success);
  const auto rows = rows_of(weights.source);
  double squares = 0;
  for (size_t i = 0; i < kRows * columns; ++i) {
    const size_t row = i / columns, column = i % columns;
    double sum = 0;
    for (size_t k = 0; k < kDepth; ++k) {
      sum += double{rows[column][k]} * float_at(input.tensor, k, row, 0, 0);
    }
    const double error = float_at(output.tensor, column, row, 0, 0) - sum;
    squares += error * error;
  }
  return std::sqrt(squares / static_cast<double>(kRows * columns));
}

/// Of a shape that nobody else asked for, so that the variable counts.
PackedTensor weights_without_rounding(std::mt19937& random, int32_t type) {
  test::set_environment("TILEWRIGHT_BF16", "0");
  PackedTensor weights = pack(random_weights(random, type, {kDepth, kColumns + 1, 1, 1}));
  test::set_environment("TILEWRIGHT_BF16", "");
  return weights;
}

TEST_P(Tiles, LoseLessThanActivationsOf8Bits) {
  const WeightType& type = *weight_type(GetParam());
  if (type.block == 0 || find_packing(type, kColumns, kDepth)->rounded == nullptr) return;
  std::mt19937 random(11);
  const PackedTensor plain = weights_without_rounding(random, GetParam());
  ASSERT_EQ(find_packing(type, kColumns + 1, kDepth)->rounded, nullptr);
  const PackedTensor weights = pack(random_weights(random, GetParam(), {kDepth, kColumns, 1, 1}));
  const OwnTensor input = random_floats(random, {kDepth, kRows, 1, 1});
  const double rounded = error_of(weights, input), codes = error_of(plain, input);
  EXPECT_GT(rounded, 0);
  EXPECT_LT(rounded, codes);
  RecordProperty("share_of_the_error_of_8_bits", std::to_string(rounded / codes));
}

INSTANTIATE_TEST_SUITE_P(Types, Tiles, testing::ValuesIn(types_here()), [](const auto& info) {
  return std::string(weight_type(info.param)->name);
});

}  // namespace
}  // namespace ggml
}  // namespace tw
