#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "runtime/devices.h"
#include "runtime/problem.h"
#include "tilewright/gated.h"
#include "tilewright/groups.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {
namespace {

std::vector<size_t> shuffled(size_t count) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  return order;
}

struct Operands {
  std::vector<char> rhs, lhs;
};

/// Packs in any order; what no slice wrote stays 0x55.
Operands pack(const tw_plan* plan, const Problem& problem) {
  const tw_rhs_source rhs = problem.rhs_source();
  const tw_lhs_source lhs = problem.lhs_source();
  const size_t m = problem.matmul.m;
  Operands packed;
  size_t lhs_bytes = 0;
  EXPECT_EQ(tw_lhs_bytes(plan, m, &lhs_bytes), TW_OK);
  packed.rhs.assign(tw_rhs_bytes(plan), 0x55);
  packed.lhs.assign(lhs_bytes, 0x55);
  for (const size_t slice : shuffled(tilewright::rhs_slices(plan))) {
    EXPECT_EQ(tw_pack_rhs(plan, &rhs, packed.rhs.data(), packed.rhs.size(), slice), TW_OK)
        << tw_error_message();
  }
  for (const size_t slice : shuffled(tilewright::lhs_slices(plan, m))) {
    EXPECT_EQ(tw_pack_lhs(plan, m, &lhs, packed.lhs.data(), packed.lhs.size(), slice), TW_OK)
        << tw_error_message();
  }
  return packed;
}

tw_run_args run_args(const Operands& packed, const Problem& problem, std::vector<float>& dst,
                     size_t stride) {
  auto args = tilewright::sized<tw_run_args>();
  args.m = problem.matmul.m;
  args.lhs = packed.lhs.data();
  args.lhs_bytes = packed.lhs.size();
  args.rhs = packed.rhs.data();
  args.rhs_bytes = packed.rhs.size();
  args.dst = dst.data();
  args.dst_bytes = dst.size() * sizeof(float);
  args.dst_stride = stride * sizeof(float);
  return args;
}

void expect_right(const tw_device& device, const tw_matmul& matmul, const Problem& problem) {
  const TestPlan plan(device, matmul);
  ASSERT_EQ(plan.status, TW_OK) << tw_error_message();
  const Operands packed = pack(plan.get(), problem);
  const size_t stride = problem.matmul.n + 3;
  std::vector<float> dst(problem.matmul.m * stride, -12345);
  const tw_run_args args = run_args(packed, problem, dst, stride);
  calls().clear();
  size_t outputs = 0;
  for (const size_t slice : shuffled(tilewright::run_slices(plan.get(), args.m))) {
    ASSERT_EQ(tw_run(plan.get(), &args, slice), TW_OK) << tw_error_message();
  }
  for (const Call& call : calls()) outputs += call.m * call.n;
  EXPECT_EQ(outputs, problem.matmul.m * problem.matmul.n);  // each exactly once
  const std::vector<float> expected = multiply(problem.matmul);
  for (size_t row = 0; row < problem.matmul.m; ++row) {
    for (size_t n = 0; n < stride; ++n) {
      const float want = n < problem.matmul.n ? expected[row * problem.matmul.n + n] : -12345;
      ASSERT_EQ(dst[row * stride + n], want) << device.name << " row " << row << " column " << n;
    }
  }
}

TEST(Run, SlicesCoverTheOutputExactly) {
  for (const tw_device& device : {zen4(), neoverse_v1(), plain(), alder_lake()}) {
    for (const size_t n : {1, 31, 100}) {
      for (const size_t m : {1, 2, 5, 12, 13, 40}) {
        const tw_matmul matmul = TestPlan::basic(n, 45);
        expect_right(device, matmul, Problem(m, n, 45));
      }
    }
  }
}

TEST(Run, SlicesCoverTheOutputExactlyWithAnyBlocks) {
  for (const size_t n_block : {1, 40, 1000}) {
    for (const size_t m_block : {1, 9, 16, 1000}) {
      tw_matmul matmul = TestPlan::basic(130, 33);
      matmul.tuning = {n_block, m_block, 0, m_block % 2 == 0 ? TW_ROWS_FIRST : TW_COLUMNS_FIRST,
                       TW_DECODE_UNSET};
      for (const size_t m : {4, 13, 29, 52}) expect_right(zen4(), matmul, Problem(m, 130, 33));
    }
  }
}

