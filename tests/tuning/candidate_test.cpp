// What is tried of decoding: beside each of the best kernels by packed weights the same by weights
// that are decoded first, where a plan has a decoder.
#include "tuner/program/candidate.h"

#include <gtest/gtest.h>

#include "tilewright/tilewright.hpp"

namespace tw::tuner {
namespace {

Wanted wanted_of(const char* family, size_t block) {
  Wanted wanted;
  wanted.family = family;
  wanted.n = 128;
  wanted.k = 256;
  wanted.block = block;
  wanted.scales = block != 0 ? "f16" : "";
  wanted.mix = {{64, 1}};
  return wanted;
}

constexpr size_t kRows = 64;
constexpr double kAnyTime = 1e9;

TEST(Candidates, WithDecodedWeightsWhereThePlanHasADecoder) {
  const tw_device device = tilewright::detect();
  const Wanted wanted = wanted_of("matmul_clamp_f32_f32_qai4c32p", 32);
  const std::vector<Candidate> kernels = kernel_candidates(device, wanted, kRows, kAnyTime);
  ASSERT_FALSE(kernels.empty());
  for (const Candidate& kernel : kernels) EXPECT_NE(configuration_of(kernel).decodes, "yes");
  const Candidate& best = kernels.front();
  EXPECT_EQ(configuration_of(best).decodes, "no");
  const std::vector<Candidate> decoded = decode_neighbors(device, best, wanted, kRows);
  ASSERT_EQ(decoded.size(), 1U);
  EXPECT_EQ(decoded[0].kernel, best.kernel);
  EXPECT_EQ(configuration_of(decoded[0]).decodes, "yes");
  EXPECT_TRUE(decode_neighbors(device, decoded[0], wanted, kRows).empty());
  for (const Candidate& other : block_neighbors(decoded[0], wanted, kRows)) {
    EXPECT_EQ(other.tuning.decode, TW_DECODE_ALWAYS);
  }
  // Of one row it takes many times as long.
  const Candidate row = kernel_candidates(device, wanted, 1, kAnyTime).front();
  EXPECT_TRUE(decode_neighbors(device, row, wanted, 1).empty());
}

TEST(Candidates, HaveNoDecodedWeightsWhereNothingDecodesThem) {
  const tw_device device = tilewright::detect();
  const Wanted wanted = wanted_of("matmul_clamp_f32_f32_f32p", 0);
  for (const Candidate& kernel : kernel_candidates(device, wanted, kRows, kAnyTime)) {
    EXPECT_EQ(configuration_of(kernel).decodes, "");
    EXPECT_TRUE(decode_neighbors(device, kernel, wanted, kRows).empty());
  }
}

}  // namespace
}  // namespace tw::tuner
