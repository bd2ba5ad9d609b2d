#include "schedule/allocate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "programs.h"
#include "schedule/select.h"

namespace tw::test {
namespace {

void expect_same_on_registers(Program program, const std::vector<uint64_t>& counts) {
  const std::vector<uint8_t> expected = result_of(program, counts);
  select(program);
  allocate(program);
  ASSERT_EQ(verify(program), "");
  EXPECT_EQ(result_of(program, counts, true), expected) << to_text(program);
}

TEST(Allocate, RefusesWithTheSum) {
  Builder b("large", fake_isa());
  const Value source = b.arg(ArgField::lhs);
  std::vector<Value> sums;
  for (int i = 0; i < 9; ++i) {
    sums.push_back(b.op(OpCode::load, {source}, {.offset = 16 * i}, "acc", Role::accumulator));
  }
  const std::vector<Value> results =
      b.hot_loop("k", b.arg(ArgField::k), sums, 1, [&](const std::vector<Value>& p) {
        std::vector<Value> yields = p;
        const Value x = b.op(OpCode::load, {source}, {}, "x", Role::operand);
        for (Value& v : yields)
          v = b.op(OpCode::dot4_u8s8, {v, x, x}, {}, "acc", Role::accumulator);
        return yields;
      });
  for (size_t i = 0; i < results.size(); ++i) {
    b.op(OpCode::store, {b.arg(ArgField::dst), results[i]},
         {.offset = static_cast<int64_t>(16 * i)});
  }
  Program program = b.finish();
  select(program);
  try {
    allocate(program);
    FAIL() << "no error";
  } catch (const AllocationError& error) {
    EXPECT_STREQ(error.what(),
                 "needs 10 vector registers on fake (9 accumulators + 1 operand), 8 exist");
    EXPECT_EQ(error.pressure.accumulators, 9);
  }
}

TEST(Allocate, FilesMayHaveMoreThan64Registers) {
  Builder b("many", fake_isa("fake_wide"));
  const Value source = b.arg(ArgField::lhs);
  constexpr int64_t step = 8;
  std::vector<Value> sums;
  for (int i = 0; i < 90; ++i) {
    sums.push_back(b.op(OpCode::load, {source}, {.offset = step * i}, "acc"));
  }
  const std::vector<Value> results =
      b.hot_loop("k", b.arg(ArgField::k), sums, 1, [&](const std::vector<Value>& p) {
        std::vector<Value> yields = p;
        const Value x = b.op(OpCode::load, {source}, {}, "x");
        for (Value& v : yields) v = b.op(OpCode::dot4_u8s8, {v, x, x}, {}, "acc");
        return yields;
      });
  for (size_t i = 0; i < results.size(); ++i) {
    b.op(OpCode::store, {b.arg(ArgField::dst), results[i]},
         {.offset = step * static_cast<int64_t>(i)});
  }
  Program program = b.finish();
  expect_same_on_registers(clone(program), {3, 0, 0});
  select(program);
  allocate(program);
  EXPECT_GE(*std::max_element(program.registers.begin(), program.registers.end()), 64);
}

TEST(Allocate, LoopVariablesMayChangePlaces) {
  Builder b("swap", fake_isa());
  const Value source = b.arg(ArgField::lhs);
  const Value target = b.arg(ArgField::dst);
  std::vector<Value> start;
  for (int i = 0; i < 3; ++i) start.push_back(b.op(OpCode::load, {source}, {.offset = 16 * i}));
  const std::vector<Value> results =
      b.loop("k", b.arg(ArgField::k), start, [&](const std::vector<Value>& p) {
        return std::vector<Value>{p[1], p[2], p[0]};
      });
  for (int i = 0; i < 3; ++i) {
    b.op(OpCode::store, {target, results[static_cast<size_t>(i)]}, {.offset = 16 * i});
  }
  expect_same_on_registers(b.finish(), {4, 0, 0});
}

TEST(Allocate, OneValueStartsManyLoopVariables) {
  Builder b("shared", fake_isa());
  const Value zero = b.op(OpCode::zero);
  const Value x = b.op(OpCode::load, {b.arg(ArgField::lhs)});
  const std::vector<Value> results =
      b.loop("k", b.arg(ArgField::k), {zero, zero, zero}, [&](const std::vector<Value>& p) {
        return std::vector<Value>{b.op(OpCode::add, {p[0], x}, {.bits = 32}),
                                  b.op(OpCode::sub, {p[1], x}, {.bits = 32}), p[0]};
      });
  for (int i = 0; i < 3; ++i) {
    b.op(OpCode::store, {b.arg(ArgField::dst), results[static_cast<size_t>(i)]},
         {.offset = 16 * i});
  }
  expect_same_on_registers(b.finish(), {4, 0, 0});
}

/// Scalars that live over a hot loop, which itself needs some.
Program many_scalars(int count) {
  Builder b("scalars", fake_isa());
  const Value source = b.arg(ArgField::lhs);
  const Value target = b.arg(ArgField::dst);
  std::vector<Value> kept;
  for (int i = 0; i < count; ++i) {
    kept.push_back(b.op(OpCode::iadd, {b.arg(ArgField::m), b.constant(i)}, {}, "kept"));
  }
  const std::vector<Value> results = b.hot_loop(
      "k", b.arg(ArgField::k), {source, b.op(OpCode::zero)}, 1, [&](const std::vector<Value>& p) {
        const Value x = b.op(OpCode::load, {p[0]});
        return std::vector<Value>{b.add(p[0], 16), b.op(OpCode::add, {p[1], x}, {.bits = 32})};
      });
  b.op(OpCode::store, {target, results[1]});
  for (int i = 0; i < count; ++i) {
    b.op(OpCode::store_i64, {target, kept[static_cast<size_t>(i)]}, {.offset = 64 + 8 * i});
  }
  return b.finish();
}

TEST(Allocate, SpillsScalarsThatHotLoopsDoNotTouch) {
  Program program = many_scalars(14);
  const std::vector<uint8_t> expected = result_of(program, {3, 5, 0});
  select(program);
  allocate(program);
  EXPECT_GE(program.frame_slots, 14 - 10);
  ASSERT_EQ(verify(program), "");
  EXPECT_EQ(result_of(program, {3, 5, 0}, true), expected);
}

TEST(Allocate, SpillsNothingWhileRegistersLast) {
  Program program = many_scalars(3);
  select(program);
  allocate(program);
  EXPECT_EQ(program.frame_slots, 0);
}

TEST(Allocate, RefusesAHotLoopWithTooManyScalars) {
  Builder b("hot_scalars", fake_isa());
  const Value target = b.arg(ArgField::dst);
  std::vector<Value> start;
  for (int i = 0; i < 12; ++i) start.push_back(b.constant(i));
  const std::vector<Value> results =
      b.hot_loop("k", b.arg(ArgField::k), start, 1, [&](const std::vector<Value>& p) {
        std::vector<Value> yields;
        for (size_t i = 0; i < p.size(); ++i) {
          yields.push_back(b.op(OpCode::iadd, {p[i], p[(i + 1) % p.size()]}));
        }
        return yields;
      });
  for (int i = 0; i < 12; ++i) {
    b.op(OpCode::store_i64, {target, results[static_cast<size_t>(i)]}, {.offset = 8 * i});
  }
  Program program = b.finish();
  select(program);
  EXPECT_THROW(allocate(program), AllocationError);
}

TEST(Allocate, RegisterListsAreConsecutive) {
  const Isa& isa = shipped_isa("neon_i8mm");
  Builder b("lists", isa);
  const std::vector<Value> results =
      b.hot_loop("k", b.arg(ArgField::k), {b.arg(ArgField::lhs), b.op(OpCode::zero)}, 1,
                 [&](const std::vector<Value>& p) {
                   Value sum = p[1];
                   for (int i = 0; i < 8; ++i) {
                     const Value x = b.op(OpCode::load, {p[0]}, {.offset = 16 * i});
                     sum = b.op(OpCode::mmla_s8s8, {sum, x, x});
                   }
                   return std::vector<Value>{b.add(p[0], 128), sum};
                 });
  b.op(OpCode::store, {b.arg(ArgField::dst), results[1]});
  Program program = b.finish();
  const std::vector<uint8_t> expected = result_of(program, {2, 0, 0});
  select(program);
  allocate(program);
  EXPECT_EQ(verify_registers(program), "");
  EXPECT_EQ(result_of(program, {2, 0, 0}, true), expected);
}

TEST(Allocate, TakesRegistersThatNeedNoSavingFirst) {
  Builder b("few", fake_isa());
  const Value x = b.op(OpCode::load, {b.arg(ArgField::lhs)});
  b.op(OpCode::store, {b.arg(ArgField::dst), x});
  Program program = b.finish();
  select(program);
  allocate(program);
  for (int r : program.registers) EXPECT_LT(r, 6);
}

}  // namespace
}  // namespace tw::test