// The columns of a turn stay in the L2 cache while each segment's kernel reads their weights.
TEST(Run, SegmentsTakeTurns) {
  tw_device device = zen4();
  device.l2_bytes = 1;  // one panel of 32 columns a turn
  tw_matmul matmul = TestPlan::basic(500, 1000);
  matmul.threads = 1;
  expect_right(device, matmul, Problem(13, 500, 1000));
  ASSERT_EQ(calls().size(), 16U * 3);
  const size_t rows[] = {8, 4, 1};
  for (size_t i = 0; i < calls().size(); ++i) {
    EXPECT_EQ(calls()[i].m, rows[i % 3]) << i;
    EXPECT_EQ(calls()[i].rhs_prefetch, i % 3 == 0 ? 16384U : 2048U) << "the others', from L2";
    EXPECT_LE(calls()[i].n, 32U) << i;
  }
  expect_right(device, matmul, Problem(16, 500, 1000));
  EXPECT_EQ(calls().size(), 4U) << "as many as slices: one kernel needs no turns";
}

// 13 rows of 500 outputs are 26,000 bytes.
TEST(Run, OutputsLargerThanL2AreNotToBeKept) {
  tw_device device = zen4();
  const tw_matmul matmul = TestPlan::basic(500, 64);
  for (const size_t l2 : {26000, 25999}) {
    device.l2_bytes = l2;
    expect_right(device, matmul, Problem(13, 500, 64));
    ASSERT_FALSE(calls().empty());
    for (const Call& call : calls()) {
      EXPECT_EQ(call.flags, l2 < 26000 ? TW_STREAM_OUTPUT : 0U) << l2;
    }
  }
}

/// That no kernel was told to store past the caches what its caller reads next.
void expect_kept() {
  EXPECT_FALSE(calls().empty());
  for (const Call& call : calls()) EXPECT_EQ(call.flags, 0U);
}

TEST(Run, OutputsInScratchAreKept) {
  tw_device device = zen4();
  device.l2_bytes = 25999;
  const TestPlan plan(device, TestPlan::basic(500, 64));
  ASSERT_EQ(plan.status, TW_OK) << tw_error_message();
  const Problem problem(13, 500, 64);
  const Operands packed = pack(plan.get(), problem);
  std::vector<float> dst;
  tw_run_args args = run_args(packed, problem, dst, 0);
  size_t bytes = 0;
  ASSERT_EQ(tw_gated_scratch_bytes(plan.get(), args.m, &bytes), TW_OK) << tw_error_message();
  std::vector<char> scratch(bytes);
  args.dst = nullptr;
  args.dst_bytes = args.dst_stride = 0;
  args.scratch = scratch.data();
  args.scratch_bytes = scratch.size();
  auto gated = tilewright::sized<tw_gated>();
  gated.up = args.rhs;
  gated.each = [](const tw_gated_values*) {};
  calls().clear();
  for (const size_t slice : shuffled(tilewright::run_slices(plan.get(), args.m))) {
    ASSERT_EQ(tw_gated_run(plan.get(), &gated, &args, slice), TW_OK) << tw_error_message();
  }
  expect_kept();
}

TEST(Run, ScatteredOutputsAreKeptUntilTheyGetThere) {
  tw_device device = zen4();
  device.l2_bytes = 25999;
  const TestPlan plan(device, TestPlan::basic(500, 64));
  ASSERT_EQ(plan.status, TW_OK) << tw_error_message();
  const Problem problem(13, 500, 64);
  const Operands packed = pack(plan.get(), problem);
  const std::vector<size_t> starts = {0, 13};
  std::vector<size_t> rows;
  for (size_t i = 13; i-- > 0;) rows.push_back(i);
  std::vector<float> dst(13 * 500);
  tw_run_args args = run_args(packed, problem, dst, 500);
  const void* const rhs[] = {args.rhs};
  tw_group_part part{};
  auto groups = tilewright::sized<tw_groups>();
  groups.count = 1;
  groups.starts = starts.data();
  groups.lhs_rows = rows.data();
  groups.list_count = groups.lhs_row_count = groups.dst_row_count = rows.size();
  groups.rhs = rhs;
  groups.parts = &part;
  ASSERT_EQ(tw_groups_prepare(plan.get(), &groups), TW_OK) << tw_error_message();
  std::vector<char> scratch(groups.scratch_bytes), lhs(groups.lhs_bytes);
  tw_lhs_source source = problem.lhs_source();
  source.scratch = args.scratch = scratch.data();
  source.scratch_bytes = args.scratch_bytes = scratch.size();
  for (size_t i = 0; i < groups.lhs_slices; ++i) {
    ASSERT_EQ(tw_groups_pack_lhs(plan.get(), &groups, &source, lhs.data(), lhs.size(), i), TW_OK)
        << tw_error_message();
  }
  args.lhs = lhs.data();
  args.lhs_bytes = lhs.size();
  calls().clear();
  for (size_t i = 0; i < groups.run_slices; ++i) {
    ASSERT_EQ(tw_groups_run(plan.get(), &groups, &args, i), TW_OK) << tw_error_message();
  }
  expect_kept();
  const std::vector<float> expected = multiply(problem.matmul);
  for (size_t i = 0; i < dst.size(); ++i) ASSERT_EQ(dst[i], expected[i]) << i;
}

