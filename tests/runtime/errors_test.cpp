// Every argument that can be wrong: the status and the whole message.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/devices.h"
#include "runtime/problem.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {
namespace {

void expect(tw_status status, tw_status want, const std::string& message) {
  EXPECT_EQ(status, want) << tw_error_message();
  EXPECT_EQ(tw_error_message(), message);
}

void expect_plan(const tw_device& device, const tw_matmul& matmul, tw_status want,
                 const std::string& message) {
  tw_plan* plan = reinterpret_cast<tw_plan*>(&plan);
  expect(tw_plan_create(&device, &matmul, &plan), want, "tw_plan_create: " + message);
  EXPECT_EQ(plan, nullptr);
}

TEST(Errors, StatusTexts) {
  EXPECT_STREQ(tw_status_text(TW_OK), "ok");
  EXPECT_STREQ(tw_status_text(TW_NO_MEMORY), "out of memory");
  EXPECT_STREQ(tw_status_text(static_cast<tw_status>(99)), "unknown status");
}

TEST(Errors, PlanPointers) {
  const tw_device device = zen4();
  const tw_matmul matmul = TestPlan::basic(8, 8);
  tw_plan* plan = nullptr;
  expect(tw_plan_create(nullptr, &matmul, &plan), TW_INVALID, "tw_plan_create: device is null");
  expect(tw_plan_create(&device, nullptr, &plan), TW_INVALID, "tw_plan_create: matmul is null");
  expect(tw_plan_create(&device, &matmul, nullptr), TW_INVALID, "tw_plan_create: plan is null");
  tw_plan_destroy(nullptr);
}

TEST(Errors, PlanShape) {
  expect_plan(zen4(), TestPlan::basic(0, 8), TW_INVALID,
              "matmul.n is 0; at least 1 output column is legal");
  expect_plan(zen4(), TestPlan::basic(8, 0), TW_INVALID,
              "matmul.k is 0; a depth of at least 1 is legal");
  expect_plan(zen4(), TestPlan::basic(8, 131072), TW_TOO_LARGE,
              "matmul.k is 131072; integer sums are exact up to 131071");
  expect_plan(zen4(), TestPlan::basic(8, SIZE_MAX), TW_TOO_LARGE,
              "matmul.k is " + std::to_string(SIZE_MAX) + "; integer sums are exact up to 131071");
  EXPECT_EQ(TestPlan(zen4(), 8, 131071).status, TW_OK);
  tw_matmul deep = TestPlan::basic(8, 65536);
  deep.rhs_layout = 0x308;
  expect_plan(neoverse_n1(), deep, TW_TOO_LARGE,
              "matmul.k is 65536; integer sums are exact up to 65535");
  for (const size_t n : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 2 / 50000}) {
    expect_plan(
        zen4(), TestPlan::basic(n, 100000), TW_TOO_LARGE,
        "matmul.n = " + std::to_string(n) + " times matmul.k = 100000 overflows the address space");
  }
}

tw_matmul blocks(size_t block, tw_scales scales) {
  tw_matmul matmul = TestPlan::basic(8, 192);
  matmul.family = kBlockFamily;
  matmul.block = block;
  matmul.scales = scales;
  return matmul;
}

TEST(Errors, PlanBlocks) {
  const std::string legal = std::string(kBlockFamily) + " has: 32 of f16, 64 of bf16, 64 of f32";
  expect_plan(zen4(), blocks(0, TW_SCALES_UNSET), TW_INVALID,
              "matmul.block is 0 and matmul.scales unset; " + legal);
  expect_plan(zen4(), blocks(64, TW_SCALES_UNSET), TW_INVALID,
              "matmul.block is 64 and matmul.scales unset; " + legal);
  expect_plan(zen4(), blocks(32, TW_SCALES_BF16), TW_INVALID,
              "matmul.block is 32 and matmul.scales bf16; " + legal);
  expect_plan(zen4(), blocks(48, TW_SCALES_F16), TW_INVALID,
              "matmul.block is 48 and matmul.scales f16; " + legal);
  tw_matmul none = TestPlan::basic(8, 64);
  none.block = 32;
  expect_plan(
      zen4(), none, TW_INVALID,
      std::string("matmul.block is 32 and matmul.scales unset; ") + kFamily + " has: no blocks");
  tw_matmul odd = blocks(64, TW_SCALES_BF16);
  odd.k = 96;
  expect_plan(zen4(), odd, TW_INVALID, "matmul.k is 96; multiples of the block, 64, are legal");
  for (const size_t block : {32, 64}) {
    const tw_scales scales = block == 32 ? TW_SCALES_F16 : TW_SCALES_F32;
    EXPECT_EQ(TestPlan(zen4(), blocks(block, scales)).status, TW_OK);
  }
  tw_matmul named = blocks(0, TW_SCALES_UNSET);
  named.kernel = "blocks_brain";
  EXPECT_EQ(TestPlan(zen4(), named).status, TW_OK);
  named.kernel = nullptr;
  named.rhs_layout = 0x504;
  EXPECT_EQ(TestPlan(zen4(), named).status, TW_OK);
}

