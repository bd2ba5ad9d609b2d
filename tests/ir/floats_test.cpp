// Operations on vectors of floats, likewise (vectors_test.cpp).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "helpers.h"
#include "ir/meaning.h"

namespace tw::test {
namespace {

TEST(Vectors, Floats) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  // One rounding: 1 + 2^-12 squared, minus 1 - 2^-11, is 2^-24 only when the product is not
  // rounded.
  const float x = 1.0F + std::ldexp(1.0F, -12);
  std::vector<float> a = {1.5F, 0.1F, x, nan};
  std::vector<float> b = {-2.0F, 0.2F, x, 1.0F};
  std::vector<float> c = {inf, 0.3F, -1.0F - std::ldexp(1.0F, -11), 1.0F};
  std::vector<float> all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  auto f32 = [&](OpCode code, int args) {
    return as<float>(run_vector(fixed16(), code, {}, args, bytes_of(all), 16));
  };
  std::vector<float> sum = f32(OpCode::fadd, 2);
  EXPECT_EQ(sum[0], -0.5F);
  EXPECT_EQ(sum[1], 0x1.333334p-2F);  // 0.3 rounded up, as IEEE adds 0.1 and 0.2
  EXPECT_EQ(f32(OpCode::fsub, 2)[0], 3.5F);
  EXPECT_EQ(f32(OpCode::fmul, 2)[0], -3.0F);
  EXPECT_EQ(f32(OpCode::fmul, 2)[2], 1.0F + std::ldexp(1.0F, -11));
  EXPECT_EQ(f32(OpCode::fma, 3)[0], inf);
  EXPECT_EQ(f32(OpCode::fma, 3)[2], std::ldexp(1.0F, -24));
  const std::vector<float> by_lane =  // every lane of a by b's third; c
      as<float>(run_vector(fixed16(), OpCode::fma_lane, {.imm = 2}, 3, bytes_of(all), 16));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(by_lane[i], std::fma(a[i], b[2], c[i])) << i;
  EXPECT_TRUE(std::isnan(by_lane[3]));
  const std::vector<float> times_lane =
      as<float>(run_vector(fixed16(), OpCode::fmul_lane, {.imm = 1}, 2, bytes_of(all), 16));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(times_lane[i], a[i] * b[1]) << i;
  EXPECT_EQ(f32(OpCode::fmin, 2)[0], -2.0F);
  EXPECT_EQ(f32(OpCode::fmax, 2)[0], 1.5F);
  EXPECT_EQ(f32(OpCode::fmin, 2)[3], 1.0F) << "a NaN gives the second argument";
  EXPECT_EQ(f32(OpCode::fmax, 2)[3], 1.0F);
}

TEST(Vectors, MinAndMaxOfUnorderedGiveTheSecond) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> all = {1.0F, 0.0F, -0.0F, 2.0F, nan, -0.0F, 0.0F, 2.0F};
  for (OpCode code : {OpCode::fmin, OpCode::fmax}) {
    std::vector<float> got = as<float>(run_vector(fixed16(), code, {}, 2, bytes_of(all), 16));
    EXPECT_TRUE(std::isnan(got[0]));
    EXPECT_TRUE(std::signbit(got[1]));
    EXPECT_FALSE(std::signbit(got[2]));
  }
}

TEST(Vectors, MinimumAndMaximumAreThoseOfIeee754) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> all = {1.0F, 0.0F, -0.0F, 2.0F, nan, -0.0F, 0.0F, -3.0F};
  for (const bool most : {false, true}) {
    const OpCode code = most ? OpCode::fmaximum : OpCode::fminimum;
    const std::vector<float> got = as<float>(run_vector(fixed16(), code, {}, 2, bytes_of(all), 16));
    EXPECT_TRUE(std::isnan(got[0]));
    EXPECT_EQ(std::signbit(got[1]), !most);
    EXPECT_EQ(std::signbit(got[2]), !most);
    EXPECT_EQ(got[3], most ? 2.0F : -3.0F);
  }
}

TEST(Vectors, MultiplyAndAddAreNotFused) {
  const float x = 1.0F + std::ldexp(1.0F, -12);
  std::vector<float> all(12, x);
  for (size_t i = 8; i < 12; ++i) all[i] = -1.0F - std::ldexp(1.0F, -11);
  Bytes got = run_written(fixed16(), bytes_of(all), 16, [](Builder& b, Value from, Value to) {
    Value product = b.op(OpCode::fmul,
                         {b.op(OpCode::load, {from}), b.op(OpCode::load, {from}, {.offset = 16})});
    Value c = b.op(OpCode::load, {from}, {.offset = 32});
    b.op(OpCode::store, {to, b.op(OpCode::fadd, {product, c})});
  });
  EXPECT_EQ(as<float>(got), std::vector<float>(4, 0.0F));
}