tw_pack_args packed_with(const tw_plan* plan, const tw_rhs_source& source) {
  std::vector<char> packed(tw_rhs_bytes(plan));
  pack_calls().clear();
  EXPECT_EQ(tw_pack_rhs(plan, &source, packed.data(), packed.size(), 0), TW_OK)
      << tw_error_message();
  return pack_calls().at(0);
}

TEST(Run, ScalesOfBlocksReachThePacker) {
  tw_matmul matmul = TestPlan::basic(8, 192);
  matmul.family = kBlockFamily;
  matmul.block = 32;
  matmul.scales = TW_SCALES_F16;
  const TestPlan plan(plain(), matmul);
  ASSERT_EQ(plan.status, TW_OK) << tw_error_message();
  const std::vector<uint8_t> data(8 * 192);
  auto source = tilewright::sized<tw_rhs_source>();
  source.order = TW_NXK;
  source.data = data.data();
  source.data_bytes = data.size();
  source.stride = 96;
  source.scales = data.data();
  source.scale_count = 48;
  EXPECT_EQ(packed_with(plan.get(), source).scale_stride, 12U);
  source.scale_stride = 14;
  EXPECT_EQ(packed_with(plan.get(), source).scale_stride, 14U);
  EXPECT_EQ(packed_with(plan.get(), source).scales, data.data());
  EXPECT_EQ(packed_with(plan.get(), source).block, 32U);
  source.order = TW_Q4_0;
  source.stride = 108;
  source.scales = nullptr;
  EXPECT_EQ(packed_with(plan.get(), source).source_stride, 108U);
}

TEST(Run, WeightsMayBeTransposed) {
  expect_right(plain(), TestPlan::basic(21, 30), Problem(3, 21, 30, TW_KXN));
}

TEST(Run, UnsignedNibblesMeanTheSame) {
  Problem problem(1, 40, 64);
  const TestPlan plan(zen4(), 40, 64);
  const Operands expected = pack(plan.get(), problem);
  for (uint8_t& byte : problem.codes) byte ^= 0x88;
  tw_rhs_source source = problem.rhs_source();
  source.unsigned_nibbles = 1;
  std::vector<char> packed(tw_rhs_bytes(plan.get()), 0x55);
  for (size_t slice = 0; slice < tilewright::rhs_slices(plan.get()); ++slice) {
    ASSERT_EQ(tw_pack_rhs(plan.get(), &source, packed.data(), packed.size(), slice), TW_OK);
  }
  EXPECT_EQ(packed, expected.rhs);
}

TEST(Run, ClampBiasAndPrefetchReachTheKernel) {
  Problem problem(13, 50, 40);
  tw_matmul matmul = TestPlan::basic(50, 40);
  matmul.tuning = {32, 0, 777, TW_ORDER_UNSET, TW_DECODE_UNSET};  // two blocks of columns
  const TestPlan plan(zen4(), matmul);
  const Operands packed = pack(plan.get(), problem);
  std::vector<float> dst(13 * 50);
  tw_run_args args = run_args(packed, problem, dst, 50);
  std::vector<float> bias(50);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i) / 64;
  args.bias = bias.data();
  args.bias_count = bias.size();
  args.clamp = 1;
  args.min = -0.5F;
  args.max = 0.75F;
  calls().clear();
  for (size_t slice = 0; slice < tilewright::run_slices(plan.get(), 13); ++slice) {
    ASSERT_EQ(tw_run(plan.get(), &args, slice), TW_OK);
  }
  problem.matmul.bias = bias;
  problem.matmul.min = -0.5F;
  problem.matmul.max = 0.75F;
  EXPECT_EQ(dst, multiply(problem.matmul));
  for (const Call& call : calls()) EXPECT_EQ(call.rhs_prefetch, 777U);
}

