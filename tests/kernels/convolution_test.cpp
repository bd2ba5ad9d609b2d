// Convolutions through the run-time API, on every ISA that runs here, against plain loops.
#include "kernels/convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "reference/fused.h"
#include "reference/half_reference.h"
#include "reference/quantize_reference.h"

namespace tw::test {
namespace {

std::vector<double> random_codes(size_t count, int lowest, int highest, std::mt19937& random) {
  std::vector<double> codes(count);
  for (double& code : codes) code = std::uniform_int_distribution<int>(lowest, highest)(random);
  return codes;
}

std::vector<int8_t> bytes_of(const std::vector<double>& codes) {
  return {codes.begin(), codes.end()};
}

/// Multiples of 1/64 that f16 holds.
std::vector<double> random_values(size_t count, std::mt19937& random) {
  std::vector<double> values = random_codes(count, -1000, 1000, random);
  for (double& x : values) x /= 64;
  return values;
}

std::vector<uint8_t> floats_of(const std::string& type, const std::vector<double>& values) {
  const size_t bytes = bytes_of_float(type);
  std::vector<uint8_t> floats(values.size() * bytes);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t bits = float_bits(type, static_cast<float>(values[i]));
    std::memcpy(floats.data() + i * bytes, &bits, bytes);
  }
  return floats;
}

void check_codes(const char* family, int weight_bits) {
  const int largest = (1 << (weight_bits - 1)) - 1;
  constexpr int32_t zero_point = -7;
  for (const ConvolutionCase& c : ConvolutionCase::all()) {
    std::mt19937 random(11);
    std::vector<double> values = random_codes(c.inputs(), -128, 127, random);
    const std::vector<double> weights = random_codes(c.weights(), -largest, largest, random);
    const std::vector<int8_t> input = bytes_of(values);
    const std::vector<int8_t> codes = bytes_of(weights);
    for (double& x : values) x -= zero_point;
    const ConvolutionSums wanted = convolve(c, values, weights);
    const size_t n = c.groups * c.outputs;
    std::vector<int32_t> bias(n);
    ConvolutionLayer layer;
    for (size_t i = 0; i < n; ++i) {
      bias[i] = static_cast<int32_t>(random() % 20001) - 10000;
      layer.scales.push_back(0.001F + 0.0001F * static_cast<float>(i % 7));
    }
    layer.family = family;
    layer.nibbles = weight_bits == 4;
    layer.lhs = layer.dst = TW_S8;
    layer.input = input.data();
    layer.weights = codes.data();
    layer.weight_bytes = 1;
    layer.bias = bias.data();
    layer.zero = {static_cast<uint8_t>(zero_point)};
    layer.lhs_zero_point = zero_point;
    layer.lhs_scale = 0.5F;
    layer.dst_scale = 2;
    layer.dst_zero_point = 3;
    layer.min = -120;
    layer.max = 119;
    std::vector<uint8_t> outputs;
    for (size_t i = 0; i < wanted.sums.size(); ++i) {
      const auto sum = static_cast<float>(wanted.sums[i] + bias[i % n]);
      const float real = layer.lhs_scale * layer.scales[i % n];
      const float scaled = sum * (real / layer.dst_scale);
      const double code = std::nearbyint(double{scaled}) + layer.dst_zero_point;
      outputs.push_back(static_cast<uint8_t>(std::lround(std::clamp(code, -120.0, 119.0))));
    }
    for (const std::string& isa : isas_of(layer.family)) {
      layer.isa = isa.c_str();
      EXPECT_EQ(run_convolution(c, layer), outputs) << isa << ", " << to_string(c);
    }
  }
}

void check_floats(const char* family, const std::string& weight_type, tw_type lhs = TW_F32) {
  for (const ConvolutionCase& c : ConvolutionCase::all()) {
    std::mt19937 random(12);
    const std::vector<double> values = random_values(c.inputs(), random);
    const std::vector<double> weights = random_values(c.weights(), random);
    const ConvolutionSums wanted = convolve(c, values, weights);
    const std::vector<uint8_t> input = floats_of(lhs == TW_F16 ? "f16" : "f32", values);
    const std::vector<uint8_t> rows = floats_of(weight_type, weights);
    const size_t n = c.groups * c.outputs;
    std::vector<float> bias(n);
    for (float& x : bias) x = static_cast<float>(random() % 100);
    ConvolutionLayer layer;
    layer.family = family;
    layer.lhs = lhs;
    layer.input = input.data();
    layer.weights = rows.data();
    layer.weight_bytes = bytes_of_float(weight_type);
    layer.bias = bias.data();
    for (const std::string& isa : isas_of(family)) {
      layer.isa = isa.c_str();
      const std::vector<uint8_t> outputs = run_convolution(c, layer);
      ASSERT_EQ(outputs.size(), wanted.sums.size() * sizeof(float));
      for (size_t i = 0; i < wanted.sums.size(); ++i) {
        float found = 0;
        std::memcpy(&found, outputs.data() + i * sizeof found, sizeof found);
        const double unit = static_cast<double>(c.depth() + 2) * 0x1p-24;
        ASSERT_NEAR(found, wanted.sums[i] + bias[i % n],
                    unit / (1 - unit) * (wanted.sizes[i] + bias[i % n]))
            << isa << ", output " << i << ", " << to_string(c);
      }
    }
  }
}

TEST(Convolution, OfCodesIsExact) {
  check_codes("matmul_clamp_qai8_qai8p_qsi8cxp", 8);
  check_codes("matmul_clamp_qai8_qai8p_qsi4cxp", 4);
}

/// An image of floats is quantized once; then everything is that of codes.
void check_dynamic(tw_type type, const std::string& name) {
  for (const ConvolutionCase& c : ConvolutionCase::all()) {
    std::mt19937 random(13);
    std::vector<double> values = random_values(c.inputs(), random);
    const std::vector<double> weights = random_codes(c.weights(), -127, 127, random);
    const std::vector<int8_t> codes = bytes_of(weights);
    std::vector<uint8_t> image(values.size() * bytes_of_float(name));
    std::vector<float> rounded(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      rounded[i] = rounded_to(name, static_cast<float>(values[i]));
      const uint32_t bits = float_bits(name, rounded[i]);
      std::memcpy(image.data() + i * bytes_of_float(name), &bits, bytes_of_float(name));
    }
    const QuantizedRow wanted = quantize_row_qai8dx(rounded.data(), rounded.size());
    std::vector<int8_t> input(values.size());
    ConvolutionLayer layer;
    float lowest = 0;
    float highest = 0;
    tilewright::check(tw_find_range(type, image.data(), values.size(), &lowest, &highest));
    tilewright::check(tw_quantize(type, image.data(), values.size(), lowest, highest, input.data(),
                                  &layer.lhs_scale, &layer.lhs_zero_point));
    ASSERT_EQ(input, wanted.codes);
    for (size_t i = 0; i < values.size(); ++i) values[i] = input[i] - layer.lhs_zero_point;
    const ConvolutionSums sums = convolve(c, values, weights);
    const size_t n = c.groups * c.outputs;
    std::vector<float> bias(n);
    for (size_t i = 0; i < n; ++i) {
      bias[i] = static_cast<float>(random() % 100);
      layer.scales.push_back(0.001F + 0.0001F * static_cast<float>(i % 7));
    }
    layer.family = "matmul_clamp_f32_qai8dxp_qsi8cxp";
    layer.lhs = TW_S8;
    layer.input = input.data();
    layer.weights = codes.data();
    layer.weight_bytes = 1;
    layer.bias = bias.data();
    layer.zero = {static_cast<uint8_t>(layer.lhs_zero_point)};
    for (const std::string& isa : isas_of(layer.family)) {
      layer.isa = isa.c_str();
      const std::vector<uint8_t> outputs = run_convolution(c, layer);
      for (size_t i = 0; i < sums.sums.size(); ++i) {
        float found = 0;
        std::memcpy(&found, outputs.data() + i * sizeof found, sizeof found);
        const float scale = layer.scales[i % n] * wanted.scale;
        ASSERT_EQ(found, fused(static_cast<float>(sums.sums[i]), scale, bias[i % n]))
            << isa << ", output " << i << ", " << to_string(c);
      }
    }
  }
}

TEST(Convolution, OfImagesQuantizedOnceIsExact) {
  check_dynamic(TW_F32, "f32");
  check_dynamic(TW_F16, "f16");
  check_dynamic(TW_BF16, "bf16");
}

TEST(Convolution, WhatCodesMeanIsChecked) {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = "matmul_clamp_f32_qai8dxp_qsi8cxp";
  matmul.n = matmul.k = 4;
  matmul.lhs_type = TW_S8;
  const tilewright::Plan plan(tilewright::detect(), matmul);
  const int8_t codes[4] = {1, 2, 3, 4};
  std::vector<uint8_t> packed(plan.lhs_bytes(1), 0x55);
  auto source = tilewright::sized<tw_lhs_source>();
  source.data = codes;
  source.data_bytes = source.stride = sizeof codes;
  const auto pack = [&](float scale, int32_t zero_point) {
    source.scale = scale;
    source.zero_point = zero_point;
    return tw_pack_lhs(plan.get(), 1, &source, packed.data(), packed.size(), 0);
  };
  for (const float scale : {0.0F, -1.0F, INFINITY}) EXPECT_EQ(pack(scale, 0), TW_INVALID);
  EXPECT_STREQ(tw_error_message(),
               "tw_pack_lhs: source.scale is inf; numbers above 0, or a NaN, are legal");
  EXPECT_EQ(pack(1, 128), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_pack_lhs: source.zero_point is 128; -128 to 127 are legal");
  EXPECT_EQ(packed, std::vector<uint8_t>(packed.size(), 0x55));
  EXPECT_EQ(pack(1, -128), TW_OK);
  EXPECT_EQ(pack(NAN, 0), TW_OK);
}

TEST(Convolution, OfFloatsIsWithinTheBound) {
  check_floats("matmul_clamp_f32_f32_f32p", "f32");
}

TEST(Convolution, OfHalfWeightsIsWithinTheBound) {
  check_floats("matmul_clamp_f32_f32_f16p", "f16");
}

TEST(Convolution, OfHalfImagesIsWithinTheBound) {
  check_floats("matmul_clamp_f32_f32_f32p", "f32", TW_F16);
  check_floats("matmul_clamp_f32_f32_f16p", "f16", TW_F16);
}

}  // namespace
}  // namespace tw::test
