// Weights that are floats of 8 bits, every code of them, through the run-time API.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "reference/half_reference.h"
#include "tilewright/tilewright.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace tw::test::byte_floats_test {
namespace {

constexpr size_t codes = 256;

/// Denormal f32 are read as 0 and written as such, as engines set it for their threads.
class FlushedDenormals {
 public:
#if defined(__SSE2__)
  FlushedDenormals() : before_(_mm_getcsr()) {
    _mm_setcsr(before_ | 0x8040);
  }
  ~FlushedDenormals() {
    _mm_setcsr(before_);
  }

 private:
  unsigned before_;
#elif defined(__aarch64__)
  FlushedDenormals() {
    __asm__ volatile("mrs %0, fpcr" : "=r"(before_));
    const uint64_t flushed = before_ | uint64_t{1} << 24 | uint64_t{1} << 19;
    __asm__ volatile("msr fpcr, %0" : : "r"(flushed));
  }
  ~FlushedDenormals() {
    __asm__ volatile("msr fpcr, %0" : : "r"(before_));
  }

 private:
  uint64_t before_ = 0;
#endif
};

struct Kind {
  const char *type, *suffix;
  size_t k, block;
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.suffix << ", k " << kind.k;
}

/// Row i of the weights is code i - 128, k times; its scale is a power of two.
class CodesTest : public testing::TestWithParam<Kind> {
 protected:
  CodesTest() : k_(GetParam().k), blocks_(GetParam().block == 0 ? 1 : k_ / GetParam().block) {
    for (size_t i = 0; i < codes * k_; ++i) weights_.push_back(code_of(i / k_));
    scales_.assign(codes * blocks_, 0.5F);
  }

  static int8_t code_of(size_t row) { return static_cast<int8_t>(static_cast<int>(row) - 128); }

  [[nodiscard]] tilewright::Plan make_plan() const {
    const std::string family = std::string("matmul_clamp_f32_f32_") + GetParam().suffix;
    auto matmul = tilewright::sized<tw_matmul>();
    matmul.family = family.c_str();
    matmul.n = codes;
    matmul.k = k_;
    matmul.block = GetParam().block;
    if (GetParam().block != 0) matmul.scales = TW_SCALES_F32;
    return {tilewright::detect(), matmul};
  }

  [[nodiscard]] std::vector<char> packed(const tilewright::Plan& plan) const {
    const tw_rhs_source weights = source();
    std::vector<char> rhs(plan.rhs_bytes());
    for (size_t s = 0; s < plan.rhs_slices(); ++s) {
      plan.pack_rhs(weights, rhs.data(), rhs.size(), s);
    }
    return rhs;
  }

  [[nodiscard]] tw_rhs_source source() const {
    auto source = tilewright::sized<tw_rhs_source>();
    source.order = TW_NXK;
    source.data = weights_.data();
    source.data_bytes = weights_.size();
    source.stride = k_;
    source.scales = scales_.data();
    source.scale_count = scales_.size();
    return source;
  }

  /// Of rows whose values are all 1.
  [[nodiscard]] std::vector<float> multiplied(size_t m) const {
    const tilewright::Plan plan = make_plan();
    const std::vector<char> rhs = packed(plan);
    const std::vector<float> lhs(m * k_, 1.0F);
    std::vector<float> dst(m * codes);
    auto args = tilewright::sized<tw_run_args>();
    args.m = m;
    args.lhs = lhs.data();
    args.lhs_bytes = lhs.size() * sizeof(float);
    args.lhs_stride = k_ * sizeof(float);
    args.rhs = rhs.data();
    args.rhs_bytes = rhs.size();
    args.dst = dst.data();
    args.dst_bytes = dst.size() * sizeof(float);
    args.dst_stride = codes * sizeof(float);
    const FlushedDenormals flushed;
    for (size_t s = 0; s < plan.run_slices(m); ++s) plan.run(args, s);
    return dst;
  }

  size_t k_, blocks_;
  std::vector<int8_t> weights_;
  std::vector<float> scales_;
};

TEST_P(CodesTest, AreWhatTheyStandFor) {
  for (const size_t m : {size_t{1}, size_t{9}}) {
    const std::vector<float> outputs = multiplied(m);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const float value = byte_float_value(GetParam().type, code_of(i % codes));
      const float right = value * static_cast<float>(k_) / 2;  // exact: so few bits
      if (std::isnan(right)) {
        ASSERT_TRUE(std::isnan(outputs[i])) << "code " << i % codes << " is " << outputs[i];
      } else {
        ASSERT_EQ(outputs[i], right) << "code " << i % codes << ", row " << i / codes;
      }
    }
  }
}

TEST_P(CodesTest, AreReadBack) {
  const tilewright::Plan plan = make_plan();
  const std::vector<char> rhs = packed(plan);
  std::vector<int8_t> back(weights_.size());
  std::vector<float> scales(scales_.size());
  auto to = tilewright::sized<tw_rhs_target>();
  to.order = TW_NXK;
  to.data = back.data();
  to.data_bytes = back.size();
  to.stride = k_;
  to.scales = scales.data();
  to.scale_count = scales.size();
  plan.unpack_rhs(rhs.data(), rhs.size(), 0, codes, to);
  EXPECT_EQ(back, weights_);
  EXPECT_EQ(scales, scales_);
}

INSTANTIATE_TEST_SUITE_P(
    ByteFloats, CodesTest,
    testing::Values(Kind{"e4m3", "f8e4m3cxp", 1, 0}, Kind{"e4m3", "f8e4m3cxp", 40, 0},
                    Kind{"e5m2", "f8e5m2cxp", 1, 0}, Kind{"e5m2", "f8e5m2cxp", 40, 0},
                    Kind{"e4m3", "f8e4m3c128p", 256, 128}),
    [](const auto& info) {
      return std::string(info.param.suffix) + "_" + std::to_string(info.param.k);
    });

}  // namespace
}  // namespace tw::test::byte_floats_test
