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

/// What operations that touch memory do, in order.
std::vector<Effects> accesses(Builder& b) {
  const Program program = b.finish();
  std::vector<Effects> found;
  for (const Node& node : program.body.nodes) {
    Effects its = effects(program, std::get<Op>(node));
    if (!its.accesses.empty()) found.push_back(std::move(its));
  }
  return found;
}

TEST(Effects, RowsOfATileAreAnywhere) {
  Builder b("tiles", fake_isa("fake_wide"));
  const Value p = b.op(OpCode::scratch, {}, {}, "p");
  const Value row = b.constant(4096);
  const Value tile = b.op(OpCode::tile_zero);
  b.op(OpCode::tile_store, {p, row, tile});
  b.op(OpCode::load, {p}, {.offset = 8192});
  const std::vector<Effects> found = accesses(b);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(conflict(found[0], found[1]));
}

TEST(Effects, NothingMeetsAScratchThatStandsAlone) {
  for (const bool alone : {true, false}) {
    Builder b("scratch", fake_isa("fake_wide"));
    const Value p = b.scratch(128, alone);
    const Value zero = b.op(OpCode::zero);
    b.op(OpCode::store, {p, zero}, {.offset = 64});
    b.op(OpCode::load, {b.add(p, 64)});
    const std::vector<Effects> found = accesses(b);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(conflict(found[0], found[1]), !alone);
  }
}

}  // namespace
}  // namespace tw::test
