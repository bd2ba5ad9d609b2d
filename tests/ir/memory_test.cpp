// Memory with faults, and the operations that load and store vectors.
#include <gtest/gtest.h>

#include <numeric>

#include "helpers.h"

namespace tw::test {
namespace {

Bytes counting(size_t n) {
  Bytes bytes(n);
  std::iota(bytes.begin(), bytes.end(), uint8_t{1});
  return bytes;
}

TEST(Memory, AlignmentAndContents) {
  Memory memory;
  uint64_t a = memory.add("a", counting(10), false);
  uint64_t b = memory.add("b", counting(10), true, 3);
  EXPECT_EQ(a % 64, 0U);
  EXPECT_EQ(b % 64, 3U);
  uint8_t bytes[4];
  memory.read(b + 6, bytes, 4);
  EXPECT_EQ(bytes[0], 7);
  EXPECT_EQ(bytes[3], 10);
  memory.write(b, bytes, 2);
  EXPECT_EQ(memory.bytes(b)[1], 8);
  EXPECT_EQ(memory.bytes(a), counting(10));
}

TEST(Memory, FaultsNameRegionOffsetAndSize) {
  Memory memory;
  uint64_t a = memory.add("a", counting(10), false);
  uint64_t b = memory.add_unwritten("b", 10, 1);
  uint8_t bytes[16] = {};
  auto read = [&](uint64_t at, size_t n) { return fault_of([&] { memory.read(at, bytes, n); }); };
  auto write = [&](uint64_t at, size_t n) { return fault_of([&] { memory.write(at, bytes, n); }); };
  EXPECT_EQ(read(a, 10), "no fault");
  EXPECT_EQ(read(a, 11), "read of 11 bytes at a+0: the region has 10 bytes");
  EXPECT_EQ(read(a - 1, 4), "read of 4 bytes at a-1: the region has 10 bytes");
  EXPECT_EQ(read(a + (1 << 20), 1), "read of 1 bytes at a+1048576: the region has 10 bytes");
  EXPECT_EQ(read(16, 1), "read of 1 bytes at address 0x10: no region is there");
  EXPECT_EQ(read(b + (uint64_t{1} << 40), 1).substr(0, 20), "read of 1 bytes at a");
  EXPECT_EQ(write(a + 2, 4), "write of 4 bytes at a+2: the region is read-only");
  EXPECT_EQ(write(b + 7, 4), "write of 4 bytes at b+7: the region has 10 bytes");
  EXPECT_EQ(write(b + 2, 4), "no fault");
  EXPECT_EQ(read(b + 2, 4), "no fault");
  EXPECT_EQ(read(b + 1, 2), "read of 2 bytes at b+1: byte 1 was never written");
  EXPECT_EQ(read(b + 5, 2), "read of 2 bytes at b+5: byte 6 was never written");
  std::vector<bool> written(10);
  for (size_t i = 2; i < 6; ++i) written[i] = true;
  EXPECT_EQ(memory.written(b), written);
  EXPECT_EQ(write(b, 10), "no fault");
  EXPECT_EQ(read(b, 10), "no fault");
}

TEST(Loads, WholeVectorsAtEveryLength) {
  for (int64_t vl : {1, 2, 4}) {
    auto n = static_cast<size_t>(16 * vl);
    Bytes input = random_bytes(2 * n, 5);
    Bytes got = run_written(scalable(), input, n + 4,
                            [](Builder& b, Value from, Value to) {
                              Value x = b.op(OpCode::load, {from}, {.offset = {0, 16}});
                              b.op(OpCode::store, {to, x}, {.offset = 4});
                              Value y = b.op(OpCode::load, {from}, {.offset = 2, .bytes = 4});
                              b.op(OpCode::store, {to, y});
                            },
                            {vl, 1});
    EXPECT_TRUE(std::equal(input.begin() + 2, input.begin() + 6, got.begin()));
    EXPECT_TRUE(std::equal(input.end() - static_cast<int64_t>(n), input.end(), got.begin() + 4));
  }
}

TEST(Loads, OneElementEverywhere) {
  for (int bits : {8, 16, 32, 64, 128}) {
    Bytes input = random_bytes(24, 6);
    Bytes got = run_written(
        scalable(), input, 64,
        [&](Builder& b, Value from, Value to) {
          b.op(OpCode::store, {to, b.op(OpCode::load_dup, {from}, {.bits = bits, .offset = 3})});
        },
        {4, 1});
    for (size_t i = 0; i < 64; ++i) {
      EXPECT_EQ(got[i], input[3 + i % (static_cast<size_t>(bits) / 8)]) << bits << ' ' << i;
    }
  }
}

TEST(Loads, LaneReplacesOne) {
  Bytes input = counting(48);
  Bytes got = run_written(fixed16(), input, 16, [](Builder& b, Value from, Value to) {
    Value x = b.op(OpCode::load, {from});
    Value y = b.op(OpCode::load_lane, {x, from}, {.bits = 32, .offset = 20, .imm = 2});
    b.op(OpCode::store, {to, y});
  });
  Bytes expected = counting(16);
  for (size_t i = 0; i < 4; ++i) expected[8 + i] = input[20 + i];
  EXPECT_EQ(got, expected);
}

TEST(Stores, LaneWritesOne) {
  for (int bits : {8, 16, 32, 64, 128}) {
    auto n = static_cast<size_t>(bits) / 8;
    int64_t lane = 128 / bits - 1;
    Bytes got = run_written(fixed16(), counting(16), n, [&](Builder& b, Value from, Value to) {
      b.op(OpCode::store_lane, {to, b.op(OpCode::load, {from})}, {.bits = bits, .imm = lane});
    });
    for (size_t i = 0; i < n; ++i) EXPECT_EQ(got[i], 16 - n + i + 1);
  }
}

TEST(Stores, StreamNeedsAlignment) {
  auto store = [](Length offset) {
    return fault_of([&] {
      run_written(fixed64(), {}, 128, [&](Builder& b, Value, Value to) {
        b.op(OpCode::store_stream, {to, b.op(OpCode::zero)}, {.offset = offset});
      });
    });
  };
  EXPECT_EQ(store(64), "no fault");
  EXPECT_NE(store(32).find("is not a multiple of 64"), std::string::npos) << store(32);
}

TEST(Stores, PrefetchAndFenceTouchNothing) {
  EXPECT_EQ(run_written(fixed16(), {}, 8,
                        [](Builder& b, Value, Value to) {
                          b.op(OpCode::prefetch, {b.add(to, 1 << 30)}, {.offset = 64});
                          b.op(OpCode::store_fence);
                          b.op(OpCode::store_i64, {to, b.constant(1)});
                        })[0],
            1);
}

TEST(Faults, OneByteBeyondEitherEnd) {
  auto load = [](Length offset) {
    return fault_of([&] {
      run_written(fixed16(), counting(20), 16, [&](Builder& b, Value from, Value to) {
        Value x = b.op(OpCode::load, {from}, {.offset = offset}, "x");
        b.op(OpCode::store, {to, x});
      });
    });
  };
  EXPECT_EQ(load(0), "no fault");
  EXPECT_EQ(load(4), "no fault");
  EXPECT_EQ(load(5), "test: x = load(lhs)[5]: read of 16 bytes at lhs+5: the region has 20 bytes");
  EXPECT_EQ(load(-1),
            "test: x = load(lhs)[-1]: read of 16 bytes at lhs-1: the region has 20 bytes");
  auto store = [](Length offset) {
    return fault_of([&] {
      run_written(fixed16(), {}, 20, [&](Builder& b, Value, Value to) {
        b.op(OpCode::store, {to, b.op(OpCode::zero, {}, {}, "x")}, {.offset = offset});
      });
    });
  };
  EXPECT_EQ(store(4), "no fault");
  EXPECT_EQ(store(5),
            "test: store(dst, x)[5]: write of 16 bytes at dst+5: the region has 20 bytes");
  EXPECT_EQ(store(-1),
            "test: store(dst, x)[-1]: write of 16 bytes at dst-1: the region has 20 bytes");
}

TEST(Faults, ReadOfUnwrittenAndWriteToReadOnly) {
  EXPECT_EQ(fault_of([] {
              run_written(fixed16(), {}, 32, [](Builder& b, Value, Value to) {
                b.op(OpCode::store, {to, b.op(OpCode::zero)});
                b.op(OpCode::load, {to}, {.offset = 1}, "x");
              });
            }),
            "test: x = load(dst)[1]: read of 16 bytes at dst+1: byte 16 was never written");
  EXPECT_EQ(fault_of([] {
              run_written(fixed16(), counting(16), 0, [](Builder& b, Value from, Value) {
                b.op(OpCode::store, {from, b.op(OpCode::zero, {}, {}, "x")});
              });
            }),
            "test: store(lhs, x): write of 16 bytes at lhs+0: the region is read-only");
  EXPECT_EQ(fault_of([] {
              Program program = written(fixed16(), [](Builder& b, Value, Value) {
                b.op(OpCode::store_i64, {0, 0});  // into the argument struct
              });
              Memory memory;
              run(program, {}, memory);
            }),
            "test: store_i64(args, args): write of 8 bytes at args+0: the region is read-only");
}

TEST(Faults, NullPointer) {
  Program program = written(
      fixed16(), [](Builder& b, Value from, Value) { b.op(OpCode::load, {from}, {}, "x"); });
  Memory memory;
  EXPECT_EQ(fault_of([&] { run(program, {}, memory); }),
            "test: x = load(lhs): read of 16 bytes at address 0x0: no region is there");
}

}  // namespace
}  // namespace tw::test