TEST(Errors, RhsBlocks) {
  const TestPlan plan(zen4(), blocks(32, TW_SCALES_F16));
  const std::vector<uint8_t> data(192 * 96);
  std::vector<uint8_t> packed(tw_rhs_bytes(plan.get()));
  auto source = tilewright::sized<tw_rhs_source>();
  source.order = TW_NXK;
  source.data = data.data();
  source.data_bytes = data.size();
  source.stride = 96;
  source.scales = data.data();
  source.scale_count = 47;
  const auto pack = [&] {
    return tw_pack_rhs(plan.get(), &source, packed.data(), packed.size(), 0);
  };
  expect(pack(), TW_TOO_SMALL,
         "tw_pack_rhs: source.scale_count is 47; 6, one of each block, of each of 8 columns "
         "are needed");
  source.scale_count = 48;
  source.scale_stride = 11;
  expect(pack(), TW_TOO_SMALL, "tw_pack_rhs: source.scale_stride is 11; a row has 12 bytes");
  source.order = TW_Q4_0;
  expect(pack(), TW_TOO_SMALL, "tw_pack_rhs: source.stride is 96; a row has 108 bytes");
  source.order = TW_KXN;
  source.scale_stride = 0;
  expect(pack(), TW_UNSUPPORTED,
         "tw_pack_rhs: no packer from source.order kxn to layout rhs b32 f16 runs on this device");
}

TEST(Errors, PlanNames) {
  tw_matmul matmul = TestPlan::basic(8, 8);
  matmul.family = nullptr;
  expect_plan(zen4(), matmul, TW_INVALID, "matmul.family is null");
  matmul.family = "matmul_clamp_f64";
  expect_plan(zen4(), matmul, TW_INVALID,
              std::string("matmul.family \"matmul_clamp_f64\" is unknown; legal: ") + kFamily +
                  ", " + kOtherFamily + ", " + kBlockFamily);
  matmul = TestPlan::basic(8, 8);
  matmul.kernel = "vnni_9x9";
  expect_plan(zen4(), matmul, TW_INVALID,
              std::string("matmul.kernel \"vnni_9x9\" names no kernel of ") + kFamily +
                  "; tw_list_kernels has the legal names");
  matmul.kernel = nullptr;
  matmul.rhs_layout = 77;
  expect_plan(zen4(), matmul, TW_INVALID,
              "matmul.rhs_layout 0x000000000000004d is read by no such kernel; legal: "
              "0x0000000000000208, 0x0000000000000220, 0x0000000000000308, 0x0000000000000404");
  matmul.kernel = "vnni_1x32";
  expect_plan(zen4(), matmul, TW_INVALID,
              "matmul.rhs_layout 0x000000000000004d is read by no such kernel; legal: that "
              "kernel's own");
}

TEST(Errors, PlanMix) {
  tw_matmul matmul = TestPlan::basic(8, 8);
  tw_mix mix[] = {{1, 1}, {0, 1}};
  matmul.mix = mix;
  expect_plan(zen4(), matmul, TW_INVALID,
              "matmul.mix_count is 0; a mix has entries, or is null for the default");
  matmul.mix_count = 2;
  expect_plan(zen4(), matmul, TW_INVALID, "matmul.mix[1] is 0 rows, 1 calls; both are above 0");
  mix[1] = {4, std::nan("")};
  expect_plan(zen4(), matmul, TW_INVALID, "matmul.mix[1] is 4 rows, nan calls; both are above 0");
  mix[1] = {4, -2};
  expect_plan(zen4(), matmul, TW_INVALID, "matmul.mix[1] is 4 rows, -2 calls; both are above 0");
}

