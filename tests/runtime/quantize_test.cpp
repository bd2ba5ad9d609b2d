// Values that are quantized together, against the formulas for a row.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "reference/half_reference.h"
#include "reference/quantize_reference.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {
namespace {

struct Found {
  float lowest = 7, highest = -7, scale = 0;
  int32_t zero_point = 99;
  std::vector<int8_t> codes;
};

Found quantize(tw_type type, const std::string& name, const std::vector<float>& values) {
  const size_t bytes = bytes_of_float(name);
  std::vector<uint8_t> memory(values.size() * bytes + 1);  // at an odd address
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t bits = float_bits(name, values[i]);
    std::memcpy(memory.data() + 1 + i * bytes, &bits, bytes);
  }
  Found found;
  found.codes.resize(values.size());
  EXPECT_EQ(tw_find_range(type, memory.data() + 1, values.size(), &found.lowest, &found.highest),
            TW_OK);
  EXPECT_EQ(tw_quantize(type, memory.data() + 1, values.size(), found.lowest, found.highest,
                        found.codes.data(), &found.scale, &found.zero_point),
            TW_OK);
  return found;
}

void check(tw_type type, const std::string& name, std::vector<float> values) {
  for (float& x : values) x = rounded_to(name, x);
  const QuantizedRow wanted = quantize_row_qai8dx(values.data(), values.size());
  const Found found = quantize(type, name, values);
  EXPECT_EQ(found.codes, wanted.codes);
  EXPECT_EQ(found.zero_point, wanted.zero_point);
  if (std::isnan(wanted.scale)) {
    EXPECT_TRUE(std::isnan(found.scale));
    EXPECT_EQ(found.lowest, -INFINITY);
    EXPECT_EQ(found.highest, INFINITY);
    return;
  }
  EXPECT_EQ(found.scale, wanted.scale);
  EXPECT_EQ(found.lowest, std::min(0.0F, *std::min_element(values.begin(), values.end())));
  EXPECT_EQ(found.highest, std::max(0.0F, *std::max_element(values.begin(), values.end())));
}

TEST(Quantize, MakesTheCodesOfARow) {
  std::mt19937 random(6);
  const float largest = std::numeric_limits<float>::max();
  const std::pair<float, float> ranges[] = {{-1, 1},         {0, 5},
                                            {-3, 0},         {2, 3},
                                            {-9, -8},        {-1e-44F, 1e-43F},
                                            {-1e30F, 1e31F}, {-largest, largest}};
  for (const auto& [low, high] : ranges) {
    for (const size_t count : {1, 2, 31, 255, 256, 257, 2000}) {
      std::vector<float> values(count);
      for (float& x : values) {
        const float share = std::uniform_real_distribution<float>(0, 1)(random);
        x = low * (1 - share) + high * share;
      }
      values.back() = low;
      values.front() = high;
      check(TW_F32, "f32", values);
      check(TW_BF16, "bf16", values);
      check(TW_F16, "f16", values);
    }
  }
  for (int i = 0; i < 2000; ++i) {  // ties: values half as far apart as codes
    std::vector<float> values(40);
    for (float& x : values) x = static_cast<float>(static_cast<int>(random() % 511) - 200) / 2;
    values.front() = -100;
    values.back() = 155;
    check(TW_F32, "f32", values);
  }
  check(TW_F32, "f32", std::vector<float>(300, 0.0F));
  check(TW_F32, "f32", std::vector<float>(300, -0.0F));
}

TEST(Quantize, WhatIsNotFiniteMakesAllOfIt) {
  for (const float odd : {NAN, -NAN, INFINITY, -INFINITY}) {
    std::vector<float> values(300, 1.0F);
    values[280] = odd;
    check(TW_F32, "f32", values);
    check(TW_F16, "f16", values);
    check(TW_BF16, "bf16", values);
  }
}

/// Ends of parts are those of the whole; what is beyond a given range becomes its end.
TEST(Quantize, RangesAreTheCallers) {
  const std::vector<float> values = {-4, 2, 0, 1000};
  std::vector<int8_t> codes(4);
  float scale = 0;
  int32_t zero_point = 0;
  ASSERT_EQ(tw_quantize(TW_F32, values.data(), 4, -2, 0.55F, codes.data(), &scale, &zero_point),
            TW_OK);
  EXPECT_EQ(codes[0], -128);
  EXPECT_EQ(codes[1], 127);
  EXPECT_EQ(codes[2], zero_point);
  EXPECT_EQ(codes[3], 127);
}

void expect(tw_status status, const std::string& message) {
  EXPECT_EQ(status, TW_INVALID);
  EXPECT_EQ(tw_error_message(), message);
}

TEST(Quantize, Mistakes) {
  const float value = 1;
  float low = 5;
  float high = 5;
  float scale = 5;
  int8_t code = 5;
  int32_t zero_point = 5;
  expect(tw_find_range(TW_S8, &value, 1, &low, &high),
         "tw_find_range: type is 5; f32, f16 and bf16 are legal");
  expect(tw_find_range(TW_F32, nullptr, 1, &low, &high), "tw_find_range: values is null");
  expect(tw_find_range(TW_F32, &value, 1, &low, nullptr), "tw_find_range: highest is null");
  expect(tw_quantize(TW_F32, &value, 1, 0, 1, nullptr, &scale, &zero_point),
         "tw_quantize: codes is null");
  expect(tw_quantize(TW_F32, &value, 1, 0, 1, &code, nullptr, &zero_point),
         "tw_quantize: scale is null");
  expect(tw_quantize(TW_F32, &value, 1, 0.5F, 1, &code, &scale, &zero_point),
         "tw_quantize: lowest is 0.5, highest is 1; ranges that include 0 are legal");
  expect(tw_quantize(TW_F32, &value, 1, 0, NAN, &code, &scale, &zero_point),
         "tw_quantize: lowest is 0, highest is nan; ranges that include 0 are legal");
  EXPECT_EQ(low + high + scale, 15);
  EXPECT_EQ(code + zero_point, 10);
  EXPECT_EQ(tw_find_range(TW_F32, nullptr, 0, &low, &high), TW_OK);
  EXPECT_EQ(low, 0);
}

}  // namespace
}  // namespace tw::test
