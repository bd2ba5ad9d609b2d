// Depthwise convolutions against XNNPACK's: codes bit for bit where it rounds as we do (x86; on Arm
// one quantum off), floats within the bounds of both.
#include <gtest/gtest.h>
#include <xnnpack.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "kernels/depthwise.h"

namespace tw::test::depthwise_test {
namespace {

struct Delete {
  void operator()(xnn_operator_t made) const { xnn_delete_operator(made); }
};
using Operator = std::unique_ptr<std::remove_pointer_t<xnn_operator_t>, Delete>;

std::vector<Depthwise> cases(const char* type) {
  std::vector<Depthwise> all;
  for (const size_t taps : {size_t{3}, size_t{5}}) {
    for (const size_t stride : {size_t{1}, size_t{2}}) {
      for (const size_t channels : {size_t{7}, size_t{32}, size_t{50}}) {
        Depthwise in;
        in.type = type;
        in.taps_y = in.taps_x = taps;
        in.stride = stride;
        in.channels = channels;
        in.height = 9;
        in.width = 19;
        in.top = in.left = taps / 2;
        in.bottom = in.right = taps / 2 - (channels == 32 ? 1 : 0);
        fill_depthwise(in, static_cast<uint32_t>(channels));
        all.push_back(in);
      }
    }
  }
  return all;
}

uint32_t u(size_t x) {
  return static_cast<uint32_t>(x);
}

template <class T>
std::vector<T> as(const std::vector<float>& values, size_t extra) {
  std::vector<T> all(values.begin(), values.end());
  all.resize(all.size() + extra);
  return all;
}

std::vector<int8_t> xnnpack_codes(const Depthwise& in) {
  const std::vector<int8_t> input = as<int8_t>(in.input, XNN_EXTRA_BYTES);
  const std::vector<int8_t> weights = as<int8_t>(in.weights, 0);
  const std::vector<int32_t> bias(in.bias.begin(), in.bias.end());
  std::vector<int8_t> outputs(in.lines() * in.columns() * in.channels);
  xnn_operator_t made = nullptr;
  EXPECT_EQ(xnn_create_convolution2d_nhwc_qc8(
                u(in.top), u(in.right), u(in.bottom), u(in.left), u(in.taps_y), u(in.taps_x),
                u(in.stride), u(in.stride), 1, 1, u(in.channels), 1, 1, in.channels, in.channels,
                static_cast<int8_t>(in.lhs_zero_point), in.lhs_scale, in.scales.data(),
                weights.data(), bias.data(), static_cast<int8_t>(in.dst_zero_point), in.dst_scale,
                static_cast<int8_t>(in.min), static_cast<int8_t>(in.max),
                XNN_FLAG_DEPTHWISE_CONVOLUTION, &made),
            xnn_status_success);
  const Operator owner(made);
  EXPECT_EQ(xnn_setup_convolution2d_nhwc_qc8(made, 1, in.height, in.width, input.data(),
                                             outputs.data(), nullptr),
            xnn_status_success);
  EXPECT_EQ(xnn_run_operator(made, nullptr), xnn_status_success);
  return outputs;
}

std::vector<float> xnnpack_floats(const Depthwise& in) {
  const std::vector<float> input = as<float>(in.input, XNN_EXTRA_BYTES);
  std::vector<float> outputs(in.lines() * in.columns() * in.channels);
  xnn_operator_t made = nullptr;
  EXPECT_EQ(
      xnn_create_convolution2d_nhwc_f32(
          u(in.top), u(in.right), u(in.bottom), u(in.left), u(in.taps_y), u(in.taps_x),
          u(in.stride), u(in.stride), 1, 1, u(in.channels), 1, 1, in.channels, in.channels,
          in.weights.data(), in.bias.data(), in.min, in.max, XNN_FLAG_DEPTHWISE_CONVOLUTION, &made),
      xnn_status_success);
  const Operator owner(made);
  EXPECT_EQ(xnn_setup_convolution2d_nhwc_f32(made, 1, in.height, in.width, input.data(),
                                             outputs.data(), nullptr),
            xnn_status_success);
  EXPECT_EQ(xnn_run_operator(made, nullptr), xnn_status_success);
  return outputs;
}

/// How many rows were run.
template <class Check>
size_t each_row(const Depthwise& in, const Check& check) {
  size_t count = 0;
  for (const tw_depthwise_kernel* row : running_depthwise_kernels()) {
    if (type_of(*row) != in.type || row->height != in.taps_y || row->stride != in.stride) continue;
    DepthwiseOptions options;
    options.kernel = row->kernel.name;
    check(run_depthwise(in, options), row->kernel.name);
    ++count;
  }
  return count;
}

TEST(XnnpackDepthwise, GivesTheSameCodes) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
#if defined(__aarch64__)
  constexpr int allowed = 1;
#else
  constexpr int allowed = 0;
#endif
  size_t outputs = 0, inside = 0;
  for (const Depthwise& in : cases("i8")) {
    const std::vector<int8_t> theirs = xnnpack_codes(in);
    const size_t rows = each_row(in, [&](const std::vector<uint8_t>& ours, const char* name) {
      ASSERT_EQ(ours.size(), theirs.size());
      for (size_t i = 0; i < theirs.size(); ++i) {
        ASSERT_LE(std::abs(static_cast<int8_t>(ours[i]) - theirs[i]), allowed)
            << "output " << i << " of " << name;
      }
    });
    ASSERT_GT(rows, 0U);
    for (const int8_t code : theirs) inside += code > -128 && code < 127 ? 1 : 0;
    outputs += theirs.size();
  }
  std::printf("%zu outputs, %zu of them within the limits\n", outputs, inside);
  EXPECT_GT(inside, outputs / 2);
}

TEST(XnnpackDepthwise, FloatsAreWithinTheBounds) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  for (const Depthwise& in : cases("f32")) {
    const std::vector<float> theirs = xnnpack_floats(in);
    const size_t rows = each_row(in, [&](const std::vector<uint8_t>& ours, const char* name) {
      for (size_t i = 0; i < theirs.size(); ++i) {
        float found = 0;
        std::memcpy(&found, ours.data() + i * sizeof found, sizeof found);
        // Values are below 2.5: each of us is off by half of it at most.
        const double size = 6.25 * static_cast<double>(in.taps()) + 2.5;
        ASSERT_NEAR(found, theirs[i], 2 * static_cast<double>(in.taps() + 2) * 0x1p-24 * size)
            << "output " << i << " of " << name;
      }
    });
    ASSERT_GT(rows, 0U);
  }
}

}  // namespace
}  // namespace tw::test::depthwise_test
