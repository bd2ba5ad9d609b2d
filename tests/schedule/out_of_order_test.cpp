#include "schedule/out_of_order.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "programs.h"
#include "schedule/select.h"
#include "schedule/simulate.h"

namespace tw::test {
namespace {

constexpr int chain = 8;

/// In every iteration a chain of `chain` additions from new values to a stored one: iterations do
/// not wait for each other.
Program chains() {
  Builder b("chains", shipped_isa("avx512_vnni"));
  b.hot_loop("k", b.arg(ArgField::k), {b.arg(ArgField::lhs)}, chain,
             [&](const std::vector<Value>& p) {
               Value sum = b.op(OpCode::load, {p[0]});
               for (int i = 0; i < chain; ++i) sum = b.op(OpCode::fadd, {sum, sum});
               b.op(OpCode::store, {p[0], sum});
               return std::vector<Value>{b.add(p[0], 64)};
             });
  Program program = b.finish();
  select(program);
  return program;
}

CoreModel core(int window, int queue) {
  CoreModel core;
  core.ports = {"v", "m", "s"};
  core.width = 4;
  core.window = window;
  core.queue = {{0}, queue};
  core.classes["fadd"] = {.latency = 4, .uses = {{{0}, 1}}};
  core.classes["load"] = {.latency = 4, .uses = {{{1}, 1}}};
  core.classes["store"] = {.latency = 1, .uses = {{{1}, 1}}};
  core.classes["scalar"] = {.latency = 1, .uses = {{{2}, 1}}};
  core.classes["branch"] = {.latency = 1, .uses = {{{2}, 1}}};
  return core;
}

double cycles(const CoreModel& model) {
  const Program program = chains();
  return cycles_per_iteration(program, *hottest_loop(program), model);
}

TEST(OutOfOrder, AWideWindowHidesChains) {
  EXPECT_NEAR(cycles(core(1000, 64)), chain, 0.5);  // as fast as the port takes them
}

TEST(OutOfOrder, ANarrowWindowWaitsForTheChain) {
  EXPECT_GT(cycles(core(4, 64)), 3 * chain);  // hardly more than one addition under way
  EXPECT_LT(cycles(core(26, 64)), cycles(core(4, 64)));
}

TEST(OutOfOrder, AShortQueueKeepsLaterOnesOut) {
  EXPECT_GT(cycles(core(1000, 2)), 3 * chain);
}

}  // namespace
}  // namespace tw::test
