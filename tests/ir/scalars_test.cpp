// Operations on scalars, the argument struct, the frame, loops and branches.
#include <gtest/gtest.h>

#include "helpers.h"

namespace tw::test {
namespace {

constexpr uint64_t all_ones = ~uint64_t{0};

TEST(Scalars, Match) {
  struct Case {
    OpCode code;
    Builder::With with;
    std::vector<uint64_t> args;
    uint64_t expected;
  };
  const Case cases[] = {
      {OpCode::constant, {.imm = -5}, {}, all_ones - 4},
      {OpCode::length, {.offset = {3, 16, 4}}, {}, 3 + 2 * 16 + 5 * 4},
      {OpCode::iadd, {}, {all_ones, 3}, 2},
      {OpCode::iadd_imm, {.offset = {-8, 16}}, {100}, 124},
      {OpCode::isub, {}, {3, 5}, all_ones - 1},
      {OpCode::imul, {}, {uint64_t{1} << 63, 3}, uint64_t{1} << 63},
      {OpCode::ishl, {.imm = 63}, {3}, uint64_t{1} << 63},
      {OpCode::ishr, {.imm = 63}, {all_ones}, 1},
      {OpCode::iand_imm, {.imm = -16}, {all_ones}, all_ones - 15},
      {OpCode::iand_imm, {.imm = 12}, {10}, 8},
      {OpCode::imin, {}, {all_ones, 7}, 7},
      {OpCode::isub_sat, {}, {9, 7}, 2},
      {OpCode::isub_sat, {}, {7, 9}, 0},
      {OpCode::isub_sat, {}, {all_ones, 1}, all_ones - 1},
      {OpCode::idiv, {}, {all_ones, 2}, all_ones >> 1},
      {OpCode::if_null, {}, {0, 1, 2}, 1},
      {OpCode::if_null, {}, {9, 1, 2}, 2},
      {OpCode::low_bits, {}, {all_ones, 5}, 31},
      {OpCode::low_bits, {}, {all_ones, 0}, 0},
      {OpCode::low_bits, {}, {all_ones, 64}, all_ones},
      {OpCode::icopy, {}, {42}, 42},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(run_scalar(c.code, c.with, c.args, {2, 5}), c.expected) << info(c.code).name;
  }
}

TEST(Scalars, DivisionByZeroFaults) {
  EXPECT_EQ(fault_of([] {
              run_scalar(OpCode::idiv, {}, {1, 0});
            }),
            "test: v5 = idiv(v3, v4): division by zero");
}

TEST(Scalars, LoadsAndStores) {
  std::vector<uint64_t> input = {11, 22, 33};
  Bytes got = run_written(fixed16(), bytes_of(input), 16, [](Builder& b, Value from, Value to) {
    b.op(OpCode::store_i64, {to, b.op(OpCode::load_i64, {from}, {.offset = 16})}, {.offset = 8});
    b.op(OpCode::store_i64, {to, b.op(OpCode::load_i64, {from})});
  });
  EXPECT_EQ(as<uint64_t>(got), (std::vector<uint64_t>{11, 33}));
}

TEST(Scalars, FrameKeepsThem) {
  Bytes got = run_written(fixed16(), {}, 8, [](Builder& b, Value, Value to) {
    b.op(OpCode::frame_store, {b.constant(7)}, {.imm = 1});
    b.op(OpCode::frame_store, {b.constant(8)}, {.imm = 0});
    b.op(OpCode::store_i64, {to, b.op(OpCode::frame_load, {}, {.imm = 1})});
  });
  EXPECT_EQ(as<uint64_t>(got)[0], 7U);
  EXPECT_EQ(fault_of([] {
              run_written(fixed16(), {}, 8, [](Builder& b, Value, Value to) {
                b.op(OpCode::store_i64, {to, b.op(OpCode::frame_load, {}, {.imm = 0})});
              });
            }),
            "test: v3 = frame_load(#0): frame slot 0 was never written");
}

TEST(Scalars, ScratchIsMemoryOfItsOwn) {
  auto kept = [](bool written_first) {
    return [=](Builder& b, Value, Value to) {
      const Value own = b.scratch(16);
      if (written_first) b.op(OpCode::store_i64, {own, b.constant(7)}, {.offset = 8});
      b.op(OpCode::store_i64, {to, b.op(OpCode::load_i64, {own}, {.offset = 8})});
    };
  };
  EXPECT_EQ(as<uint64_t>(run_written(fixed16(), {}, 8, kept(true))), std::vector<uint64_t>{7});
  EXPECT_EQ(fault_of([&] { run_written(fixed16(), {}, 8, kept(false)); }),
            "test: v4 = load_i64(scratch)[8]: read of 8 bytes at scratch+8: byte 8 was never "
            "written");
}

TEST(Scalars, ArgumentsByField) {
  Builder b("test", fixed16());
  Value to = b.arg(ArgField::dst);
  Value k = b.arg(ArgField::k);
  Value size = b.arg(ArgField::size);
  b.op(OpCode::store_i64, {to, k});
  b.op(OpCode::store_i64, {to, size}, {.offset = 8});
  // Fields that are not 8 bytes are given by their address.
  Value low = b.op(OpCode::load_dup, {b.arg(ArgField::clamp)}, {.bits = 32});
  Value high = b.op(OpCode::load_dup, {b.arg(ArgField::clamp)}, {.bits = 32, .offset = 4});
  int at = 16;
  for (Value v : {low, high}) {
    b.op(OpCode::store_lane, {to, v}, {.bits = 32, .offset = at, .imm = 0});
    at += 4;
  }
  Program program = b.finish();
  Memory memory;
  uint64_t dst = memory.add_unwritten("dst", 24);
  Arguments arguments;
  arguments.min = -1.5F;
  arguments.max = 2.5F;
  arguments.field[static_cast<size_t>(ArgField::k)] = 77;
  arguments.field[static_cast<size_t>(ArgField::dst)] = dst;
  RunCounts counts = run(program, arguments, memory);
  EXPECT_EQ(counts.operations, 11);
  Bytes got = memory.bytes(dst);
  EXPECT_EQ(as<uint64_t>(got)[0], 77U);
  EXPECT_EQ(as<uint64_t>(got)[1], 8 * static_cast<uint64_t>(ArgField::all_count));
  EXPECT_EQ(as<float>(got)[4], -1.5F);
  EXPECT_EQ(as<float>(got)[5], 2.5F);
}

/// Fibonacci: the loop's variables are exchanged, so yields must be read before params are written.
TEST(Control, LoopExchangesItsVariables) {
  for (auto [count, expected] : {std::pair{0, 0}, {1, 1}, {2, 1}, {10, 55}}) {
    Bytes got = run_written(fixed16(), {}, 8, [&, n = count](Builder& b, Value, Value to) {
      std::vector<Value> results = b.loop(
          "n", b.constant(n), {b.constant(0), b.constant(1)}, [&](const std::vector<Value>& p) {
            return std::vector<Value>{p[1], b.op(OpCode::iadd, {p[0], p[1]})};
          });
      b.op(OpCode::store_i64, {to, results[0]});
    });
    EXPECT_EQ(as<int64_t>(got)[0], expected) << count;
  }
}

TEST(Control, StepsCountUp) {
  for (auto [count, expected] : {std::pair{0, 0}, {1, 1}, {4, 1}, {5, 2}, {8, 2}, {9, 3}}) {
    Bytes got = run_written(
        fixed16(), {}, 8,
        [&, n = count](Builder& b, Value, Value to) {
          auto body = [&](const std::vector<Value>& p) {
            return std::vector<Value>{b.add(p[0], 1)};
          };
          b.op(OpCode::store_i64,
               {to, b.stepped_loop("m", b.constant(n), {0, 2}, {b.constant(0)}, body)[0]});
        },
        {2, 1});
    EXPECT_EQ(as<int64_t>(got)[0], expected) << count;
  }
}

TEST(Control, BranchesCompareUnsigned) {
  struct Case {
    Compare compare;
    int64_t a, b;
    bool taken;
  };
  for (Case c : {Case{Compare::equal, 3, 3, true},
                 {Compare::equal, 3, 4, false},
                 {Compare::not_equal, 3, 4, true},
                 {Compare::not_equal, 3, 3, false},
                 {Compare::below, 3, -1, true},
                 {Compare::below, -1, 3, false},
                 {Compare::below, 3, 3, false},
                 {Compare::at_least, 3, 3, true},
                 {Compare::at_least, -1, 3, true},
                 {Compare::at_least, 3, -1, false}}) {
    Bytes got = run_written(fixed16(), {}, 8, [&](Builder& b, Value, Value to) {
      b.branch(
          b.constant(c.a), c.compare, b.constant(c.b),
          [&] {
            b.op(OpCode::store_i64, {to, b.constant(1)});
          },
          [&] {
            b.op(OpCode::store_i64, {to, b.constant(0)});
          });
    });
    EXPECT_EQ(as<uint64_t>(got)[0], c.taken ? 1U : 0U) << c.a << ' ' << c.b;
  }
}

TEST(Control, CloneIsIndependent) {
  Program program = written(fixed16(), [](Builder& b, Value, Value to) {
    b.loop("n", b.constant(2), {to}, [&](const std::vector<Value>& p) {
      b.branch(p[0], Compare::equal, p[0], [&] { b.op(OpCode::store_i64, {p[0], p[0]}); });
      return std::vector<Value>{b.add(p[0], 8)};
    });
  });
  Program copy = clone(program);
  EXPECT_EQ(to_text(copy), to_text(program));
  for_each_op(copy.body, [](Op& op) { op.offset += Length{0}; });
  copy.body.nodes.clear();
  EXPECT_NE(to_text(copy), to_text(program));
  EXPECT_EQ(verify(program), "");
}

}  // namespace
}  // namespace tw::test
