#include "schedule/order.h"

#include <gtest/gtest.h>

#include "programs.h"
#include "schedule/pressure.h"

namespace tw::test {
namespace {

/// `loads` vectors, all loaded before the first is used.
Program loads_first(int loads) {
  Builder b("loads_first", fake_isa());
  const Value source = b.arg(ArgField::lhs);
  const Value target = b.arg(ArgField::dst);
  std::vector<Value> loaded;
  for (int i = 0; i < loads; ++i) {
    loaded.push_back(b.op(OpCode::load, {source}, {.offset = 16 * i}, "x", Role::operand));
  }
  Value sum = b.op(OpCode::zero, {}, {}, "sum", Role::accumulator);
  for (Value x : loaded) sum = b.op(OpCode::add, {sum, x}, {.bits = 32}, "sum", Role::accumulator);
  b.op(OpCode::store, {target, sum});
  return b.finish();
}

TEST(Pressure, CountsByRole) {
  const Pressure p = vector_pressure(loads_first(10));
  EXPECT_EQ(p.most, 11);
  EXPECT_EQ(p.operands, 10);
  EXPECT_EQ(p.accumulators, 1);
  EXPECT_EQ(p.available, 8);
  EXPECT_EQ(sum(p, "fake"),
            "needs 11 vector registers on fake (1 accumulator + 10 operands), 8 exist");
}

TEST(Pressure, LoopVariablesAreOneRegister) {
  Builder b("loop", fake_isa());
  const Value source = b.arg(ArgField::lhs);
  const Value start = b.op(OpCode::zero, {}, {}, "acc", Role::accumulator);
  const std::vector<Value> sums =
      b.loop("k", b.arg(ArgField::k), {start}, [&](const std::vector<Value>& p) {
        const Value x = b.op(OpCode::load, {source}, {}, "x", Role::operand);
        return std::vector<Value>{b.op(OpCode::add, {p[0], x}, {.bits = 32})};
      });
  b.op(OpCode::store, {b.arg(ArgField::dst), sums[0]});
  EXPECT_EQ(vector_pressure(b.finish()).most, 2);
}

TEST(Pressure, ValuesOfOneBranchDoNotLiveInTheOther) {
  Builder b("branch", fake_isa());
  const Value target = b.arg(ArgField::dst);
  const Value first = b.op(OpCode::load, {b.arg(ArgField::lhs)}, {}, "first");
  const Value second = b.op(OpCode::load, {b.arg(ArgField::lhs)}, {.offset = 16}, "second");
  auto store_three = [&](Value v) {
    const Value x = b.op(OpCode::add, {v, v}, {.bits = 32});
    const Value y = b.op(OpCode::add, {v, x}, {.bits = 32});
    b.op(OpCode::store, {target, b.op(OpCode::add, {x, y}, {.bits = 32})});
  };
  b.branch(
      b.arg(ArgField::m), Compare::below, b.arg(ArgField::n), [&] { store_three(first); },
      [&] { store_three(second); });
  EXPECT_EQ(vector_pressure(b.finish()).most, 2);
}

TEST(Order, BringsLoadsToTheirUses) {
  Program program = loads_first(12);
  const std::vector<uint8_t> expected = result_of(program, {0, 0, 0});
  order(program);
  EXPECT_EQ(vector_pressure(program).most, 2);
  EXPECT_EQ(result_of(program, {0, 0, 0}), expected);
}

TEST(Order, KeepsWhatFits) {
  Program program = loads_first(6);
  const std::string before = to_text(program);
  order(program);
  EXPECT_EQ(to_text(program), before);
}

TEST(Order, LoadsDoNotPassStoresToTheSameBytes) {
  Builder b("stores", fake_isa());
  const Value source = b.arg(ArgField::lhs);
  const Value target = b.arg(ArgField::dst);
  std::vector<Value> read;
  for (int i = 0; i < 12; ++i) {
    b.op(OpCode::store, {target, b.op(OpCode::load, {source}, {.offset = 16 * i})},
         {.offset = 16 * (i % 2)});
    read.push_back(b.op(OpCode::load, {target}, {.offset = 8}));
  }
  for (int i = 0; i < 12; ++i) {
    b.op(OpCode::store, {target, read[static_cast<size_t>(i)]}, {.offset = 64 + 16 * i});
  }
  Program program = b.finish();
  const std::vector<uint8_t> expected = result_of(program, {0, 0, 0});
  order(program);
  EXPECT_EQ(result_of(program, {0, 0, 0}), expected);
}

/// A loop of blocks: what rows have of one is summed up side by side, then added to a total each.
Program rows_side_by_side(int64_t rows, int64_t steps) {
  Builder b("rows", fake_isa());
  const Value source = b.arg(ArgField::lhs);
  std::vector<Value> zeros;
  for (int64_t r = 0; r < rows; ++r) zeros.push_back(b.op(OpCode::zero));
  const auto totals = b.loop("k", b.arg(ArgField::k), zeros, [&](std::vector<Value> all) {
    std::vector<Value> sums;
    for (int64_t r = 0; r < rows; ++r) sums.push_back(b.op(OpCode::zero));
    for (int64_t k = 0; k < steps; ++k) {
      std::vector<Value> a;
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = 4 * (steps * r + k);
        a.push_back(b.op(OpCode::load_dup, {source}, {.bits = 32, .offset = at}));
      }
      const Value x = b.op(OpCode::load, {source}, {.offset = 128 + 16 * k});
      for (size_t r = 0; r < sums.size(); ++r) {
        sums[r] = b.op(OpCode::dot4_u8s8, {sums[r], x, a[r]});
      }
    }
    for (size_t r = 0; r < sums.size(); ++r) {
      all[r] = b.op(OpCode::add, {all[r], sums[r]}, {.bits = 32});
    }
    return all;
  });
  for (int64_t r = 0; r < rows; ++r) {
    b.op(OpCode::store, {b.arg(ArgField::dst), totals[static_cast<size_t>(r)]}, {.offset = 16 * r});
  }
  return b.finish();
}

TEST(Order, EndsOneAfterTheOther) {
  Program program = rows_side_by_side(4, 2);
  EXPECT_GT(vector_pressure(program).most, 8);
  const std::vector<uint8_t> expected = result_of(program, {2, 0, 0});
  order(program);
  EXPECT_LE(vector_pressure(program).most, 8);
  EXPECT_EQ(result_of(program, {2, 0, 0}), expected);
}

/// Of each operation in turn: 1, it is a prefetch; 0, another.
std::vector<int> prefetches_in(const Program& program) {
  std::vector<int> found;
  for_each_op(program.body, [&](const Op& op) { found.push_back(prefetches(op.code) ? 1 : 0); });
  return found;
}

// Loads come to their uses, which frees registers; prefetches among them, which would come first if
// only registers counted, are dealt out still.
TEST(Order, PrefetchesStayDealtOut) {
  Builder b("prefetches", fake_isa());
  const Value source = b.arg(ArgField::lhs);
  std::vector<Value> loaded;
  for (int i = 0; i < 12; ++i) {
    loaded.push_back(b.op(OpCode::load, {source}, {.offset = 16 * i}, "x", Role::operand));
  }
  Value sum = b.op(OpCode::zero, {}, {}, "sum", Role::accumulator);
  for (int i = 0; i < 12; ++i) {
    if (i % 4 == 2) b.op(OpCode::prefetch, {source}, {.offset = 1024 + 64 * i});
    sum = b.op(OpCode::add, {sum, loaded[static_cast<size_t>(i)]}, {.bits = 32}, "sum",
               Role::accumulator);
  }
  b.op(OpCode::store, {b.arg(ArgField::dst), sum});
  Program program = b.finish();
  order(program);
  EXPECT_LE(vector_pressure(program).most, 8);
  const std::vector<int> found = prefetches_in(program);
  size_t last = 0, count = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] == 0) continue;
    if (count > 0) {
      EXPECT_GE(i - last, 5U);
    }
    ++count;
    last = i;
  }
  EXPECT_EQ(count, 3U);
}

TEST(Order, IsNeverWorse) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    Program program = random_program(fake_isa(), seed);
    const int before = vector_pressure(program).most;
    order(program);
    EXPECT_LE(vector_pressure(program).most, before) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tw::test
