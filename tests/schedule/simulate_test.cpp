#include "schedule/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "programs.h"
#include "schedule/in_order.h"

namespace tw::test {
namespace {

TEST(Simulate, SpreadsWorkOverPorts) {
  const IssueClass any{.uses = {{{0, 1}, 1}}};
  const IssueClass first{.uses = {{{0}, 1}}};
  EXPECT_DOUBLE_EQ(port_cycles({any, any, any}), 1.5);
  EXPECT_DOUBLE_EQ(port_cycles({first, first, any}), 2);
  EXPECT_DOUBLE_EQ(port_cycles({first, any, any, any}), 2);
}

CoreModel in_order_core() {
  CoreModel core;
  core.width = 2;
  core.in_order = true;
  core.ports = {"v0", "v1"};
  return core;
}

const IssueClass slow{.latency = 4, .uses = {{{0, 1}, 1}}};
const IssueClass fast{.latency = 1, .uses = {{{0, 1}, 1}}};

int issue(InOrderIssue& core, const IssueClass& what, int ready = 0) {
  return core.issue({what}, {what.latency, what.latency}, ready);
}

TEST(InOrder, IssuesAsWideAsTheCoreIs) {
  const CoreModel core = in_order_core();
  InOrderIssue at(core);
  EXPECT_EQ(issue(at, slow), 0);
  EXPECT_EQ(issue(at, slow), 0);
  EXPECT_EQ(issue(at, slow), 1);
  EXPECT_EQ(issue(at, slow, 7), 7);
  EXPECT_EQ(issue(at, slow), 7) << "never before what stands earlier";
}

TEST(InOrder, WritesInOrder) {
  const CoreModel core = in_order_core();
  InOrderIssue at(core);
  EXPECT_EQ(issue(at, slow), 0);
  EXPECT_EQ(issue(at, fast), 3) << "both are written in cycle 4";
  IssueClass late = slow;
  late.late = true;
  EXPECT_EQ(issue(at, late), 3);
  EXPECT_EQ(issue(at, fast), 4) << "does not wait for what may be written late";
  IssueClass late_and_fast = fast;
  late_and_fast.late = true;
  EXPECT_EQ(issue(at, slow), 4);
  EXPECT_EQ(issue(at, late_and_fast), 5) << "nor does that wait";
}

TEST(InOrder, BeginsACycle) {
  const CoreModel core = in_order_core();
  InOrderIssue at(core);
  IssueClass first = slow;
  first.first = true;
  EXPECT_EQ(issue(at, first), 0);
  EXPECT_EQ(issue(at, slow), 0);
  EXPECT_EQ(issue(at, slow), 1);
  EXPECT_EQ(issue(at, first), 2);
}

TEST(InOrder, TakesSlotsAndPorts) {
  const CoreModel core = in_order_core();
  InOrderIssue at(core);
  const IssueClass three{.micro_ops = 3, .uses = {{{0}, 1}}};
  EXPECT_EQ(issue(at, three), 0);
  EXPECT_EQ(issue(at, fast), 1) << "beside the third micro-operation";
  EXPECT_EQ(issue(at, fast), 2);
  const IssueClass long_one{.latency = 1, .uses = {{{0}, 3}}};
  EXPECT_EQ(issue(at, long_one), 3) << "port 0 is free again";
  EXPECT_EQ(issue(at, long_one), 6);
}

TEST(InOrder, GoesThroughTheLinesOfARow) {
  const CoreModel core = in_order_core();
  InOrderIssue at(core);
  EXPECT_EQ(at.issue({slow, fast}, {5, 5}, 0), 0);
  EXPECT_EQ(issue(at, fast), 4) << "beside the second line, which waited for the first";
  EXPECT_EQ(issue(at, slow), 5);
  EXPECT_EQ(at.issue({fast, fast}, {2, 2}, 0), 8) << "the first line waits to write in order";
}

TEST(Cost, OfKindsThatACoreDoesNotTellApart) {
  const Isa& isa = shipped_isa("avx512_vnni");
  const Row& widen = *isa.row_for(OpCode::cvt_f16_f32);
  ASSERT_EQ(widen.issue_classes.front(), "convert.half");
  CoreModel core = in_order_core();
  core.classes["convert"] = {.latency = 3, .uses = {{{0}, 1}}};
  EXPECT_EQ(costs(isa, core, widen)[0].latency, 3);
  core.classes["convert.half"] = {.latency = 8, .uses = {{{0}, 1}}};
  EXPECT_EQ(costs(isa, core, widen)[0].latency, 8);
}

TEST(Cost, OfVectorsWiderThanThePorts) {
  const Isa& isa = shipped_isa("avx512_vnni");
  CoreModel core = in_order_core();
  core.classes["logic"] = {.uses = {{{0, 1}, 1}}};
  core.classes["scalar"] = {.uses = {{{0, 1}, 1}}};
  const Row& add = *isa.row_for(OpCode::add, 32);
  EXPECT_EQ(costs(isa, core, add)[0].uses[0].cycles, 1);
  core.vector_bytes = 32;
  EXPECT_EQ(costs(isa, core, add)[0].uses[0].cycles, 2);
  EXPECT_EQ(costs(isa, core, *isa.row_for(OpCode::isub))[0].uses[0].cycles, 1) << "no vector";
}

TEST(Cost, OfALoadThatStepsItsPointer) {
  const Isa& isa = shipped_isa("neon");
  CoreModel core = in_order_core();
  core.classes["load_quad"] = {.latency = 5, .uses = {{{0}, 1}}};
  core.classes["load"] = {.latency = 2, .uses = {{{0}, 1}}};
  const auto row = std::find_if(isa.rows.begin(), isa.rows.end(), [](const Row& it) {
    return it.issue_classes == std::vector<std::string>{"load_quad"};
  });
  ASSERT_NE(row, isa.rows.end());
  Op op;
  op.row = &*row;
  op.args = {0};
  op.results = {1, 2, 3, 4, 5};
  EXPECT_EQ(costs(isa, core, *row)[0].micro_ops, 2);
  EXPECT_EQ(result_latency(isa, core, op, 0), 5) << "the whole instruction's, not a load's alone";
  EXPECT_EQ(result_latency(isa, core, op, 4), 1);
  EXPECT_EQ(write_latency(isa, core, op).first, 0);
  EXPECT_EQ(write_latency(isa, core, op).last, 5);
}

}  // namespace
}  // namespace tw::test