TEST(Errors, PlanDevice) {
  tw_device device = zen4();
  device.vector_bytes = 24;
  expect_plan(device, TestPlan::basic(8, 8), TW_INVALID,
              "device.vector_bytes is 24; multiples of 16 up to 256 are legal, 0 for none");
  device = zen4();
  std::fill(std::begin(device.isa), std::end(device.isa), 'x');
  expect_plan(device, TestPlan::basic(8, 8), TW_INVALID, "device.isa is not terminated");
}

TEST(Errors, PlanWhatTheMachineLacks) {
  tw_matmul matmul = TestPlan::basic(8, 8);
  matmul.kernel = "i8mm_8x8";
  expect_plan(neoverse_n1(), matmul, TW_UNSUPPORTED,
              "matmul.kernel i8mm_8x8 needs i8mm, which the device lacks");
  matmul.kernel = nullptr;
  matmul.rhs_layout = 0x220;
  expect_plan(neoverse_n1(), matmul, TW_UNSUPPORTED,
              std::string("device \"Neoverse-N1\" runs no kernel of ") + kFamily +
                  " with its LHS packer; this build has them for: avx2, avx512_vnni");
  tw_device limited = zen4();
  ASSERT_EQ(tw_device_limit(&limited, "scalar"), TW_OK);
  expect_plan(limited, matmul, TW_UNSUPPORTED,
              std::string("device \"Zen 4\" limited to scalar runs no kernel of ") + kFamily +
                  " with its LHS packer; this build has them for: avx2, avx512_vnni");
  matmul = TestPlan::basic(8, 8);
  matmul.family = kOtherFamily;
  expect_plan(zen4(), matmul, TW_UNSUPPORTED,
              std::string("device \"Zen 4\" runs no kernel of ") + kOtherFamily +
                  " with its LHS packer; this build has them for: avx512f");
  matmul.kernel = "f32_6x16";
  expect_plan(zen4(), matmul, TW_UNSUPPORTED,
              "matmul.kernel f32_6x16 is not built for this architecture");
}

TEST(Errors, PlanQuestions) {
  const TestPlan plan(zen4(), 40, 64);
  tw_segment segments[TW_MAX_SEGMENTS];
  size_t count = 0;
  tw_tuning tuning{};
  expect(tw_plan_segments(nullptr, 1, segments, &count), TW_INVALID,
         "tw_plan_segments: plan is null");
  expect(tw_plan_segments(plan.get(), 1, nullptr, &count), TW_INVALID,
         "tw_plan_segments: segments is null");
  expect(tw_plan_segments(plan.get(), 1, segments, nullptr), TW_INVALID,
         "tw_plan_segments: count is null");
  expect(tw_plan_tuning(nullptr, 1, &tuning), TW_INVALID, "tw_plan_tuning: plan is null");
  expect(tw_plan_tuning(plan.get(), 1, nullptr), TW_INVALID, "tw_plan_tuning: tuning is null");
  expect(tw_lhs_bytes(nullptr, 1, &count), TW_INVALID, "tw_lhs_bytes: plan is null");
  expect(tw_lhs_bytes(plan.get(), 1, nullptr), TW_INVALID, "tw_lhs_bytes: bytes is null");
  expect(tw_lhs_bytes(plan.get(), SIZE_MAX, &count), TW_TOO_LARGE,
         "tw_lhs_bytes: m is " + std::to_string(SIZE_MAX) + "; at most " +
             std::to_string(SIZE_MAX / 4));
  expect(tw_lhs_bytes(plan.get(), SIZE_MAX / 4, &count), TW_TOO_LARGE,
         "tw_lhs_bytes: m = " + std::to_string(SIZE_MAX / 4) +
             " rows of k = 64 overflow the address space");
  EXPECT_EQ(tw_rhs_bytes(nullptr), 0U);
}

