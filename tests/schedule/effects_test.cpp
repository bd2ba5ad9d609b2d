#include "schedule/effects.h"

#include <gtest/gtest.h>

#include "programs.h"

namespace tw::test {
namespace {

Op access(OpCode code, std::vector<Value> args, std::vector<Value> results, int64_t offset) {
  Op op;
  op.code = code;
  op.args = std::move(args);
  op.results = std::move(results);
  op.offset = offset;
  return op;
}

TEST(Effects, AccessesConflictFromTheFirstSharedByte) {
  Program program;
  program.isa = &fake_isa();
  const Value pointer = program.add_value({Kind::scalar, 8}, "pointer");
  const Value other = program.add_value({Kind::scalar, 8}, "other");
  const Value vector = program.add_value({Kind::vector, 16}, "vector");
  const auto load = [&](Value p, int64_t at) { return access(OpCode::load, {p}, {vector}, at); };
  const auto store = [&](Value p, int64_t at) {
    return access(OpCode::store, {p, vector}, {}, at);
  };
  const auto conflicts = [&](const Op& a, const Op& b) {
    return conflict(effects(program, a), effects(program, b));
  };
  for (int64_t at = -20; at <= 20; ++at) {
    const bool shared = at > -16 && at < 16;
    EXPECT_EQ(conflicts(load(pointer, at), store(pointer, 0)), shared) << at;
    EXPECT_EQ(conflicts(store(pointer, at), load(pointer, 0)), shared) << at;
    EXPECT_EQ(conflicts(store(pointer, at), store(pointer, 0)), shared) << at;
    EXPECT_FALSE(conflicts(load(pointer, at), load(pointer, 0))) << at;
    EXPECT_TRUE(conflicts(load(other, at), store(pointer, 0))) << at;  // may be the same place
  }
}

TEST(Effects, RowsOfATileAreAnywhere) {
  Builder b("tiles", fake_isa("fake_wide"));
  const Value p = b.arg(ArgField::dst);
  b.op(OpCode::tile_store, {p, b.constant(4096), b.op(OpCode::tile_zero)});
  b.op(OpCode::load, {p}, {.offset = 8192});
  const Program program = b.finish();
  std::vector<Effects> accesses;
  for (const Node& node : program.body.nodes) {
    Effects its = effects(program, std::get<Op>(node));
    if (!its.accesses.empty() && info(std::get<Op>(node).code).name != "arg") {
      accesses.push_back(std::move(its));
    }
  }
  ASSERT_EQ(accesses.size(), 2U);
  EXPECT_TRUE(conflict(accesses[0], accesses[1]));
}

}  // namespace
}  // namespace tw::test
