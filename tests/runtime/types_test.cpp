// Plans for other types of activations and outputs than f32, with rows whose functions say what
// they were asked for.
#include <gtest/gtest.h>

#include <vector>

#include "runtime/devices.h"
#include "runtime/problem.h"

namespace tw::test::types_test {
namespace {

std::vector<tw_args> runs;
std::vector<tw_pack_args> packs;

void note_run(const tw_args* args) {
  runs.push_back(*args);
}
void note_pack(const tw_pack_args* args) {
  packs.push_back(*args);
}

constexpr size_t kN = 64, kK = 32, kM = 4;

/// Two kernels of two types of outputs, activations of f32 and f16.
class Types : public testing::Test {
 protected:
  Types() {
    for (tw_kernel& row : rows_) row.run = note_run;
    rows_[1].dst = TW_BF16;
    for (tw_packer& packer : packers_) packer.run = note_pack;
    packers_[1].source = "f16";
    runs.clear();
    packs.clear();
  }
  ~Types() override { tw_plan_destroy(plan_); }

  tw_status create(tw_type lhs, tw_type dst) {
    tw_matmul matmul = TestPlan::basic(kN, kK);
    matmul.lhs_type = lhs;
    matmul.dst_type = dst;
    return create(matmul);
  }
  tw_status create(const tw_matmul& matmul) {
    const tw_registry registry{rows_, 2, packers_, 2, nullptr, 0, nullptr, 0, nullptr, 0};
    const tw_device device = zen4();
    tw_plan_destroy(plan_);
    return tw_plan_create_from(&registry, &device, &matmul, &plan_);
  }
  [[nodiscard]] std::string kernel() const {
    tw_segment segments[TW_MAX_SEGMENTS];
    size_t count = 0;
    EXPECT_EQ(tw_plan_segments(plan_, kM, segments, &count), TW_OK);
    return count == 1 ? segments[0].kernel->name : "?";
  }