// A count that a loop could take for 0 is not written.
TEST(Errors, Counts) {
  const TestPlan plan(zen4(), 40, 64);
  const std::string too_many =
      ": m is " + std::to_string(SIZE_MAX) + "; at most " + std::to_string(SIZE_MAX / 4);
  size_t count = 77;
  uint64_t id = 77;
  expect(tw_rhs_slices(nullptr, &count), TW_INVALID, "tw_rhs_slices: plan is null");
  expect(tw_rhs_slices(plan.get(), nullptr), TW_INVALID, "tw_rhs_slices: slices is null");
  expect(tw_lhs_slices(nullptr, 1, &count), TW_INVALID, "tw_lhs_slices: plan is null");
  expect(tw_lhs_slices(plan.get(), 1, nullptr), TW_INVALID, "tw_lhs_slices: slices is null");
  expect(tw_lhs_slices(plan.get(), SIZE_MAX, &count), TW_TOO_LARGE, "tw_lhs_slices" + too_many);
  expect(tw_run_slices(nullptr, 1, &count), TW_INVALID, "tw_run_slices: plan is null");
  expect(tw_run_slices(plan.get(), 1, nullptr), TW_INVALID, "tw_run_slices: slices is null");
  expect(tw_run_slices(plan.get(), SIZE_MAX, &count), TW_TOO_LARGE, "tw_run_slices" + too_many);
  expect(tw_lhs_id(nullptr, 1, &id), TW_INVALID, "tw_lhs_id: plan is null");
  expect(tw_lhs_id(plan.get(), 1, nullptr), TW_INVALID, "tw_lhs_id: id is null");
  expect(tw_lhs_id(plan.get(), SIZE_MAX, &id), TW_TOO_LARGE, "tw_lhs_id" + too_many);
  EXPECT_EQ(count, 77U);
  EXPECT_EQ(id, 77U);
}

TEST(Errors, PackRhs) {
  const Problem problem(1, 40, 63);
  const TestPlan plan(zen4(), 40, 63);
  const tw_rhs_source good = problem.rhs_source();
  std::vector<char> packed(tw_rhs_bytes(plan.get()));
  const auto fails = [&](const tw_rhs_source& source, tw_status want, const std::string& message) {
    expect(tw_pack_rhs(plan.get(), &source, packed.data(), packed.size(), 0), want,
           "tw_pack_rhs: " + message);
  };
  expect(tw_pack_rhs(nullptr, &good, packed.data(), packed.size(), 0), TW_INVALID,
         "tw_pack_rhs: plan is null");
  expect(tw_pack_rhs(plan.get(), nullptr, packed.data(), packed.size(), 0), TW_INVALID,
         "tw_pack_rhs: source is null");
  expect(tw_pack_rhs(plan.get(), &good, nullptr, packed.size(), 0), TW_INVALID,
         "tw_pack_rhs: packed is null");
  const std::string bytes = std::to_string(packed.size());
  expect(tw_pack_rhs(plan.get(), &good, packed.data(), packed.size() - 1, 0), TW_TOO_SMALL,
         "tw_pack_rhs: packed_bytes is " + std::to_string(packed.size() - 1) +
             "; this plan needs " + bytes);
  tw_rhs_source bad = good;
  bad.data = nullptr;
  fails(bad, TW_INVALID, "source.data is null");
  bad = good;
  bad.order = static_cast<tw_rhs_order>(TW_NVFP4 + 1);
  fails(bad, TW_INVALID, "source.order is 20; 0 to 6, those of tw_rhs_order, are legal");
  bad = good;
  bad.order = TW_Q8_0;
  fails(bad, TW_TOO_SMALL, "source.stride is 32; a row has 68 bytes");
  bad.order = TW_NXK_BF16;
  fails(bad, TW_TOO_SMALL, "source.stride is 32; a row has 126 bytes");
  bad.order = TW_Q4_1;
  fails(bad, TW_TOO_SMALL, "source.stride is 32; a row has 40 bytes");
  bad = good;
  bad.stride = 31;
  fails(bad, TW_TOO_SMALL, "source.stride is 31; a row has 32 bytes");
  bad = good;
  bad.stride = SIZE_MAX / 8;
  fails(
      bad, TW_TOO_LARGE,
      "source.stride is " + std::to_string(SIZE_MAX / 8) + "; 40 rows overflow the address space");
  bad = good;
  bad.data_bytes -= 1;
  fails(bad, TW_TOO_SMALL, "source.data_bytes is 1279; 40 rows with stride 32 need 1280");
  bad = good;
  bad.scales = nullptr;
  fails(bad, TW_INVALID, "source.scales is null");
  bad = good;
  bad.scale_count = 39;
  fails(bad, TW_TOO_SMALL, "source.scale_count is 39; one of each of 40 columns is needed");
  bad = good;
  bad.bias_count = 0;
  fails(bad, TW_TOO_SMALL, "source.bias_count is 0; one of each of 40 columns is needed");
  bad = Problem(1, 40, 63, TW_KXN).rhs_source();
  bad.data = good.data;
  bad.scales = good.scales;
  bad.bias = good.bias;
  fails(bad, TW_UNSUPPORTED,
        "no packer from source.order kxn to layout rhs 32 runs on this device");
}

