#include "schedule/pipeline.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "emit/register_map.h"
#include "programs.h"
#include "schedule/pressure.h"
#include "schedule/select.h"
#include "schedule/simulate.h"
#include "spec/core_reader.h"

namespace tw::test {
namespace {

CoreModel core(const std::string& name) {
  return read_core(std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates", name);
}

/// Eight vectors an iteration, each waited for: what an in-order core is worst at. The source holds
/// 8 iterations, so a read too far is a fault.
Program waits() {
  Builder b("waits", shipped_isa("neon_i8mm"));
  std::vector<Value> inits = {b.arg(ArgField::lhs)};
  for (int i = 0; i < 8; ++i) inits.push_back(b.op(OpCode::zero));
  const std::vector<Value> results =
      b.hot_loop("k", b.arg(ArgField::k), inits, 1, [&](const std::vector<Value>& p) {
        std::vector<Value> yields = {b.add(p[0], 128)};
        for (size_t i = 1; i <= 8; ++i) {
          const Value x =
              b.op(OpCode::load, {p[0]}, {.offset = static_cast<int64_t>(16 * (i - 1))});
          yields.push_back(b.op(OpCode::mmla_s8s8, {p[i], x, x}, {}, "acc", Role::accumulator));
        }
        return yields;
      });
  for (size_t i = 1; i <= 8; ++i) {
    b.op(OpCode::store, {b.arg(ArgField::dst), results[i]},
         {.offset = static_cast<int64_t>(16 * i)});
  }
  b.op(OpCode::store_i64,
       {b.arg(ArgField::dst), b.op(OpCode::isub, {results[0], b.arg(ArgField::lhs)})});
  return b.finish();
}

TEST(Pipeline, MovesLoadsIntoTheIterationBefore) {
  const CoreModel in_order = core("cortex-a510");
  Program program = waits();
  const Program first = clone(program);
  select(program, {.loads_per_row = 2});
  const double before = cycles_per_iteration(program, *hottest_loop(program), in_order);
  pipeline(program, in_order);
  ASSERT_EQ(verify(program), "");
  EXPECT_LT(cycles_per_iteration(program, *hottest_loop(program), in_order), 0.8 * before);
  EXPECT_LE(vector_pressure(program).most, vector_pressure(program).available);
  for (uint64_t k : {0U, 1U, 2U, 7U, 8U}) {
    EXPECT_EQ(result_of(program, {k, 0, 0}), result_of(first, {k, 0, 0})) << k;
  }
}

TEST(Pipeline, LeavesCoresAloneThatLookAhead) {
  Program program = waits();
  select(program);
  const std::string before = to_text(program);
  pipeline(program, core("neoverse-n2"));
  EXPECT_EQ(to_text(program), before);
}

}  // namespace
}  // namespace tw::test
