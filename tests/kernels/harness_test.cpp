// The harness can fail: each planted fault is caught, and named.
#include <gtest/gtest.h>

#include "kernels/wrong_kernel.h"

namespace tw::test {
namespace {

/// What the harness says about the kernel with this fault: the first complaint of all its cases.
std::string complaint(Fault fault) {
  const tw_kernel kernel = wrong_kernel(fault);
  for (const auto& list : {shape_cases(kernel), option_cases(kernel), portion_cases(kernel)}) {
    for (const Case& test : list) {
      const std::string wrong = run_case(kernel, wrong_kernel_packers(), test);
      if (!wrong.empty()) return wrong;
    }
  }
  return {};
}

/// Whether the harness refuses that kernel; its reason must contain `about`.
bool complains(Fault fault, const std::string& about) {
  const std::string text = complaint(fault);
  EXPECT_NE(text.find(about), std::string::npos) << "it said: " << text;
  return !text.empty();
}

TEST(Harness, AcceptsARightKernel) {
  EXPECT_EQ(complaint(Fault::none), "");
}

TEST(Harness, CatchesWrongValues) {
  EXPECT_TRUE(complains(Fault::wrong_value, "should be"));
  EXPECT_TRUE(complains(Fault::one_sided_clamp, "should be"));
  EXPECT_TRUE(complains(Fault::ignored_bias, "should be"));
  EXPECT_TRUE(complains(Fault::tail_row, "should be"));
}

TEST(Harness, CatchesWritesOutsideOfTheOutput) {
  EXPECT_TRUE(complains(Fault::write_past_n, "dst"));
  EXPECT_TRUE(complains(Fault::write_past_dst, "dst"));
  EXPECT_TRUE(complains(Fault::write_before_dst, "dst"));
  EXPECT_TRUE(complains(Fault::changed_operand, "changed its rhs"));
}

TEST(Harness, CatchesWritesBetweenRows) {
  const tw_kernel kernel = wrong_kernel(Fault::write_past_n);
  Case test;
  test.m = 2;
  test.n = 9;
  test.k = 4;
  test.portion = {0, 2, 0, 4};
  EXPECT_NE(run_case(kernel, wrong_kernel_packers(), test).find("outside of the portion"),
            std::string::npos);
}

TEST(Harness, CatchesReadsPastOperands) {
  EXPECT_TRUE(complains(Fault::read_past_lhs, "0 bytes past the end of lhs"));
  EXPECT_TRUE(complains(Fault::read_past_rhs, "0 bytes past the end of rhs"));
  EXPECT_TRUE(complains(Fault::read_past_bias, "0 bytes past the end of bias"));
}

TEST(Harness, CatchesClobberedRegisters) {
#if defined(__x86_64__)
  EXPECT_TRUE(complains(Fault::clobbered_register, "clobbered r13"));
  EXPECT_TRUE(complains(Fault::clobbered_state, "clobbered mxcsr"));
  EXPECT_TRUE(complains(Fault::clobbered_stack, "clobbered rsp"));
#elif defined(__aarch64__)
  EXPECT_TRUE(complains(Fault::clobbered_register, "clobbered x23"));
  EXPECT_TRUE(complains(Fault::clobbered_state, "clobbered d11"));
  EXPECT_TRUE(complains(Fault::clobbered_stack, "clobbered sp"));
#endif
}

}  // namespace
}  // namespace tw::test