TEST(Run, SlicesBeyondTheCountDoNothing) {
  const Problem problem(5, 40, 32);
  const TestPlan plan(zen4(), 40, 32);
  Operands packed = pack(plan.get(), problem);
  const Operands before = packed;
  std::vector<float> dst(5 * 40, 7);
  const tw_run_args args = run_args(packed, problem, dst, 40);
  const tw_rhs_source rhs = problem.rhs_source();
  const tw_lhs_source lhs = problem.lhs_source();
  for (const size_t extra : {size_t{0}, size_t{1}, size_t{1000}, SIZE_MAX / 2}) {
    EXPECT_EQ(tw_run(plan.get(), &args, tilewright::run_slices(plan.get(), 5) + extra), TW_OK);
    EXPECT_EQ(tw_pack_rhs(plan.get(), &rhs, packed.rhs.data(), packed.rhs.size(),
                          tilewright::rhs_slices(plan.get()) + extra),
              TW_OK);
    EXPECT_EQ(tw_pack_lhs(plan.get(), 5, &lhs, packed.lhs.data(), packed.lhs.size(),
                          tilewright::lhs_slices(plan.get(), 5) + extra),
              TW_OK);
  }
  EXPECT_EQ(dst, std::vector<float>(5 * 40, 7));
  EXPECT_EQ(packed.rhs, before.rhs);
  EXPECT_EQ(packed.lhs, before.lhs);
}

TEST(Run, NoRowsAreNoWork) {
  const TestPlan plan(zen4(), 40, 32);
  EXPECT_EQ(tilewright::run_slices(plan.get(), 0), 0U);
  EXPECT_EQ(tilewright::lhs_slices(plan.get(), 0), 0U);
  EXPECT_EQ(plan.lhs_bytes(0), 0U);
  const auto nothing = tilewright::sized<tw_run_args>();
  EXPECT_EQ(tw_run(plan.get(), &nothing, 0), TW_OK);
  EXPECT_EQ(tw_pack_lhs(plan.get(), 0, nullptr, nullptr, 0, 0), TW_OK);
}

TEST(Run, ErrorsBelongToTheirThread) {
  EXPECT_EQ(tw_run(nullptr, nullptr, 0), TW_INVALID);
  std::string other = "?";
  std::thread([&] {
    other = tw_error_message();
    tw_device_limit(nullptr, "x");
  }).join();
  EXPECT_EQ(other, "");
  EXPECT_STREQ(tw_error_message(), "tw_run: plan is null");
}

// The C++ header, with the slices handed out by a counter.
TEST(Run, CppHeader) {
  const Problem problem(9, 70, 50);
  const tilewright::Plan plan(plain(), TestPlan::basic(70, 50));
  std::vector<char> rhs(plan.rhs_bytes());
  std::vector<char> lhs(plan.lhs_bytes(9));
  for (size_t s = 0; s < plan.rhs_slices(); ++s) {
    plan.pack_rhs(problem.rhs_source(), rhs.data(), rhs.size(), s);
  }
  for (size_t s = 0; s < plan.lhs_slices(9); ++s) {
    plan.pack_lhs(9, problem.lhs_source(), lhs.data(), lhs.size(), s);
  }
  std::vector<float> dst(9 * 70);
  const Operands packed{rhs, lhs};
  const tw_run_args args = run_args(packed, problem, dst, 70);
  std::atomic<size_t> next{0};
  for (size_t s = next++; s < plan.run_slices(9); s = next++) plan.run(args, s);
  EXPECT_EQ(dst, multiply(problem.matmul));
  EXPECT_EQ(plan.segments(9).size(), 2U);
  try {
    tilewright::Plan(plain(), TestPlan::basic(0, 50));
    FAIL();
  } catch (const tilewright::Error& error) {
    EXPECT_EQ(error.status, TW_INVALID);
    EXPECT_STREQ(error.what(), "tw_plan_create: matmul.n is 0; at least 1 output column is legal");
  }
}

}  // namespace
}  // namespace tw::test
