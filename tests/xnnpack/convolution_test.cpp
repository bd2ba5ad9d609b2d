// Convolutions and transposed ones against XNNPACK's: codes bit for bit, floats within the bounds
// of both.
#include <gtest/gtest.h>
#include <xnnpack.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>

#include "kernels/convolution.h"

namespace tw::test {
namespace {

struct Delete {
  void operator()(xnn_operator_t made) const { xnn_delete_operator(made); }
};
using Operator = std::unique_ptr<std::remove_pointer_t<xnn_operator_t>, Delete>;

/// It makes no outputs that no input reaches.
std::vector<ConvolutionCase> known_cases() {
  std::vector<ConvolutionCase> cases = ConvolutionCase::all();
  std::erase_if(cases, [](const ConvolutionCase& c) {
    return c.transposed && (c.stride_height > c.kernel_height || c.stride_width > c.kernel_width);
  });
  return cases;
}

template <class T>
std::vector<T> random_values(size_t count, std::mt19937& random) {
  std::vector<T> values(count);
  for (T& x : values) x = static_cast<T>(static_cast<int>(random() % 255) - 127);
  return values;
}

TEST(XnnpackConvolution, GivesTheSameCodes) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  size_t inside = 0;
  size_t outputs = 0;
  for (const ConvolutionCase& c : known_cases()) {
    std::mt19937 random(3);
    std::vector<int8_t> input = random_values<int8_t>(c.inputs(), random);
    const std::vector<int8_t> weights = random_values<int8_t>(c.weights(), random);
    const size_t n = c.groups * c.outputs;
    std::vector<int32_t> bias(n);
    for (int32_t& x : bias) x = static_cast<int32_t>(random() % 20001) - 10000;
    ConvolutionLayer layer;
    layer.family = "matmul_clamp_qai8_qai8p_qsi8cxp";
    layer.lhs = layer.dst = TW_S8;
    layer.input = input.data();
    layer.weights = weights.data();
    layer.weight_bytes = 1;
    for (size_t i = 0; i < n; ++i) {  // transposed ones have one scale
      layer.scales.push_back(c.transposed ? 0.003F : 0.002F + 0.0005F * static_cast<float>(i % 5));
    }
    layer.bias = bias.data();
    layer.zero = {0xf7};
    layer.lhs_zero_point = -9;
    layer.dst_zero_point = 5;
    layer.lhs_scale = 0.7F;
    layer.dst_scale = 1.3F;
    layer.min = -127;
    layer.max = 120;
    const std::vector<uint8_t> ours = run_convolution(c, layer);
    input.resize(input.size() + XNN_EXTRA_BYTES);
    std::vector<int8_t> theirs(ours.size());
    const auto u = [](size_t x) { return static_cast<uint32_t>(x); };
    xnn_operator_t made = nullptr;
    if (c.transposed) {
      ASSERT_EQ(xnn_create_deconvolution2d_nhwc_qs8(
                    u(c.top), u(c.right), u(c.bottom), u(c.left), u(c.kernel_height),
                    u(c.kernel_width), u(c.stride_height), u(c.stride_width), u(c.dilation_height),
                    u(c.dilation_width), u(c.groups), c.channels, c.outputs, c.groups * c.channels,
                    n, -9, 0.7F, 0.003F, weights.data(), bias.data(), 5, 1.3F, -127, 120, 0, &made),
                xnn_status_success)
          << to_string(c);
    } else {
      ASSERT_EQ(
          xnn_create_convolution2d_nhwc_qc8(
              u(c.top), u(c.right), u(c.bottom), u(c.left), u(c.kernel_height), u(c.kernel_width),
              u(c.stride_height), u(c.stride_width), u(c.dilation_height), u(c.dilation_width),
              u(c.groups), c.channels, c.outputs, c.groups * c.channels, n, -9, 0.7F,
              layer.scales.data(), weights.data(), bias.data(), 5, 1.3F, -127, 120, 0, &made),
          xnn_status_success)
          << to_string(c);
    }
    const Operator owner(made);
    ASSERT_EQ(c.transposed ? xnn_setup_deconvolution2d_nhwc_qs8(made, 1, c.height, c.width,
                                                                u(c.more), u(c.more), input.data(),
                                                                theirs.data(), nullptr)
                           : xnn_setup_convolution2d_nhwc_qc8(made, 1, c.height, c.width,
                                                              input.data(), theirs.data(), nullptr),
              xnn_status_success)
        << to_string(c);
    ASSERT_EQ(xnn_run_operator(made, nullptr), xnn_status_success);
    EXPECT_EQ(std::vector<int8_t>(ours.begin(), ours.end()), theirs) << to_string(c);
    for (const int8_t code : theirs) inside += code > -127 && code < 120 ? 1 : 0;
    outputs += theirs.size();
  }
  EXPECT_GT(inside, outputs / 2);
}

TEST(XnnpackConvolution, FloatsAreWithinTheBounds) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  for (const ConvolutionCase& c : known_cases()) {
    std::mt19937 random(4);
    std::vector<float> input = random_values<float>(c.inputs(), random);
    for (float& x : input) x /= 100;
    const std::vector<float> weights = random_values<float>(c.weights(), random);
    const std::vector<float> bias = random_values<float>(c.groups * c.outputs, random);
    ConvolutionLayer layer;
    layer.family = "matmul_clamp_f32_f32_f32p";
    layer.input = input.data();
    layer.weights = weights.data();
    layer.bias = bias.data();
    const std::vector<uint8_t> ours = run_convolution(c, layer);
    std::vector<float> theirs(ours.size() / sizeof(float));
    const std::vector<double> values(input.begin(), input.end());
    const ConvolutionSums exact = convolve(c, values, {weights.begin(), weights.end()});
    input.resize(input.size() + XNN_EXTRA_BYTES);
    const auto u = [](size_t x) { return static_cast<uint32_t>(x); };
    xnn_operator_t made = nullptr;
    const auto create =
        c.transposed ? xnn_create_deconvolution2d_nhwc_f32 : xnn_create_convolution2d_nhwc_f32;
    ASSERT_EQ(
        create(u(c.top), u(c.right), u(c.bottom), u(c.left), u(c.kernel_height), u(c.kernel_width),
               u(c.stride_height), u(c.stride_width), u(c.dilation_height), u(c.dilation_width),
               u(c.groups), c.channels, c.outputs, c.groups * c.channels, c.groups * c.outputs,
               weights.data(), bias.data(), -INFINITY, INFINITY, 0, &made),
        xnn_status_success)
        << to_string(c);
    const Operator owner(made);
    ASSERT_EQ(c.transposed ? xnn_setup_deconvolution2d_nhwc_f32(made, 1, c.height, c.width,
                                                                u(c.more), u(c.more), input.data(),
                                                                theirs.data(), nullptr)
                           : xnn_setup_convolution2d_nhwc_f32(made, 1, c.height, c.width,
                                                              input.data(), theirs.data(), nullptr),
              xnn_status_success)
        << to_string(c);
    ASSERT_EQ(xnn_run_operator(made, nullptr), xnn_status_success);
    for (size_t i = 0; i < theirs.size(); ++i) {
      float found = 0;
      std::memcpy(&found, ours.data() + i * sizeof found, sizeof found);
      const double allowed = 2 * static_cast<double>(c.depth() + 2) * 0x1p-24 *
                             (exact.sizes[i] + 128);  // each of us half of it
      ASSERT_NEAR(found, theirs[i], allowed) << "output " << i << ", " << to_string(c);
    }
  }
}

}  // namespace
}  // namespace tw::test
