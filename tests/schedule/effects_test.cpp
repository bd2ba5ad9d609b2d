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

}  // namespace
}  // namespace tw::test