  tw_kernel rows_[2] = {fake_kernel("vnni_8x32"), fake_kernel("vnni_8x32_again")};
  tw_packer packers_[2] = {*tw_find_packer("lhs8"), *tw_find_packer("lhs8")};
  tw_plan* plan_ = nullptr;
};

TEST_F(Types, OfOutputsChooseTheKernel) {
  ASSERT_EQ(create(TW_TYPE_NONE, TW_TYPE_NONE), TW_OK) << tw_error_message();
  EXPECT_EQ(kernel(), "vnni_8x32");
  ASSERT_EQ(create(TW_F32, TW_F32), TW_OK) << tw_error_message();
  EXPECT_EQ(kernel(), "vnni_8x32");
  ASSERT_EQ(create(TW_F32, TW_BF16), TW_OK) << tw_error_message();
  EXPECT_EQ(kernel(), "vnni_8x32_again");
}

TEST_F(Types, ThatNothingHasAreNamed) {
  const std::string family = kFamily;
  const auto fails = [&](tw_status got, tw_status want, const std::string& message) {
    EXPECT_EQ(got, want);
    EXPECT_EQ(tw_error_message(), "tw_plan_create: " + message);
    EXPECT_EQ(plan_, nullptr);
  };
  fails(create(TW_F32, TW_F16), TW_UNSUPPORTED,
        "matmul.dst_type is f16; " + family + " has outputs of: f32, bf16");
  fails(create(TW_S8, TW_F32), TW_UNSUPPORTED,
        "matmul.lhs_type is s8; " + family + " reads rows of: f32, f16");
  fails(create(static_cast<tw_type>(7), TW_F32), TW_INVALID,
        "matmul.lhs_type is 7; 0 to 6 are legal");
  fails(create(TW_F32, static_cast<tw_type>(7)), TW_INVALID,
        "matmul.dst_type is 7; 0 to 6 are legal");
  tw_matmul matmul = TestPlan::basic(kN, kK);
  matmul.kernel = "vnni_8x32_again";
  fails(create(matmul), TW_UNSUPPORTED,
        "matmul.dst_type is f32; vnni_8x32_again has outputs of: bf16");
  const tw_setting setting{1, 8, "vnni_8x32_again", {}};
  matmul.kernel = nullptr;
  matmul.settings = &setting;
  matmul.setting_count = 1;
  fails(create(matmul), TW_INVALID,
        "matmul.settings[0].kernel vnni_8x32_again has outputs of bf16; matmul.dst_type is f32");
}

TEST_F(Types, FamiliesSayWhetherOutputsAreAddedTo) {
  rows_[0].family = "matmul_acc_clamp_f32_f32_f32p";
  rows_[0].accumulate = 1;
  rows_[1].dst = TW_F32;
  const std::string family = kFamily;
  tw_matmul matmul = TestPlan::basic(kN, kK);
  ASSERT_EQ(create(matmul), TW_OK) << tw_error_message();
  EXPECT_EQ(kernel(), "vnni_8x32_again");
  matmul.accumulate = 1;
  EXPECT_EQ(create(matmul), TW_UNSUPPORTED);
  EXPECT_EQ(std::string(tw_error_message()),
            "tw_plan_create: matmul.accumulate is 1; " + family +
                " does not add to what dst holds; families that do: "
                "matmul_acc_clamp_f32_f32_f32p");
  matmul.family = rows_[0].family;
  ASSERT_EQ(create(matmul), TW_OK) << tw_error_message();
  EXPECT_EQ(kernel(), "vnni_8x32");
  matmul.accumulate = 0;
  EXPECT_EQ(create(matmul), TW_UNSUPPORTED);
  EXPECT_EQ(
      std::string(tw_error_message()),
      "tw_plan_create: matmul.accumulate is 0; matmul_acc_clamp_f32_f32_f32p adds to what dst "
      "holds");
  // Who knows a shorter struct asks for none.
  matmul.family = kFamily;
  matmul.accumulate = 1;
  matmul.size = offsetof(tw_matmul, accumulate);
  EXPECT_EQ(create(matmul), TW_OK) << tw_error_message();
}

// Rows, columns and strides are counted in their values' bytes.
TEST_F(Types, SayHowLongRowsAre) {
  tw_matmul matmul = TestPlan::basic(kN, kK);
  matmul.lhs_type = TW_F16;
  matmul.dst_type = TW_BF16;
  matmul.tuning.n_block = 32;
  ASSERT_EQ(create(matmul), TW_OK) << tw_error_message();
  const std::vector<uint16_t> activations(kM * kK);
  std::vector<uint16_t> dst(kM * kN);
  size_t lhs_bytes = 0;
  ASSERT_EQ(tw_lhs_bytes(plan_, kM, &lhs_bytes), TW_OK);
  std::vector<char> lhs(lhs_bytes);
  const std::vector<char> rhs(tw_rhs_bytes(plan_));
  auto source = tilewright::sized<tw_lhs_source>();
  source.data = activations.data();
  source.data_bytes = activations.size() * 2;
  source.stride = kK * 2;
  ASSERT_EQ(tw_pack_lhs(plan_, kM, &source, lhs.data(), lhs.size(), 0), TW_OK)
      << tw_error_message();
  ASSERT_EQ(packs.size(), 1U);
  EXPECT_EQ(packs[0].source, activations.data());
  source.data_bytes -= 1;
  EXPECT_EQ(tw_pack_lhs(plan_, kM, &source, lhs.data(), lhs.size(), 0), TW_TOO_SMALL);

  auto args = tilewright::sized<tw_run_args>();
  args.m = kM;
  args.lhs = lhs.data();
  args.lhs_bytes = lhs.size();
  args.rhs = rhs.data();
  args.rhs_bytes = rhs.size();
  args.dst = dst.data();
  args.dst_bytes = dst.size() * 2;
  args.dst_stride = kN * 2;
  for (size_t s = 0; s < tilewright::run_slices(plan_, kM); ++s) {
    ASSERT_EQ(tw_run(plan_, &args, s), TW_OK) << tw_error_message();
  }
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[1].dst, dst.data() + 32);
  EXPECT_EQ(runs[1].dst_stride, kN * 2);
  args.dst_stride -= 1;
  EXPECT_EQ(tw_run(plan_, &args, 0), TW_TOO_SMALL);
}

}  // namespace
}  // namespace tw::test::types_test
