// Parts of the delegate by themselves.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "integrations/litert/tensors.h"
#include "integrations/litert/weights.h"
#include "reference/half_reference.h"
#include "support/environment.h"

namespace tw::litert {
namespace {

TEST(Tensors, HalvesAreFloats) {
  std::vector<uint16_t> halves(0x10000);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  const std::vector<float> floats = floats_of_halves(halves.data(), halves.size());
  for (size_t i = 0; i < halves.size(); ++i) {
    const float wanted = test::half_value(halves[i]);
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(floats[i])) << i;
    } else {
      ASSERT_EQ(floats[i], wanted) << i;
      ASSERT_EQ(std::signbit(floats[i]), std::signbit(wanted)) << i;
    }
  }
}

class Weights : public testing::Test {
 protected:
  Weights() {
    test::set_environment("TILEWRIGHT_LITERT_TEST", "1");
    source.scheme = find_scheme(type_f32, type_i8);
    source.data = codes.data();
    source.n = 8;
    source.k = 4;
    source.scales.assign(8, 0.5F);
  }
  std::vector<int8_t> codes = std::vector<int8_t>(32, 3);
  WeightSource source;
};

TEST_F(Weights, AreSharedAsLongAsSomebodyHasThem) {
  const auto first = find_weights(source);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(find_weights(source), first);
  EXPECT_EQ(first.use_count(), 1) << "somebody else keeps them";
}

TEST_F(Weights, AreOthersWithOtherScales) {
  const auto first = find_weights(source);
  source.scales[7] = 1;
  const auto second = find_weights(source);
  EXPECT_NE(second, first);
  ASSERT_EQ(second->bytes, first->bytes);
  EXPECT_NE(std::memcmp(second->packed.get(), first->packed.get(), first->bytes), 0);
}

TEST_F(Weights, OfTypesWithoutKernels) {
  EXPECT_EQ(find_scheme(type_f16, type_f16), nullptr);
  EXPECT_EQ(find_scheme(type_i8, type_f32), nullptr);
}

}  // namespace
}  // namespace tw::litert