TEST(Errors, PackLhs) {
  const Problem problem(5, 40, 63);
  const TestPlan plan(zen4(), 40, 63);
  const tw_lhs_source good = problem.lhs_source();
  std::vector<char> packed(plan.lhs_bytes(5));
  const auto fails = [&](const tw_lhs_source& source, tw_status want, const std::string& message) {
    expect(tw_pack_lhs(plan.get(), 5, &source, packed.data(), packed.size(), 0), want,
           "tw_pack_lhs: " + message);
  };
  expect(tw_pack_lhs(nullptr, 5, &good, packed.data(), packed.size(), 0), TW_INVALID,
         "tw_pack_lhs: plan is null");
  expect(tw_pack_lhs(plan.get(), 5, nullptr, packed.data(), packed.size(), 0), TW_INVALID,
         "tw_pack_lhs: source is null");
  expect(tw_pack_lhs(plan.get(), 5, &good, nullptr, packed.size(), 0), TW_INVALID,
         "tw_pack_lhs: packed is null");
  expect(tw_pack_lhs(plan.get(), 5, &good, packed.data(), 7, 0), TW_TOO_SMALL,
         "tw_pack_lhs: packed_bytes is 7; this plan needs " + std::to_string(packed.size()));
  expect(tw_pack_lhs(plan.get(), SIZE_MAX / 2, &good, packed.data(), packed.size(), 0),
         TW_TOO_LARGE,
         "tw_pack_lhs: m is " + std::to_string(SIZE_MAX / 2) + "; at most " +
             std::to_string(SIZE_MAX / 4));
  tw_lhs_source bad = good;
  bad.data = nullptr;
  fails(bad, TW_INVALID, "source.data is null");
  bad = good;
  bad.stride = 251;
  fails(bad, TW_TOO_SMALL, "source.stride is 251; a row has 252 bytes");
  bad = good;
  bad.stride = SIZE_MAX;
  fails(bad, TW_TOO_LARGE,
        "source.stride is " + std::to_string(SIZE_MAX) + "; 5 rows overflow the address space");
  bad = good;
  bad.data_bytes -= 1;
  fails(bad, TW_TOO_SMALL, "source.data_bytes is 1259; 5 rows with stride 252 need 1260");
}

class RunErrors : public ::testing::Test {
 protected:
  RunErrors()
      : plan_(zen4(), 40, 64),
        lhs_(plan_.lhs_bytes(5)),
        rhs_(tw_rhs_bytes(plan_.get())),
        dst_(5 * 40, 7) {
    good_.m = 5;
    good_.lhs = lhs_.data();
    good_.lhs_bytes = lhs_.size();
    good_.rhs = rhs_.data();
    good_.rhs_bytes = rhs_.size();
    good_.dst = dst_.data();
    good_.dst_bytes = dst_.size() * sizeof(float);
    good_.dst_stride = 40 * sizeof(float);
  }
  void fails(const tw_run_args& args, tw_status want, const std::string& message) {
    expect(tw_run(plan_.get(), &args, 0), want, "tw_run: " + message);
    EXPECT_EQ(dst_, std::vector<float>(5 * 40, 7));
  }
  TestPlan plan_;
  std::vector<char> lhs_, rhs_;
  std::vector<float> dst_;
  tw_run_args good_ = tilewright::sized<tw_run_args>();
};

TEST_F(RunErrors, NullPointers) {
  expect(tw_run(nullptr, &good_, 0), TW_INVALID, "tw_run: plan is null");
  expect(tw_run(plan_.get(), nullptr, 0), TW_INVALID, "tw_run: args is null");
  tw_run_args bad = good_;
  bad.lhs = nullptr;
  fails(bad, TW_INVALID, "args.lhs is null");
  bad = good_;
  bad.rhs = nullptr;
  fails(bad, TW_INVALID, "args.rhs is null");
  bad = good_;
  bad.dst = nullptr;
  fails(bad, TW_INVALID, "args.dst is null");
}

