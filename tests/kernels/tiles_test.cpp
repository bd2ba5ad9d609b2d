// The emulator of Intel's tiles, on instructions written by hand: what the machine would refuse is
// refused, what a tile holds beyond its shape is 0. On CPUs with tiles they run natively, which
// proves the same of the emulator's definition.
#if defined(__linux__) && defined(__x86_64__)
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "support/amx_emulator.h"
#include "support/call_checked.h"

namespace tw::test {
namespace {

/// What the functions below get.
struct Work {
  std::array<uint8_t, 64> shapes{};
  std::array<int8_t, 1024> a{};
  std::array<uint8_t, 1024> b{};
  std::array<int32_t, 256> sums{};
};

// Numbers instead of mnemonics, which assemblers may not know yet. All have the Work in rdi.
#define LOAD_SHAPES ".byte 0xc4, 0xe2, 0x78, 0x49, 0x07\n"
#define RELEASE ".byte 0xc4, 0xe2, 0x78, 0x49, 0xc0\n"
#define ZERO_0 ".byte 0xc4, 0xe2, 0x7b, 0x49, 0xc0\n"
// tileloadd tmm1, [rdi + rcx + 64]; tmm2, [rdi + rcx + 1088]; tilestored [rdi + rcx + 2112], tmm0
#define LOAD_1 ".byte 0xc4, 0xe2, 0x7b, 0x4b, 0x4c, 0x0f, 0x40\n"
#define LOAD_2 ".byte 0xc4, 0xe2, 0x7b, 0x4b, 0x94, 0x0f, 0x40, 0x04, 0x00, 0x00\n"
#define STORE_0 ".byte 0xc4, 0xe2, 0x7a, 0x4b, 0x84, 0x0f, 0x40, 0x08, 0x00, 0x00\n"
#define MULTIPLY ".byte 0xc4, 0xe2, 0x6a, 0x5e, 0xc1\n"  // tdpbsud tmm0, tmm1, tmm2

__attribute__((naked)) void product(const void* /*work*/) {
  __asm__("mov $64, %ecx\n" LOAD_SHAPES ZERO_0 LOAD_1 LOAD_2 MULTIPLY STORE_0 RELEASE "ret");
}

__attribute__((naked)) void unreleased(const void* /*work*/) {
  __asm__(LOAD_SHAPES ZERO_0 "ret");
}

__attribute__((naked)) void without_shapes(const void* /*work*/) {
  __asm__(ZERO_0 "ret");
}

/// Tiles 0 to 2: sums of `rows` x 16, activations `rows` x 4 `depth`, weights `depth` x 16.
Work work(uint8_t rows, uint8_t depth) {
  Work all;
  all.shapes[0] = 1;
  all.shapes[16] = 64;
  all.shapes[18] = static_cast<uint8_t>(4 * depth);
  all.shapes[20] = 64;
  all.shapes[48] = all.shapes[49] = rows;
  all.shapes[50] = depth;
  for (size_t i = 0; i < all.a.size(); ++i) {
    all.a[i] = static_cast<int8_t>(i * 37 + 11);
    all.b[i] = static_cast<uint8_t>(i * 101 + 5);
  }
  all.sums.fill(-1);
  return all;
}

int32_t expected(const Work& all, size_t row, size_t column, size_t depth) {
  int32_t sum = 0;
  for (size_t k = 0; k < 4 * depth; ++k) {
    sum += all.a[64 * row + k] * all.b[64 * (k / 4) + 4 * column + k % 4];
  }
  return sum;
}

class EmulatedTiles : public testing::Test {
 protected:
  void SetUp() override {
    if (tiles_here() == Tiles::none) GTEST_SKIP() << "no vectors of 512 bits";
    std::printf("tiles are %s\n", tiles_here() == Tiles::native ? "native" : "emulated");
  }
};

TEST_F(EmulatedTiles, MultiplyBytes) {
  for (const auto& [rows, depth] : {std::pair{16, 16}, {5, 16}, {16, 3}, {1, 1}}) {
    Work all = work(static_cast<uint8_t>(rows), static_cast<uint8_t>(depth));
    const CallReport report = call_checked(product, &all);
    EXPECT_EQ(report.signal, 0);
    EXPECT_EQ(report.clobbered, 0U) << register_names(report.clobbered);
    for (size_t i = 0; i < all.sums.size(); ++i) {
      const bool inside = i / 16 < static_cast<size_t>(rows);
      EXPECT_EQ(all.sums[i],
                inside ? expected(all, i / 16, i % 16, static_cast<size_t>(depth)) : -1)
          << rows << " rows, depth " << depth << ", sum " << i;
    }
  }
}

TEST_F(EmulatedTiles, HaveToBeReleased) {
  Work all = work(16, 16);
  const CallReport report = call_checked(unreleased, &all);
  EXPECT_EQ(report.signal, 0);
  EXPECT_EQ(register_names(report.clobbered), "tiles, which it did not release");
  EXPECT_EQ(call_checked(product, &all).clobbered, 0U);  // and then they are
}

TEST_F(EmulatedTiles, RefuseWhatTheMachineRefuses) {
  const auto signal_of = [](int byte, uint8_t value) {
    Work all = work(16, 16);
    all.shapes[static_cast<size_t>(byte)] = value;
    return call_checked(product, &all).signal;
  };
  EXPECT_EQ(signal_of(0, 1), 0);
  EXPECT_NE(signal_of(0, 2), 0) << "a palette that is not there";
  EXPECT_NE(signal_of(0, 0), 0) << "no palette";
  EXPECT_NE(signal_of(2, 1), 0) << "a reserved byte";
  EXPECT_NE(signal_of(63, 1), 0) << "another";
  EXPECT_NE(signal_of(16, 65), 0) << "too many bytes in a row";
  EXPECT_NE(signal_of(48, 17), 0) << "too many rows";
  EXPECT_NE(signal_of(48, 0), 0) << "bytes without rows";
  EXPECT_NE(signal_of(48, 8), 0) << "fewer rows of sums than of activations";
  EXPECT_NE(signal_of(50, 15), 0) << "fewer rows of weights than activations have";
  EXPECT_NE(signal_of(20, 60), 0) << "fewer columns of weights than of sums";
  EXPECT_NE(signal_of(18, 62), 0) << "rows that are no whole number of 32 bits";
  Work none;
  EXPECT_EQ(call_checked(without_shapes, &none).signal, SIGILL);
}

}  // namespace
}  // namespace tw::test
#endif
