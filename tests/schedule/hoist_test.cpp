#include "schedule/hoist.h"

#include <gtest/gtest.h>

#include "programs.h"
#include "schedule/simulate.h"

namespace tw::test {
namespace {

/// A hot loop that adds three constants, two of which are the same.
Program with_constants() {
  Builder b("constants", shipped_isa("neon"));
  const Value start = b.op(OpCode::zero);
  const std::vector<Value> sums =
      b.hot_loop("k", b.arg(ArgField::k), {start}, 1, [&](const std::vector<Value>& p) {
        Value sum = p[0];
        for (const int64_t number : {300, 70000, 300}) {
          const Value all = b.op(OpCode::dup, {b.constant(number)}, {.bits = 32});
          sum = b.op(OpCode::add, {sum, all}, {.bits = 32});
        }
        return std::vector<Value>{sum};
      });
  b.op(OpCode::store, {b.arg(ArgField::dst), sums[0]});
  return b.finish();
}

int count_in(const Region& region, OpCode code) {
  int count = 0;
  for_each_op(region, [&](const Op& op) { count += op.code == code ? 1 : 0; });
  return count;
}

TEST(Hoist, ConstantsStandInFrontOfTheirLoopOnce) {
  Program program = with_constants();
  const std::vector<uint8_t> expected = result_of(program, {3, 0, 0});
  EXPECT_EQ(hoist_constants(program, 2), 2);
  EXPECT_EQ(verify(program), "");
  EXPECT_EQ(result_of(program, {3, 0, 0}), expected);
  EXPECT_EQ(count_in(program.body, OpCode::dup), 2);
  EXPECT_EQ(count_in(hottest_loop(program)->body, OpCode::dup), 0);
  EXPECT_EQ(count_in(program.body, OpCode::constant), 2);
}

TEST(Hoist, AsManyAsItMay) {
  Program program = with_constants();
  const std::vector<uint8_t> expected = result_of(program, {3, 0, 0});
  EXPECT_EQ(hoist_constants(program, 1), 2);
  EXPECT_EQ(verify(program), "");
  EXPECT_EQ(result_of(program, {3, 0, 0}), expected);
  EXPECT_EQ(count_in(hottest_loop(program)->body, OpCode::dup), 1);
}

}  // namespace
}  // namespace tw::test
