// What depthwise plans refuse, and what they say about it.
#include <gtest/gtest.h>

#include <vector>

#include "tilewright/depthwise.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {
namespace {

constexpr size_t channels = 5;

class DepthwiseMistakes : public testing::Test {
 protected:
  DepthwiseMistakes()
      : device_(tilewright::detect()),
        convolution_(tilewright::sized<tw_convolution>()),
        depthwise_(tilewright::sized<tw_depthwise>()) {
    convolution_.height = 4;
    convolution_.width = 6;
    convolution_.pixel_bytes = channels * sizeof(float);
    convolution_.kernel_height = convolution_.kernel_width = 3;
    convolution_.left = 1;
    depthwise_.family = "dwconv_clamp_f32_f32_f32p";
    depthwise_.channels = channels;
    depthwise_.convolution = &convolution_;
  }
  ~DepthwiseMistakes() override { tw_depthwise_destroy(plan_); }

  void refuse(tw_status status, const std::string& message) {
    EXPECT_EQ(tw_depthwise_create(&device_, &depthwise_, &plan_), status);
    EXPECT_EQ(tw_error_message(), "tw_depthwise_create: " + message);
    EXPECT_EQ(plan_, nullptr);
  }

  /// A plan with a table, weights and arguments that are right.
  void prepare() {
    tilewright::check(tw_depthwise_create(&device_, &depthwise_, &plan_));
    input_.resize(4 * 6 * channels);
    pad_.resize(channels);
    table_.resize(tw_depthwise_pointers(plan_));
    weights_.resize(tw_depthwise_weight_bytes(plan_));
    dst_.resize(2 * 5 * channels);
    tilewright::check(
        tw_depthwise_table(plan_, input_.data(), pad_.data(), table_.data(), table_.size()));
    run_ = tilewright::sized<tw_run_args>();
    run_.m = 10;
    run_.rhs = weights_.data();
    run_.rhs_bytes = weights_.size();
    run_.dst = dst_.data();
    run_.dst_bytes = dst_.size() * sizeof(float);
    run_.dst_stride = channels * sizeof(float);
    args_ = tilewright::sized<tw_depthwise_args>();
    args_.table = table_.data();
    args_.table_count = table_.size();
    args_.run = &run_;
    tilewright::check(tw_depthwise_run(plan_, &args_, 0));
  }

  void refuse_run(tw_status status, const std::string& message) {
    EXPECT_EQ(tw_depthwise_run(plan_, &args_, 1), status);
    EXPECT_EQ(tw_error_message(), "tw_depthwise_run: " + message);
  }

  tw_device device_;
  tw_convolution convolution_;
  tw_depthwise depthwise_;
  tw_depthwise_plan* plan_ = nullptr;
  std::vector<float> input_, pad_, dst_;
  std::vector<const void*> table_;
  std::vector<uint8_t> weights_;
  tw_run_args run_{};
  tw_depthwise_args args_{};
};

TEST_F(DepthwiseMistakes, InPlans) {
  depthwise_.family = "dwconv_clamp_f32";
  refuse(TW_INVALID,
         "depthwise.family \"dwconv_clamp_f32\" is unknown; legal: dwconv_clamp_f16_f16_f16p, "
         "dwconv_clamp_f32_f32_f32p, dwconv_clamp_qai8_qai8_qsi8cxp");
  depthwise_.family = "dwconv_clamp_f32_f32_f32p";
  depthwise_.channels = 0;
  refuse(TW_INVALID, "depthwise.channels is 0; at least 1 is legal");
  depthwise_.channels = channels + 1;
  refuse(TW_TOO_SMALL, "depthwise.convolution.pixel_bytes is 20; 6 channels have 24");
  depthwise_.channels = channels;
  depthwise_.kernel = "tw_none";
  refuse(TW_INVALID, "depthwise.kernel \"tw_none\" names no kernel of dwconv_clamp_f32_f32_f32p");
  depthwise_.kernel = nullptr;
  depthwise_.convolution = nullptr;
  refuse(TW_INVALID, "depthwise.convolution is null");
}

TEST_F(DepthwiseMistakes, InConvolutions) {
  const std::string its = "depthwise.convolution.";
  convolution_.transposed = 1;
  refuse(TW_UNSUPPORTED, its + "transposed is set; 0 is legal");
  convolution_.transposed = 0;
  convolution_.dilation_width = 2;
  refuse(TW_UNSUPPORTED, its + "dilation_height is 0, dilation_width is 2; 1 is legal");
  convolution_.dilation_width = 1;
  convolution_.stride_width = 2;
  refuse(TW_UNSUPPORTED, its + "stride_height is 1, stride_width is 2; equal ones are legal");
  convolution_.stride_height = convolution_.stride_width = 3;
  refuse(TW_UNSUPPORTED,
         "depthwise.convolution has 3 x 3 taps by strides of 3; there are kernels of "
         "dwconv_clamp_f32_f32_f32p: 3 x 3 by 1, 3 x 3 by 2, 5 x 5 by 1, 5 x 5 by 2");
}

TEST_F(DepthwiseMistakes, InTables) {
  prepare();
  const auto write = [&](const void* input, const void* pad, size_t count) {
    return tw_depthwise_table(plan_, input, pad, table_.data(), count);
  };
  EXPECT_EQ(write(input_.data(), nullptr, table_.size()), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_depthwise_table: pad is null; the convolution has padding");
  EXPECT_EQ(write(nullptr, pad_.data(), table_.size()), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_depthwise_table: input is null");
  EXPECT_EQ(write(input_.data(), pad_.data(), table_.size() - 1), TW_TOO_SMALL);
  EXPECT_STREQ(tw_error_message(), "tw_depthwise_table: table_count is 27; 28 pointers are needed");
}

TEST_F(DepthwiseMistakes, InRuns) {
  prepare();
  table_[12] = nullptr;
  refuse_run(TW_INVALID, "args.table[12] is null");
  table_[12] = pad_.data();
  args_.table = nullptr;
  refuse_run(TW_INVALID, "args.table is null");
  args_.table = table_.data();
  --args_.table_count;
  refuse_run(TW_TOO_SMALL, "args.table_count is 27; 28 pointers are needed");
  ++args_.table_count;
  run_.m = 9;
  refuse_run(TW_INVALID, "args.run.m is 9; all 10 outputs are legal");
  run_.m = 10;
  run_.n = 4;
  refuse_run(TW_INVALID, "args.run.n is 4; all 5 channels are legal");
  run_.n = 0;
  run_.dst_stride = 19;
  refuse_run(TW_TOO_SMALL, "args.run.dst_stride is 19; a row of n = 5 values has 20 bytes");
  run_.dst_stride = 20;
  run_.rhs = nullptr;
  refuse_run(TW_INVALID, "args.run.rhs is null");
  run_.rhs = weights_.data();
  run_.dst_zero_point = 1;
  refuse_run(TW_INVALID, "args.run.dst_zero_point is 1; 0 to 0 are legal");
  run_.dst_zero_point = 0;
  args_.run = nullptr;
  refuse_run(TW_INVALID, "args.run is null");
}

}  // namespace
}  // namespace tw::test
