#include "schedule/liveness.h"

#include <gtest/gtest.h>

#include "programs.h"
#include "schedule/coalesce.h"
#include "schedule/insert.h"

namespace tw::test {
namespace {

const Intervals& of(const Liveness& live, Value v) {
  return live.of[static_cast<size_t>(v)];
}

/// A loop with a pointer that walks, after two operations of which nobody needs the results.
struct Steps {
  Program program;
  Value count = no_value;
  Value step = no_value;
};

Steps steps() {
  Builder b("steps", fake_isa());
  Steps made;
  const Value target = b.arg(ArgField::dst);
  made.count = b.arg(ArgField::k);
  const Value start = b.arg(ArgField::lhs);
  b.op(OpCode::iadd, {b.op(OpCode::iadd, {start, made.count}), start});
  const std::vector<Value> end = b.loop("k", made.count, {start}, [&](const std::vector<Value>& p) {
    made.step = b.add(p[0], 16);
    b.op(OpCode::store_i64, {target, p[0]});
    return std::vector<Value>{made.step};
  });
  b.op(OpCode::store_i64, {target, end[0]});
  made.program = b.finish();
  return made;
}

TEST(Liveness, WhatStandsInPlaceKeepsItsArgumentsAlive) {
  const Steps made = steps();
  const Loop* loop = liveness(made.program).loops.front().loop;
  const Value param = loop->params.front();
  const Liveness plain = liveness(made.program);
  EXPECT_FALSE(covers(of(plain, param), plain.loops.front().tail));
  EXPECT_TRUE(covers(of(plain, made.step), plain.loops.front().tail));
  std::vector<const Op*> in_place(made.program.values.size(), nullptr);
  in_place[static_cast<size_t>(made.step)] = &std::get<Op>(loop->body.nodes.front());
  const Liveness live = liveness(made.program, in_place);
  EXPECT_TRUE(covers(of(live, param), live.loops.front().tail));
  EXPECT_TRUE(of(live, made.step).empty());
}

TEST(Liveness, InCLoopsCompareWithTheirCounts) {
  const Steps made = steps();
  const Liveness plain = liveness(made.program);
  EXPECT_FALSE(covers(of(plain, made.count), plain.loops.front().tail));
  const Liveness live =
      liveness(made.program, std::vector<const Op*>(made.program.values.size(), nullptr));
  EXPECT_TRUE(covers(of(live, made.count), live.loops.front().tail));
}

TEST(Coalescing, JoinsWhatNeverLivesAtTheSameTime) {
  Coalescing sets({{{0, 4}}, {{4, 6}}, {{5, 8}}, {{8, 9}}});
  EXPECT_TRUE(sets.join(0, 1));
  EXPECT_FALSE(sets.join(0, 2));
  EXPECT_FALSE(sets.join(1, 2));
  EXPECT_TRUE(sets.join(2, 3));
  EXPECT_FALSE(sets.join(3, 0));
  EXPECT_TRUE(sets.join(1, 0));
  EXPECT_EQ(sets.set_of(1), 0);
  EXPECT_EQ(sets.set_of(3), 2);
  EXPECT_TRUE(covers(sets.live(0), 5));
}

TEST(DropUnused, TakesOutWhatOnlyUnusedOperationsUse) {
  Steps made = steps();
  const std::vector<uint8_t> expected = result_of(made.program, {3, 0, 0});
  const auto adds = [&] {
    int found = 0;
    for_each_op(made.program.body, [&](const Op& op) { found += op.code == OpCode::iadd; });
    return found;
  };
  EXPECT_EQ(adds(), 2);
  drop_unused(made.program);
  EXPECT_EQ(adds(), 0);
  EXPECT_EQ(verify(made.program), "");
  EXPECT_EQ(result_of(made.program, {3, 0, 0}), expected);
}

}  // namespace
}  // namespace tw::test