TEST_F(RunErrors, Sizes) {
  tw_run_args bad = good_;
  bad.lhs_bytes -= 1;
  fails(bad, TW_TOO_SMALL,
        "args.lhs_bytes is " + std::to_string(lhs_.size() - 1) + "; m = 5 rows need " +
            std::to_string(lhs_.size()));
  bad = good_;
  bad.lhs_stride = 256;
  fails(bad, TW_INVALID,
        "args.lhs_stride is 256; this plan reads what tw_pack_lhs packed, 0 is legal");
  bad = good_;
  bad.rhs_bytes = 0;
  fails(bad, TW_TOO_SMALL, "args.rhs_bytes is 0; this plan needs " + std::to_string(rhs_.size()));
  bad = good_;
  bad.dst_bytes -= 1;
  fails(bad, TW_TOO_SMALL, "args.dst_bytes is 799; m = 5 rows need 800");
  bad = good_;
  bad.dst_stride = 159;
  fails(bad, TW_TOO_SMALL, "args.dst_stride is 159; a row of n = 40 values has 160 bytes");
  bad = good_;
  bad.dst_stride = SIZE_MAX / 4;
  fails(bad, TW_TOO_LARGE,
        "args.dst_stride is " + std::to_string(SIZE_MAX / 4) +
            "; m = 5 rows overflow the address space");
  bad = good_;
  bad.m = SIZE_MAX;
  fails(bad, TW_TOO_LARGE,
        "m is " + std::to_string(SIZE_MAX) + "; at most " + std::to_string(SIZE_MAX / 4));
  bad = good_;
  bad.bias = dst_.data();
  bad.bias_count = 39;
  fails(bad, TW_TOO_SMALL, "args.bias_count is 39; one of each of n = 40 columns is needed");
}

TEST_F(RunErrors, Clamp) {
  tw_run_args bad = good_;
  bad.clamp = 1;
  bad.min = 1;
  bad.max = -1;
  fails(bad, TW_INVALID, "args.min is 1, args.max is -1; min must not be above max");
  bad.min = std::numeric_limits<float>::quiet_NaN();
  fails(bad, TW_INVALID, "args.min is nan, args.max is -1; min must not be above max");
}

TEST_F(RunErrors, ContainerArguments) {
  std::vector<uint8_t> header(64);
  auto found = tilewright::sized<tw_container>();
  const auto write = [&](const tw_plan* plan, const void* rhs, size_t bytes, void* to,
                         size_t room) { return tw_container_write(plan, rhs, bytes, to, room); };
  const size_t bytes = rhs_.size();
  expect(write(nullptr, rhs_.data(), bytes, header.data(), 64), TW_INVALID,
         "tw_container_write: plan is null");
  expect(write(plan_.get(), nullptr, bytes, header.data(), 64), TW_INVALID,
         "tw_container_write: rhs is null");
  expect(write(plan_.get(), rhs_.data(), bytes - 1, header.data(), 64), TW_TOO_SMALL,
         "tw_container_write: rhs_bytes is " + std::to_string(bytes - 1) + "; this plan needs " +
             std::to_string(bytes));
  expect(write(plan_.get(), rhs_.data(), bytes, nullptr, 64), TW_INVALID,
         "tw_container_write: header is null");
  expect(write(plan_.get(), rhs_.data(), bytes, header.data(), 63), TW_TOO_SMALL,
         "tw_container_write: header_bytes is 63; a header has 64");
  expect(tw_container_read(nullptr, 64, &found), TW_INVALID, "tw_container_read: header is null");
  expect(tw_container_read(header.data(), 64, nullptr), TW_INVALID,
         "tw_container_read: container is null");
  expect(tw_container_read(header.data(), 63, &found), TW_TOO_SMALL,
         "tw_container_read: header_bytes is 63; a header has 64");
  expect(tw_container_check(plan_.get(), header.data(), 10, rhs_.data(), bytes), TW_TOO_SMALL,
         "tw_container_check: header_bytes is 10; a header has 64");
}

}  // namespace
}  // namespace tw::test