TEST(Vectors, Conversions) {
  std::vector<float> halves = {0.5F,  1.5F,  2.5F,          -0.5F,
                               -1.5F, -2.5F, 2147483520.0F, -2147483648.0F};
  std::vector<int32_t> even = {0, 2, 2, 0, -2, -2, 2147483520, std::numeric_limits<int>::min()};
  EXPECT_EQ(as<int32_t>(run_vector(isa_of(32), OpCode::cvt_f32_i32, {}, 1, bytes_of(halves), 32)),
            even);
  std::vector<int32_t> away = {1, 2, 3, -1, -2, -3, 2147483520, std::numeric_limits<int>::min()};
  EXPECT_EQ(
      as<int32_t>(run_vector(isa_of(32), OpCode::cvt_f32_i32_away, {}, 1, bytes_of(halves), 32)),
      away);
  // The largest float below a half, which adding a half would make 1.
  const std::vector<float> below(4, 0.49999997F);
  EXPECT_EQ(
      as<int32_t>(run_vector(fixed16(), OpCode::cvt_f32_i32_away, {}, 1, bytes_of(below), 16)),
      std::vector<int32_t>(4, 0));
  std::vector<int32_t> whole = {1, -1, 16777217, 16777219};
  std::vector<float> rounded = {1.0F, -1.0F, 16777216.0F, 16777220.0F};
  EXPECT_EQ(as<float>(run_vector(fixed16(), OpCode::cvt_i32_f32, {}, 1, bytes_of(whole), 16)),
            rounded);
  std::vector<int32_t> sixteenths = {16, -8, 0, 16777219};
  EXPECT_EQ(as<float>(run_vector(fixed16(), OpCode::cvt_fixed_f32, {.imm = 4}, 1,
                                 bytes_of(sixteenths), 16)),
            (std::vector<float>{1.0F, -0.5F, 0.0F, 1048576.25F}));
  std::vector<int32_t> wide = {127, 128, -128, -129};
  EXPECT_EQ(as<int8_t>(run_vector(fixed16(), OpCode::narrow_32_8, {}, 1, bytes_of(wide), 4)),
            (std::vector<int8_t>{127, 127, -128, -128}));
}

TEST(Vectors, ConversionOutOfRangeFaults) {
  const float inf = std::numeric_limits<float>::infinity();
  for (float x : {2147483648.0F, -2147483904.0F, inf, -inf, std::nanf("")}) {
    std::string fault = fault_of([&] {
      run_vector(fixed16(), OpCode::cvt_f32_i32, {}, 1, bytes_of(std::vector<float>(4, x)), 16);
    });
    EXPECT_NE(fault.find("out of range"), std::string::npos) << fault;
  }
}

TEST(Vectors, FloatToHalf) {
  struct Pair {
    float value;
    uint16_t half;
  };
  for (Pair p : {Pair{1.0F, 0x3C00},
                 {0x1.002p0F, 0x3C00},     // halfway, to even: down
                 {0x1.006p0F, 0x3C02},     // and up
                 {0x1.002002p0F, 0x3C01},  // just above
                 {0x1.ffcp-1F, 0x3BFF},
                 {0x1.ffep-1F, 0x3C00},  // to the next power of two
                 {65504.0F, 0x7BFF},
                 {65519.0F, 0x7BFF},
                 {65520.0F, 0x7C00},
                 {0x1p-14F, 0x0400},
                 {0x1.ff8p-15F, 0x03FF},
                 {0x1.ffcp-15F, 0x0400},  // out of the subnormal numbers
                 {0x1p-24F, 0x0001},
                 {0x1p-25F, 0x0000},
                 {0x1.8p-24F, 0x0002},
                 {0x1p-149F, 0x0000},
                 {INFINITY, 0x7C00}}) {
    EXPECT_EQ(float_to_half(p.value), p.half) << p.value;
    EXPECT_EQ(float_to_half(-p.value), p.half | 0x8000) << -p.value;
  }
  for (uint32_t nan : {0x7FC00000U, 0x7F800001U, 0xFFFFFFFFU, 0xFF800001U}) {
    EXPECT_EQ(float_to_half(std::bit_cast<float>(nan)) & 0x7E00, 0x7E00) << nan;
  }
  for (uint32_t half = 0; half < 0x10000; ++half) {
    const float value = half_to_float(static_cast<uint16_t>(half));
    if (std::isnan(value)) continue;
    ASSERT_EQ(float_to_half(value), half);
  }
}

TEST(Vectors, HalfToFloat) {
  struct Pair {
    uint16_t half;
    float value;
  };
  for (Pair p : {Pair{0x3C00, 1.0F},
                 {0xC000, -2.0F},
                 {0x7BFF, 65504.0F},
                 {0x0001, 0x1p-24F},
                 {0x03FF, 1023 * 0x1p-24F},
                 {0x0400, 0x1p-14F},
                 {0x7C00, INFINITY},
                 {0xFC00, -INFINITY},
                 {0x3555, 0x1.554p-2F}}) {
    EXPECT_EQ(half_to_float(p.half), p.value) << p.half;
  }
  EXPECT_TRUE(std::isnan(half_to_float(0x7E00)));
  EXPECT_TRUE(std::signbit(half_to_float(0x8000)));
  for (int64_t vl : {1, 2, 4}) {
    std::vector<uint16_t> half(static_cast<size_t>(4 * vl), 0x3C00);
    half.back() = 0xC000;
    std::vector<float> expected(half.size(), 1.0F);
    expected.back() = -2.0F;
    EXPECT_EQ(as<float>(run_vector(scalable(), OpCode::cvt_f16_f32, {}, 1, bytes_of(half),
                                   static_cast<size_t>(16 * vl), {vl, 1}, {0, 8})),
              expected);
  }
  const std::vector<uint16_t> brain = {0x3F80, 0xC000, 0x0001, 0xFF80};
  EXPECT_EQ(as<float>(run_vector(scalable(), OpCode::cvt_bf16_f32, {}, 1, bytes_of(brain), 16,
                                 {1, 1}, {0, 8})),
            (std::vector<float>{1.0F, -2.0F, 0x1p-133F, -INFINITY}));
}

}  // namespace
}  // namespace tw::test
