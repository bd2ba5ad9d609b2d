// Attention: what callers get wrong is refused with a message that names the argument.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tilewright/attention.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {
namespace {

class AttentionMistakes : public testing::Test {
 protected:
  AttentionMistakes() {
    shape.heads = 4;
    shape.kv_heads = 2;
    shape.key_size = shape.value_size = 64;
    shape.key_type = shape.value_type = TW_F16;
    args.queries = 1;
    args.positions = 600;
    args.threads = 8;
    args.q = q.data();
    args.k = args.v = cache.data();
    args.out = out.data();
    args.k_stride = args.v_stride = 256;
    args.k_head_stride = args.v_head_stride = 128;
    args.q_head_stride = args.out_head_stride = 256;
  }
  ~AttentionMistakes() override { tw_attention_destroy(plan); }

  std::string create(const tw_attention& wanted) {
    tw_attention_plan* made = nullptr;
    const tw_status status = tw_attention_create(&device, &wanted, &made);
    EXPECT_EQ(made != nullptr, status == TW_OK);
    tw_attention_destroy(made);
    return status == TW_OK ? "" : tw_error_message();
  }

  /// A plan, and memory for its work.
  void prepare() {
    ASSERT_EQ(tw_attention_create(&device, &shape, &plan), TW_OK) << tw_error_message();
    ASSERT_EQ(tw_attention_divide(plan, &args, &work), TW_OK) << tw_error_message();
    scratch.resize(work.scratch_bytes);
    partials.resize(work.partial_bytes);
    args.scratch = scratch.data();
    args.scratch_bytes = scratch.size();
    args.partials = partials.data();
    args.partial_bytes = partials.size();
  }

  std::string run(const tw_attention_args& with) {
    return tw_attention_run(plan, &with, 0) == TW_OK ? "" : tw_error_message();
  }

  tw_device device = tilewright::detect();
  tw_attention shape = tilewright::sized<tw_attention>();
  tw_attention_args args = tilewright::sized<tw_attention_args>();
  tw_attention_work work = tilewright::sized<tw_attention_work>();
  tw_attention_plan* plan = nullptr;
  std::vector<float> q = std::vector<float>(256), out = std::vector<float>(256);
  std::vector<uint16_t> cache = std::vector<uint16_t>(size_t{600} * 128);
  std::vector<char> scratch, partials;
};

TEST_F(AttentionMistakes, InPlans) {
  EXPECT_EQ(create(shape), "");
  tw_attention wrong = shape;
  wrong.heads = 5;
  EXPECT_EQ(create(wrong),
            "tw_attention_create: attention.heads is 5, kv_heads is 2; a multiple of them is "
            "legal");
  wrong = shape;
  wrong.value_size = 0;
  EXPECT_EQ(create(wrong), "tw_attention_create: attention.value_size is 0; at least 1 is legal");
  wrong = shape;
  wrong.key_type = TW_S32;
  EXPECT_EQ(create(wrong),
            "tw_attention_create: attention.key_type is 4; TW_F32, TW_F16, TW_BF16, TW_S8, "
            "TW_TYPE_Q8_0 and TW_TYPE_Q4_0 are legal");
  wrong = shape;
  wrong.value_type = TW_U8;
  EXPECT_EQ(create(wrong),
            "tw_attention_create: attention.value_type is 6; TW_F32, TW_F16, TW_BF16, TW_S8, "
            "TW_TYPE_Q8_0 and TW_TYPE_Q4_0 are legal");
  wrong = shape;
  wrong.key_type = TW_TYPE_Q8_0;
  EXPECT_EQ(create(wrong), "");
  wrong.key_size = 48;
  EXPECT_EQ(create(wrong),
            "tw_attention_create: attention.key_size is 48; multiples of 32 are legal with "
            "such blocks");
  wrong = shape;
  wrong.value_type = TW_TYPE_Q8_0;
  wrong.value_size = 80;
  EXPECT_EQ(create(wrong),
            "tw_attention_create: attention.value_size is 80; multiples of 32 are legal with "
            "such blocks");
  wrong = shape;
  wrong.printer = "hand";
  EXPECT_EQ(create(wrong), "tw_attention_create: device runs no such kernels of hand");
}

TEST_F(AttentionMistakes, InRuns) {
  prepare();
  EXPECT_GT(work.merges, 0U);
  EXPECT_EQ(run(args), "");
  tw_attention_args wrong = args;
  wrong.k = nullptr;
  EXPECT_EQ(run(wrong), "tw_attention_run: args.k is null");
  wrong = args;
  wrong.mask = cache.data();
  EXPECT_EQ(run(wrong), "tw_attention_run: args.mask_type is 0; TW_F16 and TW_F32 are legal");
  wrong = args;
  wrong.scratch_bytes = 8;
  EXPECT_EQ(run(wrong), "tw_attention_run: args.scratch has 8 bytes; " +
                            std::to_string(work.scratch_bytes) + " are needed");
  wrong = args;
  wrong.partials = nullptr;
  EXPECT_EQ(run(wrong), "tw_attention_run: args.partials is null");
  EXPECT_EQ(tw_attention_merge(plan, &wrong, 0), TW_INVALID);
  EXPECT_EQ(tw_attention_run(nullptr, &args, 0), TW_INVALID);
  EXPECT_EQ(tw_attention_run(plan, nullptr, 0), TW_INVALID);
  EXPECT_EQ(tw_attention_divide(plan, &args, nullptr), TW_INVALID);
}

TEST_F(AttentionMistakes, InScalesOfInt8) {
  shape.key_type = shape.value_type = TW_S8;
  prepare();
  const std::vector<float> scales(size_t{600} * 2, 1);
  EXPECT_EQ(run(args), "tw_attention_run: args.k_scales.scales is null");
  args.k_scales = {scales.data(), 8, 4, nullptr, 0, 0};
  EXPECT_EQ(run(args), "tw_attention_run: args.v_scales.scales is null");
  args.v_scales = args.k_scales;
  EXPECT_EQ(run(args), "");
}

/// Nothing to do is legal; slices that there are none of do nothing.
TEST_F(AttentionMistakes, NoneOfThese) {
  prepare();
  EXPECT_EQ(tw_attention_run(plan, &args, work.slices + 3), TW_OK);
  args.queries = 0;
  ASSERT_EQ(tw_attention_divide(plan, &args, &work), TW_OK);
  EXPECT_EQ(work.slices, 0U);
  args.queries = 1;
  args.positions = 0;
  args.k = args.v = nullptr;
  out.assign(out.size(), 1);
  ASSERT_EQ(tw_attention_divide(plan, &args, &work), TW_OK);
  EXPECT_EQ(work.merges, 0U);
  for (size_t slice = 0; slice < work.slices; ++slice) {
    EXPECT_EQ(tw_attention_run(plan, &args, slice), TW_OK) << tw_error_message();
  }
  EXPECT_EQ(out, std::vector<float>(out.size(), 0));
}

}  // namespace
}  // namespace tw::test
